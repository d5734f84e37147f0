#include "boxes.h"

#include <stdlib.h>

#include "alloc.h"
#include "calltree.h"
#include "handle.h"

#define NOWHERE UINT32_MAX

struct node {
    struct cairn_weight self, total;
    uint64_t handle, hidden_ns;
    uint32_t first, next; /* of the shown ones, the longest first; 0 ends a chain */
    uint32_t box, depth;
    bool below, shown; /* it is the root that was asked for, or below it */
};

struct maker {
    const struct cairn_boxes_options *options;
    struct cairn_calltree tree;
    struct node *nodes;
    uint32_t *order; /* of those that may be shown: the longest first */
    size_t order_count;
    uint32_t root; /* 0: all */
};

static int compare(const void *a, const void *b, void *context)
{
    const struct node *nodes = context;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    uint64_t x = nodes[i].total.value_ns, y = nodes[k].total.value_ns;

    if (x != y)
        return x < y ? 1 : -1;
    if (nodes[i].total.ticks != nodes[k].total.ticks)
        return nodes[i].total.ticks < nodes[k].total.ticks ? 1 : -1;
    /* A parent comes before its only child; what else is alike, by name and not as it was read. */
    if (nodes[i].depth != nodes[k].depth)
        return nodes[i].depth < nodes[k].depth ? -1 : 1;
    return nodes[i].handle < nodes[k].handle ? -1 : nodes[i].handle > nodes[k].handle;
}

static void add_weights(struct maker *maker, const struct cairn_tally *tally)
{
    const struct cairn_calltree_node *tree = maker->tree.nodes.items;
    struct node *nodes = maker->nodes;

    for (size_t i = 0; i < tally->cell_count; i++) {
        const struct cairn_cell *cell = &tally->cells[i];
        struct cairn_weight *self = &nodes[maker->tree.of[cell->node]].self;
        bool all = maker->options->with_idle;

        self->ticks += cell->weight.ticks - (all ? 0 : cell->idle.ticks);
        self->value_ns += cell->weight.value_ns - (all ? 0 : cell->idle.value_ns);
    }
    for (size_t i = maker->tree.nodes.count; i-- > 0;) {
        nodes[i].total.ticks += nodes[i].self.ticks;
        nodes[i].total.value_ns += nodes[i].self.value_ns;
        if (i == 0)
            break;
        nodes[tree[i].parent].total.ticks += nodes[i].total.ticks;
        nodes[tree[i].parent].total.value_ns += nodes[i].total.value_ns;
    }
}

static int find_root(struct maker *maker, const struct cairn_model *model)
{
    const struct cairn_calltree_node *tree = maker->tree.nodes.items;
    const struct cairn_function *functions;

    cairn_model_functions(model, &functions);
    for (size_t i = 1; i < maker->tree.nodes.count; i++) {
        struct node *node = &maker->nodes[i];

        node->depth = tree[i].depth;
        node->handle = cairn_handle_stack(maker->nodes[tree[i].parent].handle,
                                          &functions[tree[i].function], tree[i].line);
        if (maker->options->root != 0 && node->handle == maker->options->root)
            maker->root = (uint32_t)i;
    }
    return maker->options->root != 0 && maker->root == 0 ? -CAIRN_ENOTFOUND : 0;
}

/* Whoever is left out leaves out all below it: totals fall and depths rise on the way in. */
static void choose(struct maker *maker, size_t *ret_left_out)
{
    const struct cairn_boxes_options *options = maker->options;
    const struct cairn_calltree_node *tree = maker->tree.nodes.items;
    double least_ns = options->least * (double)maker->nodes[maker->root].total.value_ns;
    uint32_t above = maker->root ? tree[maker->root].depth - 1 : 0;
    size_t met = 0, count;

    maker->nodes[maker->root].below = true;
    for (size_t i = 1; i < maker->tree.nodes.count; i++) {
        struct node *node = &maker->nodes[i];

        node->below = node->below || maker->nodes[tree[i].parent].below;
        if (!node->below || (node->total.value_ns == 0 && node->total.ticks == 0))
            continue;
        met++;
        if ((options->depth_max == 0 || tree[i].depth - above <= options->depth_max) &&
            (double)node->total.value_ns >= least_ns)
            maker->order[maker->order_count++] = (uint32_t)i;
    }
    qsort_r(maker->order, maker->order_count, sizeof(*maker->order), compare, maker->nodes);
    count =
        options->limit && options->limit < maker->order_count ? options->limit : maker->order_count;
    maker->order_count = count;
    *ret_left_out = met - count;
}

