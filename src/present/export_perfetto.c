/* Perfetto's own format: a track of slices for each thread, and below it one of its states, and of
 * its regions as many as overlap without one holding the other; and the thread's samples. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "exporters.h"
#include "perfetto.pb-c.h"
#include "perfetto_packet.h"
#include "perfetto_stacks.h"
#include "regionlist.h"
#include "slices.h"

#define CLOCK_MONOTONIC_ID 3

#define LANES_MAX ((size_t)1 << 16)
#define DEEPEST ((size_t)1 << 24)

enum { SLICE_BEGIN = 1, SLICE_END = 2, MOMENT = 3 };
enum {
    CATEGORY_PYTHON = 1,
    CATEGORY_NATIVE,
    CATEGORY_LABEL,
    CATEGORY_STATE,
    CATEGORY_REGION,
    CATEGORY_COUNT
};

/* A track of regions, each within another or behind it. */
struct lane {
    uint64_t track;
    CAIRN_VEC(uint64_t) ends_ns; /* of those that are on, the innermost last */
};

CAIRN_VEC_DECLARE(lanes, struct lane);

struct perfetto {
    const struct cairn_tally *tally;
    struct cairn_outlet *out;
    const struct cairn_calltree *tree;
    const struct cairn_function *functions;
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    size_t function_count, process_count, thread_count;
    bool by_line; /* a call's place is told apart by its line, not by its function alone */
    uint64_t *pids, *tids;
    bool *name_done, *place_done, *process_done, *thread_done;
    struct cairn_buf text, more_text;
    struct cairn_perfetto_stacks stacks;
    uint32_t thread;
    struct cairn_moment state; /* not written yet; last_ns 0: none */
    uint64_t next_track;       /* behind those of all threads */
};

/* Tracks: 1 and on are the processes, then two for each thread. */
static uint64_t process_track(uint32_t process)
{
    return (uint64_t)process + 1;
}

static uint64_t thread_track(const struct perfetto *p, uint32_t thread, bool states)
{
    return p->process_count + 1 + (uint64_t)thread * 2 + states;
}

static int put_head(struct perfetto *p, uint64_t first_ns)
{
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__TracePacketDefaults defaults = PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
    Perfetto__ClockSnapshot snapshot = PERFETTO__CLOCK_SNAPSHOT__INIT;
    Perfetto__Clock clock = PERFETTO__CLOCK__INIT, *clocks = &clock;
    Perfetto__InternedData interned = PERFETTO__INTERNED_DATA__INIT;
    static const char *const names[CATEGORY_COUNT] = {"",      "python", "native",
                                                      "label", "state",  "region"};
    Perfetto__Named entries[CATEGORY_COUNT], *categories[CATEGORY_COUNT];

    clock.has_clock_id = clock.has_timestamp = true;
    clock.clock_id = CLOCK_MONOTONIC_ID;
    clock.timestamp = first_ns;
    snapshot.n_clocks = 1;
    snapshot.clocks = &clocks;
    snapshot.has_primary_trace_clock = true;
    snapshot.primary_trace_clock = CLOCK_MONOTONIC_ID;
    packet.clock_snapshot = &snapshot;
    CAIRN_TRY(cairn_perfetto_put(p->out, &packet));

    packet.clock_snapshot = NULL;
    defaults.has_timestamp_clock_id = true;
    defaults.timestamp_clock_id = CLOCK_MONOTONIC_ID;
    defaults.stack_sample_defaults = cairn_perfetto_stacks_defaults(&p->stacks);
    packet.trace_packet_defaults = &defaults;
    packet.has_sequence_flags = true;
    packet.sequence_flags = CAIRN_PERFETTO_CLEARED;
    for (int i = 1; i < CATEGORY_COUNT; i++) {
        perfetto__named__init(&entries[i]);
        entries[i].has_iid = true;
        entries[i].iid = (uint64_t)i;
        entries[i].name = (char *)(uintptr_t)names[i];
        categories[i - 1] = &entries[i];
    }
    interned.n_event_categories = CATEGORY_COUNT - 1;
    interned.event_categories = categories;
    packet.interned_data = &interned;
    return cairn_perfetto_put(p->out, &packet);
}

