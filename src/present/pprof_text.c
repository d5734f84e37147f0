#include "pprof_text.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "escape.h"
#include "pprof_units.h"
#include "pyregex.h"

#define NS_PER_S 1000000000
#define LINE_MAX_BYTES 65536
#define FILTER_BYTES 80

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static bool is_scaled(const struct cairn_pprof_report *report)
{
    return report->look->ratio < 1 || report->look->ratio > 1;
}

int64_t cairn_pprof_ratio(const struct cairn_pprof_report *report, int64_t value)
{
    return is_scaled(report) ? (int64_t)((double)value * report->look->ratio) : value;
}

void cairn_pprof_value(struct cairn_pprof_report *report, struct cairn_buf *out, int64_t value,
                       int width)
{
    struct cairn_buf text;

    cairn_buf_init(&text, LINE_MAX_BYTES);
    cairn_pprof_label(&text, cairn_pprof_ratio(report, value), report->pprof->kind.unit,
                      report->unit);
    cairn_buf_printf(out, "%*s", width, cairn_buf_cstr(&text));
    cairn_buf_release(&text);
}

/* The unit of the smallest number, or where numbers lie far apart, that of a hundred of it. */
void cairn_pprof_choose_unit(struct cairn_pprof_report *report,
                             const struct cairn_pprof_graph *graph)
{
    const char *own = report->pprof->kind.unit, *least_unit, *most_unit, *unit;
    int64_t least = 0, most = report->pprof->total;

    report->unit = report->look->unit;
    if (strcmp(report->unit, "minimum") != 0 || graph->order.count == 0)
        return;
    for (size_t i = 0; i < graph->order.count; i++) {
        int64_t value = magnitude(cairn_pprof_node_flat(graph, graph->order.items[i]));

        if (value == 0)
            value = magnitude(cairn_pprof_node_cum(graph, graph->order.items[i]));
        if (value > 0 && (least == 0 || value < least))
            least = value;
    }
    if (least == 0)
        least = most;
    least = cairn_pprof_ratio(report, least);
    most = cairn_pprof_ratio(report, most);
    (void)cairn_pprof_scale(least, own, "minimum", &least_unit);
    (void)cairn_pprof_scale(most, own, "minimum", &most_unit);
    unit = least_unit;
    if (!report->look->integers && strcmp(least_unit, most_unit) != 0 && least < INT64_MAX / 100 &&
        least * 100 < most)
        (void)cairn_pprof_scale(100 * least, own, "minimum", &unit);
    report->unit = unit[0] != '\0' ? unit : own;
}

