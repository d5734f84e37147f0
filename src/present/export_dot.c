/* A graph of calls for graphviz, as gprof2dot makes one of the pstats export, letter by letter:
 * people know what its colours and numbers mean. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"
#include "exporters.h"
#include "prof_rows.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define NAME_MAX 4096 /* characters: graphviz reads no longer strings than 16 KiB */
#define TIMES_SIGN "\xc3\x97"
#define NO_NUMBER UINT32_MAX

struct call {                /* calls from one function to another */
    uint32_t caller, callee; /* numbers of nodes */
    const struct cairn_prof_numbers *numbers;
};

struct dot {
    const struct cairn_prof *prof;
    const struct cairn_export_options *options;
    struct cairn_outlet *out;
    struct cairn_buf text;
    double whole_self_s, whole_total_s;
    uint32_t *numbers;        /* of each key; those of nodes are given out as functions are met */
    CAIRN_VEC(uint32_t) keys; /* of each node */
    CAIRN_VEC(struct call) calls;
};

static double share(double part_s, double whole_s)
{
    double share = whole_s != 0 ? part_s / whole_s : 1;

    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static double channel(double low, double high, double hue)
{
    hue += hue < 0 ? 1 : hue > 1 ? -1 : 0;
    if (hue * 6 < 1)
        return low + (high - low) * hue * 6;
    if (hue * 2 < 1)
        return high;
    if (hue * 3 < 2)
        return low + (high - low) * (2.0 / 3.0 - hue) * 6;
    return low;
}

static unsigned byte_of(double value)
{
    return value <= 0 ? 0 : value >= 1 ? 255 : (unsigned)(255 * value + 0.5);
}

/* From dark blue to red: gprof2dot's "color" theme. */
static void put_colour(struct cairn_buf *out, double weight)
{
    double hue = 2.0 / 3.0 + weight * (0.0 - 2.0 / 3.0);
    double saturation = 0.80 + weight * (1.0 - 0.80), light = 0.25 + weight * (0.5 - 0.25);
    double high = light <= 0.5 ? light * (saturation + 1) : light + saturation - light * saturation;
    double low = light * 2 - high;

    hue -= floor(hue);
    cairn_buf_printf(out, "\"#%02x%02x%02x\"", byte_of(channel(low, high, hue + 1.0 / 3.0)),
                     byte_of(channel(low, high, hue)),
                     byte_of(channel(low, high, hue - 1.0 / 3.0)));
}

/* `text` within the quotes of DOT. */
static void put_quoted(struct cairn_buf *out, struct cairn_span text)
{
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.data[i] == '\\' || text.data[i] == '"')
            cairn_buf_u8(out, '\\');
        cairn_buf_u8(out, text.data[i]);
    }
}

/* "module:line:function": the file's name without folder and ending. */
static int put_label(struct dot *dot, uint32_t key)
{
    struct cairn_span file = cairn_prof_file(dot->prof, key), name;
    const uint8_t *slash = file.size_bytes ? memrchr(file.data, '/', file.size_bytes) : NULL;
    const uint8_t *start = slash ? slash + 1 : file.data, *end = file.data + file.size_bytes;
    const uint8_t *first = start, *point = NULL;
    size_t characters = 0, size_bytes = 0;

    while (first < end && *first == '.')
        first++; /* points in front begin no ending */
    if (first < end)
        point = memrchr(first, '.', (size_t)(end - first));
    cairn_buf_clear(&dot->text);
    cairn_escape_terminal(&dot->text,
                          (struct cairn_span){start, (size_t)((point ? point : end) - start)});
    cairn_buf_printf(&dot->text, ":%" PRId64 ":", dot->prof->keys.items[key].line);
    cairn_escape_terminal(&dot->text, cairn_prof_name(dot->prof, key));
    CAIRN_TRY(dot->text.code);
    name = cairn_buf_span(&dot->text);
    for (; size_bytes < name.size_bytes; size_bytes++) {
        characters += (name.data[size_bytes] & 0xc0) != 0x80;
        if (characters == NAME_MAX)
            break;
    }
    put_quoted(&dot->out->buf, (struct cairn_span){name.data, size_bytes});
    return size_bytes < name.size_bytes ? cairn_buf_add_str(&dot->out->buf, "…") : 0;
}

