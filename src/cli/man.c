/* man.c: pages of the manual, in the man(7) macros. */
#include "help.h"

#include <stdio.h>
#include <string.h>

/* Text for roff: its own signs escaped, `code` in bold, newlines as paragraphs. */
static void add_text(struct cairn_buf *out, const char *text)
{
    bool bold = false;

    for (const char *p = text; *p != '\0'; p++) {
        switch (*p) {
        case '`':
            bold = !bold;
            cairn_buf_add_str(out, bold ? "\\fB" : "\\fR");
            break;
        case '\\':
            cairn_buf_add_str(out, "\\e");
            break;
        case '-':
            cairn_buf_add_str(out, "\\-");
            break;
        case '\n':
            cairn_buf_add_str(out, "\n.PP\n");
            break;
        case '.':
        case '\'':
            /* At the start of a line these would be requests. */
            if (p == text || p[-1] == '\n')
                cairn_buf_add_str(out, "\\&");
            cairn_buf_u8(out, (uint8_t)*p);
            break;
        default:
            cairn_buf_u8(out, (uint8_t)*p);
        }
    }
}

static void add_line(struct cairn_buf *out, const char *text)
{
    add_text(out, text);
    cairn_buf_u8(out, '\n');
}

static void add_options(const struct cairn_command *command, struct cairn_buf *out)
{
    cairn_buf_add_str(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < cairn_option_count; i++) {
        const struct cairn_option *option = &cairn_options[i];

        if ((option->commands & command->bit) == 0)
            continue;
        cairn_buf_add_str(out, ".TP\n\\fB");
        if (option->letter != '\0')
            cairn_buf_printf(out, "\\-%c\\fR, \\fB", option->letter);
        cairn_buf_add_str(out, "\\-\\-");
        add_text(out, option->name);
        cairn_buf_add_str(out, "\\fR");
        if (option->value != NULL) {
            cairn_buf_add_str(out, option->value[0] == '[' ? "\\fI" : " \\fI");
            add_text(out, option->value);
            cairn_buf_add_str(out, "\\fR");
        }
        cairn_buf_u8(out, '\n');
        add_text(out, option->brief);
        if (cairn_help_has_default(option)) {
            cairn_buf_add_str(out, " (");
            add_text(out, option->fallback);
            cairn_buf_u8(out, ')');
        }
        cairn_buf_add_str(out, ".\n");
        add_line(out, option->detail);
    }
}

static void add_status(struct cairn_buf *out)
{
    cairn_buf_add_str(out, ".SH EXIT STATUS\n"
                           "That of the program that was run; 128 + N when signal N ended it.\n"
                           "Of Cairn itself: 127 not found, 126 not executable, 125 failed,\n"
                           "124 not a supported Python, 123 recording damaged or foreign,\n"
                           "122 bad usage, 121 no permission.\n");
}

static void add_settings(struct cairn_buf *out)
{
    cairn_buf_add_str(out, ".SH SETTINGS\n"
                           "Read from [tool.cairn] in the nearest pyproject.toml, then from the\n"
                           "environment, then from the command line; the last one counts.\n");
    for (size_t i = 0; i < cairn_option_count; i++) {
        const struct cairn_option *option = &cairn_options[i];

        if (option->sources == 0)
            continue;
        cairn_buf_add_str(out, ".TP\n\\fB");
        add_text(out, option->name);
        cairn_buf_add_str(out, "\\fR\n");
        add_text(out, option->brief);
        if (!(option->sources & CAIRN_FROM_PROJECT))
            cairn_buf_add_str(out, " (not in pyproject.toml)");
        cairn_buf_u8(out, '\n');
    }
    cairn_buf_add_str(out, ".PP\nIn the environment a setting is called CAIRN_NAME, in capitals, "
                           "with _ for \\-.\n"
                           "NO_COLOR and FORCE_COLOR are heeded.\n");
}

static void add_head(const char *name, const char *brief, struct cairn_buf *out)
{
    cairn_buf_printf(out, ".TH \"%s\" 1 \"\" \"Cairn %s\" \"Cairn\"\n.SH NAME\n", name,
                     CAIRN_VERSION);
    add_text(out, name);
    cairn_buf_add_str(out, " \\- ");
    add_line(out, brief);
    cairn_buf_add_str(out, ".SH SYNOPSIS\n\\fBcairn\\fR ");
}

static void add_overview(struct cairn_buf *out)
{
    add_head("cairn", "tell where a Python program spends its time", out);
    add_line(out, "COMMAND [OPTIONS] ARGS");
    cairn_buf_add_str(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < cairn_command_count; i++) {
        cairn_buf_printf(out, ".TP\n\\fBcairn\\-%s\\fR(1)\n", cairn_commands[i].name);
        add_line(out, cairn_commands[i].brief);
    }
    add_settings(out);
    add_status(out);
}

void cairn_man_page(const struct cairn_command *command, struct cairn_buf *out)
{
    char name[64];

    if (command == NULL) {
        add_overview(out);
        return;
    }
    snprintf(name, sizeof(name), "cairn-%s", command->name);
    add_head(name, command->brief, out);
    cairn_buf_printf(out, "\\fB%s\\fR ", command->name);
    add_line(out, command->synopsis);
    cairn_buf_add_str(out, ".SH DESCRIPTION\n");
    add_line(out, command->detail);
    add_options(command, out);
    cairn_buf_add_str(out, ".SH EXAMPLES\n.nf\n");
    for (const char *p = command->example; *p != '\0';) {
        size_t size_bytes = strcspn(p, "\n");
        char line[128];

        memcpy(line, p, size_bytes < sizeof(line) ? size_bytes : sizeof(line) - 1);
        line[size_bytes < sizeof(line) ? size_bytes : sizeof(line) - 1] = '\0';
        add_line(out, line);
        p += size_bytes + (p[size_bytes] == '\n');
    }
    cairn_buf_add_str(out, ".fi\n");
    add_status(out);
    cairn_buf_add_str(out, ".SH SEE ALSO\n\\fBcairn\\fR(1)\n");
}
