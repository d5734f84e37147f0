#include "report_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engines.h"
#include "overhead.h"
#include "escape.h"
#include "exactrows.h"
#include "facts.h"
#include "handle.h"
#include "json_out.h"
#include "report_json_calls.h"
#include "report_json_lines.h"
#include "report_json_regions.h"
#include "role_rows.h"
#include "taskrows.h"

#define LABEL_MAX_BYTES ((size_t)1 << 20)

static void put_told(struct cairn_json *json, const char *key, struct cairn_span text)
{
    if (text.size_bytes > 0)
        cairn_json_put_text(json, key, text);
    else
        cairn_json_put_null(json, key);
}

static void put_known_seconds(struct cairn_json *json, const char *key, uint64_t ns)
{
    if (ns == CAIRN_FACT_NONE)
        cairn_json_put_null(json, key);
    else
        cairn_json_put_seconds(json, key, ns);
}

static void put_recording(struct cairn_json *json, const struct cairn_tally *tally,
                          const struct cairn_facts *facts, const char *file)
{
    size_t count = cairn_model_env_count(tally->model);
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    uint64_t first_ns, last_ns;

    cairn_model_span(tally->model, &first_ns, &last_ns);
    cairn_json_key(json, cairn_span_of("recording"));
    cairn_json_object(json);
    if (file)
        cairn_json_put_str(json, "file", file);
    else
        cairn_json_put_null(json, "file");
    cairn_json_put_str(json, "mode", facts->attached ? "attach" : "run");
    cairn_json_put_text(json, "command", facts->command);
    cairn_json_put_text(json, "children", facts->children);
    cairn_json_put_u64(json, "recordings", facts->recordings);
    cairn_json_put_seconds(json, "wall_s", facts->wall_ns);
    put_known_seconds(json, "user_s", facts->user_ns);
    put_known_seconds(json, "sys_s", facts->sys_ns);
    cairn_facts_put(json, "peak_bytes", facts->peak_bytes);
    cairn_facts_put(json, "exit", facts->exit_status);
    cairn_facts_put(json, "signal", facts->signal_number);
    if (facts->cores > 0)
        cairn_json_put_number(json, "cores_usable", facts->cores);
    else
        cairn_json_put_null(json, "cores_usable");
    cairn_json_put_seconds(json, "span_s", last_ns - first_ns);
    cairn_json_put_u64(json, "threads", cairn_model_threads(tally->model, &threads));
    cairn_json_put_u64(json, "processes", cairn_model_processes(tally->model, &processes));
    cairn_json_key(json, cairn_span_of("environment"));
    cairn_json_object(json);
    for (size_t i = 0; i < count; i++) {
        struct cairn_span key, value;

        cairn_model_env_at(tally->model, i, &key, &value);
        cairn_json_key(json, key);
        cairn_json_text(json, value);
    }
    cairn_json_close(json);
    cairn_json_close(json);
}

/* Of engines in the program; null where there were none. */
static void put_counted(struct cairn_json *json, const struct cairn_model *model)
{
    uint64_t calls = cairn_model_counter(model, "exact_displaced"),
             lines = cairn_model_counter(model, "lines_displaced");

    if (cairn_model_counter(model, "exact_processes") == 0 &&
        cairn_model_counter(model, "lines_processes") == 0) {
        cairn_json_put_null(json, "events");
        cairn_json_put_null(json, "events_lost");
        cairn_json_put_null(json, "cut_short");
        cairn_json_put_null(json, "displaced");
        return;
    }
    cairn_json_put_u64(json, "events",
                       cairn_model_counter(model, "events") +
                           cairn_model_counter(model, "lines_events"));
    cairn_json_put_u64(json, "events_lost",
                       cairn_model_counter(model, "events_lost") +
                           cairn_model_counter(model, "lines_lost"));
    cairn_json_put_bool(json, "cut_short",
                        cairn_model_counter(model, "exact_cut_short") > 0 ||
                            cairn_model_counter(model, "lines_cut_short") > 0);
    cairn_json_put_u64(json, "displaced", calls > lines ? calls : lines);
}

/* Of timelines; null where none was kept. */
static void put_timeline(struct cairn_json *json, const struct cairn_model *model)
{
    static const char *const names[] = {"timeline_calls", "timeline_lost", "timeline_gone"};
    bool kept = cairn_model_counter(model, "timeline_processes") > 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        cairn_json_put_known(json, names[i], kept, cairn_model_counter(model, names[i]));
}