/* Without quotes where DOT needs none. */
static int put_tooltip(struct dot *dot, uint32_t key)
{
    struct cairn_span text;
    bool plain;

    cairn_buf_clear(&dot->text);
    cairn_escape_terminal(&dot->text, cairn_prof_file(dot->prof, key));
    CAIRN_TRY(dot->text.code);
    text = cairn_buf_span(&dot->text);
    plain = text.size_bytes > 0 && (text.size_bytes < 2 || memcmp(text.data, "0x", 2) != 0);
    for (size_t i = 0; i < text.size_bytes; i++)
        plain = plain && isalnum(text.data[i]);
    cairn_buf_add_str(&dot->out->buf, plain ? "" : "\"");
    put_quoted(&dot->out->buf, text);
    return cairn_buf_add_str(&dot->out->buf, plain ? "" : "\"");
}

static const struct cairn_prof_numbers *numbers_of(const struct dot *dot, uint32_t node)
{
    static const struct cairn_prof_numbers none;
    uint32_t row;

    return cairn_prof_find(dot->prof, dot->keys.items[node], &row)
               ? &dot->prof->rows.items[row].numbers
               : &none;
}

static double weight_of(const struct dot *dot, uint32_t node)
{
    return share(numbers_of(dot, node)->total_s, dot->whole_total_s);
}

static int put_node(struct dot *dot, uint32_t node)
{
    const struct cairn_prof_numbers *numbers = numbers_of(dot, node);
    double weight = weight_of(dot, node);
    struct cairn_buf *out = &dot->out->buf;

    cairn_buf_printf(out, "\t%" PRIu32 " [color=", node);
    put_colour(out, weight);
    cairn_buf_add_str(out, ", fontcolor=\"#ffffff\", fontsize=\"10.00\", label=\"");
    CAIRN_TRY(put_label(dot, dot->keys.items[node]));
    cairn_buf_printf(out, "\\n%.2f%%\\n(%.2f%%)\\n%" PRId64 TIMES_SIGN "\", tooltip=", weight * 100,
                     share(numbers->self_s, dot->whole_self_s) * 100, numbers->calls);
    CAIRN_TRY(put_tooltip(dot, dot->keys.items[node]));
    return cairn_buf_add_str(out, "];\n");
}

static void put_call(struct dot *dot, const struct call *call)
{
    double weight = share(call->numbers->total_s, dot->whole_total_s);
    double width = weight * 4 > 0.5 ? weight * 4 : 0.5;
    struct cairn_buf *out = &dot->out->buf;

    cairn_buf_printf(out, "\t%" PRIu32 " -> %" PRIu32 " [arrowsize=\"%.2f\", color=", call->caller,
                     call->callee, 0.5 * sqrt(width));
    put_colour(out, weight);
    cairn_buf_add_str(out, ", fontcolor=");
    put_colour(out, weight);
    cairn_buf_printf(out,
                     ", fontsize=\"10.00\", label=\"%.2f%%\\n%" PRId64 TIMES_SIGN
                     "\", labeldistance=\"%.2f\", penwidth=\"%.2f\"];\n",
                     weight * 100, call->numbers->primitive, width, width);
}

static int compare_calls(const void *a, const void *b)
{
    const struct call *left = a, *right = b;

    if (left->caller != right->caller)
        return left->caller < right->caller ? -1 : 1;
    return (left->callee > right->callee) - (left->callee < right->callee);
}

