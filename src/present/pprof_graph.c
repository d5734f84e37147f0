#include "pprof_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "err.h"

#define NODES_MAX ((size_t)1 << 28)
#define EDGES_MAX ((size_t)1 << 28)
#define KEY_MAX_BYTES ((size_t)8 << 30)
#define LABEL_MAX_BYTES ((size_t)1 << 20)

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static int64_t divided(int64_t value, int64_t count)
{
    return count == 0 ? value : value / count;
}

int64_t cairn_pprof_node_flat(const struct cairn_pprof_graph *graph, uint32_t node)
{
    return divided(graph->nodes.items[node].flat, graph->nodes.items[node].flat_count);
}

int64_t cairn_pprof_node_cum(const struct cairn_pprof_graph *graph, uint32_t node)
{
    return divided(graph->nodes.items[node].cum, graph->nodes.items[node].cum_count);
}

/* How it is printed: the function, where it is asked for with its file and line. */
static int make_label(struct cairn_pprof_graph *g, struct cairn_pprof_node *node)
{
    struct cairn_span name = cairn_intern_get(g->texts, node->name);
    struct cairn_span file = cairn_intern_get(g->texts, node->file);
    struct cairn_buf label;
    int code;

    cairn_buf_init(&label, LABEL_MAX_BYTES);
    cairn_buf_add(&label, name.data, name.size_bytes);
    if (node->line != 0 || file.size_bytes > 0) {
        if (name.size_bytes > 0)
            cairn_buf_u8(&label, ' ');
        cairn_buf_add(&label, file.data, file.size_bytes);
    }
    if (node->line != 0)
        cairn_buf_printf(&label, ":%u", node->line);
    if (label.size_bytes == 0)
        cairn_buf_add_str(&label, "<unknown>");
    code = label.code;
    if (code == 0)
        code = cairn_intern_add(g->texts, cairn_buf_span(&label), &node->label);
    cairn_buf_release(&label);
    return code;
}

static int add_node(struct cairn_pprof_graph *g, const struct cairn_pprof_frame *frame,
                    uint32_t *ret_node)
{
    enum cairn_pprof_granularity by = g->options.by;
    struct cairn_pprof_frame key = *frame;
    struct cairn_pprof_node *node;
    uint32_t id;

    if (by == CAIRN_PPROF_FILES)
        key.name = 0;
    if (by == CAIRN_PPROF_FUNCTIONS)
        key.file = 0;
    if (by != CAIRN_PPROF_LINES)
        key.line = 0;
    if (!g->options.with_starts)
        key.first_line = 0;
    CAIRN_TRY(
        cairn_intern_add(&g->keys, (struct cairn_span){(const uint8_t *)&key, sizeof(key)}, &id));
    *ret_node = id - 1;
    if (id <= g->nodes.count)
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&g->nodes, id, NODES_MAX));
    node = &g->nodes.items[g->nodes.count++];
    *node = (struct cairn_pprof_node){.name = key.name,
                                      .file = key.file,
                                      .line = key.line,
                                      .first_line = key.first_line,
                                      .kept = true};
    return make_label(g, node);
}

static int add_edge(struct cairn_pprof_graph *g, uint32_t from, uint32_t to, uint64_t seen,
                    const struct cairn_pprof_sample *sample, bool residual)
{
    struct cairn_pprof_edge *edge;
    uint64_t index;

    if (!cairn_map_get(&g->edge_of, from, to, &index)) {
        index = g->edges.count;
        CAIRN_TRY(cairn_vec_reserve(&g->edges, index + 1, EDGES_MAX));
        CAIRN_TRY(cairn_map_put(&g->edge_of, from, to, index));
        g->edges.items[g->edges.count++] = (struct cairn_pprof_edge){.from = from, .to = to};
    }
    edge = &g->edges.items[index];
    if (edge->seen == seen)
        return 0;
    edge->seen = seen;
    edge->weight += sample->value;
    edge->count += g->options.mean ? sample->count : 0;
    edge->residual = edge->residual || residual;
    return 0;
}

