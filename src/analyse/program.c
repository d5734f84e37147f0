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

/* Options of Python that take the next word. */
static bool takes_value(struct cairn_span word)
{
    return equals(word, "-W") || equals(word, "-X") || equals(word, "--check-hash-based-pycs");
}

/* Takes the next word off the front of `rest`; false when there is none. */
static bool next_word(struct cairn_span *rest, struct cairn_span *ret_word)
{
    const uint8_t *blank;

    while (rest->size_bytes && rest->data[0] == ' ')
        rest->data++, rest->size_bytes--;
    if (!rest->size_bytes)
        return false;
    blank = memchr(rest->data, ' ', rest->size_bytes);
    *ret_word = *rest;
    if (blank)
        ret_word->size_bytes = (size_t)(blank - rest->data);
    rest->data += ret_word->size_bytes;
    rest->size_bytes -= ret_word->size_bytes;
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
    if (word.data[0] != '-')
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
    else if (*reading == READING_COMMAND && word.data[0] != '-')
        *reading = READING_FOREIGN;
    else if (*reading != READING_FOREIGN)
        return read_python_word(reading, word);
    return (struct cairn_span){NULL, 0};
}

struct cairn_span cairn_program_of(struct cairn_span command)
{
    struct cairn_span first = {NULL, 0}, word;
    enum reading reading = READING_COMMAND;

    while (next_word(&command, &word)) {
        struct cairn_span program = read_word(&reading, word);

        if (program.data)
            return program;
        if (!first.data && reading != READING_MODULE)
            first = last_part(word);
    }
    return first;
}

struct cairn_span cairn_program_code(struct cairn_span command)
{
    struct cairn_span program = cairn_program_of(command);
    size_t skip_bytes;

    if (!program.data || !equals(program, "-c"))
        return (struct cairn_span){NULL, 0};
    skip_bytes = (size_t)(program.data + program.size_bytes - command.data);
    return (struct cairn_span){command.data + skip_bytes, command.size_bytes - skip_bytes};
}