static int put_process(struct perfetto *p, uint32_t index)
{
    const struct cairn_process *process = &p->processes[index];
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
    Perfetto__ProcessDescriptor descriptor = PERFETTO__PROCESS_DESCRIPTOR__INIT;
    char *command;

    if (p->process_done[index])
        return 0;
    p->process_done[index] = true;
    descriptor.has_pid = true;
    descriptor.pid = (int32_t)p->pids[index];
    CAIRN_TRY(cairn_perfetto_text(&p->text, process->name, &descriptor.process_name));
    CAIRN_TRY(cairn_perfetto_text(&p->more_text, process->command, &command));
    descriptor.n_cmdline = process->command.size_bytes > 0;
    descriptor.cmdline = &command;
    track.has_uuid = true;
    track.uuid = process_track(index);
    track.process = &descriptor;
    packet.track_descriptor = &track;
    return cairn_perfetto_put(p->out, &packet);
}

static int put_thread(struct perfetto *p, uint32_t index)
{
    const struct cairn_thread *thread = &p->threads[index];
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
    Perfetto__ThreadDescriptor descriptor = PERFETTO__THREAD_DESCRIPTOR__INIT;

    if (p->thread_done[index])
        return 0;
    p->thread_done[index] = true;
    CAIRN_TRY(put_process(p, thread->process));
    descriptor.has_pid = descriptor.has_tid = true;
    descriptor.pid = (int32_t)p->pids[thread->process];
    descriptor.tid = (int32_t)p->tids[index];
    if (thread->name.size_bytes > 0)
        CAIRN_TRY(cairn_perfetto_text(&p->text, thread->name, &descriptor.thread_name));
    track.has_uuid = track.has_parent_uuid = true;
    track.uuid = thread_track(p, index, false);
    track.parent_uuid = process_track(thread->process);
    track.thread = &descriptor;
    packet.track_descriptor = &track;
    CAIRN_TRY(cairn_perfetto_put(p->out, &packet));

    track.thread = NULL;
    track.name = (char *)(uintptr_t) "state";
    track.parent_uuid = track.uuid;
    track.uuid = thread_track(p, index, true);
    return cairn_perfetto_put(p->out, &packet);
}

static int put_event(struct perfetto *p, const Perfetto__TrackEvent *event,
                     Perfetto__InternedData *interned, uint64_t time_ns)
{
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

    packet.has_timestamp = true;
    packet.timestamp = time_ns;
    packet.has_sequence_flags = true;
    packet.sequence_flags = CAIRN_PERFETTO_NEEDED;
    packet.interned_data = interned;
    packet.track_event = (Perfetto__TrackEvent *)(uintptr_t)event;
    return cairn_perfetto_put(p->out, &packet);
}

static uint64_t category_of(const struct cairn_function *function)
{
    if (function->kind == CAIRN_FUNCTION_PYTHON)
        return CATEGORY_PYTHON;
    return function->kind == CAIRN_FUNCTION_NATIVE ? CATEGORY_NATIVE : CATEGORY_LABEL;
}

