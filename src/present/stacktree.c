#include "stacktree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "map.h"

#define LABELS_MAX_BYTES ((size_t)4 << 30)
#define LABEL_MAX_BYTES ((size_t)1 << 20)
#define NODES_MAX ((size_t)1 << 30)
#define NONE UINT32_MAX

/* Where a node of the model stands in the tree, below `root`. */
struct place {
    uint32_t root, node;
};

struct builder {
    const struct cairn_tally *tally;
    const struct cairn_export_options *options;
    const struct cairn_node *model_nodes;
    const struct cairn_frame *model_frames;
    struct cairn_stacktree *tree;
    struct cairn_map children; /* {parent, label} to node */
    CAIRN_VEC(struct cairn_stacktree_node) nodes;
    CAIRN_VEC(uint32_t) path; /* nodes of the model, from the leaf up */
    struct place *places;     /* one for each node of the model */
    uint32_t *frame_labels;   /* one for each frame; NONE: not made yet */
    struct cairn_buf text;
};

void cairn_frame_text(struct cairn_buf *out, const struct cairn_model *model, uint32_t frame,
                      enum cairn_export_lines lines)
{
    const struct cairn_frame *frames;
    const struct cairn_function *functions, *function;
    uint32_t line;

    cairn_model_frames(model, &frames);
    cairn_model_functions(model, &functions);
    function = &functions[frames[frame].function];
    line = lines == CAIRN_EXPORT_LINES_EXECUTING ? frames[frame].line : function->first_line;
    cairn_buf_add(out, function->qualname.data, function->qualname.size_bytes);
    if (function->kind == CAIRN_FUNCTION_NATIVE) {
        cairn_buf_add_str(out, " [");
        cairn_buf_add(out, function->module.data, function->module.size_bytes);
        cairn_buf_u8(out, ']');
    } else if (function->kind == CAIRN_FUNCTION_PYTHON && function->file.size_bytes > 0) {
        cairn_buf_add_str(out, " (");
        cairn_buf_add(out, function->file.data, function->file.size_bytes);
        if (lines != CAIRN_EXPORT_LINES_NONE && line > 0)
            cairn_buf_printf(out, ":%" PRIu32, line);
        cairn_buf_u8(out, ')');
    }
}

static int add_node(struct builder *b, uint32_t parent, uint32_t label, uint32_t *ret_node)
{
    uint64_t found;

    if (cairn_map_get(&b->children, parent, label, &found)) {
        *ret_node = (uint32_t)found;
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&b->nodes, b->nodes.count + 1, NODES_MAX));
    CAIRN_TRY(cairn_map_put(&b->children, parent, label, b->nodes.count));
    b->nodes.items[b->nodes.count] =
        (struct cairn_stacktree_node){.parent = parent, .label = label};
    *ret_node = (uint32_t)b->nodes.count++;
    return 0;
}

/* The label that `text` holds. */
static int add_label(struct builder *b, uint8_t origin, uint32_t *ret_label)
{
    struct cairn_stacktree *tree = b->tree;
    size_t count;

    CAIRN_TRY(b->text.code);
    CAIRN_TRY(cairn_intern_add(&tree->labels, cairn_buf_span(&b->text), ret_label));
    count = cairn_intern_count(&tree->labels);
    CAIRN_TRY(cairn_vec_reserve(&tree->origins, count, NODES_MAX));
    while (tree->origins.count < count)
        tree->origins.items[tree->origins.count++] = origin;
    return 0;
}

static int label_of_frame(struct builder *b, uint32_t frame, uint32_t *ret_label)
{
    if (b->frame_labels[frame] == NONE) {
        const struct cairn_function *functions;

        cairn_model_functions(b->tally->model, &functions);
        cairn_buf_clear(&b->text);
        cairn_frame_text(&b->text, b->tally->model, frame, b->options->lines);
        CAIRN_TRY(add_label(b, functions[b->model_frames[frame].function].origin,
                            &b->frame_labels[frame]));
    }
    *ret_label = b->frame_labels[frame];
    return 0;
}

