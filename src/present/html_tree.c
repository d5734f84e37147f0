#include "html_tree.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "map.h"
#include "pairs.h"

#define ITEMS_MAX ((size_t)1 << 30)
#define NONE CAIRN_HTML_NONE

struct builder {
    struct cairn_html_tree *tree;
    const struct cairn_node *nodes;
    const struct cairn_frame *frames;
    uint32_t *frame_of;             /* of each frame */
    struct cairn_map lines, stacks; /* {function, line} to frame, {parent, frame} to node */
};

static int add_function(struct builder *b, uint32_t function, uint32_t *ret_function)
{
    struct cairn_html_tree *tree = b->tree;

    if (tree->function_of[function] == NONE) {
        CAIRN_TRY(cairn_vec_reserve(&tree->functions, tree->functions.count + 1, ITEMS_MAX));
        tree->function_of[function] = (uint32_t)tree->functions.count;
        tree->functions.items[tree->functions.count++] = function;
    }
    *ret_function = tree->function_of[function];
    return 0;
}

/* Frames of one function and one line are one. */
static int add_line(struct builder *b, uint32_t of_model, uint32_t line, uint32_t *ret_frame)
{
    struct cairn_html_tree *tree = b->tree;
    uint64_t found = tree->frames.count;
    uint32_t function;

    CAIRN_TRY(add_function(b, of_model, &function));
    if (!cairn_map_get(&b->lines, function, line, &found)) {
        CAIRN_TRY(cairn_vec_reserve(&tree->frames, tree->frames.count + 1, ITEMS_MAX));
        CAIRN_TRY(cairn_map_put(&b->lines, function, line, found));
        tree->frames.items[tree->frames.count++] = (struct cairn_html_frame){function, line};
    }
    *ret_frame = (uint32_t)found;
    return 0;
}

static int add_frame(struct builder *b, uint32_t index, uint32_t *ret_frame)
{
    const struct cairn_frame *frame = &b->frames[index];

    if (b->frame_of[index] == NONE)
        CAIRN_TRY(add_line(b, frame->function, frame->line, &b->frame_of[index]));
    *ret_frame = b->frame_of[index];
    return 0;
}

/* Functions whose calls, lines or instructions were counted need not have been met by anything
 * else. */
static int add_counted(struct builder *b, const struct cairn_tally *tally)
{
    const struct cairn_counted_opcode *opcodes;
    const struct cairn_call_pair *pairs;
    const struct cairn_counted_line *lines;
    size_t line_count = cairn_model_counted_lines(tally->model, &lines);
    size_t pair_count = cairn_model_pairs(tally->model, &pairs);
    size_t opcode_count = cairn_model_counted_opcodes(tally->model, &opcodes);
    uint32_t frame, function;

    for (size_t i = 0; i < pair_count; i++) {
        if (!tally->kept[pairs[i].thread])
            continue;
        CAIRN_TRY(add_function(b, pairs[i].function, &function));
        if (pairs[i].caller != UINT32_MAX)
            CAIRN_TRY(add_function(b, pairs[i].caller, &function));
    }
    for (size_t i = 0; i < line_count; i++)
        if (tally->kept_process[lines[i].thread])
            CAIRN_TRY(add_line(b, lines[i].function, lines[i].line, &frame));
    for (size_t i = 0; i < opcode_count; i++)
        if (tally->kept_process[opcodes[i].thread])
            CAIRN_TRY(add_line(b, opcodes[i].function, opcodes[i].line, &frame));
    return 0;
}

static int add_node(struct builder *b, uint32_t node)
{
    struct cairn_html_tree *tree = b->tree;
    uint32_t parent = tree->node_of[b->nodes[node].parent], frame;
    uint64_t found = tree->nodes.count;

    CAIRN_TRY(add_frame(b, b->nodes[node].frame, &frame));
    if (!cairn_map_get(&b->stacks, parent, frame, &found)) {
        CAIRN_TRY(cairn_vec_reserve(&tree->nodes, tree->nodes.count + 1, ITEMS_MAX));
        CAIRN_TRY(cairn_map_put(&b->stacks, parent, frame, found));
        tree->nodes.items[tree->nodes.count++] = (struct cairn_html_node){parent, frame};
    }
    tree->node_of[node] = (uint32_t)found;
    return 0;
}

static void mark(bool *used, const struct cairn_tally *tally)
{
    for (size_t i = 0; i < tally->cell_count; i++)
        used[tally->cells[i].node] = true;
}

/* Marks the stacks that samples, calls and tasks stand on, and those that led there. */
static bool *make_used(const struct cairn_html_tallies *tallies, const struct cairn_node *nodes,
                       size_t node_count)
{
    bool *used = cairn_calloc(node_count, sizeof(*used));

    if (!used)
        return NULL;
    mark(used, tallies->wall);
    mark(used, tallies->tasks);
    if (tallies->calls)
        mark(used, tallies->calls);
    for (size_t i = node_count; i-- > 1;)
        if (used[i])
            used[nodes[i].parent] = true;
    return used;
}

static int build(struct builder *b, const struct cairn_html_tallies *tallies)
{
    const struct cairn_tally *tally = tallies->wall;
    const struct cairn_function *functions;
    size_t function_count = cairn_model_functions(tally->model, &functions);
    size_t frame_count = cairn_model_frames(tally->model, &b->frames);
    size_t node_count = cairn_model_nodes(tally->model, &b->nodes);
    bool *used = make_used(tallies, b->nodes, node_count);
    int code = -CAIRN_ENOMEM;

    b->tree->node_of = cairn_calloc(node_count, sizeof(*b->tree->node_of));
    b->tree->function_of = cairn_malloc((function_count + 1) * sizeof(*b->tree->function_of));
    b->frame_of = cairn_malloc((frame_count + 1) * sizeof(*b->frame_of));
    if (used && b->tree->node_of && b->tree->function_of && b->frame_of) {
        memset(b->tree->function_of, 0xff, function_count * sizeof(*b->tree->function_of));
        memset(b->frame_of, 0xff, frame_count * sizeof(*b->frame_of));
        code = cairn_vec_reserve(&b->tree->nodes, 1, ITEMS_MAX);
        b->tree->nodes.count = code == 0; /* the empty stack */
        for (size_t i = 1; i < node_count && code == 0; i++)
            code = used[i] ? add_node(b, (uint32_t)i) : 0;
        if (code == 0)
            code = add_counted(b, tally);
    }
    free(used);
    return code;
}

int cairn_html_tree_make(const struct cairn_html_tallies *tallies, struct cairn_html_tree *ret_tree)
{
    struct builder b = {.tree = ret_tree};
    int code;

    *ret_tree = (struct cairn_html_tree){0};
    cairn_map_init(&b.lines, ITEMS_MAX);
    cairn_map_init(&b.stacks, ITEMS_MAX);
    code = build(&b, tallies);
    cairn_map_release(&b.lines);
    cairn_map_release(&b.stacks);
    free(b.frame_of);
    return code;
}

void cairn_html_tree_release(struct cairn_html_tree *tree)
{
    cairn_vec_release(&tree->nodes);
    cairn_vec_release(&tree->frames);
    cairn_vec_release(&tree->functions);
    free(tree->node_of);
    free(tree->function_of);
    tree->node_of = tree->function_of = NULL;
}
