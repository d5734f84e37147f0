#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dot_priv.h"
#include "escape.h"

#define NAME_CHARACTERS 4096 /* characters: graphviz reads no longer strings than 16 KiB */
#define LABEL_BYTES 64

/* Takes away what stands between two brackets with none in between, until none is left. */
static void strip_pairs(char *text, char open, char close)
{
    for (char *end; (end = strchr(text, close)) != NULL;) {
        char *start = end;

        while (start > text && *start != open)
            start--;
        if (*start !=
            open) { /* nothing opened it: it stays, and all before it has been looked at */
            text = end + 1;
            continue;
        }
        memmove(start, end + 1, strlen(end + 1) + 1);
    }
}

static void strip(struct cairn_buf *text)
{
    static const char word[] = "const";
    size_t length;
    char *name = (char *)(uintptr_t)cairn_buf_cstr(text), *end;

    if (text->code < 0)
        return;
    strip_pairs(name, '(', ')');
    length = strlen(name);
    end = length > sizeof(word) - 1 ? name + length - (sizeof(word) - 1) : name;
    if (end > name && strcmp(end, word) == 0 && isspace((unsigned char)end[-1])) {
        while (end > name && isspace((unsigned char)end[-1]))
            end--;
        *end = '\0';
    }
    strip_pairs(name, '<', '>');
    text->size_bytes = strlen(name);
}

/* `text` within the quotes of DOT. */
void cairn_dot_put_quoted(struct cairn_buf *out, struct cairn_span text)
{
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.data[i] == '\\' || text.data[i] == '"' || text.data[i] == '\n')
            cairn_buf_u8(out, '\\');
        cairn_buf_u8(out, text.data[i] == '\n' ? 'n' : text.data[i]);
    }
}

/* What was made last is cut where it is longer than that. */
static int cut_name(struct cairn_dot *dot)
{
    struct cairn_span name = cairn_buf_span(&dot->text);
    size_t characters = 0, size_bytes = 0;

    for (; size_bytes < name.size_bytes; size_bytes++) {
        characters += (name.data[size_bytes] & 0xc0) != 0x80;
        if (characters == NAME_CHARACTERS)
            break;
    }
    if (size_bytes < name.size_bytes) {
        dot->text.size_bytes = size_bytes;
        CAIRN_TRY(cairn_buf_add_str(&dot->text, "…"));
    }
    return 0;
}

int cairn_dot_put_name(struct cairn_dot *dot, uint32_t key, bool whole, struct cairn_buf *out)
{
    CAIRN_TRY(cairn_dot_name(dot, key));
    if (dot->options->strip && !whole)
        strip(&dot->text);
    if (!whole)
        CAIRN_TRY(cut_name(dot));
    if (dot->options->wrap) {
        cairn_buf_clear(&dot->wrapped);
        CAIRN_TRY(cairn_dot_wrap(&dot->wrapped, cairn_buf_span(&dot->text)));
    }
    cairn_dot_put_quoted(out, cairn_buf_span(dot->options->wrap ? &dot->wrapped : &dot->text));
    return out->code;
}

static void put_time(struct cairn_dot *dot, double seconds, struct cairn_buf *out)
{
    const char *format = dot->options->time_format;

    cairn_buf_clear(&dot->text);
    cairn_dot_time(&dot->text, format ? format : "%.7g", seconds);
    cairn_dot_put_quoted(out, cairn_buf_span(&dot->text));
}

void cairn_dot_put_measure(struct cairn_dot *dot, const struct cairn_prof_numbers *numbers,
                           enum cairn_dot_measure measure, struct cairn_buf *out)
{
    switch (measure) {
    case CAIRN_DOT_TOTAL_SHARE:
        cairn_buf_printf(out, "%.2f%%",
                         cairn_dot_share(numbers->total_s, dot->whole_total_s) * 100);
        break;
    case CAIRN_DOT_SELF_SHARE:
        cairn_buf_printf(out, "(%.2f%%)",
                         cairn_dot_share(numbers->self_s, dot->whole_self_s) * 100);
        break;
    case CAIRN_DOT_TOTAL_TIME:
        put_time(dot, numbers->total_s, out);
        break;
    default:
        cairn_buf_u8(out, '(');
        put_time(dot, numbers->self_s, out);
        cairn_buf_u8(out, ')');
        break;
    }
}

/* Without quotes where DOT needs none. */
int cairn_dot_put_tooltip(struct cairn_dot *dot, uint32_t key, struct cairn_buf *out)
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
    cairn_buf_add_str(out, plain ? "" : "\"");
    cairn_dot_put_quoted(out, text);
    return cairn_buf_add_str(out, plain ? "" : "\"");
}

size_t cairn_dot_labels(const struct cairn_dot_options *options,
                        const enum cairn_dot_measure **ret_labels)
{
    static const enum cairn_dot_measure usual[] = {CAIRN_DOT_TOTAL_SHARE, CAIRN_DOT_SELF_SHARE};

    *ret_labels = options->label_count > 0 ? options->labels : usual;
    return options->label_count > 0 ? options->label_count : 2;
}

