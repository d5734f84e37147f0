/* The Firefox profiler's processed format, at a version that all its readers since have taken and
 * turn into their own: tables of columns that all threads share, samples of each thread, and its
 * states as markers. What the tables hold: firefox_tables.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "exporters.h"
#include "firefox_tables.h"
#include "format.h"
#include "json_out.h"
#include "slices.h"

#define PROCESSED_VERSION 60
#define GECKO_VERSION 27 /* of the data that a profile of that version was made from */
#define MARKERS_MAX ((size_t)1 << 26)
#define PHASE_INTERVAL 1
#define NS_PER_MS 1000000u
#define MARKER_GC CAIRN_STATE_COUNT /* the kinds of markers are the states, and this one */

struct marker {
    uint64_t first_ns, last_ns;
    uint32_t on;
    uint8_t kind;
};

struct firefox {
    const struct cairn_tally *tally;
    const struct cairn_export_options *options;
    struct cairn_outlet *out;
    struct cairn_json json;
    struct cairn_firefox_tables tables;
    struct cairn_timeline timeline;
    uint64_t *pids, *tids;
    CAIRN_VEC(struct marker) markers; /* of the thread being written */
};

struct point { /* a sample as the format has it: a moment has one, or one at either end */
    uint64_t time_ns, value, cpu_ns;
};

static uint64_t part_of(uint64_t value, uint64_t part, uint64_t whole)
{
    return whole ? (uint64_t)((unsigned __int128)value * part / whole) : 0;
}

/* A moment of several ticks stands at its first and at its last one: the format has no lengths, and
 * the same stack at both ends says that it was there all the time. Their values are the moment's.
 */
static unsigned points_of(const struct cairn_moment *moment, bool samples, struct point points[2])
{
    uint64_t whole_ns = moment->last_ns - moment->first_ns;
    uint64_t first_ns = moment->tick_ns - moment->first_ns;
    uint64_t value = samples ? moment->ticks : moment->value_ns;

    points[0] = (struct point){moment->last_ns, value, moment->cpu_ns};
    if (moment->ticks < 2)
        return 1;
    points[1] = points[0];
    points[0] = (struct point){moment->tick_ns, samples ? 1 : part_of(value, first_ns, whole_ns),
                               part_of(moment->cpu_ns, first_ns, whole_ns)};
    points[1].value -= points[0].value;
    points[1].cpu_ns -= points[0].cpu_ns;
    return 2;
}

enum column { COLUMN_STACK, COLUMN_TIME, COLUMN_WEIGHT, COLUMN_CPU };

static int put_column(struct firefox *f, const char *key, enum column column, size_t first,
                      size_t end, size_t *ret_length)
{
    bool samples = f->options->samples;
    struct point points[2];

    *ret_length = 0;
    cairn_json_key(&f->json, cairn_span_of(key));
    cairn_json_array(&f->json);
    for (size_t i = first; i < end; i++) {
        const struct cairn_moment *moment = &f->timeline.items[i];
        unsigned count = points_of(moment, samples, points);

        *ret_length += count;
        for (unsigned k = 0; k < count; k++)
            if (column == COLUMN_STACK)
                cairn_json_u64(&f->json, f->tables.tree.of[moment->node] - 1);
            else if (column == COLUMN_TIME)
                cairn_json_millis(&f->json, points[k].time_ns - f->timeline.first_ns);
            else if (column == COLUMN_CPU)
                cairn_json_u64(&f->json, points[k].cpu_ns);
            else if (samples)
                cairn_json_u64(&f->json, points[k].value);
            else
                cairn_json_millis(&f->json, points[k].value);
        CAIRN_TRY(cairn_outlet_drain(f->out));
    }
    cairn_json_close(&f->json);
    return 0;
}

static int put_samples(struct firefox *f, size_t first, size_t end)
{
    size_t length;

    cairn_json_key(&f->json, cairn_span_of("samples"));
    cairn_json_object(&f->json);
    CAIRN_TRY(put_column(f, "stack", COLUMN_STACK, first, end, &length));
    CAIRN_TRY(put_column(f, "time", COLUMN_TIME, first, end, &length));
    CAIRN_TRY(put_column(f, "weight", COLUMN_WEIGHT, first, end, &length));
    CAIRN_TRY(put_column(f, "threadCPUDelta", COLUMN_CPU, first, end, &length));
    cairn_json_put_str(&f->json, "weightType", f->options->samples ? "samples" : "tracing-ms");
    cairn_json_put_u64(&f->json, "length", length);
    cairn_json_close(&f->json);
    return 0;
}

/* Goes on with a marker of the same kind that ended just now, or begins one. */
static int add_marker(struct firefox *f, size_t *open, const struct cairn_moment *moment,
                      uint8_t kind, uint32_t on)
{
    struct marker *last = *open ? &f->markers.items[*open - 1] : NULL;

    if (last && last->kind == kind && last->on == on && last->last_ns == moment->first_ns) {
        last->last_ns = moment->last_ns;
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&f->markers, f->markers.count + 1, MARKERS_MAX));
    f->markers.items[f->markers.count++] =
        (struct marker){moment->first_ns, moment->last_ns, on, kind};
    *open = f->markers.count;
    return 0;
}

