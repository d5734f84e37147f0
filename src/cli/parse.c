#include "parse.h"

#include <stdio.h>
#include <string.h>

#include "nearest.h"

struct parse { /* where we are in argv */
    struct cairn_call *call;
    char **argv;
    int next, count;
    struct cairn_err *err;
};

/* The commands that know an option, as "`cairn run`, `cairn attach`". */
static void list_commands(unsigned bits, char *text, size_t size_bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < cairn_command_count && used < size_bytes; i++)
        if ((cairn_commands[i].bit & bits) != 0)
            used += (size_t)snprintf(text + used, size_bytes - used, "%s`cairn %s`",
                                     used > 0 ? ", " : "", cairn_commands[i].name);
}

static int refuse_option(const struct parse *parse, const char *word, const char *name,
                         size_t size_bytes)
{
    const struct cairn_command *command = parse->call->command;
    const struct cairn_option *other = word[1] == '-' ? cairn_option_find(name, size_bytes, ~0u)
                                                      : cairn_option_letter(name[0], ~0u);
    struct cairn_nearest nearest;
    char commands[160], stem[65];

    cairn_err_set(parse->err, -CAIRN_EUSAGE, 0, "options", "`cairn %s` has no option %.100s",
                  command->name, word);
    if (other != NULL) {
        list_commands(other->commands, commands, sizeof(commands));
        cairn_err_add(parse->err, "It is an option of %s.", commands);
        return -CAIRN_EUSAGE;
    }
    if (size_bytes > 1 && size_bytes < sizeof(stem)) {
        memcpy(stem, name, size_bytes);
        stem[size_bytes] = '\0';
        cairn_nearest_init(&nearest, stem);
        for (size_t i = 0; i < cairn_option_count; i++)
            if ((cairn_options[i].commands & command->bit) != 0)
                cairn_nearest_try(&nearest, cairn_options[i].name);
        if (cairn_nearest_best(&nearest) != NULL)
            cairn_err_add(parse->err, "Did you mean --%s?", cairn_nearest_best(&nearest));
    }
    cairn_err_add(parse->err, "`cairn help %s` lists what there is.", command->name);
    return -CAIRN_EUSAGE;
}

/* Sets an option; `value` is what stood in the same word, NULL when nothing did. */
static int set_option(struct parse *parse, const struct cairn_option *option, const char *origin,
                      const char *value)
{
    if (value == NULL && option->kind != CAIRN_VALUE_FLAG && option->value[0] != '[') {
        if (parse->next == parse->count) {
            cairn_err_set(parse->err, -CAIRN_EUSAGE, 0, "options", "%s needs a value: %s %s",
                          origin, origin, option->value);
            return -CAIRN_EUSAGE;
        }
        value = parse->argv[parse->next++];
    }
    return cairn_option_set(option, value, origin, &parse->call->settings, parse->err);
}

static int parse_long(struct parse *parse, char *word)
{
    const char *name = word + 2;
    size_t size_bytes = strcspn(name, "=");
    const struct cairn_option *option =
        cairn_option_find(name, size_bytes, parse->call->command->bit);
    char origin[64];

    if (option == NULL)
        return refuse_option(parse, word, name, size_bytes);
    snprintf(origin, sizeof(origin), "--%s", option->name);
    return set_option(parse, option, origin,
                      name[size_bytes] == '=' ? name + size_bytes + 1 : NULL);
}

/* -r1khz, -r 1khz, and flags in a row. */
static int parse_letters(struct parse *parse, const char *word)
{
    unsigned bit = parse->call->command->bit;

    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const struct cairn_option *option = cairn_option_letter(*letter, bit);
        char origin[3] = {'-', *letter, '\0'};
        bool takes_rest = option != NULL && option->kind != CAIRN_VALUE_FLAG && letter[1] != '\0';

        if (option == NULL)
            return refuse_option(parse, word, letter, 1);
        CAIRN_TRY(set_option(parse, option, origin, takes_rest ? letter + 1 : NULL));
        if (option->kind != CAIRN_VALUE_FLAG)
            return 0;
    }
    return 0;
}

static bool begins_program(const char *word)
{
    return word[0] == '-' && (word[1] == 'm' || word[1] == 'c');
}

/* Whether a word in front of an old tool's is an option of ours. */
static bool is_ours(const struct cairn_command *command, const char *word)
{
    return strncmp(word, "--", 2) == 0 &&
           cairn_option_find(word + 2, strcspn(word + 2, "="), command->bit) != NULL;
}

static int check_words(const struct parse *parse)
{
    const struct cairn_call *call = parse->call;
    const struct cairn_command *command = call->command;

    if (call->settings.help || call->settings.version)
        return 0;
    if (call->words.count < command->min_words)
        cairn_err_set(parse->err, -CAIRN_EUSAGE, 0, "words", "`cairn %s` needs to be told more",
                      command->name);
    else if (call->words.count > command->max_words)
        cairn_err_set(parse->err, -CAIRN_EUSAGE, 0, "words", "`cairn %s` has no use for '%.100s'",
                      command->name, call->words.items[command->max_words]);
    else
        return 0;
    cairn_err_add(parse->err, "Usage: cairn %s %s", command->name, command->synopsis);
    return -CAIRN_EUSAGE;
}

int cairn_parse(struct cairn_call *call, int count, char **argv, struct cairn_err *err)
{
    struct parse parse = {.call = call, .argv = argv, .count = count, .err = err};
    int words = 0;

    while (parse.next < count) {
        char *word = argv[parse.next++];

        if (strcmp(word, "--") == 0)
            break;
        if (call->command->tool && !is_ours(call->command, word)) {
            parse.next--;
            break;
        }
        if (word[0] != '-' || word[1] == '\0' || (call->command->runs && begins_program(word))) {
            if (call->command->runs) {
                parse.next--;
                break;
            }
            argv[words++] = word;
        } else if (word[1] == '-') {
            CAIRN_TRY(parse_long(&parse, word));
        } else {
            CAIRN_TRY(parse_letters(&parse, word));
        }
    }
    while (parse.next < count)
        argv[words++] = argv[parse.next++];
    argv[words] = NULL; /* argv ends with a NULL: words <= count */
    call->words = (struct cairn_words){argv, (size_t)words};
    return check_words(&parse);
}