/* Null where nobody said what counting may cost. */
static void put_overhead(struct cairn_json *json, const struct cairn_model *model)
{
    static const char *const names[] = {"max_overhead",     "overhead",       "overhead_kept",
                                        "overhead_setup_s", "let_go",         "counting_ended",
                                        "counted_only",     "counted_plainly"};
    struct cairn_overhead overhead = cairn_overhead_of(model);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !overhead.asked; i++)
        cairn_json_put_null(json, names[i]);
    if (!overhead.asked)
        return;
    cairn_json_put_number(json, names[0], overhead.limit);
    cairn_json_put_number(json, names[1], overhead.reached);
    cairn_json_put_bool(json, names[2], overhead.kept);
    cairn_json_put_seconds(json, names[3], overhead.setup_ns);
    cairn_json_put_u64(json, names[4], overhead.let_go);
    cairn_json_put_u64(json, names[5], overhead.ended);
    cairn_json_put_u64(json, names[6], overhead.untimed);
    cairn_json_put_u64(json, names[7], overhead.plain);
}

static void put_text(struct cairn_json *json, const char *key, const char *text)
{
    if (text)
        cairn_json_put_str(json, key, text);
    else
        cairn_json_put_null(json, key);
}

static void put_engines(struct cairn_json *json, const struct cairn_engine *engines, size_t count)
{
    cairn_json_key(json, cairn_span_of("engines"));
    cairn_json_array(json);
    for (size_t i = 0; i < count; i++) {
        cairn_json_object(json);
        cairn_json_put_str(json, "name", engines[i].name);
        cairn_json_put_number(json, "slowdown", engines[i].slowdown);
        if (engines[i].why == NULL)
            cairn_json_put_null(json, "why");
        else
            cairn_json_put_str(json, "why", engines[i].why);
        cairn_json_put_number(json, "event_ns", engines[i].event_ns);
        cairn_json_put_known(json, "bytes", engines[i].has_bytes, engines[i].bytes);
        cairn_json_put_u64(json, "events", engines[i].events);
        cairn_json_put_u64(json, "lost", engines[i].lost);
        put_text(json, "source", engines[i].source);
        put_text(json, "unseen", engines[i].unseen);
        cairn_json_close(json);
    }
    cairn_json_close(json);
}

static int put_quality(struct cairn_json *json, const struct cairn_tally *tally,
                       const struct cairn_facts *facts)
{
    const struct cairn_model *model = tally->model;
    const struct cairn_quality *quality = cairn_model_quality(model);
    struct cairn_span layout = cairn_facts_layout(model);
    struct cairn_engine engines[CAIRN_ENGINES_MAX];
    size_t engine_count;

    CAIRN_TRY(cairn_engines_make(tally, engines, &engine_count));
    cairn_json_key(json, cairn_span_of("quality"));
    cairn_json_object(json);
    cairn_json_put_u64(json, "ticks", quality->ticks);
    cairn_json_put_known(json, "samples", tally->counted, quality->samples);
    cairn_json_put_u64(json, "torn", quality->torn);
    cairn_json_put_u64(json, "truncated", quality->truncated);
    cairn_json_put_u64(json, "unreadable", quality->unreadable);
    cairn_json_put_u64(json, "missed", quality->missed);
    cairn_json_put_u64(json, "reread", quality->reread);
    cairn_json_put_u64(json, "nameless", quality->nameless);
    cairn_json_put_u64(json, "unseen", quality->unseen);
    cairn_json_put_u64(json, "records_lost", quality->records_lost);
    cairn_json_put_seconds(json, "untold_cpu_s", quality->untold_cpu_ns);
    cairn_json_put_number(json, "torn_share",
                          quality->samples ? (double)quality->torn / (double)quality->samples : 0);
    cairn_json_put_seconds(json, "own_cpu_s", quality->own_cpu_ns);
    cairn_json_put_u64(json, "bytes", quality->bytes);
    cairn_json_put_u64(json, "damaged_chunks", quality->damaged_chunks);
    cairn_json_put_u64(json, "jumped_bytes", quality->jumped_bytes);
    cairn_json_put_u64(json, "jumped_chunks", quality->jumped_chunks);
    cairn_json_put_u64(json, "skipped_chunks", quality->skipped_chunks);
    cairn_json_put_u64(json, "skipped_sections", quality->skipped_sections);
    cairn_json_put_u64(json, "unknown_refs", quality->unknown_refs);
    cairn_json_put_u64(json, "plain_names", quality->plain_names);
    cairn_json_put_str(json, "names", quality->plain_names ? "plain" : "qualified");
    put_told(json, "layout", layout);
    cairn_json_put_bool(json, "ended", quality->ended);
    put_counted(json, model);
    put_timeline(json, model);
    cairn_report_json_region_quality(json, model);
    put_engines(json, engines, engine_count);
    put_overhead(json, model);
    put_told(json, "text_hook_refused", cairn_model_env(model, "counting.text_hook"));
    put_told(json, "imported", facts->guest);
    put_told(json, "incomplete", facts->incomplete);
    cairn_json_put_str(json, "stacks",
                       facts->callless   ? "none"
                       : facts->inferred ? "inferred"
                                         : "recorded");
    cairn_json_close(json);
    return 0;
}

