/* A graph of lines for KCachegrind, as google/pprof writes it (pprof_text.h): code has no addresses
 * here, so all of it lies at 0, and how often lines were called nobody counted. */
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "pprof_text.h"
#include "pprof_units.h"

#define NAMES_MAX_BYTES ((size_t)4 << 30)
#define NAME_MAX_BYTES ((size_t)1 << 20)

struct callgrind {
    struct cairn_pprof_report *report;
    struct cairn_pprof_graph graph;
    struct cairn_intern files, names; /* that have their numbers */
    struct cairn_intern alike;        /* keys of functions of one file and name */
    struct cairn_map index_of;        /* {that, first line} to which of them it is */
    CAIRN_VEC(uint32_t) alike_count;  /* of each key: how many there are */
    struct cairn_buf name;
};

static struct cairn_buf *out_of(const struct callgrind *c)
{
    return &c->report->out->buf;
}

static int put_name(struct callgrind *c, const char *key, struct cairn_intern *known,
                    struct cairn_span name)
{
    size_t before = cairn_intern_count(known);
    uint32_t id;

    cairn_buf_add_str(out_of(c), key);
    if (name.size_bytes > 0) {
        CAIRN_TRY(cairn_intern_add(known, name, &id));
        cairn_buf_printf(out_of(c), "(%" PRIu32 ")", id);
        if (cairn_intern_count(known) > before) {
            cairn_buf_u8(out_of(c), ' ');
            cairn_escape_terminal(out_of(c), name);
        }
    }
    return cairn_buf_u8(out_of(c), '\n');
}

static int put_file(struct callgrind *c, const char *key, const struct cairn_pprof_node *node)
{
    return put_name(c, key, &c->files, cairn_intern_get(c->graph.texts, node->file));
}

static int alike_id(struct callgrind *c, const struct cairn_pprof_node *node, uint32_t *ret_id)
{
    const uint32_t key[] = {node->file, node->name};

    return cairn_intern_add(&c->alike, (struct cairn_span){(const uint8_t *)key, sizeof(key)},
                            ret_id);
}

/* Functions of one name and file are one to who reads this: those that begin at different lines are
 * told apart by which of how many they are. */
static int number_alike(struct callgrind *c)
{
    for (size_t i = 0; i < c->graph.order.count; i++) {
        const struct cairn_pprof_node *node = &c->graph.nodes.items[c->graph.order.items[i]];
        uint64_t index;
        uint32_t id;

        CAIRN_TRY(alike_id(c, node, &id));
        CAIRN_TRY(cairn_vec_reserve(&c->alike_count, id + 1, SIZE_MAX / sizeof(uint32_t)));
        if (c->alike_count.count <= id)
            c->alike_count.count = id + 1;
        if (cairn_map_get(&c->index_of, id, node->first_line, &index))
            continue;
        CAIRN_TRY(cairn_map_put(&c->index_of, id, node->first_line, ++c->alike_count.items[id]));
    }
    return 0;
}

static int put_function(struct callgrind *c, const char *key, const struct cairn_pprof_node *node)
{
    struct cairn_span name = cairn_intern_get(c->graph.texts, node->name);
    uint64_t index = 1;
    uint32_t id;

    CAIRN_TRY(alike_id(c, node, &id));
    if (id >= c->alike_count.count || c->alike_count.items[id] < 2)
        return put_name(c, key, &c->names, name);
    (void)cairn_map_get(&c->index_of, id, node->first_line, &index);
    cairn_buf_clear(&c->name);
    cairn_buf_add(&c->name, name.data, name.size_bytes);
    cairn_buf_printf(&c->name, " [%" PRIu64 "/%" PRIu32 "]", index, c->alike_count.items[id]);
    CAIRN_TRY(c->name.code);
    return put_name(c, key, &c->names, cairn_buf_span(&c->name));
}

static int64_t scaled(const struct callgrind *c, int64_t value)
{
    const char *unit;

    return (int64_t)cairn_pprof_scale(value, c->report->pprof->kind.unit, c->report->unit, &unit);
}

/* An address is written once: behind the first one all are the same. */
static int put_calls(struct callgrind *c, uint32_t number, const char *address)
{
    struct cairn_pprof_edge_list edges = {.count = 0};
    int code = cairn_pprof_graph_edges(&c->graph, number, false, &edges);

    for (size_t i = 0; code == 0 && i < edges.count; i++) {
        const struct cairn_pprof_edge *edge = &c->graph.edges.items[edges.items[i]];
        const struct cairn_pprof_node *callee = &c->graph.nodes.items[edge->to];

        code = put_file(c, "cfl=", callee);
        if (code == 0)
            code = put_function(c, "cfn=", callee);
        cairn_buf_printf(out_of(c), "calls=0 %s %" PRIu32 "\n* * %" PRId64 "\n", address,
                         callee->line, scaled(c, edge->weight));
    }
    cairn_vec_release(&edges);
    return code;
}

static int put_nodes(struct callgrind *c)
{
    const struct cairn_pprof_node *before = NULL;

    for (size_t i = 0; i < c->graph.order.count; i++) {
        uint32_t number = c->graph.order.items[i];
        const struct cairn_pprof_node *node = &c->graph.nodes.items[number];
        const char *address = before ? "*" : "0x0";

        if (!before || before->file != node->file || before->name != node->name ||
            before->first_line != node->first_line) {
            cairn_buf_add_str(out_of(c), "\nob=\n");
            CAIRN_TRY(put_file(c, "fl=", node));
            CAIRN_TRY(put_function(c, "fn=", node));
        }
        cairn_buf_printf(out_of(c), "%s %" PRIu32 " %" PRId64 "\n", address, node->line,
                         scaled(c, cairn_pprof_node_flat(&c->graph, number)));
        CAIRN_TRY(put_calls(c, number, address));
        CAIRN_TRY(cairn_outlet_drain(c->report->out));
        before = node;
    }
    return out_of(c)->code;
}

/* Numbers begin at 1: an empty text is the first of each. */
static int begin(struct callgrind *c)
{
    CAIRN_TRY(cairn_intern_init(&c->files, NAMES_MAX_BYTES));
    CAIRN_TRY(cairn_intern_init(&c->names, NAMES_MAX_BYTES));
    CAIRN_TRY(cairn_intern_init(&c->alike, NAMES_MAX_BYTES));
    CAIRN_TRY(number_alike(c));
    cairn_pprof_choose_unit(c->report, &c->graph);
    return cairn_buf_printf(out_of(c), "positions: instr line\nevents: %s%s(%s)\n",
                            c->report->look->graph.mean ? "mean_" : "", c->report->pprof->kind.type,
                            c->report->unit);
}

int cairn_pprof_callgrind(struct cairn_pprof_report *report)
{
    struct callgrind c = {.report = report};
    int code;

    CAIRN_TRY(cairn_pprof_graph_make(report->pprof, &report->look->graph, &c.graph));
    cairn_map_init(&c.index_of, SIZE_MAX);
    cairn_buf_init(&c.name, NAME_MAX_BYTES);
    code = begin(&c);
    if (code == 0)
        code = put_nodes(&c);
    cairn_intern_release(&c.files);
    cairn_intern_release(&c.names);
    cairn_intern_release(&c.alike);
    cairn_vec_release(&c.alike_count);
    cairn_map_release(&c.index_of);
    cairn_buf_release(&c.name);
    cairn_pprof_graph_release(&c.graph);
    return code;
}
