#include "pyregex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "buf.h"
#include "err.h"

#define PATTERN_MAX_BYTES ((size_t)1 << 20)

struct cairn_pyregex {
    pcre2_code *code;
    pcre2_match_data *match;
};

struct pattern { /* where we are in it; the last byte is followed by a NUL */
    const char *next, *start, *end;
    struct cairn_buf out;
    bool repeated; /* the last thing was a repetition */
    bool ascii;    /* (?a) */
    enum cairn_pyregex_signs signs;
};

static void put_character(struct pattern *pattern, unsigned long character)
{
    cairn_buf_printf(&pattern->out, "\\x{%lx}", character);
}

/* Exactly so many hexadecimal digits. */
static int put_hex(struct pattern *pattern, int digits)
{
    char text[9] = "";

    for (int i = 0; i < digits; i++) {
        if (!isxdigit((unsigned char)*pattern->next))
            return -CAIRN_EUSAGE;
        text[i] = *pattern->next++;
    }
    put_character(pattern, strtoul(text, NULL, 16));
    return 0;
}

static bool is_octal(char letter)
{
    return letter >= '0' && letter <= '7';
}

/* Behind a backslash: three octal digits, or up to three behind a 0, are a character; one or two
 * others a group. Within brackets there are no groups. */
static int put_number(struct pattern *pattern, bool in_set)
{
    const char *digits = pattern->next;
    unsigned long number = 0;
    int count = 0;

    if (digits[0] == '0' || (is_octal(digits[0]) && is_octal(digits[1]) && is_octal(digits[2])) ||
        in_set) {
        while (count < 3 && is_octal(digits[count]))
            number = number * 8 + (unsigned long)(digits[count++] - '0');
        if (count == 0 || number > 0377)
            return -CAIRN_EUSAGE;
        put_character(pattern, number);
    } else {
        while (count < 2 && isdigit((unsigned char)digits[count]))
            number = number * 10 + (unsigned long)(digits[count++] - '0');
        cairn_buf_printf(&pattern->out, "\\g{%lu}", number);
    }
    pattern->next += count;
    return 0;
}

/* What stands behind a backslash. */
static int put_escape(struct pattern *pattern, bool in_set)
{
    char letter = *pattern->next;

    if (letter == '\0')
        return -CAIRN_EUSAGE;
    if (isdigit((unsigned char)letter))
        return put_number(pattern, in_set);
    pattern->next++;
    if (!in_set && pattern->signs == CAIRN_PYREGEX_AND_GREP && (letter == '<' || letter == '>'))
        return cairn_buf_add_str(&pattern->out, letter == '<' ? "\\b(?=\\w)" : "\\b(?<=\\w)");
    if (letter == 'x' || letter == 'u' || letter == 'U')
        return put_hex(pattern, letter == 'x' ? 2 : letter == 'u' ? 4 : 8);
    if (letter == 'v')
        put_character(pattern, '\v'); /* PCRE2 takes it for any line end */
    else if ((letter == 'Z' || letter == 'z') && !in_set)
        cairn_buf_add_str(&pattern->out, "\\z"); /* PCRE2's \Z allows for a line end */
    else if (strchr(in_set ? "abdDfnrsStwW" : "AabBdDfnrsStwW", letter))
        cairn_buf_printf(&pattern->out, "\\%c", letter);
    else if (isalpha((unsigned char)letter))
        return -CAIRN_EUSAGE;
    else if ((unsigned char)letter >= 0x80)
        cairn_buf_u8(&pattern->out, (uint8_t)letter); /* the rest of it follows as it is */
    else
        cairn_buf_printf(&pattern->out, "\\%c", letter);
    return 0;
}