static int put_begin(void *ctx, uint32_t node, uint64_t time_ns)
{
    struct perfetto *p = ctx;
    const struct cairn_calltree_node *call = &p->tree->nodes.items[node];
    const struct cairn_function *function = &p->functions[call->function];
    uint32_t place = p->by_line ? node : call->function;
    uint64_t category = category_of(function);
    Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
    Perfetto__InternedData interned = PERFETTO__INTERNED_DATA__INIT;
    Perfetto__Named entry = PERFETTO__NAMED__INIT, *entries = &entry;
    Perfetto__SourceLocation location = PERFETTO__SOURCE_LOCATION__INIT, *locations = &location;

    event.has_type = event.has_name_iid = event.has_track_uuid = true;
    event.type = SLICE_BEGIN;
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.name_iid = (uint64_t)call->function + 1;
    event.track_uuid = thread_track(p, p->thread, false);
    event.has_source_location_iid = true;
    event.source_location_iid = (uint64_t)place + 1;
    if (!p->name_done[call->function]) {
        entry.has_iid = true;
        entry.iid = event.name_iid;
        CAIRN_TRY(cairn_perfetto_text(&p->text, function->qualname, &entry.name));
        interned.n_event_names = 1;
        interned.event_names = &entries;
    }
    if (!p->place_done[place]) {
        location.has_iid = true;
        location.iid = event.source_location_iid;
        CAIRN_TRY(cairn_perfetto_text(&p->more_text,
                                      function->kind == CAIRN_FUNCTION_NATIVE ? function->module
                                                                              : function->file,
                                      &location.file_name));
        location.has_line_number = call->line > 0;
        location.line_number = call->line;
        interned.n_source_locations = 1;
        interned.source_locations = &locations;
    }
    p->name_done[call->function] = p->place_done[place] = true;
    return put_event(p, &event,
                     interned.n_event_names || interned.n_source_locations ? &interned : NULL,
                     time_ns);
}

static int put_end(void *ctx, uint32_t node, uint64_t time_ns)
{
    struct perfetto *p = ctx;
    Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

    (void)node; /* an end is that of the innermost slice */
    event.has_type = event.has_track_uuid = true;
    event.type = SLICE_END;
    event.track_uuid = thread_track(p, p->thread, false);
    return put_event(p, &event, NULL, time_ns);
}

/* The state that is held back, as a slice. */
static int put_state(struct perfetto *p)
{
    uint32_t place = (uint32_t)p->function_count + p->state.state;
    uint64_t category = CATEGORY_STATE;
    Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
    Perfetto__InternedData interned = PERFETTO__INTERNED_DATA__INIT;
    Perfetto__Named entry = PERFETTO__NAMED__INIT, *entries = &entry;

    if (p->state.last_ns == 0)
        return 0;
    event.has_type = event.has_name_iid = event.has_track_uuid = true;
    event.type = SLICE_BEGIN;
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.name_iid = (uint64_t)place + 1;
    event.track_uuid = thread_track(p, p->thread, true);
    entry.has_iid = true;
    entry.iid = event.name_iid;
    entry.name = (char *)(uintptr_t)cairn_state_name((enum cairn_state)p->state.state);
    interned.n_event_names = 1;
    interned.event_names = &entries;
    CAIRN_TRY(put_event(p, &event, p->name_done[place] ? NULL : &interned, p->state.first_ns));
    p->name_done[place] = true;
    event.type = SLICE_END;
    event.n_category_iids = 0;
    event.has_name_iid = false;
    return put_event(p, &event, NULL, p->state.last_ns);
}

/* A sample, whose state is one slice with the states before it that are the same. */
static int put_moment(void *ctx, const struct cairn_moment *moment)
{
    struct perfetto *p = ctx;

    CAIRN_TRY(cairn_perfetto_stacks_put(&p->stacks, moment, p->pids[p->threads[p->thread].process],
                                        p->tids[p->thread]));
    if (p->state.last_ns == moment->first_ns && p->state.state == moment->state) {
        p->state.last_ns = moment->last_ns;
        return 0;
    }
    CAIRN_TRY(put_state(p));
    p->state = *moment;
    return 0;
}

static int begin_thread(void *ctx, uint32_t thread)
{
    struct perfetto *p = ctx;

    CAIRN_TRY(put_state(p));
    p->state.last_ns = 0;
    p->thread = thread;
    return put_thread(p, thread);
}

/* --- what the program wrote down --- */