/* Makes the place of a node of the model below `root`, and those of its callers. */
static int place_node(struct builder *b, uint32_t root, uint32_t node, uint32_t *ret_node)
{
    uint32_t at = root;

    b->path.count = 0;
    for (; node != 0; node = b->model_nodes[node].parent) {
        if (b->places[node].root == root) {
            at = b->places[node].node;
            break;
        }
        CAIRN_TRY(cairn_vec_reserve(&b->path, b->path.count + 1, NODES_MAX));
        b->path.items[b->path.count++] = node;
    }
    while (b->path.count > 0) {
        uint32_t label;

        node = b->path.items[--b->path.count];
        CAIRN_TRY(label_of_frame(b, b->model_nodes[node].frame, &label));
        CAIRN_TRY(add_node(b, at, label, &at));
        b->places[node] = (struct place){root, at};
    }
    *ret_node = at;
    return 0;
}

static int add_prefix(struct builder *b, uint32_t *root)
{
    uint32_t label;

    CAIRN_TRY(add_label(b, CAIRN_ORIGIN_NONE, &label));
    return add_node(b, *root, label, root);
}

/* What stands in front of a thread's stacks. */
static int root_of_thread(struct builder *b, uint32_t thread_index, uint32_t *ret_root)
{
    const struct cairn_thread *threads, *thread;
    const struct cairn_process *processes;

    *ret_root = 0;
    cairn_model_threads(b->tally->model, &threads);
    cairn_model_processes(b->tally->model, &processes);
    thread = &threads[thread_index];
    if (b->options->processes) {
        cairn_buf_clear(&b->text);
        cairn_buf_printf(&b->text, "process:%" PRIu64, processes[thread->process].pid);
        CAIRN_TRY(add_prefix(b, ret_root));
    }
    if (b->options->threads) {
        cairn_buf_clear(&b->text);
        cairn_buf_add_str(&b->text, "thread:");
        if (thread->name.size_bytes)
            cairn_buf_add(&b->text, thread->name.data, thread->name.size_bytes);
        else
            cairn_buf_printf(&b->text, "%" PRIu64, thread->tid);
        CAIRN_TRY(add_prefix(b, ret_root));
    }
    return 0;
}

static int add_cells(struct builder *b)
{
    uint32_t root = 0, thread = NONE;

    CAIRN_TRY(cairn_vec_reserve(&b->nodes, 1, NODES_MAX));
    b->nodes.count = 1; /* the root */
    for (size_t i = 0; i < b->tally->cell_count; i++) {
        const struct cairn_cell *cell = &b->tally->cells[i];
        uint32_t node;

        if (cell->thread != thread) {
            thread = cell->thread;
            CAIRN_TRY(root_of_thread(b, thread, &root));
        }
        CAIRN_TRY(place_node(b, root, cell->node, &node));
        b->nodes.items[node].self.ticks += cell->weight.ticks;
        b->nodes.items[node].self.value_ns += cell->weight.value_ns;
    }
    return 0;
}

/* Compares labels by their bytes: for qsort_r over label ids. */
static int by_text(const void *a, const void *b, void *table)
{
    struct cairn_span x = cairn_intern_get(table, *(const uint32_t *)a);
    struct cairn_span y = cairn_intern_get(table, *(const uint32_t *)b);
    size_t shorter = x.size_bytes < y.size_bytes ? x.size_bytes : y.size_bytes;
    int order = shorter ? memcmp(x.data, y.data, shorter) : 0;

    return order ? order : (x.size_bytes > y.size_bytes) - (x.size_bytes < y.size_bytes);
}

struct order {
    const struct cairn_stacktree_node *nodes;
    const uint32_t *ranks; /* of labels */
};

/* Siblings together, by the rank of their label. */
static int by_parent(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    const struct cairn_stacktree_node *x = &order->nodes[*(const uint32_t *)a];
    const struct cairn_stacktree_node *y = &order->nodes[*(const uint32_t *)b];

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return order->ranks[x->label] < order->ranks[y->label] ? -1 : 1; /* siblings differ */
}

static uint32_t *make_ranks(struct cairn_intern *labels)
{
    size_t count = cairn_intern_count(labels);
    uint32_t *ranks = cairn_malloc(count * sizeof(*ranks));
    uint32_t *ids = cairn_malloc(count * sizeof(*ids));

    if (ranks && ids) {
        for (size_t i = 0; i < count; i++)
            ids[i] = (uint32_t)i;
        qsort_r(ids, count, sizeof(*ids), by_text, labels);
        for (size_t i = 0; i < count; i++)
            ranks[ids[i]] = (uint32_t)i;
    } else {
        free(ranks);
        ranks = NULL;
    }
    free(ids);
    return ranks;
}

/* Copies nodes in depth-first order. `sorted` holds all nodes but the root, siblings together;
 * first[n] is where the children of n begin there, first[n + 1] where they end. `waiting` has room
 * for every node. */