static int add_sample(struct cairn_pprof_graph *g, const struct cairn_pprof_sample *sample,
                      uint64_t seen)
{
    const uint32_t *stack = g->pprof->stacks.items + sample->first;
    int64_t count = g->options.mean ? sample->count : 0;
    struct cairn_pprof_node *nodes = g->nodes.items;
    uint32_t parent = UINT32_MAX;
    bool residual = false;

    for (uint32_t i = sample->depth; i-- > 0;) {
        uint32_t node = g->node_of[stack[i]];

        if (!nodes[node].kept) {
            residual = true;
            continue;
        }
        if (nodes[node].seen != seen) {
            nodes[node].seen = seen;
            nodes[node].cum += sample->value;
            nodes[node].cum_count += count;
        }
        if (parent != UINT32_MAX && parent != node)
            CAIRN_TRY(add_edge(g, parent, node, seen, sample, residual));
        parent = node;
        residual = false;
    }
    if (parent != UINT32_MAX && !residual) {
        nodes[parent].flat += sample->value;
        nodes[parent].flat_count += count;
    }
    return 0;
}

static bool is_negative(const struct cairn_pprof_node *node)
{
    return node->flat < 0 || (node->flat == 0 && node->cum < 0);
}

/* Adds up all samples over the nodes that are kept; those that have something are in `order`. */
static int add_up(struct cairn_pprof_graph *g)
{
    for (size_t i = 0; i < g->nodes.count; i++) {
        struct cairn_pprof_node *node = &g->nodes.items[i];

        node->flat = node->cum = node->flat_count = node->cum_count = 0;
        node->seen = 0;
    }
    g->edges.count = 0;
    cairn_map_clear(&g->edge_of);
    for (size_t i = 0; i < g->pprof->samples.count; i++) {
        const struct cairn_pprof_sample *sample = &g->pprof->samples.items[i];

        if (sample->value != 0 || (g->options.mean && sample->count != 0))
            CAIRN_TRY(add_sample(g, sample, i + 1));
    }
    g->order.count = 0;
    CAIRN_TRY(cairn_vec_reserve(&g->order, g->nodes.count + 1, NODES_MAX));
    for (size_t i = 0; i < g->nodes.count; i++) {
        struct cairn_pprof_node *node = &g->nodes.items[i];

        node->kept = node->kept && (node->cum != 0 || node->flat != 0) &&
                     !(g->options.drop_negative && is_negative(node));
        if (node->kept)
            g->order.items[g->order.count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < g->edges.count; i++)
        g->edges.items[i].dropped = !g->nodes.items[g->edges.items[i].from].kept ||
                                    !g->nodes.items[g->edges.items[i].to].kept;
    return 0;
}

static int compare_text(const struct cairn_pprof_graph *g, uint32_t a, uint32_t b)
{
    return cairn_span_compare(cairn_intern_get(g->texts, a), cairn_intern_get(g->texts, b));
}

static int larger_first(int64_t a, int64_t b)
{
    return (magnitude(a) < magnitude(b)) - (magnitude(a) > magnitude(b));
}

static int compare_flat(const void *a, const void *b, void *context)
{
    const struct cairn_pprof_graph *g = context;
    const struct cairn_pprof_node *x = &g->nodes.items[*(const uint32_t *)a];
    const struct cairn_pprof_node *y = &g->nodes.items[*(const uint32_t *)b];
    int order = larger_first(x->flat, y->flat);

    if (order == 0)
        order = compare_text(g, x->label, y->label);
    if (order == 0)
        order = larger_first(x->cum, y->cum);
    return order ? order : (x > y) - (x < y);
}

static int compare_score(const void *a, const void *b, void *context)
{
    const struct cairn_pprof_graph *g = context;
    const struct cairn_pprof_node *x = &g->nodes.items[*(const uint32_t *)a];
    const struct cairn_pprof_node *y = &g->nodes.items[*(const uint32_t *)b];
    int order = larger_first((int64_t)x->score, (int64_t)y->score);

    if (order == 0)
        order = compare_text(g, x->label, y->label);
    if (order == 0)
        order = larger_first(x->flat, y->flat);
    return order ? order : (x > y) - (x < y);
}

struct side { /* of a node: its edges in, or out */
    int64_t sum;
    size_t count;
    double entropy;
};

static double share_entropy(int64_t part, int64_t whole)
{
    double share = (double)magnitude(part) / (double)whole;

    return share > 0 ? -share * log2(share) : 0;
}

/* What makes a node worth to be in a picture: time, and edges that lead to and from many others. A
 * node that only passes on is little. */
static int score_drawn(struct cairn_pprof_graph *g)
{
    struct side(*sides)[2] = cairn_calloc(g->nodes.count + 1, sizeof(*sides));

    if (sides == NULL)
        return -CAIRN_ENOMEM;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < g->edges.count; i++) {
            const struct cairn_pprof_edge *edge = &g->edges.items[i];
            struct side *ends[2] = {&sides[edge->to][0], &sides[edge->from][1]};
            int64_t own = g->nodes.items[edge->from].flat;

            for (int k = 0; k < 2 && !edge->dropped; k++) {
                int64_t whole = ends[k]->sum + (k == 1 ? own : 0);

                if (pass == 0 && edge->weight > 0)
                    ends[k]->sum += edge->weight;
                ends[k]->count += pass == 0;
                if (pass == 1 && whole != 0)
                    ends[k]->entropy += share_entropy(edge->weight, whole);
            }
        }
    for (size_t i = 0; i < g->nodes.count; i++) {
        struct cairn_pprof_node *node = &g->nodes.items[i];
        const struct side *in = &sides[i][0], *out = &sides[i][1];
        double score = in->count == 0 ? 1 : in->entropy;

        score += out->count == 0 ? 1 : out->entropy;
        if (out->count > 0 && node->flat > 0 && out->sum + node->flat != 0)
            score += share_entropy(node->flat, out->sum + node->flat);
        node->score = (double)((int64_t)(score * (double)node->cum) + node->flat);
    }
    free(sides);
    return 0;
}

