#include "calltree.h"

#include <stdlib.h>

#include "alloc.h"
#include "map.h"

#define NODES_MAX ((size_t)1 << 30)

static uint32_t line_of(const struct cairn_function *function, const struct cairn_frame *frame,
                        enum cairn_export_lines lines)
{
    if (lines == CAIRN_EXPORT_LINES_NONE)
        return 0;
    return lines == CAIRN_EXPORT_LINES_FIRST ? function->first_line : frame->line;
}

/* Marks a stack and all that it stands on. */
static void mark(const struct cairn_node *nodes, uint32_t node, uint32_t *of)
{
    for (; node != 0 && !of[node]; node = nodes[node].parent)
        of[node] = 1;
}

static void mark_counted(const struct cairn_tally *tally, const struct cairn_node *nodes,
                         uint32_t *of)
{
    const struct cairn_call_sum *calls;
    size_t count = cairn_model_calls(tally->model, &calls);

    for (size_t i = 0; i < count; i++)
        mark(nodes, tally->fold ? tally->fold[calls[i].node] : calls[i].node, of);
}

static int add_node(struct cairn_calltree *tree, struct cairn_map *index,
                    const struct cairn_calltree_node *node, uint32_t *ret_number)
{
    uint64_t key = (uint64_t)node->function << 32 | node->line;
    uint64_t number = tree->nodes.count;

    if (!cairn_map_get(index, node->parent, key, &number)) {
        CAIRN_TRY(cairn_vec_reserve(&tree->nodes, tree->nodes.count + 1, NODES_MAX));
        CAIRN_TRY(cairn_map_put(index, node->parent, key, number));
        tree->nodes.items[tree->nodes.count++] = *node;
    }
    *ret_number = (uint32_t)number;
    return 0;
}

static int make(const struct cairn_tally *tally, enum cairn_export_lines lines, bool counted,
                struct cairn_calltree *tree, struct cairn_map *index)
{
    const struct cairn_function *functions;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    size_t count = cairn_model_nodes(tally->model, &nodes);

    cairn_model_frames(tally->model, &frames);
    cairn_model_functions(tally->model, &functions);
    tree->of = cairn_calloc(count + 1, sizeof(*tree->of));
    if (!tree->of)
        return -CAIRN_ENOMEM;
    CAIRN_TRY(cairn_vec_reserve(&tree->nodes, 1, NODES_MAX));
    tree->nodes.items[tree->nodes.count++] = (struct cairn_calltree_node){0};
    for (size_t i = 0; i < tally->cell_count; i++)
        mark(nodes, tally->cells[i].node, tree->of);
    if (counted)
        mark_counted(tally, nodes, tree->of);
    for (size_t i = 1; i < count; i++) {
        const struct cairn_frame *frame = &frames[nodes[i].frame];
        struct cairn_calltree_node node = {
            .parent = tree->of[nodes[i].parent],
            .function = frame->function,
            .line = line_of(&functions[frame->function], frame, lines),
        };

        if (!tree->of[i])
            continue;
        node.depth = tree->nodes.items[node.parent].depth + 1;
        CAIRN_TRY(add_node(tree, index, &node, &tree->of[i]));
    }
    return 0;
}

int cairn_calltree_make(const struct cairn_tally *tally, enum cairn_export_lines lines,
                        bool counted, struct cairn_calltree *ret_tree)
{
    struct cairn_map index;
    int code;

    *ret_tree = (struct cairn_calltree){0};
    cairn_map_init(&index, NODES_MAX);
    code = make(tally, lines, counted, ret_tree, &index);
    cairn_map_release(&index);
    return code;
}

void cairn_calltree_release(struct cairn_calltree *tree)
{
    cairn_vec_release(&tree->nodes);
    free(tree->of);
    tree->of = NULL;
}

uint32_t cairn_calltree_common(const struct cairn_calltree *tree, uint32_t a, uint32_t b)
{
    const struct cairn_calltree_node *nodes = tree->nodes.items;

    while (a != b) {
        uint32_t deeper = nodes[a].depth >= nodes[b].depth ? a : b;

        if (deeper == a)
            a = nodes[a].parent;
        else
            b = nodes[b].parent;
    }
    return a;
}
