/* A graph of calls for graphviz in google/pprof's look (pprof_text.h): the size of a node's text is
 * its own time, its colour what it is with all that it calls. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"
#include "pprof_text.h"
#include "pprof_units.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define FONT_LEAST 8
#define FONT_GROWTH 16.0

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* A text inside of quotes; `broken`: a line for each part of a name. */
static void add_text(struct cairn_buf *out, struct cairn_span text, bool broken)
{
    struct cairn_buf plain;

    cairn_buf_init(&plain, TEXT_MAX_BYTES);
    cairn_escape_terminal(&plain, text);
    for (size_t i = 0; i < plain.size_bytes; i++) {
        uint8_t byte = plain.data[i];

        if (broken && byte == '.') {
            cairn_buf_add_str(out, "\\n");
        } else if (broken && byte == ':' && i + 1 < plain.size_bytes && plain.data[i + 1] == ':') {
            cairn_buf_add_str(out, "\\n");
            i++;
        } else {
            if (byte == '"' || byte == '\\')
                cairn_buf_u8(out, '\\');
            cairn_buf_u8(out, byte);
        }
    }
    cairn_buf_release(&plain);
}

/* From green, what has become less, over grey to red. */
static void add_colour(struct cairn_buf *out, double score, bool background)
{
    double saturation = background ? 0.1 : 1.0, value = background ? 0.93 : 0.7, red, green, blue;

    score = fmax(-1, fmin(1, score));
    if (fabs(score) < 0.2)
        saturation *= fabs(score) / 0.2;
    if (score > 0)
        score = pow(score, 0.3);
    else if (score < 0)
        score = -pow(-score, 0.3);
    red = score < 0 ? value * (1 + saturation * score) : value;
    green = score < 0 ? value : value * (1 - saturation * score);
    blue = value * (1 - saturation);
    cairn_buf_printf(out, "#%02x%02x%02x", (unsigned)(red * 255), (unsigned)(green * 255),
                     (unsigned)(blue * 255));
}

static double score_of(const struct cairn_pprof_report *report, int64_t value)
{
    int64_t total = magnitude(report->pprof->total);

    return total == 0 ? 0 : (double)value / (double)total;
}

static void add_share(struct cairn_pprof_report *report, int64_t value, struct cairn_buf *out)
{
    struct cairn_buf text;
    const char *start;

    cairn_pprof_value(report, out, value, 0);
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_pprof_share(&text, value, report->pprof->total);
    start = cairn_buf_cstr(&text);
    cairn_buf_printf(out, " (%s)", start + strspn(start, " "));
    cairn_buf_release(&text);
}

static void add_name(struct cairn_pprof_report *report, const struct cairn_pprof_node *node,
                     struct cairn_buf *out)
{
    struct cairn_span name = cairn_intern_get(&report->pprof->texts, node->name);
    struct cairn_span file = cairn_intern_get(&report->pprof->texts, node->file);

    for (size_t i = file.size_bytes; i-- > 0;)
        if (file.data[i] == '/') {
            file = (struct cairn_span){file.data + i + 1, file.size_bytes - i - 1};
            break;
        }
    add_text(out, name, true);
    if (name.size_bytes > 0)
        cairn_buf_add_str(out, "\\n");
    add_text(out, file, false);
    if (node->line != 0)
        cairn_buf_printf(out, ":%u", node->line);
    if (file.size_bytes > 0 || node->line != 0)
        cairn_buf_add_str(out, "\\n");
}

static void add_node(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                     uint32_t index, size_t number, int64_t most)
{
    const struct cairn_pprof_node *node = &graph->nodes.items[index];
    int64_t flat = cairn_pprof_node_flat(graph, index), cum = cairn_pprof_node_cum(graph, index);
    struct cairn_buf *out = &report->out->buf;
    int size = FONT_LEAST;

    cairn_buf_printf(out, "N%zu [label=\"", number);
    add_name(report, node, out);
    if (flat != 0)
        add_share(report, flat, out);
    else
        cairn_buf_u8(out, '0');
    if (cum != flat) {
        cairn_buf_add_str(out, flat != 0 ? "\\nof " : " of ");
        add_share(report, cum, out);
    }
    if (most != 0 && flat != 0)
        size += (int)ceil(FONT_GROWTH * sqrt((double)magnitude(flat) / (double)most));
    cairn_buf_printf(out, "\" id=\"node%zu\" fontsize=%d shape=box tooltip=\"", number, size);
    add_text(out, cairn_intern_get(&report->pprof->texts, node->label), false);
    cairn_buf_add_str(out, " (");
    cairn_pprof_value(report, out, cum, 0);
    cairn_buf_add_str(out, ")\" color=\"");
    add_colour(out, score_of(report, cum), false);
    cairn_buf_add_str(out, "\" fillcolor=\"");
    add_colour(out, score_of(report, cum), true);
    cairn_buf_add_str(out, "\"]\n");
}

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