/* Wall time that lay under each overlay, null where that could not be told at all. */
static void put_overlays(struct cairn_json *json, const struct cairn_tally *tally)
{
    cairn_json_key(json, cairn_span_of("overlays"));
    cairn_json_object(json);
    for (unsigned i = 0; i < CAIRN_OVERLAY_COUNT; i++) {
        uint64_t unknown_ns = tally->overlay_unknown_ns[i];
        char key[32];

        snprintf(key, sizeof(key), "%s_s", cairn_overlay_name(i));
        put_known_seconds(json, key,
                          unknown_ns && unknown_ns == tally->looked_at_ns ? CAIRN_FACT_NONE
                                                                          : tally->overlay_ns[i]);
        snprintf(key, sizeof(key), "%s_unknown_s", cairn_overlay_name(i));
        cairn_json_put_seconds(json, key, unknown_ns);
    }
    cairn_json_close(json);
}

/* Sums: of everything chosen, by phase and by state. */
static void put_sums(struct cairn_json *json, const struct cairn_tally *tally,
                     const struct cairn_facts *facts)
{
    cairn_json_put_str(json, "metric", cairn_metric_name(tally->filter.metric));
    cairn_json_put_bool(json, "known", tally->known);
    if (tally->known)
        cairn_json_put_null(json, "why");
    else
        cairn_json_put_str(json, "why", tally->why);
    cairn_json_put_seconds(json, "total_s", tally->total.value_ns);
    cairn_json_put_seconds(json, "idle_s", tally->idle.value_ns);
    cairn_json_key(json, cairn_span_of("phases"));
    cairn_json_object(json);
    cairn_json_put_seconds(json, "startup_s", facts->busy_phase[CAIRN_PHASE_STARTUP].value_ns);
    cairn_json_put_seconds(json, "import_s", facts->busy_phase[CAIRN_PHASE_IMPORT].value_ns);
    cairn_json_put_seconds(json, "program_s", facts->busy_phase[CAIRN_PHASE_PROGRAM].value_ns);
    cairn_json_close(json);
    cairn_json_key(json, cairn_span_of("states"));
    cairn_json_object(json);
    cairn_json_put_seconds(json, "running_s", tally->state_ns[CAIRN_STATE_RUNNING]);
    cairn_json_put_seconds(json, "gil_wait_s", tally->state_ns[CAIRN_STATE_GIL_WAIT]);
    cairn_json_put_seconds(json, "runnable_s", tally->state_ns[CAIRN_STATE_RUNNABLE]);
    cairn_json_put_seconds(json, "blocked_s", tally->state_ns[CAIRN_STATE_BLOCKED]);
    cairn_json_put_seconds(json, "stopped_s", tally->state_ns[CAIRN_STATE_STOPPED]);
    cairn_json_put_seconds(json, "unknown_s", tally->state_ns[CAIRN_STATE_UNKNOWN]);
    cairn_json_close(json);
    put_overlays(json, tally);
}

/* "read /etc/hosts": the call, and what it is about. */
void cairn_report_json_waits(struct cairn_json *json, const struct cairn_tally *tally)
{
    cairn_json_key(json, cairn_span_of("waits"));
    cairn_json_array(json);
    for (size_t i = 0; i < tally->blockers.count; i++) {
        const struct cairn_blocker *blocker = &tally->blockers.items[i];
        struct cairn_span call = blocker->text, on = {NULL, 0};
        const uint8_t *blank = call.data ? memchr(call.data, ' ', call.size_bytes) : NULL;

        if (blank) {
            on.data = blank + 1;
            on.size_bytes = call.size_bytes - (size_t)(on.data - call.data);
            call.size_bytes = (size_t)(blank - call.data);
        }
        cairn_json_object(json);
        cairn_json_put_text(json, "syscall", call);
        cairn_json_put_text(json, "on", on);
        cairn_json_put_seconds(json, "waited_s", blocker->waited_ns);
        cairn_json_put_seconds(json, "idle_s", blocker->idle_ns);
        cairn_json_close(json);
    }
    cairn_json_close(json);
}