static int sort_nodes(struct cairn_pprof_graph *g)
{
    bool flat = !g->options.drawn && !g->options.by_cum;

    if (g->options.drawn)
        CAIRN_TRY(score_drawn(g));
    else
        for (size_t i = 0; i < g->nodes.count; i++)
            g->nodes.items[i].score = (double)g->nodes.items[i].cum;
    if (g->order.count > 1)
        qsort_r(g->order.items, g->order.count, sizeof(*g->order.items),
                flat ? compare_flat : compare_score, g);
    return 0;
}

static size_t drop_edges(struct cairn_pprof_graph *g, int64_t least)
{
    size_t count = 0;

    for (size_t i = 0; i < g->edges.count; i++) {
        struct cairn_pprof_edge *edge = &g->edges.items[i];

        if (!edge->dropped && magnitude(edge->weight) < least) {
            edge->dropped = true;
            count++;
        }
    }
    return count;
}

/* Whether the edge's end can be reached from where it begins without it. */
static int is_redundant(const struct cairn_pprof_graph *g, uint32_t index, uint8_t *seen,
                        struct cairn_pprof_edge_list *queue, bool *ret_redundant)
{
    const struct cairn_pprof_edge *edge = &g->edges.items[index];
    struct cairn_pprof_edge_list in = {NULL, 0, 0};
    int code = 0;

    memset(seen, 0, g->nodes.count);
    *ret_redundant = false;
    queue->count = 0;
    seen[edge->to] = 1;
    CAIRN_TRY(cairn_vec_reserve(queue, g->nodes.count + 1, NODES_MAX));
    queue->items[queue->count++] = edge->to;
    for (size_t at = 0; at < queue->count && code == 0 && !*ret_redundant; at++) {
        in.count = 0;
        code = cairn_pprof_graph_edges(g, queue->items[at], true, &in);
        for (size_t i = 0; i < in.count && code == 0; i++) {
            uint32_t from = g->edges.items[in.items[i]].from;

            if (in.items[i] == index || seen[from])
                continue;
            if (from == edge->from)
                *ret_redundant = true;
            seen[from] = 1;
            queue->items[queue->count++] = from;
        }
    }
    cairn_vec_release(&in);
    return code;
}

/* Residual edges that say nothing which other edges do not say as well, the lightest first. */
static int drop_redundant(struct cairn_pprof_graph *g)
{
    struct cairn_pprof_edge_list in = {NULL, 0, 0}, queue = {NULL, 0, 0};
    uint8_t *seen = cairn_calloc(g->nodes.count + 1, 1);
    int code = seen ? 0 : -CAIRN_ENOMEM;

    for (size_t i = g->order.count; i-- > 0 && code == 0;) {
        in.count = 0;
        code = cairn_pprof_graph_edges(g, g->order.items[i], true, &in);
        for (size_t k = in.count; k-- > 0 && code == 0;) {
            struct cairn_pprof_edge *edge = &g->edges.items[in.items[k]];
            bool redundant;

            if (!edge->residual)
                break;
            code = is_redundant(g, in.items[k], seen, &queue, &redundant);
            if (code == 0 && redundant)
                edge->dropped = true;
        }
    }
    free(seen);
    cairn_vec_release(&in);
    cairn_vec_release(&queue);
    return code;
}