static void add_time(int64_t time_ns, struct cairn_buf *out)
{
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    char text[64];
    struct tm parts;

    if (localtime_r(&seconds, &parts) != NULL &&
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %Z", &parts) > 0)
        cairn_buf_printf(out, "Time: %s\n", text);
}

static void add_binary(struct cairn_span path, struct cairn_buf *out)
{
    size_t from = path.size_bytes;

    while (from > 0 && path.data[from - 1] != '/')
        from--;
    cairn_buf_add_str(out, "File: ");
    cairn_escape_terminal(out, (struct cairn_span){path.data + from, path.size_bytes - from});
    cairn_buf_u8(out, '\n');
}

void cairn_pprof_profile(struct cairn_pprof_report *report, struct cairn_buf *out)
{
    const struct cairn_pprof *pprof = report->pprof;
    const char *unit;
    double total_ns;

    if (pprof->binary != 0)
        add_binary(cairn_intern_get(&pprof->texts, pprof->binary), out);
    cairn_pprof_add_comments(report, true, "", out);
    cairn_buf_printf(out, "Type: %s%s\n", report->look->graph.mean ? "mean_" : "",
                     pprof->kind.type);
    if (pprof->time_ns != 0)
        add_time(pprof->time_ns, out);
    if (pprof->duration_ns == 0)
        return;
    cairn_buf_add_str(out, "Duration: ");
    cairn_pprof_label(out, pprof->duration_ns, "nanoseconds", "auto");
    cairn_buf_add_str(out, ", Total samples = ");
    cairn_pprof_value(report, out, pprof->total, 0);
    cairn_buf_u8(out, ' ');
    total_ns = cairn_pprof_scale(pprof->total, pprof->kind.unit, "nanoseconds", &unit);
    if (strcmp(unit, "ns") == 0 && total_ns != 0) {
        cairn_buf_u8(out, '(');
        cairn_pprof_share(out, (int64_t)total_ns, pprof->duration_ns);
        cairn_buf_u8(out, ')');
    }
    cairn_buf_u8(out, '\n');
}

static void add_filters(const struct cairn_pprof_look *look, struct cairn_buf *out)
{
    for (size_t i = 0; i < CAIRN_PPROF_ACTIVE_MAX && look->active[i]; i++) {
        struct cairn_buf line;
        struct cairn_span text;

        if (i == 0)
            cairn_buf_add_str(out, "Active filters:\n");
        cairn_buf_init(&line, LINE_MAX_BYTES);
        cairn_buf_printf(&line, "%s=%s", look->active[i], look->values[i]);
        text = cairn_buf_span(&line);
        cairn_buf_add_str(out, "   ");
        if (text.size_bytes > FILTER_BYTES) {
            text.size_bytes = FILTER_BYTES;
            cairn_escape_terminal(out, text);
            cairn_buf_add_str(out, "…");
        } else {
            cairn_escape_terminal(out, text);
        }
        cairn_buf_u8(out, '\n');
        cairn_buf_release(&line);
    }
}

static void add_dropped(struct cairn_pprof_report *report, size_t count, const char *what,
                        const char *by, double least, struct cairn_buf *out)
{
    if (count == 0 || report->pprof->total == 0)
        return;
    cairn_buf_printf(out, "Dropped %zu %s%s (%s <= ", count, what, count > 1 ? "s" : "", by);
    cairn_pprof_value(report, out, magnitude((int64_t)((double)report->pprof->total * least)), 0);
    cairn_buf_add_str(out, ")\n");
}

static void add_share(struct cairn_buf *out, int64_t value, int64_t total)
{
    struct cairn_buf text;
    const char *start;

    cairn_buf_init(&text, LINE_MAX_BYTES);
    cairn_pprof_share(&text, value, total);
    start = cairn_buf_cstr(&text);
    cairn_buf_add_str(out, start + strspn(start, " "));
    cairn_buf_release(&text);
}

void cairn_pprof_heading(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                         bool drawn, struct cairn_buf *out)
{
    const struct cairn_pprof_graph_options *options = &report->look->graph;
    int64_t shown = 0;

    if (drawn || !report->look->compact)
        cairn_pprof_profile(report, out);
    add_filters(report->look, out);
    for (size_t i = 0; i < graph->order.count; i++)
        shown += cairn_pprof_node_flat(graph, graph->order.items[i]);
    cairn_buf_add_str(out, "Showing nodes accounting for ");
    cairn_pprof_value(report, out, shown, 0);
    cairn_buf_add_str(out, ", ");
    add_share(out, shown, report->pprof->total);
    cairn_buf_add_str(out, " of ");
    cairn_pprof_value(report, out, report->pprof->total, 0);
    cairn_buf_add_str(out, " total\n");
    add_dropped(report, graph->dropped_nodes, "node", "cum", options->node_least, out);
    if (drawn)
        add_dropped(report, graph->dropped_edges, "edge", "freq", options->edge_least, out);
    if (report->pprof->total != 0 && graph->order.count > 0 &&
        graph->order.count < graph->node_total)
        cairn_buf_printf(out, "Showing top %zu nodes out of %zu\n", graph->order.count,
                         graph->node_total);
}

static void add_label(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                      uint32_t node, struct cairn_buf *out)
{
    cairn_escape_terminal(out,
                          cairn_intern_get(&report->pprof->texts, graph->nodes.items[node].label));
}

/* The five numbers of a node; `sum` is what stood above it, and with it behind. */
static void add_numbers(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                        uint32_t node, int64_t *sum)
{
    int64_t flat = cairn_pprof_node_flat(graph, node), cum = cairn_pprof_node_cum(graph, node);
    struct cairn_buf *out = &report->out->buf;

    *sum += flat;
    cairn_pprof_value(report, out, flat, 10);
    cairn_buf_u8(out, ' ');
    cairn_pprof_share(out, flat, report->pprof->total);
    cairn_buf_u8(out, ' ');
    cairn_pprof_share(out, *sum, report->pprof->total);
    cairn_buf_u8(out, ' ');
    cairn_pprof_value(report, out, cum, 10);
    cairn_buf_u8(out, ' ');
    cairn_pprof_share(out, cum, report->pprof->total);
}

int cairn_pprof_top(struct cairn_pprof_report *report)
{
    struct cairn_buf *out = &report->out->buf;
    struct cairn_pprof_graph graph;
    int64_t sum = 0;
    int code = 0;

    CAIRN_TRY(cairn_pprof_graph_make(report->pprof, &report->look->graph, &graph));
    cairn_pprof_choose_unit(report, &graph);
    cairn_pprof_heading(report, &graph, false, out);
    cairn_buf_printf(out, "%10s %5s%% %5s%% %10s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
    for (size_t i = 0; i < graph.order.count && code == 0; i++) {
        add_numbers(report, &graph, graph.order.items[i], &sum);
        cairn_buf_add_str(out, "  ");
        add_label(report, &graph, graph.order.items[i], out);
        cairn_buf_u8(out, '\n');
        code = cairn_outlet_drain(report->out);
    }
    cairn_pprof_graph_release(&graph);
    return code;
}

/* Those who call a node, or whom it calls. */
static int add_edges(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                     uint32_t node, bool incoming)
{
    struct cairn_pprof_edge_list list = {NULL, 0, 0};
    struct cairn_buf *out = &report->out->buf;
    int code = cairn_pprof_graph_edges(graph, node, incoming, &list);

    for (size_t i = 0; i < list.count && code == 0; i++) {
        const struct cairn_pprof_edge *edge = &graph->edges.items[list.items[i]];

        cairn_pprof_value(report, out, edge->weight, 50);
        cairn_buf_u8(out, ' ');
        cairn_pprof_share(out, edge->weight, cairn_pprof_node_cum(graph, node));
        cairn_buf_add_str(out, " |   ");
        add_label(report, graph, incoming ? edge->from : edge->to, out);
        cairn_buf_u8(out, '\n');
    }
    cairn_vec_release(&list);
    return code;
}

#define TREE_LINE "----------------------------------------------------------+-------------\n"

static int add_nodes(struct cairn_pprof_report *report, const struct cairn_pprof_graph *graph,
                     const struct cairn_pyregex *regex, bool *ret_matched)
{
    struct cairn_buf *out = &report->out->buf;
    int64_t sum = 0;

    for (size_t i = 0; i < graph->order.count; i++) {
        uint32_t node = graph->order.items[i];
        bool found = true;

        if (regex != NULL)
            CAIRN_TRY(cairn_pyregex_search(
                regex, cairn_intern_get(&report->pprof->texts, graph->nodes.items[node].label),
                &found));
        if (!found)
            continue;
        *ret_matched = true;
        cairn_buf_add_str(out, TREE_LINE);
        CAIRN_TRY(add_edges(report, graph, node, true));
        add_numbers(report, graph, node, &sum);
        cairn_buf_add_str(out, "                | ");
        add_label(report, graph, node, out);
        cairn_buf_u8(out, '\n');
        CAIRN_TRY(add_edges(report, graph, node, false));
        CAIRN_TRY(regex ? 0 : cairn_outlet_drain(report->out));
    }
    return 0;
}

static int make_regex(struct cairn_pprof_report *report, struct cairn_pyregex **ret_regex)
{
    int code;

    *ret_regex = NULL;
    if (report->look->regex == NULL)
        return 0;
    code =
        cairn_pyregex_make(cairn_span_of(report->look->regex), CAIRN_PYREGEX_AND_GREP, ret_regex);
    if (code == -CAIRN_EUSAGE)
        return cairn_err_set(report->err, code, 0, "pprof", "'%.200s' is no regular expression",
                             report->look->regex);
    return code;
}

int cairn_pprof_tree(struct cairn_pprof_report *report)
{
    struct cairn_buf *out = &report->out->buf;
    struct cairn_pprof_graph graph;
    struct cairn_pyregex *regex;
    bool matched = false;
    int code;

    CAIRN_TRY(make_regex(report, &regex));
    code = cairn_pprof_graph_make(report->pprof, &report->look->graph, &graph);
    if (code < 0) {
        cairn_pyregex_free(regex);
        return code;
    }
    cairn_pprof_choose_unit(report, &graph);
    cairn_pprof_heading(report, &graph, false, out);
    cairn_buf_add_str(out, TREE_LINE);
    cairn_buf_add_str(out, "      flat  flat%   sum%        cum   cum%   calls calls% + context "
                           "\t \t \n");
    code = add_nodes(report, &graph, regex, &matched);
    if (code == 0 && graph.order.count > 0)
        cairn_buf_add_str(out, TREE_LINE);
    if (code == 0 && regex != NULL && !matched) {
        cairn_buf_clear(out); /* pprof prints nothing then */
        code = cairn_err_set(report->err, -CAIRN_ENOTFOUND, 0, "pprof",
                             "no matches found for regexp: %.200s", report->look->regex);
    }
    cairn_pprof_graph_release(&graph);
    cairn_pyregex_free(regex);
    return code;
}