/* asyncio's, with the lines that they waited at. */
static int put_tasks(struct cairn_json *json, const struct cairn_tally *tally,
                     struct cairn_err *err)
{
    const struct cairn_function *functions;
    const struct cairn_process *processes;
    struct cairn_task_rows rows;

    if (cairn_task_rows_make(tally, &rows) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "report", "cannot report the tasks");
    cairn_model_functions(tally->model, &functions);
    cairn_model_processes(tally->model, &processes);
    if (rows.known == CAIRN_TASKS_UNREAD) {
        cairn_json_put_null(json, "tasks");
        return 0; /* there are no rows to release */
    }
    cairn_json_key(json, cairn_span_of("tasks"));
    cairn_json_array(json);
    for (size_t i = 0; i < rows.rows.count; i++) {
        const struct cairn_task_row *row = &rows.rows.items[i];

        cairn_json_object(json);
        cairn_json_put_text(json, "name", row->name);
        cairn_json_put_text(json, "coroutine", row->coroutine);
        cairn_facts_put(json, "pid",
                        row->process == UINT32_MAX ? CAIRN_FACT_NONE : processes[row->process].pid);
        cairn_json_put_seconds(json, "running_s", row->running_ns);
        cairn_json_put_seconds(json, "waiting_s", row->waiting_ns);
        cairn_json_key(json, cairn_span_of("waits_at"));
        cairn_json_array(json);
        for (size_t k = 0; k < row->place_count; k++) {
            const struct cairn_task_place *place = &rows.places.items[row->first_place + k];

            cairn_json_object(json);
            cairn_json_put_text(json, "qualname", functions[place->function].qualname);
            cairn_json_put_text(json, "file", functions[place->function].file);
            cairn_json_put_u64(json, "line", place->line);
            cairn_json_put_seconds(json, "waiting_s", place->waiting_ns);
            cairn_json_close(json);
        }
        cairn_json_close(json);
        cairn_json_close(json);
    }
    cairn_json_close(json);
    cairn_task_rows_release(&rows);
    return 0;
}

void cairn_report_json_track(struct cairn_json *json, const struct cairn_tally *tally,
                             uint32_t thread, uint32_t process)
{
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    struct cairn_buf label;

    cairn_model_threads(tally->model, &threads);
    cairn_model_processes(tally->model, &processes);
    if (thread != UINT32_MAX) {
        cairn_json_put_u64(json, "tid", threads[thread].tid);
        process = threads[thread].process;
    } else {
        cairn_json_put_null(json, "tid");
    }
    if (process == UINT32_MAX) {
        cairn_json_put_null(json, "pid");
        cairn_json_put_null(json, "role");
        return;
    }
    cairn_json_put_u64(json, "pid", processes[process].pid);
    cairn_buf_init(&label, LABEL_MAX_BYTES);
    cairn_roles_label(&tally->roles, process, &label);
    cairn_json_put_text(json, "role", cairn_buf_span(&label));
    if (label.code < 0 && json->out->code == 0)
        json->out->code = label.code;
    cairn_buf_release(&label);
}

void cairn_report_json_handle(struct cairn_json *json, const char *key,
                              const struct cairn_model *model, uint32_t function)
{
    const struct cairn_function *functions;
    char handle[CAIRN_HANDLE_CHARS + 1];

    if (function == UINT32_MAX) {
        cairn_json_put_null(json, key);
        return;
    }
    cairn_model_functions(model, &functions);
    cairn_handle_text(CAIRN_HANDLE_FUNCTION, cairn_handle_function(&functions[function]), handle);
    cairn_json_put_str(json, key, handle);
}