static int number_of(struct dot *dot, uint32_t key, uint32_t *ret_number)
{
    if (dot->numbers[key] == NO_NUMBER) {
        CAIRN_TRY(cairn_vec_reserve(&dot->keys, dot->keys.count + 1, dot->prof->keys.count));
        dot->numbers[key] = (uint32_t)dot->keys.count;
        dot->keys.items[dot->keys.count++] = key;
    }
    *ret_number = dot->numbers[key];
    return 0;
}

/* Numbers the functions, sums up, and gathers the calls by their callers. */
static int gather(struct dot *dot)
{
    const struct cairn_prof *prof = dot->prof;

    for (size_t i = 0; i < prof->rows.count; i++) {
        const struct cairn_prof_row *row = &prof->rows.items[i];
        struct call call;

        dot->whole_self_s += row->numbers.self_s;
        CAIRN_TRY(number_of(dot, row->key, &call.callee));
        for (uint32_t c = row->first; c != CAIRN_PROF_NONE; c = prof->callers.items[c].next) {
            CAIRN_TRY(number_of(dot, prof->callers.items[c].key, &call.caller));
            call.numbers = &prof->callers.items[c].numbers;
            CAIRN_TRY(cairn_vec_reserve(&dot->calls, dot->calls.count + 1, prof->callers.count));
            dot->calls.items[dot->calls.count++] = call;
        }
    }
    dot->whole_total_s = dot->whole_self_s;
    for (size_t i = 0; i < prof->rows.count; i++)
        dot->whole_total_s = fmax(dot->whole_total_s, prof->rows.items[i].numbers.total_s);
    if (dot->calls.count > 0)
        qsort(dot->calls.items, dot->calls.count, sizeof(*dot->calls.items), compare_calls);
    return 0;
}

static int put_graph(struct dot *dot)
{
    size_t at = 0;

    cairn_buf_add_str(&dot->out->buf,
                      "digraph {\n\ttooltip=\" \"\n"
                      "\tgraph [fontname=Arial, nodesep=0.125, ranksep=0.25];\n"
                      "\tnode [fontcolor=white, fontname=Arial, height=0, shape=box, "
                      "style=filled, width=0];\n"
                      "\tedge [fontname=Arial];\n");
    for (uint32_t node = 0; node < dot->keys.count; node++) {
        bool kept = weight_of(dot, node) >= dot->options->node_least;

        if (kept)
            CAIRN_TRY(put_node(dot, node));
        for (; at < dot->calls.count && dot->calls.items[at].caller == node; at++) {
            const struct call *call = &dot->calls.items[at];

            if (kept && weight_of(dot, call->callee) >= dot->options->node_least &&
                share(call->numbers->total_s, dot->whole_total_s) >= dot->options->edge_least)
                put_call(dot, call);
        }
        CAIRN_TRY(cairn_outlet_drain(dot->out));
    }
    return cairn_buf_add_str(&dot->out->buf, "}\n");
}

static int write_dot(struct dot *dot)
{
    dot->numbers = cairn_malloc((dot->prof->keys.count + 1) * sizeof(*dot->numbers));
    if (!dot->numbers)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < dot->prof->keys.count; i++)
        dot->numbers[i] = NO_NUMBER;
    CAIRN_TRY(gather(dot));
    return put_graph(dot);
}

int cairn_export_dot(const struct cairn_tally *tally, const struct cairn_export_options *options,
                     struct cairn_outlet *out)
{
    struct cairn_prof prof;
    struct dot dot = {.prof = &prof, .options = options, .out = out};
    int code = cairn_prof_init(&prof);

    cairn_buf_init(&dot.text, TEXT_MAX_BYTES);
    if (code == 0)
        code = cairn_prof_rows(tally, &prof);
    if (code == 0)
        code = write_dot(&dot);
    free(dot.numbers);
    cairn_vec_release(&dot.keys);
    cairn_vec_release(&dot.calls);
    cairn_buf_release(&dot.text);
    cairn_prof_release(&prof);
    return code;
}
