#include "pprof_units.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX_BYTES 24
#define ALIASES 4

struct unit {
    const char *name;
    const char *aliases[ALIASES]; /* lower case, without an s at the end */
    double factor;
};

struct kind {
    const struct unit *units;
    size_t count;
    struct unit otherwise;
};

static const struct unit memory[] = {
    {"B", {"b", "byte"}, 1},
    {"kB", {"kb", "kbyte", "kilobyte"}, 1024.0},
    {"MB", {"mb", "mbyte", "megabyte"}, 1048576.0},
    {"GB", {"gb", "gbyte", "gigabyte"}, 1073741824.0},
    {"TB", {"tb", "tbyte", "terabyte"}, 1099511627776.0},
    {"PB", {"pb", "pbyte", "petabyte"}, 1125899906842624.0},
};

static const struct unit time_units[] = {
    {"ns", {"ns", "nanosecond"}, 1},    {"us", {"\xce\xbcs", "us", "microsecond"}, 1e3},
    {"ms", {"ms", "millisecond"}, 1e6}, {"s", {"s", "sec", "second"}, 1e9},
    {"hrs", {"hour", "hr"}, 3600e9},
};

static const struct kind kinds[] = {
    {memory, sizeof(memory) / sizeof(memory[0]), {"B", {NULL}, 1}},
    {time_units, sizeof(time_units) / sizeof(time_units[0]), {"s", {NULL}, 1e9}},
};

static const struct unit *find(const struct kind *kind, const char *word)
{
    char plain[WORD_MAX_BYTES];
    size_t size_bytes = strlen(word);

    if (size_bytes >= sizeof(plain))
        return NULL;
    for (size_t i = 0; i <= size_bytes; i++)
        plain[i] = (char)tolower((unsigned char)word[i]);
    if (size_bytes > 2 && plain[size_bytes - 1] == 's')
        plain[size_bytes - 1] = '\0';
    for (size_t i = 0; i < kind->count; i++)
        for (size_t k = 0; k < ALIASES && kind->units[i].aliases[k]; k++)
            if (strcmp(kind->units[i].aliases[k], plain) == 0)
                return &kind->units[i];
    return NULL;
}

static bool is_chosen_here(const char *unit)
{
    return strcmp(unit, "minimum") == 0 || strcmp(unit, "auto") == 0;
}

static const struct unit *choose(const struct kind *kind, double value, const char *to)
{
    const struct unit *chosen = NULL;

    if (!is_chosen_here(to))
        chosen = find(kind, to);
    else
        for (size_t i = 0; i < kind->count; i++)
            if (value / kind->units[i].factor >= 1)
                chosen = &kind->units[i];
    return chosen ? chosen : &kind->otherwise;
}

double cairn_pprof_scale(int64_t value, const char *from, const char *to, const char **ret_unit)
{
    static const char *const dull[] = {"count", "sample", "unit", "minimum", "auto"};

    if (value < 0 && value != INT64_MIN)
        return -cairn_pprof_scale(-value, from, to, ret_unit);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct unit *unit = find(&kinds[i], from);

        if (unit) {
            double base = (double)value * unit->factor;
            const struct unit *target = choose(&kinds[i], base, to);

            *ret_unit = target->name;
            return base / target->factor;
        }
    }
    *ret_unit = to;
    for (size_t i = 0; i < sizeof(dull) / sizeof(dull[0]); i++)
        if (strcmp(dull[i], to) == 0)
            *ret_unit = "";
    return (double)value;
}

void cairn_pprof_label(struct cairn_buf *out, int64_t value, const char *from, const char *to)
{
    const char *unit;
    double scaled = cairn_pprof_scale(value, from, to, &unit);
    char text[400];
    int size_bytes = snprintf(text, sizeof(text), "%.2f", scaled);

    if (size_bytes > 3 && strcmp(text + size_bytes - 3, ".00") == 0)
        text[size_bytes - 3] = '\0';
    if (strcmp(text, "0") == 0 || strcmp(text, "-0") == 0)
        cairn_buf_u8(out, '0');
    else
        cairn_buf_printf(out, "%s%s", text, unit);
}

void cairn_pprof_share(struct cairn_buf *out, int64_t value, int64_t total)
{
    double share = total == 0 ? 0 : fabs((double)value / (double)total) * 100;

    if (share >= 99.95 && share <= 100.05)
        cairn_buf_add_str(out, "  100%");
    else
        cairn_buf_printf(out, share >= 1 ? "%5.2f%%" : "%5.2g%%", share);
}
