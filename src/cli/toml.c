#include "toml.h"

#include <string.h>

void cairn_toml_init(struct cairn_toml *toml, char *text, const char *table)
{
    *toml = (struct cairn_toml){.next = text, .table = table};
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        toml->next += 3;
}

static char *skip_blanks(char *text)
{
    return text + strspn(text, " \t\r");
}

/* Whether the line "[ a . b ]" opens the table. */
static bool opens_table(const char *line, const char *table)
{
    for (line++; *line != ']'; line++) {
        if (*line == ' ' || *line == '\t')
            continue;
        if (*line == '\0' || *line != *table++)
            return false;
    }
    return *table == '\0';
}

/* Cuts the next line off; NULL behind the last. */
static char *take_line(struct cairn_toml *toml)
{
    char *line = toml->next, *end;

    if (*line == '\0')
        return NULL;
    end = strchrnul(line, '\n');
    toml->next = *end == '\n' ? end + 1 : end;
    *end = '\0';
    toml->line++;
    return line;
}

/* Goes on behind a string of several lines that opens in this line and does not close in it: what
 * looks like a table in it is none. */
static void skip_long_string(struct cairn_toml *toml, char *line)
{
    static const char *const marks[] = {"\"\"\"", "'''"};
    const char *open = NULL;

    do {
        for (char *p = line; *p != '\0';) {
            if (open == NULL && *p == '#')
                break;
            if (open == NULL && strncmp(p, marks[0], 3) == 0)
                open = marks[0];
            else if (open == NULL && strncmp(p, marks[1], 3) == 0)
                open = marks[1];
            else if (open != NULL && strncmp(p, open, 3) == 0)
                open = NULL;
            else {
                p += *p == '\\' && open != marks[1] && p[1] != '\0' ? 2 : 1;
                continue;
            }
            p += 3;
        }
    } while (open != NULL && (line = take_line(toml)) != NULL);
}

/* Resolves a string in its own place; returns what stands behind it, NULL when it is not whole. */
static char *unquote(char *text)
{
    char quote = *text, *to = text;

    for (char *from = text + 1; *from != '\0'; from++) {
        if (*from == quote) {
            *to = '\0';
            return from + 1;
        }
        if (*from == '\\' && quote == '"') {
            const char *known = "\"\"\\\\n\nt\t";
            size_t i = 0;

            from++;
            while (i < 8 && known[i] != *from)
                i += 2;
            if (i >= 8)
                return NULL;
            *to++ = known[i + 1];
        } else {
            *to++ = *from;
        }
    }
    return NULL;
}

static int read_value(char *text, const char **ret_value)
{
    char *end;

    *ret_value = text;
    if (strncmp(text, "\"\"\"", 3) == 0 || strncmp(text, "'''", 3) == 0)
        end = NULL;
    else if (*text == '"' || *text == '\'')
        end = unquote(text);
    else
        end = text + strcspn(text, " \t\r#[{");
    if (end == NULL || end == text) {
        *ret_value = "a value is a string on one line, a number, true or false";
        return -CAIRN_EUSAGE;
    }
    text = skip_blanks(end);
    if (*text != '\0' && *text != '#') {
        *ret_value = "something stands behind the value";
        return -CAIRN_EUSAGE;
    }
    *end = '\0';
    return 0;
}

static int read_pair(char *line, const char **ret_key, const char **ret_value)
{
    char *end = line + strcspn(line, " \t=#");
    char *equals = skip_blanks(end);

    *ret_key = line;
    if (end == line || *equals != '=') {
        *ret_value = "a line is `key = value`";
        return -CAIRN_EUSAGE;
    }
    *end = '\0';
    return read_value(skip_blanks(equals + 1), ret_value);
}

int cairn_toml_next(struct cairn_toml *toml, const char **ret_key, const char **ret_value)
{
    char *line;

    while ((line = take_line(toml)) != NULL) {
        line = skip_blanks(line);
        if (*line == '[')
            toml->inside = opens_table(line, toml->table);
        else if (!toml->inside)
            skip_long_string(toml, line);
        else if (*line != '\0' && *line != '#')
            return read_pair(line, ret_key, ret_value);
    }
    return -CAIRN_EEND;
}
