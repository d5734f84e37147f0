/* Regions, marks, and the calls of a timeline: all that has moments of its own. Of what is too much
 * for a page the longest are kept, and how many there are is said. */
#include <stdlib.h>

#include "escape.h"
#include "events.h"
#include "format.h"
#include "html_counts.h"
#include "regionlist.h"
#include "regionrows.h"

#define CALLS_MAX 40000u
#define BANDS_MAX 4000u
#define MARKS_MAX 2000u
#define DRAIN_ITEMS 1024

/* How many are of each length, in steps of an eighth of a power of two. */
#define STEPS 8
#define LENGTHS (64 * STEPS)

static void begin_array(struct cairn_json *json, const char *key)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_array(json);
}

static size_t length_step(uint64_t ns)
{
    unsigned power = ns ? 63 - (unsigned)__builtin_clzll(ns) : 0;

    return power * STEPS + (size_t)(power >= 3 ? ns >> (power - 3) & 7 : 0);
}

/* The smallest step from which on there are no more than `most`. */
static size_t least_step(const uint64_t *counts, uint64_t most)
{
    size_t step = LENGTHS;

    for (uint64_t sum = 0; step > 0 && (sum += counts[step - 1]) <= most; step--)
        ;
    return step;
}

static uint64_t moment(const struct cairn_tally *tally, uint64_t time_ns)
{
    uint64_t first_ns, last_ns;

    cairn_model_span(tally->model, &first_ns, &last_ns);
    return time_ns > first_ns ? time_ns - first_ns : 0;
}

/* --- regions and marks --- */

static int put_name(struct cairn_html_counts *counts, uint32_t function)
{
    const struct cairn_function *functions;

    cairn_model_functions(counts->wall->model, &functions);
    return cairn_html_counts_text(counts, functions[function].name);
}

/* Name, how many, how many without a length, total, least, p50, p90, p99, most. */
static int put_rows(struct cairn_html_counts *counts, const struct cairn_region_rows *rows)
{
    struct cairn_json *json = counts->json;

    begin_array(json, "regions");
    for (size_t i = 0; i < rows->rows.count; i++) {
        const struct cairn_region_row *row = &rows->rows.items[i];
        const uint64_t numbers[] = {row->count,  row->cut,    row->total_ns, row->min_ns,
                                    row->p50_ns, row->p90_ns, row->p99_ns,   row->max_ns};

        cairn_json_array(json);
        CAIRN_TRY(put_name(counts, row->function));
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
            cairn_json_u64(json, numbers[k]);
        cairn_json_close(json);
    }
    cairn_json_close(json);
    return counts->sink->drain(counts->sink);
}

/* Name, thread, moment, and what was noted with it, which nobody knows the meaning of: a page that
 * is to be shared has none. */
static int put_marks(struct cairn_html_counts *counts, const struct cairn_region_rows *rows)
{
    const struct cairn_model *model = counts->wall->model;
    struct cairn_json *json = counts->json;

    cairn_json_put_u64(json, "mark_count", rows->mark_count);
    begin_array(json, "marks");
    for (size_t i = 0; i < rows->marks.count && i < MARKS_MAX; i++) {
        const struct cairn_region_mark *mark = &rows->marks.items[i];

        cairn_json_array(json);
        CAIRN_TRY(put_name(counts, mark->function));
        cairn_json_u64(json, counts->thread_of[mark->thread]);
        cairn_json_u64(json, mark->time_ns);
        CAIRN_TRY(cairn_html_counts_text(counts, counts->options->redact.on
                                                     ? (struct cairn_span){NULL, 0}
                                                     : cairn_model_text(model, mark->values)));
        cairn_json_close(json);
    }
    cairn_json_close(json);
    return counts->sink->drain(counts->sink);
}

/* Name, thread, moment, length: what a timeline can draw. */
static int put_bands(struct cairn_html_counts *counts, const struct cairn_region_list *list)
{
    uint64_t lengths[LENGTHS] = {0};
    struct cairn_json *json = counts->json;
    size_t least;

    for (size_t i = 0; i < list->count; i++)
        lengths[length_step(cairn_region_item_ns(&list->items[i]))] += !list->items[i].mark;
    least = least_step(lengths, BANDS_MAX);
    begin_array(json, "bands");
    for (size_t i = 0; i < list->count; i++) {
        const struct cairn_region_item *item = &list->items[i];

        if (item->mark || length_step(cairn_region_item_ns(item)) < least ||
            counts->thread_of[item->thread] == CAIRN_HTML_NONE)
            continue;
        cairn_json_array(json);
        CAIRN_TRY(put_name(counts, item->function));
        cairn_json_u64(json, counts->thread_of[item->thread]);
        cairn_json_u64(json, moment(counts->wall, item->first_ns));
        cairn_json_u64(json, cairn_region_item_ns(item));
        cairn_json_close(json);
    }
    cairn_json_close(json);
    return counts->sink->drain(counts->sink);
}