/* Only the nodes of the first `count` places go on. */
static int keep_first(struct cairn_pprof_graph *g, size_t count)
{
    for (size_t i = count; i < g->order.count; i++)
        g->nodes.items[g->order.items[i]].kept = false;
    return add_up(g);
}

static int trim(struct cairn_pprof_graph *g)
{
    const struct cairn_pprof_graph_options *o = &g->options;
    int64_t whole = 0, node_least, edge_least;
    size_t small = 0;

    for (size_t i = 0; i < g->order.count; i++)
        whole += g->nodes.items[g->order.items[i]].flat;
    node_least = magnitude((int64_t)((double)whole * o->node_least));
    edge_least = magnitude((int64_t)((double)whole * o->edge_least));
    for (size_t i = 0; i < g->order.count; i++) {
        struct cairn_pprof_node *node = &g->nodes.items[g->order.items[i]];

        node->kept = magnitude(node->cum) >= node_least;
        small += !node->kept;
    }
    g->dropped_nodes = small;
    if (small > 0)
        CAIRN_TRY(add_up(g));
    g->node_total = g->order.count;
    CAIRN_TRY(sort_nodes(g));
    if (o->node_count > 0) {
        drop_edges(g, edge_least);
        if (o->node_count < g->order.count) {
            CAIRN_TRY(keep_first(g, o->node_count));
            CAIRN_TRY(sort_nodes(g));
        }
    }
    g->dropped_edges = drop_edges(g, edge_least);
    return o->drawn ? drop_redundant(g) : 0;
}

static int make(struct cairn_pprof_graph *g)
{
    CAIRN_TRY(cairn_intern_init(&g->keys, KEY_MAX_BYTES));
    cairn_map_init(&g->edge_of, EDGES_MAX);
    g->node_of = cairn_calloc(g->pprof->frames.count + 1, sizeof(*g->node_of));
    if (g->node_of == NULL)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < g->pprof->frames.count; i++)
        CAIRN_TRY(add_node(g, &g->pprof->frames.items[i], &g->node_of[i]));
    CAIRN_TRY(add_up(g));
    if (!g->options.all_nodes)
        return trim(g);
    g->node_total = g->order.count;
    return sort_nodes(g);
}

int cairn_pprof_graph_make(struct cairn_pprof *pprof,
                           const struct cairn_pprof_graph_options *options,
                           struct cairn_pprof_graph *ret_graph)
{
    int code;

    *ret_graph =
        (struct cairn_pprof_graph){.pprof = pprof, .texts = &pprof->texts, .options = *options};
    code = make(ret_graph);
    if (code < 0)
        cairn_pprof_graph_release(ret_graph);
    return code;
}

void cairn_pprof_graph_release(struct cairn_pprof_graph *graph)
{
    cairn_intern_release(&graph->keys);
    cairn_map_release(&graph->edge_of);
    cairn_vec_release(&graph->nodes);
    cairn_vec_release(&graph->edges);
    cairn_vec_release(&graph->order);
    free(graph->node_of);
    graph->node_of = NULL;
}

static int compare_edges(const void *a, const void *b, void *context)
{
    const struct cairn_pprof_graph *g = context;
    const struct cairn_pprof_edge *x = &g->edges.items[*(const uint32_t *)a];
    const struct cairn_pprof_edge *y = &g->edges.items[*(const uint32_t *)b];
    int order = x->weight == y->weight ? 0 : larger_first(x->weight, y->weight);

    if (order == 0)
        order = compare_text(g, g->nodes.items[x->from].label, g->nodes.items[y->from].label);
    if (order == 0)
        order = compare_text(g, g->nodes.items[x->to].label, g->nodes.items[y->to].label);
    return order ? order : (x > y) - (x < y);
}

int cairn_pprof_graph_edges(const struct cairn_pprof_graph *graph, uint32_t node, bool incoming,
                            struct cairn_pprof_edge_list *list)
{
    size_t first = list->count;

    for (size_t i = 0; i < graph->edges.count; i++) {
        const struct cairn_pprof_edge *edge = &graph->edges.items[i];

        if (edge->dropped || (node != UINT32_MAX && node != (incoming ? edge->to : edge->from)))
            continue;
        CAIRN_TRY(cairn_vec_reserve(list, list->count + 1, EDGES_MAX));
        list->items[list->count++] = (uint32_t)i;
    }
    if (list->count - first > 1)
        qsort_r(list->items + first, list->count - first, sizeof(*list->items), compare_edges,
                (void *)(uintptr_t)graph);
    return 0;
}
