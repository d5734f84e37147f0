#include "program.h"

#include <stdbool.h>
#include <string.h>

static bool equals(struct cairn_span text, const char *str)
{
    return text.size_bytes == strlen(str) && memcmp(text.data, str, text.size_bytes) == 0;
}

static bool ends_with(struct cairn_span text, const char *tail)
{
    size_t size_bytes = strlen(tail);

    return text.size_bytes > size_bytes &&
           memcmp(text.data + text.size_bytes - size_bytes, tail, size_bytes) == 0;
}

static struct cairn_span last_part(struct cairn_span path)
{
    const uint8_t *slash = path.size_bytes ? memrchr(path.data, '/', path.size_bytes) : NULL;

    if (!slash || slash + 1 == path.data + path.size_bytes)
        return path;
    return (struct cairn_span){slash + 1, path.size_bytes - (size_t)(slash + 1 - path.data)};
}

static bool is_python(struct cairn_span word)
{
    struct cairn_span name = last_part(word);

    return name.size_bytes >= 6 && memcmp(name.data, "python", 6) == 0;
}

static bool is_script(struct cairn_span word)
{
    return ends_with(word, ".py") || ends_with(word, ".pyz");
}

static bool is_option(struct cairn_span word)
{
    return word.size_bytes && word.data[0] == '-';
}

/* Options of Python that take the next word. */
static bool takes_value(struct cairn_span word)
{
    return equals(word, "-W") || equals(word, "-X") || equals(word, "--check-hash-based-pycs");
}

/* A quote in a command line, and in a text in quotes. */
#define QUOTE "'"
#define INNER_QUOTE "'\\''"

static bool begins_with(struct cairn_span text, const char *head)
{
    size_t size_bytes = strlen(head);

    return text.size_bytes >= size_bytes && !memcmp(text.data, head, size_bytes);
}

static struct cairn_span behind(struct cairn_span text, size_t size_bytes)
{
    return (struct cairn_span){text.data + size_bytes, text.size_bytes - size_bytes};
}

/* Where the word that `text` begins with is over: at a blank that stands in no quotes. */
static size_t word_end(struct cairn_span text, const char *quote)
{
    bool quoted = false;
    size_t at = 0;

    for (; at < text.size_bytes && (quoted || text.data[at] != ' '); at++)
        if (begins_with(behind(text, at), quote)) {
            quoted = !quoted;
            at += strlen(quote) - 1;
        } else if (text.data[at] == '\\' && !quoted && at + 1 < text.size_bytes) {
            at++;
        }
    return at;
}

struct word {
    struct cairn_span text; /* without the quotes around it */
    bool quoted;
};

/* Takes the next word off the front of `rest`; false when there is none. A word that does not begin
 * with a quote ends at its first blank: titles and old recordings quote nothing. */
static bool next_word(struct cairn_span *rest, const char *quote, struct word *ret_word)
{
    struct cairn_span text;
    const uint8_t *blank;

    while (rest->size_bytes && rest->data[0] == ' ')
        *rest = behind(*rest, 1);
    if (!rest->size_bytes)
        return false;
    text = *rest;
    ret_word->quoted = begins_with(text, quote);
    blank = memchr(text.data, ' ', text.size_bytes);
    if (ret_word->quoted)
        text.size_bytes = word_end(text, quote);
    else if (blank)
        text.size_bytes = (size_t)(blank - text.data);
    *rest = behind(*rest, text.size_bytes);
    if (ret_word->quoted) {
        text = behind(text, strlen(quote));
        if (ends_with(text, quote) || equals(text, quote))
            text.size_bytes -= strlen(quote);
    }
    ret_word->text = text;
    return true;
}

/* How far a command line has come, word by word. */
enum reading {
    READING_COMMAND, /* nothing yet; an option here is Python's ("-m module") */
    READING_FOREIGN, /* behind a command that is not Python */
    READING_PYTHON,  /* behind a Python: its options, then its script */
    READING_VALUE,   /* of an option of Python */
    READING_MODULE,  /* behind its -m */
};

/* An option of Python, or what it runs: the program, once `word` tells; {NULL, 0} before. */
static struct cairn_span read_python_word(enum reading *reading, struct cairn_span word)
{
    if (equals(word, "-c"))
        return word;
    if (!is_option(word))
        return last_part(word);
    *reading = READING_PYTHON;
    if (equals(word, "-m"))
        *reading = READING_MODULE;
    else if (takes_value(word))
        *reading = READING_VALUE;
    return (struct cairn_span){NULL, 0};
}

static struct cairn_span read_word(enum reading *reading, struct cairn_span word)
{
    if (*reading == READING_MODULE)
        return word;
    if (*reading == READING_VALUE)
        *reading = READING_PYTHON;
    else if (*reading != READING_FOREIGN && is_script(word))
        return last_part(word);
    else if (is_python(word))
        *reading = READING_PYTHON;
    else if (*reading == READING_COMMAND && !is_option(word))
        *reading = READING_FOREIGN;
    else if (*reading != READING_FOREIGN)
        return read_python_word(reading, word);
    return (struct cairn_span){NULL, 0};
}

/* What a command that is not Python was given in one word: a shell's commands, say. */
static struct cairn_span read_text(enum reading *reading, struct cairn_span text)
{
    struct word word;

    while (next_word(&text, INNER_QUOTE, &word)) {
        struct cairn_span program = read_word(reading, word.text);

        if (program.size_bytes)
            return program;
    }
    return (struct cairn_span){NULL, 0};
}

struct cairn_span cairn_program_of(struct cairn_span command)
{
    struct cairn_span first = {NULL, 0}, program;
    enum reading reading = READING_COMMAND;
    struct word word;

    while (next_word(&command, QUOTE, &word)) {
        program = word.quoted && reading == READING_FOREIGN ? read_text(&reading, word.text)
                                                            : read_word(&reading, word.text);
        if (program.size_bytes)
            return program;
        if (!first.size_bytes && reading != READING_MODULE)
            first = last_part(word.text);
    }
    return first;
}

struct cairn_span cairn_program_code(struct cairn_span command)
{
    struct cairn_span program = cairn_program_of(command);
    size_t skip_bytes;

    if (!equals(program, "-c"))
        return (struct cairn_span){NULL, 0};
    skip_bytes = (size_t)(program.data + program.size_bytes - command.data);
    return (struct cairn_span){command.data + skip_bytes, command.size_bytes - skip_bytes};
}