static int put_regions(struct cairn_html_counts *counts)
{
    struct cairn_region_list list = {.count = 0};
    struct cairn_region_rows rows;
    int code;

    if (cairn_model_counter(counts->wall->model, "regions_processes") == 0)
        return 0;
    code = cairn_region_rows_make(counts->wall, &rows);
    if (code == 0)
        code = put_rows(counts, &rows);
    if (code == 0)
        code = put_marks(counts, &rows);
    if (code == 0)
        code = cairn_region_list_make(counts->wall, &list);
    if (code == 0)
        code = put_bands(counts, &list);
    cairn_region_list_release(&list);
    cairn_region_rows_release(&rows);
    return code;
}

/* --- calls of a timeline --- */

struct drawn { /* which calls are written, and where the columns before have come to */
    uint64_t lengths[LENGTHS], count, kept;
    size_t least;
};

static int open_calls(struct cairn_html_counts *counts, struct cairn_events **ret_events)
{
    const struct cairn_tally *tally = counts->wall;
    const struct cairn_filter *filter = &tally->filter;
    int code =
        cairn_events_open(cairn_model_whole(tally->model), CAIRN_ROW_EVENT,
                          filter->from_ns == 0 ? 0 : tally->first_ns,
                          filter->to_ns == UINT64_MAX ? UINT64_MAX : tally->last_ns, ret_events);

    return code < 0 ? code : cairn_events_choose(*ret_events, tally->kept);
}

/* The page's stack of a call; 0: it has none. */
static uint32_t node_of(const struct cairn_html_counts *counts, const struct cairn_event_call *call)
{
    const struct cairn_tally *calls = counts->calls;

    if (counts->thread_of[call->thread] == CAIRN_HTML_NONE)
        return 0;
    return counts->tree->node_of[calls->fold ? calls->fold[call->node] : call->node];
}

static int measure(struct cairn_html_counts *counts, struct drawn *drawn)
{
    struct cairn_event_call call;
    struct cairn_events *events;
    int code;

    CAIRN_TRY(open_calls(counts, &events));
    while ((code = cairn_events_next(events, &call)) == 0) {
        drawn->count++;
        drawn->lengths[length_step(call.last_ns - call.first_ns)] += node_of(counts, &call) > 0;
    }
    cairn_events_free(events);
    drawn->least = least_step(drawn->lengths, CALLS_MAX);
    return code == -CAIRN_EEND ? 0 : code;
}

/* Thread, stack, moment, length. */
static int put_call(struct cairn_html_counts *counts, const struct cairn_event_call *call,
                    uint32_t node)
{
    struct cairn_json *json = counts->json;

    cairn_json_u64(json, counts->thread_of[call->thread]);
    cairn_json_u64(json, node);
    cairn_json_u64(json, moment(counts->wall, call->first_ns));
    cairn_json_u64(json, call->last_ns - call->first_ns);
    return 0;
}

static int put_drawn(struct cairn_html_counts *counts, struct drawn *drawn)
{
    struct cairn_event_call call;
    struct cairn_events *events;
    int code;

    CAIRN_TRY(open_calls(counts, &events));
    begin_array(counts->json, "timeline");
    while ((code = cairn_events_next(events, &call)) == 0) {
        uint32_t node = node_of(counts, &call);

        if (node == 0 || length_step(call.last_ns - call.first_ns) < drawn->least)
            continue;
        code = put_call(counts, &call, node);
        if (code == 0 && ++drawn->kept % DRAIN_ITEMS == 0)
            code = counts->sink->drain(counts->sink);
        if (code < 0)
            break;
    }
    cairn_json_close(counts->json);
    cairn_events_free(events);
    cairn_json_put_u64(counts->json, "timeline_calls", drawn->count);
    return code == -CAIRN_EEND ? 0 : code;
}

int cairn_html_events_put(struct cairn_html_counts *counts)
{
    struct drawn drawn = {.count = 0};

    CAIRN_TRY(put_regions(counts));
    if (!counts->calls || cairn_model_counter(counts->wall->model, "timeline_calls") == 0)
        return 0;
    CAIRN_TRY(measure(counts, &drawn));
    return put_drawn(counts, &drawn);
}