static void put_row(struct cairn_json *json, const struct cairn_tally *tally,
                    const struct cairn_row *row)
{
    cairn_json_object(json);
    cairn_report_json_handle(json, "handle", tally->model, row->function);
    cairn_json_put_text(json, "name", row->name);
    cairn_json_put_text(json, "qualname", row->qualname);
    cairn_json_put_text(json, "file", row->file);
    cairn_json_put_u64(json, "line", row->line);
    cairn_json_put_u64(json, "first_line", row->first_line);
    cairn_json_put_text(json, "module", row->module);
    cairn_json_put_str(json, "kind", row->kind);
    cairn_json_put_seconds(json, "self_s", row->self.value_ns);
    cairn_json_put_seconds(json, "total_s", row->total.value_ns);
    cairn_json_put_number(json, "self_share", row->self_share);
    cairn_json_put_number(json, "total_share", row->total_share);
    cairn_json_put_number(json, "self_low", row->self_low);
    cairn_json_put_number(json, "self_high", row->self_high);
    cairn_json_put_number(json, "total_low", row->total_low);
    cairn_json_put_number(json, "total_high", row->total_high);
    cairn_json_put_known(json, "samples", !tally->pieces, row->self.ticks);
    cairn_json_put_known(json, "total_samples", !tally->pieces, row->total.ticks);
    cairn_json_put_number(json, "bound", row->bound);
    cairn_json_put_null(json, "calls");
    cairn_json_put_null(json, "primitive_calls");
    cairn_json_put_null(json, "resumes");
    cairn_json_put_null(json, "suspended_s");
    cairn_json_put_null(json, "self_corrected_s");
    cairn_json_put_null(json, "total_corrected_s");
    cairn_json_put_null(json, "confidence");
    cairn_json_put_null(json, "exact");
    cairn_json_put_null(json, "calls_exact");
    cairn_json_put_null(json, "timed_calls");
    cairn_json_put_null(json, "self_exact");
    cairn_json_put_null(json, "sampled_self_s");
    cairn_json_put_null(json, "callers");
    cairn_report_json_track(json, tally, row->thread, row->process);
    cairn_json_close(json);
}

/* Rows of a metric that was not recorded would all be 0, which is not true: there are none. */
int cairn_report_json_rows(struct cairn_json *json, const char *key,
                           const struct cairn_tally *tally, const struct cairn_rows *rows,
                           size_t limit, struct cairn_outlet *out)
{
    size_t count = !tally->known ? 0 : limit && limit < rows->count ? limit : rows->count;

    cairn_json_key(json, cairn_span_of(key));
    cairn_json_array(json);
    for (size_t i = 0; i < count; i++) {
        put_row(json, tally, &rows->items[i]);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    cairn_json_close(json);
    return 0;
}

static void put_spread(struct cairn_json *json, const char *key, const struct cairn_spread *spread)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_object(json);
    cairn_json_put_seconds(json, "min_s", spread->min_ns);
    cairn_json_put_seconds(json, "median_s", spread->median_ns);
    cairn_json_put_seconds(json, "max_s", spread->max_ns);
    cairn_json_close(json);
}

static void put_role(struct cairn_json *json, const struct cairn_tally *tally,
                     const struct cairn_role_row *row)
{
    const struct cairn_role *role = &tally->roles.items[row->role];
    const struct cairn_function *functions;

    cairn_model_functions(tally->model, &functions);
    cairn_json_object(json);
    cairn_json_put_text(json, "name", role->name);
    cairn_json_put_text(json, "kind", role->kind);
    if (role->parent == UINT32_MAX)
        cairn_json_put_null(json, "parent");
    else
        cairn_json_put_text(json, "parent", tally->roles.items[role->parent].name);
    cairn_json_put_u64(json, "count", role->count);
    cairn_json_put_u64(json, "sampled", row->processes);
    put_spread(json, "wall", &row->wall);
    put_spread(json, "cpu", &row->cpu);
    if (row->function == UINT32_MAX)
        cairn_json_put_null(json, "function");
    else
        cairn_json_put_text(json, "function", functions[row->function].qualname);
    cairn_json_put_seconds(json, "function_s", row->function_ns);
    cairn_json_put_seconds(json, "base_s", row->base_ns);
    cairn_json_close(json);
}

int cairn_report_json_roles(struct cairn_json *json, const struct cairn_tally *tally,
                            bool with_idle, struct cairn_err *err)
{
    const struct cairn_rows_options chosen = {.with_idle = with_idle};
    struct cairn_role_rows rows;
    int code = cairn_role_rows_make(tally, &chosen, &rows);

    if (code < 0)
        return cairn_err_set(err, code, 0, "report", "cannot report the processes");
    cairn_json_key(json, cairn_span_of("roles"));
    cairn_json_array(json);
    for (size_t i = 0; i < rows.count; i++)
        put_role(json, tally, &rows.items[i]);
    cairn_json_close(json);
    cairn_role_rows_release(&rows);
    return 0;
}

