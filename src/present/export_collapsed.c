/* Collapsed stacks: one line a stack, root first, frames joined by `;`, a space, a number. */
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "exporters.h"
#include "stacktree.h"

#define LINE_MAX_BYTES ((size_t)1 << 30)

/* Whole microseconds whose sum is never off by more than one: what is cut off here is carried to
 * the next stack. */
static uint64_t whole_us(uint64_t *carried_ns, uint64_t value_ns)
{
    uint64_t ns = *carried_ns + value_ns;

    *carried_ns = ns % 1000;
    return ns / 1000;
}

static int write_lines(const struct cairn_stacktree *tree, bool samples, struct cairn_outlet *out,
                       struct cairn_buf *path, size_t *ends)
{
    uint64_t carried_ns = 500; /* so that the sum is rounded, not cut */

    ends[0] = 0;
    for (size_t i = 1; i < tree->count; i++) {
        const struct cairn_stacktree_node *node = &tree->nodes[i];

        path->size_bytes = ends[node->depth - 1];
        if (path->size_bytes > 0)
            cairn_buf_u8(path, ';');
        cairn_escape_collapsed(path, cairn_intern_get(&tree->labels, node->label));
        CAIRN_TRY(path->code);
        ends[node->depth] = path->size_bytes;
        if (samples ? node->self.ticks == 0 : node->self.value_ns == 0)
            continue;
        cairn_buf_add(&out->buf, path->data, path->size_bytes);
        cairn_buf_printf(&out->buf, " %" PRIu64 "\n",
                         samples ? node->self.ticks : whole_us(&carried_ns, node->self.value_ns));
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    return 0;
}

int cairn_export_collapsed(const struct cairn_tally *tally,
                           const struct cairn_export_options *options, struct cairn_outlet *out)
{
    struct cairn_export_options chosen = *options;
    struct cairn_stacktree tree;
    struct cairn_buf path;
    size_t *ends = NULL; /* of the path at each depth */
    int code;

    if (chosen.lines == CAIRN_EXPORT_LINES_DEFAULT)
        chosen.lines = CAIRN_EXPORT_LINES_EXECUTING;
    cairn_buf_init(&path, LINE_MAX_BYTES);
    code = cairn_stacktree_make(tally, &chosen, &tree);
    if (code == 0) {
        ends = cairn_calloc((size_t)tree.depth_max + 1, sizeof(*ends));
        code = ends ? write_lines(&tree, chosen.samples, out, &path, ends) : -CAIRN_ENOMEM;
    }
    free(ends);
    cairn_buf_release(&path);
    cairn_stacktree_release(&tree);
    return code;
}