static int put_lane(struct perfetto *p, struct lane *lane)
{
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;

    lane->track = p->next_track++;
    track.has_uuid = track.has_parent_uuid = true;
    track.uuid = lane->track;
    track.parent_uuid = thread_track(p, p->thread, false);
    track.name = (char *)(uintptr_t) "regions";
    packet.track_descriptor = &track;
    return cairn_perfetto_put(p->out, &packet);
}

/* The first lane in which it lies within what is on, or behind it. */
static int find_lane(struct perfetto *p, struct lanes *lanes, const struct cairn_region_item *item,
                     struct lane **ret_lane)
{
    struct lane *lane;

    for (size_t i = 0; i < lanes->count; i++) {
        lane = &lanes->items[i];
        while (lane->ends_ns.count > 0 &&
               lane->ends_ns.items[lane->ends_ns.count - 1] <= item->first_ns)
            lane->ends_ns.count--;
        if (lane->ends_ns.count == 0 ||
            lane->ends_ns.items[lane->ends_ns.count - 1] >= item->last_ns) {
            *ret_lane = lane;
            return 0;
        }
    }
    CAIRN_TRY(cairn_vec_reserve(lanes, lanes->count + 1, LANES_MAX));
    *ret_lane = &lanes->items[lanes->count++];
    **ret_lane = (struct lane){0};
    return put_lane(p, *ret_lane);
}

static void forget_lanes(struct lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        cairn_vec_release(&lanes->items[i].ends_ns);
    lanes->count = 0;
}

static int put_item(struct perfetto *p, const struct cairn_region_item *item, uint64_t track)
{
    uint64_t category = CATEGORY_REGION;
    Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
    Perfetto__InternedData interned = PERFETTO__INTERNED_DATA__INIT;
    Perfetto__Named entry = PERFETTO__NAMED__INIT, *entries = &entry;
    Perfetto__DebugAnnotation note = PERFETTO__DEBUG_ANNOTATION__INIT, *notes = &note;

    event.has_type = event.has_name_iid = event.has_track_uuid = true;
    event.type = item->mark ? MOMENT : SLICE_BEGIN;
    event.n_category_iids = 1;
    event.category_iids = &category;
    event.name_iid = (uint64_t)item->function + 1;
    event.track_uuid = track;
    entry.has_iid = true;
    entry.iid = event.name_iid;
    CAIRN_TRY(cairn_perfetto_text(&p->text, p->functions[item->function].name, &entry.name));
    interned.n_event_names = 1;
    interned.event_names = &entries;
    if (item->values != 0) {
        CAIRN_TRY(cairn_perfetto_text(
            &p->more_text, cairn_model_text(p->tally->model, item->values), &note.string_value));
        note.name = (char *)(uintptr_t) "values";
        event.n_debug_annotations = 1;
        event.debug_annotations = &notes;
    }
    CAIRN_TRY(
        put_event(p, &event, p->name_done[item->function] ? NULL : &interned, item->first_ns));
    p->name_done[item->function] = true;
    if (item->mark)
        return 0;
    event.type = SLICE_END;
    event.n_category_iids = 0;
    event.has_name_iid = false;
    return put_event(p, &event, NULL, item->last_ns);
}

static int put_region(struct perfetto *p, struct lanes *lanes, const struct cairn_region_item *item)
{
    struct lane *lane;

    CAIRN_TRY(find_lane(p, lanes, item, &lane));
    CAIRN_TRY(cairn_vec_reserve(&lane->ends_ns, lane->ends_ns.count + 1, DEEPEST));
    lane->ends_ns.items[lane->ends_ns.count++] = item->last_ns;
    return put_item(p, item, lane->track);
}

static int by_thread_and_time(const void *left, const void *right)
{
    const struct cairn_region_item *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->first_ns != b->first_ns)
        return a->first_ns < b->first_ns ? -1 : 1;
    return (a->last_ns < b->last_ns) - (a->last_ns > b->last_ns);
}