/* Chains of the shown ones; the shortest goes in first, and ends up last. */
static void chain(struct maker *maker)
{
    const struct cairn_calltree_node *tree = maker->tree.nodes.items;
    struct node *nodes = maker->nodes;

    for (size_t i = 0; i < maker->tree.nodes.count; i++)
        nodes[i].hidden_ns = nodes[i].total.value_ns - nodes[i].self.value_ns;
    for (size_t i = maker->order_count; i-- > 0;) {
        uint32_t node = maker->order[i], parent = node == maker->root ? 0 : tree[node].parent;

        nodes[node].shown = true;
        nodes[node].next = nodes[parent].first;
        nodes[parent].first = node;
        if (node != maker->root)
            nodes[parent].hidden_ns -= nodes[node].total.value_ns;
    }
}

static void put_box(struct maker *maker, uint32_t at, struct cairn_boxes *boxes)
{
    const struct cairn_calltree_node *node = &maker->tree.nodes.items[at];
    struct node *own = &maker->nodes[at];

    own->box = (uint32_t)boxes->count;
    boxes->items[boxes->count++] = (struct cairn_box){
        .parent = at == maker->root || node->parent == 0 ? NOWHERE : maker->nodes[node->parent].box,
        .function = node->function,
        .line = node->line,
        .depth = node->depth,
        .handle = own->handle,
        .self = own->self,
        .total = own->total,
        .hidden_ns = own->hidden_ns,
    };
}

static void walk(struct maker *maker, struct cairn_boxes *boxes)
{
    uint32_t at = maker->nodes[0].first;

    while (at != 0) {
        put_box(maker, at, boxes);
        if (maker->nodes[at].first != 0) {
            at = maker->nodes[at].first;
            continue;
        }
        while (at != 0 && maker->nodes[at].next == 0)
            at = at == maker->root ? 0 : maker->tree.nodes.items[at].parent;
        if (at != 0)
            at = maker->nodes[at].next;
    }
}

static int make(struct maker *maker, const struct cairn_tally *tally, struct cairn_boxes *boxes)
{
    enum cairn_export_lines lines =
        maker->options->by_line ? CAIRN_EXPORT_LINES_EXECUTING : CAIRN_EXPORT_LINES_NONE;

    CAIRN_TRY(cairn_calltree_make(tally, lines, false, &maker->tree));
    maker->nodes = cairn_calloc(maker->tree.nodes.count, sizeof(*maker->nodes));
    maker->order = cairn_calloc(maker->tree.nodes.count, sizeof(*maker->order));
    if (maker->nodes == NULL || maker->order == NULL)
        return -CAIRN_ENOMEM;
    add_weights(maker, tally);
    CAIRN_TRY(find_root(maker, tally->model));
    choose(maker, &boxes->left_out);
    boxes->items = cairn_calloc(maker->order_count + 1, sizeof(*boxes->items));
    if (boxes->items == NULL)
        return -CAIRN_ENOMEM;
    chain(maker);
    walk(maker, boxes);
    boxes->base = maker->nodes[0].total;
    boxes->hidden_ns = maker->root ? 0 : maker->nodes[0].hidden_ns;
    return 0;
}

int cairn_boxes_make(const struct cairn_tally *tally, const struct cairn_boxes_options *options,
                     struct cairn_boxes *ret_boxes)
{
    struct maker maker = {.options = options};
    int code;

    *ret_boxes = (struct cairn_boxes){0};
    code = make(&maker, tally, ret_boxes);
    cairn_calltree_release(&maker.tree);
    free(maker.nodes);
    free(maker.order);
    return code;
}

void cairn_boxes_release(struct cairn_boxes *boxes)
{
    free(boxes->items);
    *boxes = (struct cairn_boxes){0};
}
