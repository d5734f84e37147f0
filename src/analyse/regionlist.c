#include "regionlist.h"

#include "events.h"
#include "format.h"

#define MOST_ITEMS ((size_t)64 << 20)

static uint32_t function_of(const struct cairn_model *model, uint32_t node)
{
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;

    model = cairn_model_whole(model);
    cairn_model_frames(model, &frames);
    cairn_model_nodes(model, &nodes);
    return frames[nodes[node].frame].function;
}

/* Cut at the edges of the span: those that touch one may go on behind it. */
int cairn_region_list_make(const struct cairn_tally *tally, struct cairn_region_list *ret_list)
{
    const struct cairn_filter *filter = &tally->filter;
    uint64_t from_ns = filter->from_ns == 0 ? 0 : tally->first_ns;
    uint64_t to_ns = filter->to_ns == UINT64_MAX ? UINT64_MAX : tally->last_ns;
    struct cairn_event_call call;
    struct cairn_events *events;
    int code;

    *ret_list = (struct cairn_region_list){.count = 0};
    if (cairn_model_counter(tally->model, "regions_processes") == 0)
        return 0;
    CAIRN_TRY(cairn_events_open(tally->model, CAIRN_ROW_MARK, from_ns, to_ns, &events));
    code = cairn_events_choose(events, tally->kept);
    while (code == 0 && (code = cairn_events_next(events, &call)) == 0) {
        code = cairn_vec_reserve(ret_list, ret_list->count + 1, MOST_ITEMS);
        if (code == 0)
            ret_list->items[ret_list->count++] = (struct cairn_region_item){
                .function = function_of(tally->model, call.node),
                .thread = call.thread,
                .first_ns = call.first_ns,
                .last_ns = call.last_ns,
                .values = call.on,
                .mark = call.state == CAIRN_MARK_MOMENT,
                .cut = call.state == CAIRN_MARK_OPEN || (from_ns > 0 && call.first_ns <= from_ns) ||
                       call.last_ns == to_ns,
            };
    }
    cairn_events_free(events);
    return code == -CAIRN_EEND ? 0 : code;
}

void cairn_region_list_release(struct cairn_region_list *list)
{
    cairn_vec_release(list);
}