static int put_node(struct cairn_dot *dot, uint32_t number, struct cairn_buf *out)
{
    const struct cairn_dot_options *options = dot->options;
    const struct cairn_dot_node *node = &dot->nodes.items[number];
    const struct cairn_prof_numbers *numbers = cairn_dot_numbers(dot, node);
    const enum cairn_dot_measure *labels;
    size_t label_count = cairn_dot_labels(options, &labels);

    cairn_buf_printf(out, "\t%" PRIu32 " [color=", number);
    cairn_dot_colour(out, dot->theme, node->weight, options->skew);
    cairn_buf_add_str(out, ", fontcolor=");
    cairn_dot_text_colour(out, dot->theme, node->weight, options->skew);
    cairn_buf_printf(out, ", fontsize=\"%.2f\", label=\"",
                     cairn_dot_font_size(dot->theme, node->weight));
    CAIRN_TRY(cairn_dot_put_name(dot, node->key, false, out));
    for (size_t i = 0; i < label_count; i++) {
        cairn_buf_add_str(out, "\\n");
        cairn_dot_put_measure(dot, numbers, labels[i], out);
    }
    if (!dot->prof->unknown)
        cairn_buf_printf(out, "\\n%" PRId64 CAIRN_DOT_TIMES, numbers->calls);
    cairn_buf_add_str(out, "\", tooltip=");
    CAIRN_TRY(cairn_dot_put_tooltip(dot, node->key, out));
    return cairn_buf_add_str(out, "];\n");
}

void cairn_dot_put_call(struct cairn_dot *dot, const struct cairn_dot_call *call, double weight,
                        struct cairn_span label, struct cairn_buf *out)
{
    double width = cairn_dot_line_width(dot->theme, weight);

    cairn_buf_printf(out, "\t%" PRIu32 " -> %" PRIu32 " [arrowsize=\"%.2f\", color=", call->caller,
                     call->callee, 0.5 * sqrt(width));
    cairn_dot_colour(out, dot->theme, weight, dot->options->skew);
    cairn_buf_add_str(out, ", fontcolor=");
    cairn_dot_colour(out, dot->theme, weight, dot->options->skew);
    cairn_buf_printf(out, ", fontsize=\"%.2f\", label=\"", cairn_dot_font_size(dot->theme, weight));
    cairn_buf_add(out, label.data, label.size_bytes);
    cairn_buf_printf(out, "\", labeldistance=\"%.2f\", penwidth=\"%.2f\"];\n", width, width);
}

static void put_call(struct cairn_dot *dot, const struct cairn_dot_call *call,
                     struct cairn_buf *out)
{
    double weight = cairn_dot_share(call->numbers->total_s, dot->whole_total_s);
    char label[LABEL_BYTES];
    int length = snprintf(label, sizeof(label), "%.2f%%", weight * 100);

    if (!dot->prof->unknown)
        length += snprintf(label + length, sizeof(label) - (size_t)length,
                           "\\n%" PRId64 CAIRN_DOT_TIMES, call->numbers->primitive);

    cairn_dot_put_call(dot, call, weight,
                       (struct cairn_span){(const uint8_t *)label, (size_t)length}, out);
}

void cairn_dot_put_head(const struct cairn_dot_theme *theme, const char *shape,
                        struct cairn_buf *out)
{
    cairn_buf_printf(out,
                     "digraph {\n\ttooltip=\" \"\n"
                     "\tgraph [fontname=Arial, nodesep=0.125, ranksep=0.25];\n"
                     "\tnode [fontcolor=%s, fontname=Arial, height=0, %sstyle=%s, "
                     "width=0];\n"
                     "\tedge [fontname=Arial];\n",
                     cairn_dot_font_colour(theme), shape, cairn_dot_box_style(theme));
}

static int put_graph(struct cairn_dot *dot, struct cairn_outlet *out)
{
    cairn_dot_put_head(dot->theme, "shape=box, ", &out->buf);
    for (uint32_t number = 0; number < dot->nodes.count; number++) {
        const struct cairn_dot_node *node = &dot->nodes.items[number];

        if (!node->kept)
            continue;
        CAIRN_TRY(put_node(dot, number, &out->buf));
        for (size_t i = node->first_call; i < node[1].first_call; i++)
            if (dot->calls.items[i].kept && dot->nodes.items[dot->calls.items[i].callee].kept)
                put_call(dot, &dot->calls.items[i], &out->buf);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    return cairn_buf_add_str(&out->buf, "}\n");
}

static int put_names(struct cairn_dot *dot, struct cairn_outlet *out)
{
    for (size_t i = 0; i < dot->nodes.count; i++) {
        if (!dot->nodes.items[i].kept)
            continue;
        CAIRN_TRY(cairn_dot_name(dot, dot->nodes.items[i].key));
        if (!cairn_dot_is_named(dot, dot->options->list))
            continue;
        cairn_buf_add(&out->buf, dot->text.data, dot->text.size_bytes);
        cairn_buf_u8(&out->buf, '\n');
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    return out->buf.code;
}

int cairn_dot_write(const struct cairn_prof *prof, const struct cairn_dot_options *options,
                    struct cairn_outlet *out, struct cairn_err *err)
{
    struct cairn_dot dot;
    int code;

    CAIRN_TRY(cairn_dot_make(prof, options, &dot, err));
    code = options->list ? put_names(&dot, out) : put_graph(&dot, out);
    cairn_dot_release(&dot);
    return code;
}
