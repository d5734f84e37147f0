/* complete.c: completion scripts for bash, zsh and fish. No text in the tables holds a quote; a
 * unit test sees to that. */
#include "help.h"

#include <string.h>

static bool is_file(const struct cairn_option *option)
{
    return option->kind == CAIRN_VALUE_FILE;
}

static bool belongs(const struct cairn_option *option, const struct cairn_command *command)
{
    return (option->commands & command->bit) != 0;
}

static void add_choices(const struct cairn_option *option, struct cairn_buf *out)
{
    const char *word;

    for (size_t i = 0; (word = option->choice(i)) != NULL; i++)
        cairn_buf_printf(out, "%s%s", i > 0 ? " " : "", word);
}

static void add_commands(struct cairn_buf *out)
{
    for (size_t i = 0; i < cairn_command_count; i++)
        cairn_buf_printf(out, "%s%s", i > 0 ? " " : "", cairn_commands[i].name);
}

/* What may stand behind an option that takes a word out of a list. */
static void add_bash_values(struct cairn_buf *out)
{
    for (size_t i = 0; i < cairn_option_count; i++) {
        const struct cairn_option *option = &cairn_options[i];

        if (option->kind != CAIRN_VALUE_CHOICE || option->value[0] == '[') /* no next word */
            continue;
        cairn_buf_printf(out, "    --%s", option->name);
        if (option->letter != '\0')
            cairn_buf_printf(out, "|-%c", option->letter);
        cairn_buf_add_str(out, ") COMPREPLY=($(compgen -W '");
        add_choices(option, out);
        cairn_buf_add_str(out, "' -- \"$cur\")); return ;;\n");
    }
}

static void add_bash(struct cairn_buf *out)
{
    cairn_buf_add_str(out, "_cairn() {\n"
                           "    local cur=${COMP_WORDS[COMP_CWORD]} words=\n"
                           "    if ((COMP_CWORD == 1)); then\n"
                           "        COMPREPLY=($(compgen -W '");
    add_commands(out);
    cairn_buf_add_str(out, "' -- \"$cur\") $(compgen -f -- \"$cur\"))\n"
                           "        return\n"
                           "    fi\n"
                           "    case ${COMP_WORDS[COMP_CWORD-1]} in\n");
    add_bash_values(out);
    cairn_buf_add_str(out, "    esac\n    case ${COMP_WORDS[1]} in\n");
    for (size_t c = 0; c < cairn_command_count; c++) {
        cairn_buf_printf(out, "    %s) words='", cairn_commands[c].name);
        for (size_t i = 0; i < cairn_option_count; i++)
            if (belongs(&cairn_options[i], &cairn_commands[c]))
                cairn_buf_printf(out, "--%s ", cairn_options[i].name);
        cairn_buf_add_str(out, "' ;;\n");
    }
    cairn_buf_add_str(out, "    esac\n"
                           "    if [[ $cur == -* ]]; then\n"
                           "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                           "    else\n"
                           "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                           "    fi\n"
                           "}\n"
                           "complete -o filenames -F _cairn cairn\n");
}

static void add_zsh_option(const struct cairn_option *option, struct cairn_buf *out)
{
    bool takes = option->value != NULL && option->value[0] != '['; /* the next word */
    const char *equals = takes ? "=" : option->value != NULL ? "=-" : "";

    if (option->letter != '\0')
        cairn_buf_printf(out, "            '(-%c --%s)'{-%c,--%s%s}'[%s]", option->letter,
                         option->name, option->letter, option->name, equals, option->brief);
    else
        cairn_buf_printf(out, "            '--%s%s[%s]", option->name, equals, option->brief);
    if (takes)
        cairn_buf_printf(out, ":%s:", option->value);
    else if (option->value != NULL)
        cairn_buf_add_str(out, "::where:");
    if (option->kind == CAIRN_VALUE_CHOICE) {
        cairn_buf_u8(out, '(');
        add_choices(option, out);
        cairn_buf_u8(out, ')');
    }
    cairn_buf_add_str(out, is_file(option) ? "_files' \\\n" : "' \\\n");
}

static void add_zsh(struct cairn_buf *out)
{
    cairn_buf_add_str(out, "#compdef cairn\n"
                           "_cairn() {\n"
                           "    local -a commands=(\n");
    for (size_t c = 0; c < cairn_command_count; c++)
        cairn_buf_printf(out, "        '%s:%s'\n", cairn_commands[c].name, cairn_commands[c].brief);
    cairn_buf_add_str(out, "    )\n"
                           "    if ((CURRENT == 2)); then\n"
                           "        _describe command commands\n"
                           "        _files\n"
                           "        return\n"
                           "    fi\n"
                           "    shift words\n"
                           "    ((CURRENT--))\n"
                           "    case $words[1] in\n");
    for (size_t c = 0; c < cairn_command_count; c++) {
        cairn_buf_printf(out, "    %s)\n        _arguments -S \\\n", cairn_commands[c].name);
        for (size_t i = 0; i < cairn_option_count; i++)
            if (belongs(&cairn_options[i], &cairn_commands[c]))
                add_zsh_option(&cairn_options[i], out);
        cairn_buf_printf(out, "            '%s' ;;\n",
                         cairn_commands[c].runs ? "*::program:_normal" : "*:file:_files");
    }
    cairn_buf_add_str(out, "    esac\n}\n_cairn \"$@\"\n");
}

static void add_fish(struct cairn_buf *out)
{
    for (size_t c = 0; c < cairn_command_count; c++)
        cairn_buf_printf(out, "complete -c cairn -n __fish_use_subcommand -a %s -d '%s'\n",
                         cairn_commands[c].name, cairn_commands[c].brief);
    for (size_t c = 0; c < cairn_command_count; c++)
        for (size_t i = 0; i < cairn_option_count; i++) {
            const struct cairn_option *option = &cairn_options[i];

            if (!belongs(option, &cairn_commands[c]))
                continue;
            cairn_buf_printf(out, "complete -c cairn -n '__fish_seen_subcommand_from %s' -l %s",
                             cairn_commands[c].name, option->name);
            if (option->letter != '\0')
                cairn_buf_printf(out, " -s %c", option->letter);
            if (option->value != NULL && option->value[0] != '[')
                cairn_buf_add_str(out, is_file(option) ? " -rF" : " -x");
            if (option->kind == CAIRN_VALUE_CHOICE) {
                cairn_buf_add_str(out, " -a '");
                add_choices(option, out);
                cairn_buf_u8(out, '\'');
            }
            cairn_buf_printf(out, " -d '%s'\n", option->brief);
        }
}

int cairn_completions(const char *shell, struct cairn_buf *out)
{
    if (strcmp(shell, "bash") == 0)
        add_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        add_zsh(out);
    else if (strcmp(shell, "fish") == 0)
        add_fish(out);
    else
        return -CAIRN_EUSAGE;
    return out->code;
}