static int put_written(struct perfetto *p)
{
    struct lanes lanes = {.count = 0};
    struct cairn_region_list list;
    int code = cairn_region_list_make(p->tally, &list);

    if (code == 0 && list.count > 0)
        qsort(list.items, list.count, sizeof(*list.items), by_thread_and_time);
    for (size_t i = 0; i < list.count && code == 0; i++) {
        const struct cairn_region_item *item = &list.items[i];

        if (i == 0 || item->thread != p->thread) {
            forget_lanes(&lanes);
            p->thread = item->thread;
            code = put_thread(p, item->thread);
        }
        if (code == 0)
            code = item->mark ? put_item(p, item, thread_track(p, p->thread, false))
                              : put_region(p, &lanes, item);
    }
    forget_lanes(&lanes);
    cairn_vec_release(&lanes);
    cairn_region_list_release(&list);
    return code;
}

static int put_trace(struct perfetto *p)
{
    static const struct cairn_slices_ops ops = {
        .thread = begin_thread, .begin = put_begin, .end = put_end, .moment = put_moment};
    size_t node_count = p->tree->nodes.count;
    struct cairn_timeline timeline;
    int code;

    p->name_done = cairn_calloc(p->function_count + CAIRN_STATE_COUNT, sizeof(*p->name_done));
    p->place_done =
        cairn_calloc(p->by_line ? node_count : p->function_count + 1, sizeof(*p->place_done));
    p->process_done = cairn_calloc(p->process_count + 1, sizeof(*p->process_done));
    p->thread_done = cairn_calloc(p->thread_count + 1, sizeof(*p->thread_done));
    if (!p->name_done || !p->place_done || !p->process_done || !p->thread_done)
        return -CAIRN_ENOMEM;
    CAIRN_TRY(cairn_slices_pids(p->tally->model, &p->pids));
    CAIRN_TRY(cairn_slices_tids(p->tally->model, &p->tids));
    CAIRN_TRY(cairn_timeline_make(p->tally, &timeline));
    code = put_head(p, timeline.first_ns);
    if (code == 0)
        code = cairn_slices_walk(p->tally, &timeline, p->tree, &ops, p);
    if (code == 0)
        code = put_state(p);
    if (code == 0)
        code = put_written(p);
    cairn_timeline_release(&timeline);
    return code;
}

int cairn_export_perfetto(const struct cairn_tally *tally,
                          const struct cairn_export_options *options, struct cairn_outlet *out)
{
    enum cairn_export_lines lines = cairn_export_lines_or(options, CAIRN_EXPORT_LINES_FIRST);
    struct cairn_calltree tree;
    struct perfetto p = {.tally = tally,
                         .out = out,
                         .tree = &tree,
                         .by_line = lines == CAIRN_EXPORT_LINES_EXECUTING};
    int code = cairn_calltree_make(tally, lines, cairn_slices_counted(tally), &tree);

    p.function_count = cairn_model_functions(tally->model, &p.functions);
    p.process_count = cairn_model_processes(tally->model, &p.processes);
    p.thread_count = cairn_model_threads(tally->model, &p.threads);
    p.next_track = thread_track(&p, (uint32_t)p.thread_count, false);
    cairn_buf_init(&p.text, CAIRN_PERFETTO_TEXT_MAX_BYTES);
    cairn_buf_init(&p.more_text, CAIRN_PERFETTO_TEXT_MAX_BYTES);
    if (code == 0)
        code = cairn_perfetto_stacks_init(&p.stacks, tally, &tree, options->samples, out);
    if (code == 0)
        code = put_trace(&p);
    cairn_perfetto_stacks_release(&p.stacks);
    free(p.pids);
    free(p.tids);
    free(p.name_done);
    free(p.place_done);
    free(p.process_done);
    free(p.thread_done);
    cairn_buf_release(&p.text);
    cairn_buf_release(&p.more_text);
    cairn_calltree_release(&tree);
    return code;
}