static int make_markers(struct firefox *f, size_t first, size_t end)
{
    size_t state = 0, gc = 0; /* the numbers of the latest ones, from 1 */

    f->markers.count = 0;
    for (size_t i = first; i < end; i++) {
        const struct cairn_moment *moment = &f->timeline.items[i];

        CAIRN_TRY(add_marker(f, &state, moment, moment->state,
                             moment->state == CAIRN_STATE_BLOCKED ? moment->on : 0));
        if (moment->overlays & CAIRN_OVERLAY_GC)
            CAIRN_TRY(add_marker(f, &gc, moment, MARKER_GC, 0));
    }
    return 0;
}

static void put_marker_data(struct firefox *f, const struct marker *marker)
{
    cairn_json_object(&f->json);
    cairn_json_put_str(&f->json, "type", marker->kind == MARKER_GC ? "gc" : "state");
    if (marker->on)
        cairn_json_put_text(&f->json, "on", cairn_model_text(f->tally->model, marker->on));
    cairn_json_close(&f->json);
}

static int put_markers(struct firefox *f)
{
    static const char *const keys[] = {"data", "name", "startTime", "endTime", "phase", "category"};

    cairn_json_key(&f->json, cairn_span_of("markers"));
    cairn_json_object(&f->json);
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        cairn_json_key(&f->json, cairn_span_of(keys[k]));
        cairn_json_array(&f->json);
        for (size_t i = 0; i < f->markers.count; i++) {
            const struct marker *marker = &f->markers.items[i];

            if (k == 0)
                put_marker_data(f, marker);
            else if (k == 1)
                cairn_json_u64(&f->json, f->tables.marker_names[marker->kind]);
            else if (k == 2 || k == 3)
                cairn_json_millis(&f->json, (k == 2 ? marker->first_ns : marker->last_ns) -
                                                f->timeline.first_ns);
            else
                cairn_json_u64(&f->json, k == 4 ? PHASE_INTERVAL : 0);
            CAIRN_TRY(cairn_outlet_drain(f->out));
        }
        cairn_json_close(&f->json);
    }
    cairn_json_put_u64(&f->json, "length", f->markers.count);
    cairn_json_close(&f->json);
    return 0;
}

static void put_thread_name(struct firefox *f, const struct cairn_thread *thread, bool is_main)
{
    struct cairn_span name = thread->name;

    /* Readers know main threads by this name, and show their process's name instead. */
    if (name.size_bytes == 0)
        name = cairn_span_of(is_main ? "MainThread" : "[no name]");
    cairn_json_put_text(&f->json, "name", name);
}

/* The moments from `first` up to `end` are those of one thread. */
static int put_thread(struct firefox *f, size_t first, size_t end)
{
    const struct cairn_moment *moments = f->timeline.items;
    const struct cairn_thread *threads, *thread;
    const struct cairn_process *processes, *process;
    uint32_t index = moments[first].thread;
    char pid[24];

    cairn_model_threads(f->tally->model, &threads);
    cairn_model_processes(f->tally->model, &processes);
    thread = &threads[index];
    process = &processes[thread->process];
    snprintf(pid, sizeof(pid), "%" PRIu64, f->pids[thread->process]);
    cairn_json_object(&f->json);
    put_thread_name(f, thread, thread->tid == process->pid);
    cairn_json_put_bool(&f->json, "isMainThread", thread->tid == process->pid);
    cairn_json_put_str(&f->json, "pid", pid);
    cairn_json_put_u64(&f->json, "tid", f->tids[index]);
    cairn_json_put_str(&f->json, "processType", "default");
    cairn_json_put_text(&f->json, "processName",
                        process->command.size_bytes ? process->command : process->name);
    cairn_json_put_u64(&f->json, "processStartupTime", 0);
    cairn_json_put_null(&f->json, "processShutdownTime");
    cairn_json_key(&f->json, cairn_span_of("registerTime"));
    cairn_json_millis(&f->json, moments[first].first_ns - f->timeline.first_ns);
    cairn_json_put_null(&f->json, "unregisterTime");
    cairn_json_key(&f->json, cairn_span_of("pausedRanges"));
    cairn_json_array(&f->json);
    cairn_json_close(&f->json);
    CAIRN_TRY(put_samples(f, first, end));
    CAIRN_TRY(make_markers(f, first, end));
    CAIRN_TRY(put_markers(f));
    cairn_json_close(&f->json);
    return 0;
}

