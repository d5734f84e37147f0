/* A view of a model in which some frames are left out of every stack. */
#include "model_priv.h"

#include "alloc.h"

/* The view's node of each of the base's: the parent's, when the frame goes. No time may end up on
 * no stack at all, so the outermost frame stays until one comes that is to be kept. */
static int fold_nodes(struct cairn_model *view, const struct cairn_model *base,
                      const bool *keep_frames, uint32_t *map, struct cairn_map *known)
{
    view->nodes.count = 1;
    map[0] = 0;
    for (size_t i = 1; i < base->nodes.count; i++) {
        struct cairn_node node = base->nodes.items[i];
        uint64_t found;

        node.parent = map[node.parent];
        if (node.parent != CAIRN_NODE_EMPTY) {
            bool parent_kept = keep_frames[view->nodes.items[node.parent].frame];

            if (!keep_frames[node.frame]) {
                map[i] = node.parent;
                continue;
            }
            if (!parent_kept)
                node.parent = CAIRN_NODE_EMPTY;
        }
        if (!cairn_map_get(known, node.parent, node.frame, &found)) {
            found = view->nodes.count;
            CAIRN_TRY(cairn_map_put(known, node.parent, node.frame, found));
            view->nodes.items[view->nodes.count++] = node;
        }
        map[i] = (uint32_t)found;
    }
    return 0;
}

int cairn_model_fold(const struct cairn_model *model, const bool *keep_frames,
                     struct cairn_model **ret_view, uint32_t **ret_map)
{
    const struct cairn_model *base = model->base ? model->base : model;
    struct cairn_model *view = cairn_calloc(1, sizeof(*view));
    uint32_t *map = cairn_calloc(model->nodes.count, sizeof(*map));
    struct cairn_map known;
    int code = -CAIRN_ENOMEM;

    cairn_map_init(&known, CAIRN_MODEL_ITEMS_MAX);
    if (!view || !map)
        goto fail;
    view->base = base;
    code = cairn_vec_reserve(&view->nodes, model->nodes.count, CAIRN_MODEL_ITEMS_MAX);
    if (code < 0)
        goto fail;
    code = fold_nodes(view, model, keep_frames, map, &known);
    if (code < 0)
        goto fail;
    code = cairn_model_mark(view);
    if (code < 0)
        goto fail;
    cairn_map_release(&known);
    *ret_view = view;
    *ret_map = map;
    return 0;

fail:
    cairn_map_release(&known);
    cairn_model_free(view);
    free(map);
    return code;
}
