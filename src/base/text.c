#include "text.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

#include "err.h"

#define NS_PER_S 1000000000u
#define MICROHZ_PER_HZ 1000000u
#define DISTANCE_MAX_BYTES 64

struct unit {
    const char *name;
    uint64_t scale;
};

/* The first of each is what a number without a unit means. */
static const struct unit time_units[] = {
    {"s", NS_PER_S},
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"m", (uint64_t)60 * NS_PER_S},
    {"h", (uint64_t)3600 * NS_PER_S},
    {NULL, 0},
};
static const struct unit size_units[] = {
    {"b", 1},
    {"k", (uint64_t)1 << 10},
    {"kb", (uint64_t)1 << 10},
    {"kib", (uint64_t)1 << 10},
    {"m", (uint64_t)1 << 20},
    {"mb", (uint64_t)1 << 20},
    {"mib", (uint64_t)1 << 20},
    {"g", (uint64_t)1 << 30},
    {"gb", (uint64_t)1 << 30},
    {"gib", (uint64_t)1 << 30},
    {"t", (uint64_t)1 << 40},
    {"tb", (uint64_t)1 << 40},
    {"tib", (uint64_t)1 << 40},
    {NULL, 0},
};
static const struct unit rate_units[] = {
    {"hz", MICROHZ_PER_HZ},
    {"khz", (uint64_t)1000 * MICROHZ_PER_HZ},
    {"mhz", (uint64_t)1000000 * MICROHZ_PER_HZ},
    {NULL, 0},
};

static int digit_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : -1;
}

/* Appends a digit; false when it does not fit. */
static bool push_digit(uint64_t *value, unsigned base, unsigned digit)
{
    return !__builtin_mul_overflow(*value, base, value) &&
           !__builtin_add_overflow(*value, digit, value);
}

/* "1.5k" in whole units of scale 1, cut off below that. Integers only: the answer is exact and
 * does not depend on the locale. */
static int parse_scaled(const char *text, const struct unit *units, uint64_t *ret_value)
{
    uint64_t whole = 0, part = 0, part_scale = 1;
    const struct unit *unit;
    unsigned __int128 value;
    unsigned digits = 0;

    for (; digit_value(*text) >= 0; text++, digits++)
        if (!push_digit(&whole, 10, (unsigned)digit_value(*text)))
            return -CAIRN_EUSAGE;
    if (*text == '.')
        for (text++; digit_value(*text) >= 0; text++, digits++)
            /* Eighteen decimals are below every unit; the rest is read and cut off. */
            if (part_scale < 1000000000000000000u) {
                part = part * 10 + (unsigned)digit_value(*text);
                part_scale *= 10;
            }
    if (digits == 0)
        return -CAIRN_EUSAGE;

    for (unit = units; *text != '\0' && strcasecmp(text, unit->name) != 0;)
        if ((++unit)->name == NULL)
            return -CAIRN_EUSAGE;
    value =
        (unsigned __int128)whole * unit->scale + (unsigned __int128)part * unit->scale / part_scale;
    if (value > UINT64_MAX)
        return -CAIRN_EUSAGE;
    *ret_value = (uint64_t)value;
    return 0;
}

int cairn_text_parse_time(const char *text, uint64_t *ret_ns)
{
    return parse_scaled(text, time_units, ret_ns);
}

int cairn_text_parse_size(const char *text, uint64_t *ret_bytes)
{
    return parse_scaled(text, size_units, ret_bytes);
}

int cairn_text_parse_rate(const char *text, uint64_t *ret_interval_ns)
{
    const uint64_t second = (uint64_t)NS_PER_S * MICROHZ_PER_HZ;
    uint64_t microhz, interval_ns;

    if (strcasecmp(text, "max") == 0) {
        *ret_interval_ns = 0;
        return 0;
    }
    CAIRN_TRY(parse_scaled(text, rate_units, &microhz));
    if (microhz == 0)
        return -CAIRN_EUSAGE;
    interval_ns = second / microhz + (second % microhz >= microhz - microhz / 2);
    if (interval_ns == 0)
        return -CAIRN_EUSAGE; /* 0 is "max", which nobody said */
    *ret_interval_ns = interval_ns;
    return 0;
}

int cairn_hex_value(char c)
{
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return digit_value(c);
}

int cairn_text_parse_u64(const char *text, uint64_t *ret_value)
{
    bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    uint64_t value = 0;

    if (is_hex)
        text += 2;
    if (*text == '\0')
        return -CAIRN_EUSAGE;
    for (; *text != '\0'; text++) {
        int digit = is_hex ? cairn_hex_value(*text) : digit_value(*text);

        if (digit < 0 || !push_digit(&value, is_hex ? 16 : 10, (unsigned)digit))
            return -CAIRN_EUSAGE;
    }
    *ret_value = value;
    return 0;
}

/* Rounds value / unit to three significant digits. Thousandths, so that all is integers. */
static uint64_t three_digits_milli(uint64_t value, uint64_t unit)
{
    unsigned __int128 milli = (unsigned __int128)value * 1000;
    uint64_t step = 1000; /* from 100 units on, whole ones */

    if (value / unit < 1)
        step = 1;
    else if (value / unit < 10)
        step = 10;
    else if (value / unit < 100)
        step = 100;
    return (uint64_t)((milli + (unsigned __int128)unit * step / 2) / unit / step) * step;
}