static void copy_in_order(struct cairn_stacktree *tree, const struct cairn_stacktree_node *nodes,
                          const uint32_t *sorted, const uint32_t *first, uint32_t *waiting,
                          uint32_t *moved)
{
    size_t waiting_count = 1, count = 0;

    waiting[0] = 0;
    while (waiting_count > 0) {
        uint32_t from = waiting[--waiting_count], to = (uint32_t)count++;
        struct cairn_stacktree_node *node = &tree->nodes[to];

        *node = nodes[from];
        node->total = node->self;
        moved[from] = to;
        if (to > 0) {
            node->parent = moved[node->parent];
            node->depth = tree->nodes[node->parent].depth + 1;
        }
        if (node->depth > tree->depth_max)
            tree->depth_max = node->depth;
        for (uint32_t i = first[from + 1]; i > first[from]; i--)
            waiting[waiting_count++] = sorted[i - 1];
    }
    tree->count = count;
}

static void sum_up(struct cairn_stacktree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        tree->nodes[i].end = (uint32_t)i + 1;
    for (size_t i = tree->count - 1; i > 0; i--) {
        struct cairn_stacktree_node *node = &tree->nodes[i], *parent = &tree->nodes[node->parent];

        parent->total.ticks += node->total.ticks;
        parent->total.value_ns += node->total.value_ns;
        if (node->end > parent->end)
            parent->end = node->end;
    }
}

static int put_in_order(struct builder *b, struct cairn_stacktree *tree)
{
    size_t count = b->nodes.count;
    uint32_t *ranks = make_ranks(&tree->labels);
    uint32_t *room = cairn_calloc(4 * count + 1, sizeof(*room));
    uint32_t *sorted = room, *first = room ? room + count : NULL;
    struct order order = {b->nodes.items, ranks};

    tree->nodes = cairn_calloc(count, sizeof(*tree->nodes));
    if (!ranks || !room || !tree->nodes) {
        free(ranks);
        free(room);
        return -CAIRN_ENOMEM;
    }
    for (size_t i = 1; i < count; i++) {
        sorted[i - 1] = (uint32_t)i;
        first[b->nodes.items[i].parent + 1]++;
    }
    for (size_t i = 0; i < count; i++)
        first[i + 1] += first[i];
    qsort_r(sorted, count - 1, sizeof(*sorted), by_parent, &order);
    copy_in_order(tree, b->nodes.items, sorted, first, first + count + 1, first + 2 * count + 1);
    sum_up(tree);
    free(ranks);
    free(room);
    return 0;
}

static int prepare(struct builder *b)
{
    size_t frame_count = cairn_model_frames(b->tally->model, &b->model_frames);
    size_t node_count = cairn_model_nodes(b->tally->model, &b->model_nodes);

    b->places = cairn_malloc((node_count + 1) * sizeof(*b->places));
    b->frame_labels = cairn_malloc((frame_count + 1) * sizeof(*b->frame_labels));
    if (!b->places || !b->frame_labels)
        return -CAIRN_ENOMEM;
    memset(b->places, 0xff, node_count * sizeof(*b->places)); /* root NONE: nowhere yet */
    memset(b->frame_labels, 0xff, frame_count * sizeof(*b->frame_labels));
    return 0;
}

int cairn_stacktree_make(const struct cairn_tally *tally,
                         const struct cairn_export_options *options,
                         struct cairn_stacktree *ret_tree)
{
    struct builder b = {.tally = tally, .options = options, .tree = ret_tree};
    int code;

    memset(ret_tree, 0, sizeof(*ret_tree));
    CAIRN_TRY(cairn_intern_init(&ret_tree->labels, LABELS_MAX_BYTES));
    cairn_map_init(&b.children, NODES_MAX);
    cairn_buf_init(&b.text, LABEL_MAX_BYTES);
    code = prepare(&b);
    if (code == 0)
        code = add_cells(&b);
    if (code == 0)
        code = put_in_order(&b, ret_tree);
    cairn_map_release(&b.children);
    cairn_vec_release(&b.nodes);
    cairn_vec_release(&b.path);
    cairn_buf_release(&b.text);
    free(b.places);
    free(b.frame_labels);
    return code;
}

void cairn_stacktree_release(struct cairn_stacktree *tree)
{
    cairn_intern_release(&tree->labels);
    cairn_vec_release(&tree->origins);
    free(tree->nodes);
    tree->nodes = NULL;
    tree->count = 0;
}