static void add_tip(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                    const struct cairn_pprof_edge *edge, const char *key)
{
    struct cairn_buf *out = &report->out->buf;

    cairn_buf_printf(out, " %s=\"", key);
    add_text(out, cairn_intern_get(graph->texts, graph->nodes.items[edge->from].label), false);
    cairn_buf_add_str(out, edge->residual ? " ... " : " -> ");
    add_text(out, cairn_intern_get(graph->texts, graph->nodes.items[edge->to].label), false);
    cairn_buf_add_str(out, " (");
    cairn_pprof_value(report, out, edge->weight, 0);
    cairn_buf_add_str(out, ")\"");
}

static void add_edge(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                     const struct cairn_pprof_edge *edge, const uint32_t *numbers)
{
    struct cairn_buf *out = &report->out->buf;
    int64_t total = report->pprof->total;

    cairn_buf_printf(out, "N%u -> N%u [label=\" ", numbers[edge->from], numbers[edge->to]);
    cairn_pprof_value(report, out, edge->weight, 0);
    cairn_buf_u8(out, '"');
    if (total != 0) {
        double share = (double)edge->weight / (double)total;
        int64_t weight = 1 + at_most((int64_t)fabs(share * 100), 100);
        int64_t width = 1 + at_most((int64_t)fabs(share * 5), 5);

        if (weight > 1)
            cairn_buf_printf(out, " weight=%d", (int)weight);
        if (width > 1)
            cairn_buf_printf(out, " penwidth=%d", (int)width);
        cairn_buf_add_str(out, " color=\"");
        add_colour(out, score_of(report, edge->weight), false);
        cairn_buf_u8(out, '"');
    }
    add_tip(report, graph, edge, "tooltip");
    add_tip(report, graph, edge, "labeltooltip");
    cairn_buf_add_str(out, edge->residual ? " style=\"dotted\"]\n" : "]\n");
}

static void add_legend(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph)
{
    struct cairn_buf *out = &report->out->buf, lines;
    struct cairn_span left;

    cairn_buf_init(&lines, TEXT_MAX_BYTES);
    cairn_pprof_heading(report, graph, true, &lines);
    left = cairn_buf_span(&lines);
    for (size_t number = 0; left.size_bytes > 0; number++) {
        const uint8_t *end = memchr(left.data, '\n', left.size_bytes);
        size_t size_bytes = end ? (size_t)(end - left.data) : left.size_bytes;
        struct cairn_span line = {left.data, size_bytes};

        if (number == 0) {
            cairn_buf_add_str(out, "subgraph cluster_L { \"");
            add_text(out, line, false);
            cairn_buf_add_str(out, "\" [shape=box fontsize=16 label=\"");
        }
        add_text(out, line, false);
        cairn_buf_add_str(out, "\\l");
        size_bytes += end != NULL;
        left = (struct cairn_span){left.data + size_bytes, left.size_bytes - size_bytes};
    }
    cairn_buf_add_str(out, "\"] }\n");
    cairn_buf_release(&lines);
}

static int add_all(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                   uint32_t *numbers)
{
    struct cairn_pprof_edge_list list = {NULL, 0, 0};
    int64_t most = 0;
    int code;

    cairn_buf_add_str(&report->out->buf,
                      "digraph \"unnamed\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n");
    add_legend(report, graph);
    for (size_t i = 0; i < graph->order.count; i++) {
        int64_t flat = magnitude(cairn_pprof_node_flat(graph, graph->order.items[i]));

        most = flat > most ? flat : most;
        numbers[graph->order.items[i]] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < graph->order.count; i++)
        add_node(report, graph, graph->order.items[i], i + 1, most);
    code = cairn_pprof_graph_edges(graph, UINT32_MAX, true, &list);
    for (size_t i = 0; i < list.count && code == 0; i++) {
        add_edge(report, graph, &graph->edges.items[list.items[i]], numbers);
        code = cairn_outlet_drain(report->out);
    }
    cairn_vec_release(&list);
    cairn_buf_add_str(&report->out->buf, "}\n");
    return code;
}

int cairn_pprof_dot(struct cairn_pprof_report *report)
{
    struct cairn_pprof_graph graph;
    uint32_t *numbers;
    int code;

    CAIRN_TRY(cairn_pprof_graph_make(report->pprof, &report->look->graph, &graph));
    cairn_pprof_choose_unit(report, &graph);
    numbers = cairn_calloc(graph.nodes.count + 1, sizeof(*numbers));
    code = numbers ? add_all(report, &graph, numbers) : -CAIRN_ENOMEM;
    free(numbers);
    cairn_pprof_graph_release(&graph);
    return code;
}
