#include "help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define INDENT 2
#define OPTION_COLUMNS 24 /* what an option itself takes before its line begins */

bool cairn_help_has_default(const struct cairn_option *option)
{
    return option->fallback != NULL && strcmp(option->fallback, "0") != 0;
}

static void add_spaces(struct cairn_buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cairn_buf_u8(out, ' ');
}

/* Appends text in lines that fit, each but the first with `indent` spaces before it; `column` is
 * where the first begins. A newline in the text begins a paragraph. */
static void add_wrapped(struct cairn_buf *out, const char *text, size_t indent, size_t column)
{
    while (*text != '\0') {
        size_t word_bytes = strcspn(text, " \n");

        if (column > indent && column + word_bytes > CAIRN_HELP_COLUMNS) {
            cairn_buf_u8(out, '\n');
            add_spaces(out, indent);
            column = indent;
        }
        cairn_buf_add(out, text, word_bytes);
        column += word_bytes;
        text += word_bytes;
        if (*text == ' ') {
            text++;
            if (column + 1 + strcspn(text, " \n") <= CAIRN_HELP_COLUMNS) {
                cairn_buf_u8(out, ' ');
                column++;
            } else {
                column = CAIRN_HELP_COLUMNS + 1;
            }
        } else if (*text == '\n') {
            cairn_buf_add_str(out, "\n\n");
            add_spaces(out, indent);
            column = indent;
            text++;
        }
    }
    cairn_buf_u8(out, '\n');
}

static void add_option(const struct cairn_option *option, bool whole, struct cairn_buf *out)
{
    char letter[5] = "    ", left[64], line[256];
    int used;

    if (option->letter != '\0')
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    used = snprintf(left, sizeof(left), "%s--%s", letter, option->name);
    if (option->value != NULL)
        snprintf(left + used, sizeof(left) - (size_t)used, "%s%s",
                 option->value[0] == '[' ? "" : " ", option->value);
    add_spaces(out, INDENT);
    cairn_buf_add_str(out, left);
    used = (int)strlen(left);
    if (used >= OPTION_COLUMNS) {
        cairn_buf_u8(out, '\n');
        used = 0;
        add_spaces(out, INDENT);
    }
    add_spaces(out, OPTION_COLUMNS - (size_t)used);
    if (cairn_help_has_default(option))
        snprintf(line, sizeof(line), "%s (%s)", option->brief, option->fallback);
    else
        snprintf(line, sizeof(line), "%s", option->brief);
    add_wrapped(out, line, INDENT + OPTION_COLUMNS, INDENT + OPTION_COLUMNS);
    if (whole) {
        add_spaces(out, INDENT + OPTION_COLUMNS);
        add_wrapped(out, option->detail, INDENT + OPTION_COLUMNS, INDENT + OPTION_COLUMNS);
    }
}

static void add_options(const struct cairn_command *command, bool whole, struct cairn_buf *out)
{
    for (unsigned group = 0; group < CAIRN_GROUP_COUNT; group++) {
        bool opened = false;

        for (size_t i = 0; i < cairn_option_count; i++) {
            const struct cairn_option *option = &cairn_options[i];

            if (option->group != group || (option->commands & command->bit) == 0)
                continue;
            if (!opened)
                cairn_buf_printf(out, "\n%s\n", cairn_option_group_name(group));
            opened = true;
            add_option(option, whole, out);
        }
    }
}

static void add_commands(bool shown, struct cairn_buf *out)
{
    for (size_t i = 0; i < cairn_command_count; i++)
        if (cairn_commands[i].shown == shown)
            cairn_buf_printf(out, "  cairn %-13s %s\n", cairn_commands[i].name,
                             cairn_commands[i].brief);
}

void cairn_help_overview(struct cairn_buf *out)
{
    cairn_buf_add_str(out, "Cairn tells where a Python program spends its time.\n\n");
    add_commands(true, out);
    cairn_buf_u8(out, '\n');
    add_commands(false, out);
    cairn_buf_add_str(out, "\n"
                           "`cairn script.py` and `cairn -m module` are short for `cairn run`.\n"
                           "`cairn help COMMAND` says more, with examples.\n");
}

void cairn_help_command(const struct cairn_command *command, bool whole, struct cairn_buf *out)
{
    char usage[256];
    int before = snprintf(usage, sizeof(usage), "Usage: cairn %s ", command->name);

    snprintf(usage + before, sizeof(usage) - (size_t)before, "%s", command->synopsis);
    add_wrapped(out, usage, (size_t)before, 0);
    cairn_buf_u8(out, '\n');
    if (whole)
        add_wrapped(out, command->detail, 0, 0);
    else
        cairn_buf_printf(out, "%c%s.\n", toupper(command->brief[0]), command->brief + 1);
    add_options(command, whole, out);
    if (whole) {
        cairn_buf_add_str(out, "\nExamples\n  ");
        for (const char *p = command->example; *p != '\0'; p++) {
            cairn_buf_u8(out, (uint8_t)*p);
            if (*p == '\n')
                add_spaces(out, INDENT);
        }
        cairn_buf_u8(out, '\n');
    }
}