int cairn_report_json_table(struct cairn_json *json, const struct cairn_tally *tally,
                            const struct cairn_report_options *options, struct cairn_outlet *out,
                            struct cairn_err *err)
{
    struct cairn_rows_options chosen = {
        .by = options->by < 0 || options->by >= CAIRN_BY_COUNT ? CAIRN_BY_FUNCTION
                                                               : (enum cairn_by)options->by,
        .sort = options->sort,
        .with_idle = options->with_idle,
    };
    struct cairn_rows rows;
    int code = 0;

    CAIRN_TRY(cairn_rows_make(tally, &chosen, &rows, err));
    if (chosen.by == CAIRN_BY_FUNCTION && cairn_exact_table_has(tally)) {
        code = cairn_report_json_calls(json, tally, &rows, options->sort, options->limit, out);
        if (code == -CAIRN_ENOMEM)
            cairn_err_set(err, code, 0, "report", "cannot report the calls");
    } else {
        cairn_json_put_seconds(json, "base_s", rows.base.value_ns);
        cairn_json_put_bool(json, "rankable", rows.rankable);
        cairn_json_put_u64(json, "samples_wanted", rows.samples_wanted);
        code = cairn_report_json_rows(json, "rows", tally, &rows, options->limit, out);
    }
    cairn_rows_release(&rows);
    return code;
}

int cairn_report_json_of(struct cairn_json *json, const struct cairn_tally *tally,
                         const struct cairn_report_options *options, struct cairn_outlet *out,
                         struct cairn_err *err)
{
    struct cairn_rows callers, callees, self;
    int code;

    CAIRN_TRY(cairn_rows_callers(tally, options->of, &callers, &callees, &self, err));
    cairn_json_put_seconds(json, "base_s", self.base.value_ns);
    cairn_json_put_bool(json, "rankable", self.rankable);
    cairn_json_put_u64(json, "samples_wanted", self.samples_wanted);
    code = cairn_report_json_rows(json, "rows", tally, &self, options->limit, out);
    if (code == 0)
        code = cairn_report_json_rows(json, "callers", tally, &callers, options->limit, out);
    if (code == 0)
        code = cairn_report_json_rows(json, "callees", tally, &callees, options->limit, out);
    if (code == 0)
        code = cairn_report_json_counted(json, tally, options->of, out, err);
    cairn_rows_release(&callers);
    cairn_rows_release(&callees);
    cairn_rows_release(&self);
    return code;
}

int cairn_report_json_begin(struct cairn_json *json, const struct cairn_tally *tally,
                            const char *file, struct cairn_err *err)
{
    struct cairn_facts facts;
    int code = cairn_facts_make(tally, &facts);

    if (code < 0)
        return cairn_err_set(err, code, 0, "report", "cannot report: %s", cairn_err_sentence(code));
    cairn_json_object(json);
    cairn_json_put_u64(json, "schema", CAIRN_JSON_SCHEMA);
    put_recording(json, tally, &facts, file);
    code = put_quality(json, tally, &facts);
    if (code < 0)
        return cairn_err_set(err, code, 0, "report", "cannot report: %s", cairn_err_sentence(code));
    put_sums(json, tally, &facts);
    return 0;
}

int cairn_report_json(const struct cairn_tally *tally, const struct cairn_report_options *options,
                      struct cairn_outlet *out, struct cairn_err *err)
{
    struct cairn_json json;
    int code;

    cairn_json_init(&json, &out->buf, 2);
    CAIRN_TRY(cairn_report_json_begin(&json, tally, options->file, err));
    CAIRN_TRY(cairn_report_json_roles(&json, tally, options->with_idle, err));
    cairn_report_json_waits(&json, tally);
    CAIRN_TRY(put_tasks(&json, tally, err));
    cairn_json_put_u64(&json, "tasks_left_out",
                       cairn_model_counter(tally->model, "tasks_left_out"));
    CAIRN_TRY(cairn_report_json_lines(&json, tally, err));
    CAIRN_TRY(cairn_report_json_regions(&json, tally, err));
    if (options->of)
        CAIRN_TRY(cairn_report_json_of(&json, tally, options, out, err));
    else
        CAIRN_TRY(cairn_report_json_table(&json, tally, options, out, err));
    cairn_json_close(&json);
    code = cairn_json_end(&json);
    return code < 0 ? code : cairn_outlet_drain(out);
}