static void put_schema(struct firefox *f, const char *name, const char *label, bool with_on)
{
    cairn_json_object(&f->json);
    cairn_json_put_str(&f->json, "name", name);
    cairn_json_put_str(&f->json, "chartLabel", label);
    cairn_json_put_str(&f->json, "tooltipLabel", label);
    cairn_json_put_str(&f->json, "tableLabel", label);
    cairn_json_key(&f->json, cairn_span_of("display"));
    cairn_json_array(&f->json);
    cairn_json_text(&f->json, cairn_span_of("marker-chart"));
    cairn_json_text(&f->json, cairn_span_of("marker-table"));
    cairn_json_close(&f->json);
    cairn_json_key(&f->json, cairn_span_of("fields"));
    cairn_json_array(&f->json);
    if (with_on) {
        cairn_json_object(&f->json);
        cairn_json_put_str(&f->json, "key", "on");
        cairn_json_put_str(&f->json, "label", "waited for");
        cairn_json_put_str(&f->json, "format", "string");
        cairn_json_close(&f->json);
    }
    cairn_json_close(&f->json);
    cairn_json_close(&f->json);
}

static void put_units(struct firefox *f)
{
    cairn_json_key(&f->json, cairn_span_of("sampleUnits"));
    cairn_json_object(&f->json);
    cairn_json_put_str(&f->json, "time", "ms");
    cairn_json_put_str(&f->json, "eventDelay", "ms");
    cairn_json_put_str(&f->json, "threadCPUDelta", "ns");
    cairn_json_close(&f->json);
}

static void put_meta(struct firefox *f)
{
    struct cairn_span interval = cairn_model_env(f->tally->model, "sampler.interval_ns");
    struct cairn_span command = cairn_model_env(f->tally->model, "run.command");
    uint64_t interval_ns =
        interval.size_bytes ? strtoull((const char *)interval.data, NULL, 10) : 0;

    cairn_json_key(&f->json, cairn_span_of("meta"));
    cairn_json_object(&f->json);
    cairn_json_put_u64(&f->json, "preprocessedProfileVersion", PROCESSED_VERSION);
    cairn_json_put_u64(&f->json, "version", GECKO_VERSION);
    cairn_json_key(&f->json, cairn_span_of("startTime"));
    cairn_json_millis(&f->json, cairn_model_real_ns(f->tally->model, f->timeline.first_ns));
    cairn_json_key(&f->json, cairn_span_of("interval"));
    cairn_json_millis(&f->json, interval_ns ? interval_ns : NS_PER_MS);
    cairn_json_put_text(&f->json, "product",
                        command.size_bytes ? command : cairn_span_of("Python"));
    cairn_json_put_str(&f->json, "importedFrom", "Cairn");
    cairn_json_put_u64(&f->json, "processType", 0);
    cairn_json_put_u64(&f->json, "stackwalk", 1);
    cairn_json_put_bool(&f->json, "symbolicated", true);
    cairn_json_put_bool(&f->json, "symbolicationNotSupported", true);
    cairn_json_put_bool(&f->json, "usesOnlyOneStackType", true);
    cairn_json_put_bool(&f->json, "sourceCodeIsNotOnSearchfox", true);
    put_units(f);
    cairn_firefox_put_categories(&f->json);
    cairn_json_key(&f->json, cairn_span_of("markerSchema"));
    cairn_json_array(&f->json);
    put_schema(f, "state", "{marker.name} {marker.data.on}", true);
    put_schema(f, "gc", "{marker.name}", false);
    cairn_json_close(&f->json);
    cairn_json_close(&f->json);
}

static int put_document(struct firefox *f)
{
    cairn_json_init(&f->json, &f->out->buf, 2);
    cairn_json_object(&f->json);
    put_meta(f);
    cairn_json_key(&f->json, cairn_span_of("libs"));
    cairn_json_array(&f->json);
    cairn_json_close(&f->json);
    CAIRN_TRY(cairn_firefox_put_tables(&f->json, &f->tables, f->out));
    cairn_json_key(&f->json, cairn_span_of("threads"));
    cairn_json_array(&f->json);
    for (size_t first = 0, end; first < f->timeline.count; first = end) {
        end = cairn_timeline_thread_end(&f->timeline, first);
        CAIRN_TRY(put_thread(f, first, end));
    }
    cairn_json_close(&f->json);
    cairn_json_close(&f->json);
    return cairn_json_end(&f->json);
}

int cairn_export_firefox(const struct cairn_tally *tally,
                         const struct cairn_export_options *options, struct cairn_outlet *out)
{
    struct firefox f = {.tally = tally, .options = options, .out = out};
    int code = cairn_firefox_tables_make(
        tally, cairn_export_lines_or(options, CAIRN_EXPORT_LINES_EXECUTING), &f.tables);

    if (code == 0)
        code = cairn_timeline_make(tally, &f.timeline);
    if (code == 0)
        code = cairn_slices_pids(tally->model, &f.pids);
    if (code == 0)
        code = cairn_slices_tids(tally->model, &f.tids);
    if (code == 0)
        code = put_document(&f);
    free(f.pids);
    free(f.tids);
    cairn_vec_release(&f.markers);
    cairn_timeline_release(&f.timeline);
    cairn_firefox_tables_release(&f.tables);
    return code;
}