struct shown_unit {
    const char *name;
    uint64_t scale;
    uint64_t limit; /* from here on the next unit reads better; 0: there is none */
};

static void print_in_unit(struct cairn_buf *out, uint64_t value, const struct shown_unit *unit)
{
    uint64_t milli;
    int decimals = 3;

    for (;; unit++) {
        if (unit->limit > 0 && value / unit->scale >= unit->limit)
            continue;
        milli = three_digits_milli(value, unit->scale);
        if (unit->limit == 0 || milli < unit->limit * 1000) /* rounding may reach the limit too */
            break;
    }
    cairn_buf_printf(out, "%llu", (unsigned long long)(milli / 1000));
    milli %= 1000;
    for (; milli > 0 && milli % 10 == 0; milli /= 10)
        decimals--;
    if (milli > 0)
        cairn_buf_printf(out, ".%0*llu", decimals, (unsigned long long)milli);
    if (unit->name[0] != '\0')
        cairn_buf_printf(out, " %s", unit->name);
}

void cairn_text_time(struct cairn_buf *out, uint64_t ns)
{
    static const struct shown_unit units[] = {
        {"ns", 1, 1000},
        {"us", 1000, 1000},
        {"ms", 1000000, 1000},
        {"s", NS_PER_S, 120},
        {"min", (uint64_t)60 * NS_PER_S, 120},
        {"h", (uint64_t)3600 * NS_PER_S, 0},
    };

    if (ns == 0)
        cairn_buf_add_str(out, "0 s");
    else
        print_in_unit(out, ns, units);
}

void cairn_text_amount(struct cairn_buf *out, uint64_t ns, uint64_t each_ns)
{
    const struct shown_unit units[] = {
        {"", each_ns, 1000},
        {"k", each_ns * 1000, 1000},
        {"M", each_ns * 1000000, 1000},
        {"G", each_ns * 1000000000, 1000},
        {"T", each_ns * 1000000000000, 0},
    };

    if (each_ns == 0)
        cairn_text_time(out, ns);
    else
        print_in_unit(out, ns, units);
}

void cairn_text_size(struct cairn_buf *out, uint64_t bytes)
{
    static const struct shown_unit units[] = {
        {"B", 1, 1000},
        {"KiB", (uint64_t)1 << 10, 1000},
        {"MiB", (uint64_t)1 << 20, 1000},
        {"GiB", (uint64_t)1 << 30, 1000},
        {"TiB", (uint64_t)1 << 40, 1000},
        {"PiB", (uint64_t)1 << 50, 1000},
        {"EiB", (uint64_t)1 << 60, 0},
    };

    print_in_unit(out, bytes, units);
}

void cairn_text_count(struct cairn_buf *out, uint64_t count)
{
    uint64_t group = 1;

    while (count / group >= 1000)
        group *= 1000;
    cairn_buf_printf(out, "%llu", (unsigned long long)(count / group));
    for (; group > 1; group /= 1000)
        cairn_buf_printf(out, ",%03llu", (unsigned long long)(count % group / (group / 1000)));
}

unsigned cairn_text_distance(const char *a, const char *b)
{
    size_t a_bytes = strnlen(a, DISTANCE_MAX_BYTES + 1),
           b_bytes = strnlen(b, DISTANCE_MAX_BYTES + 1);
    unsigned row[DISTANCE_MAX_BYTES + 1]; /* row[j]: from the part of `a` read so far to b[0..j) */

    if (a_bytes > DISTANCE_MAX_BYTES || b_bytes > DISTANCE_MAX_BYTES)
        return UINT_MAX;
    for (size_t j = 0; j <= b_bytes; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= a_bytes; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_bytes; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b_bytes];
}

void cairn_text_shell_word(struct cairn_buf *out, struct cairn_span word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%+=:,./_-";
    bool is_plain = word.size_bytes > 0;

    for (size_t i = 0; i < word.size_bytes && is_plain; i++)
        is_plain = memchr(plain, word.data[i], sizeof(plain) - 1) != NULL;
    if (is_plain) {
        cairn_buf_add(out, word.data, word.size_bytes);
        return;
    }
    cairn_buf_u8(out, '\'');
    for (size_t i = 0; i < word.size_bytes; i++)
        if (word.data[i] == '\'')
            cairn_buf_add_str(out, "'\\''");
        else
            cairn_buf_u8(out, word.data[i]);
    cairn_buf_u8(out, '\'');
}

bool cairn_text_line(struct cairn_span *rest, struct cairn_span *ret_line)
{
    const uint8_t *end;

    if (rest->size_bytes == 0)
        return false;
    end = memchr(rest->data, '\n', rest->size_bytes);
    *ret_line = *rest;
    if (end == NULL) {
        *rest = (struct cairn_span){NULL, 0};
        return true;
    }
    ret_line->size_bytes = (size_t)(end - rest->data);
    rest->data += ret_line->size_bytes + 1;
    rest->size_bytes -= ret_line->size_bytes + 1;
    return true;
}