/* Whether [:alpha:] stands here, behind its bracket, which is put then. */
static bool put_class(struct pattern *pattern)
{
    size_t count;

    if (pattern->signs != CAIRN_PYREGEX_AND_GREP || *pattern->next != ':')
        return false;
    count = 1 + strspn(pattern->next + 1, "abcdefghijklmnopqrstuvwxyz");
    if (count == 1 || pattern->next[count] != ':' || pattern->next[count + 1] != ']')
        return false;
    cairn_buf_printf(&pattern->out, "[%.*s:]", (int)count, pattern->next);
    pattern->next += count + 2;
    return true;
}

/* [...], whose first ] is a member. PCRE2 would see a class of POSIX in [[: */
static int put_set(struct pattern *pattern)
{
    const char *first;

    cairn_buf_u8(&pattern->out, '[');
    if (*pattern->next == '^')
        cairn_buf_u8(&pattern->out, (uint8_t)*pattern->next++);
    first = pattern->next;
    while (*pattern->next != ']' || pattern->next == first) {
        char letter = *pattern->next;

        if (letter == '\0')
            return -CAIRN_EUSAGE;
        pattern->next++;
        if (letter == '\\')
            CAIRN_TRY(put_escape(pattern, true));
        else if (letter == '[' && put_class(pattern))
            continue;
        else if (letter == '[' || letter == ']')
            cairn_buf_printf(&pattern->out, "\\%c", letter);
        else
            cairn_buf_u8(&pattern->out, (uint8_t)letter);
    }
    pattern->next++;
    return cairn_buf_u8(&pattern->out, ']');
}

/* (?ims) for all of it, which Python wants at its start, or (?i-s:...) */
static int put_flags(struct pattern *pattern, bool at_start)
{
    const char *letters = pattern->next;
    size_t count = strspn(letters, "aimsux-");
    char behind = letters[count];

    if (count == 0 || (behind != ')' && behind != ':') || (behind == ')' && !at_start))
        return -CAIRN_EUSAGE;
    cairn_buf_add_str(&pattern->out, "(?");
    for (size_t i = 0; i < count; i++) {
        if (letters[i] == 'a')
            pattern->ascii = true;
        else if (letters[i] != 'u') /* which is how all of them are */
            cairn_buf_u8(&pattern->out, (uint8_t)letters[i]);
    }
    pattern->next += count + 1;
    return cairn_buf_u8(&pattern->out, (uint8_t)behind);
}

/* What opens a group. PCRE2 knows more kinds. */
static int put_group(struct pattern *pattern)
{
    static const char *const kinds[] = {
        "?:", "?P<", "?P=", "?#", "?=", "?!", "?<=", "?<!", "?(", "?>"};
    bool at_start = pattern->next - 1 == pattern->start;

    if (*pattern->next == '*')
        return -CAIRN_EUSAGE;
    if (*pattern->next != '?')
        return cairn_buf_u8(&pattern->out, '(');
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t size_bytes = strlen(kinds[i]);

        if (strncmp(pattern->next, kinds[i], size_bytes) != 0)
            continue;
        pattern->next += size_bytes;
        return cairn_buf_printf(&pattern->out, "(%s", kinds[i]);
    }
    pattern->next++;
    return put_flags(pattern, at_start);
}

/* {3}, {3,}, {,3}, {3,4}: a repetition; any other { is itself. True: it was one. */
static bool put_braces(struct pattern *pattern)
{
    const char *at = pattern->next, *low = at, *comma;

    at += strspn(at, "0123456789");
    comma = at;
    if (*at == ',')
        at += 1 + strspn(at + 1, "0123456789");
    if (*at != '}' || at == low) {
        cairn_buf_add_str(&pattern->out, "\\{");
        return false;
    }
    cairn_buf_printf(&pattern->out, "{%s%.*s", low == comma ? "0" : "", (int)(at + 1 - low), low);
    pattern->next = at + 1;
    return true;
}

/* A sign of repetition, with what makes it lazy or possessive. -CAIRN_EUSAGE: a second one. */
static int put_repetition(struct pattern *pattern, char letter)
{
    bool repeats = true;

    if (letter == '{')
        repeats = put_braces(pattern);
    else
        cairn_buf_u8(&pattern->out, (uint8_t)letter);
    if (repeats && pattern->repeated)
        return -CAIRN_EUSAGE;
    if (repeats && (*pattern->next == '?' || *pattern->next == '+'))
        cairn_buf_u8(&pattern->out, (uint8_t)*pattern->next++);
    pattern->repeated = repeats;
    return 0;
}

static int translate(struct pattern *pattern)
{
    while (pattern->next < pattern->end) {
        char letter = *pattern->next++;

        if (letter != '\0' && strchr("*+?{", letter)) {
            CAIRN_TRY(put_repetition(pattern, letter));
            continue;
        }
        pattern->repeated = false;
        if (letter == '\\')
            CAIRN_TRY(put_escape(pattern, false));
        else if (letter == '[')
            CAIRN_TRY(put_set(pattern));
        else if (letter == '(')
            CAIRN_TRY(put_group(pattern));
        else
            cairn_buf_u8(&pattern->out, (uint8_t)letter);
    }
    return pattern->out.code;
}

static int compile(const struct pattern *pattern, struct cairn_pyregex *regex)
{
    uint32_t flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | (pattern->ascii ? 0 : PCRE2_UCP);
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    int number = 0;
    size_t offset;

    if (context == NULL)
        return -CAIRN_ENOMEM;
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    regex->code = pcre2_compile(pattern->out.data ? pattern->out.data : (PCRE2_SPTR) "",
                                pattern->out.size_bytes, flags, &number, &offset, context);
    pcre2_compile_context_free(context);
    if (regex->code == NULL)
        return number == PCRE2_ERROR_HEAP_FAILED ? -CAIRN_ENOMEM : -CAIRN_EUSAGE;
    regex->match = pcre2_match_data_create(1, NULL);
    return regex->match ? 0 : -CAIRN_ENOMEM;
}

int cairn_pyregex_make(struct cairn_span text, enum cairn_pyregex_signs signs,
                       struct cairn_pyregex **ret_regex)
{
    struct cairn_pyregex *regex = cairn_calloc(1, sizeof(*regex));
    struct pattern pattern;
    struct cairn_buf copy; /* with a NUL behind it */
    int code;

    cairn_buf_init(&copy, PATTERN_MAX_BYTES);
    cairn_buf_init(&pattern.out, PATTERN_MAX_BYTES);
    cairn_buf_add(&copy, text.data, text.size_bytes);
    pattern.start = pattern.next = cairn_buf_cstr(&copy);
    pattern.end = pattern.start + copy.size_bytes;
    pattern.repeated = pattern.ascii = false;
    pattern.signs = signs;
    code = regex ? copy.code : -CAIRN_ENOMEM;
    if (code == 0)
        code = translate(&pattern);
    if (code == 0)
        code = compile(&pattern, regex);
    cairn_buf_release(&copy);
    cairn_buf_release(&pattern.out);
    if (code < 0) {
        cairn_pyregex_free(regex);
        return code;
    }
    *ret_regex = regex;
    return 0;
}

void cairn_pyregex_free(struct cairn_pyregex *regex)
{
    if (regex == NULL)
        return;
    pcre2_match_data_free(regex->match);
    pcre2_code_free(regex->code);
    free(regex);
}

int cairn_pyregex_search(const struct cairn_pyregex *regex, struct cairn_span text, bool *ret_found)
{
    int code = pcre2_match(regex->code, text.data, text.size_bytes, 0, 0, regex->match, NULL);

    *ret_found = code >= 0;
    if (code >= 0 || code == PCRE2_ERROR_NOMATCH)
        return 0;
    return code == PCRE2_ERROR_NOMEMORY ? -CAIRN_ENOMEM : -CAIRN_ELIMIT;
}
