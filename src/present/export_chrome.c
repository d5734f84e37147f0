/* The trace event format: JSON for Perfetto's page, chrome://tracing and whatever else reads it.
 * A function that is on from one sample to the next is one slice, begun ("B") and ended ("E"). */
#include <stdlib.h>

#include "escape.h"
#include "exporters.h"
#include "json_out.h"
#include "slices.h"

struct chrome {
    struct cairn_outlet *out;
    struct cairn_json json;
    const struct cairn_calltree *tree;
    const struct cairn_function *functions;
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    uint64_t first_ns;
    uint64_t *pids, *tids;
    uint32_t thread; /* whose slices are being written */
};

/* The head of an event; the caller adds what is its own and closes it. */
static void begin_event(struct chrome *c, struct cairn_span name, const char *phase)
{
    cairn_json_object(&c->json);
    cairn_json_put_text(&c->json, "name", name);
    cairn_json_put_str(&c->json, "ph", phase);
    cairn_json_put_u64(&c->json, "pid", c->pids[c->threads[c->thread].process]);
    cairn_json_put_u64(&c->json, "tid", c->tids[c->thread]);
}

static void begin_timed(struct chrome *c, uint32_t node, const char *phase, uint64_t time_ns)
{
    const struct cairn_function *function = &c->functions[c->tree->nodes.items[node].function];

    begin_event(c, function->qualname, phase);
    cairn_json_put_str(&c->json, "cat",
                       function->kind == CAIRN_FUNCTION_PYTHON   ? "python"
                       : function->kind == CAIRN_FUNCTION_NATIVE ? "native"
                                                                 : "label");
    cairn_json_key(&c->json, cairn_span_of("ts"));
    cairn_json_micros(&c->json, time_ns - c->first_ns);
}

static void put_name(struct chrome *c, const char *kind, struct cairn_span name)
{
    if (name.size_bytes == 0)
        return;
    begin_event(c, cairn_span_of(kind), "M");
    cairn_json_key(&c->json, cairn_span_of("args"));
    cairn_json_object(&c->json);
    cairn_json_put_text(&c->json, "name", name);
    cairn_json_close(&c->json);
    cairn_json_close(&c->json);
}

static int put_thread(void *ctx, uint32_t thread)
{
    struct chrome *c = ctx;
    const struct cairn_process *process = &c->processes[c->threads[thread].process];

    c->thread = thread;
    put_name(c, "process_name", process->command.size_bytes ? process->command : process->name);
    put_name(c, "thread_name", c->threads[thread].name);
    return cairn_outlet_drain(c->out);
}

static int put_begin(void *ctx, uint32_t node, uint64_t time_ns)
{
    struct chrome *c = ctx;
    const struct cairn_calltree_node *call = &c->tree->nodes.items[node];
    const struct cairn_function *function = &c->functions[call->function];
    bool native = function->kind == CAIRN_FUNCTION_NATIVE;
    struct cairn_span file = native ? function->module : function->file;

    begin_timed(c, node, "B", time_ns);
    if (file.size_bytes > 0) {
        cairn_json_key(&c->json, cairn_span_of("args"));
        cairn_json_object(&c->json);
        cairn_json_put_text(&c->json, native ? "module" : "file", file);
        if (call->line > 0)
            cairn_json_put_u64(&c->json, "line", call->line);
        cairn_json_close(&c->json);
    }
    cairn_json_close(&c->json);
    return cairn_outlet_drain(c->out);
}

static int put_end(void *ctx, uint32_t node, uint64_t time_ns)
{
    struct chrome *c = ctx;

    begin_timed(c, node, "E", time_ns);
    cairn_json_close(&c->json);
    return cairn_outlet_drain(c->out);
}

static int put_document(struct chrome *c, const struct cairn_timeline *timeline)
{
    static const struct cairn_slices_ops ops = {
        .thread = put_thread, .begin = put_begin, .end = put_end};

    cairn_json_init(&c->json, &c->out->buf, 2);
    cairn_json_object(&c->json);
    cairn_json_put_str(&c->json, "displayTimeUnit", "ms");
    cairn_json_key(&c->json, cairn_span_of("traceEvents"));
    cairn_json_array(&c->json);
    CAIRN_TRY(cairn_slices_walk(timeline, c->tree, &ops, c));
    cairn_json_close(&c->json);
    cairn_json_close(&c->json);
    return cairn_json_end(&c->json);
}

int cairn_export_chrome(const struct cairn_tally *tally, const struct cairn_export_options *options,
                        struct cairn_outlet *out)
{
    struct cairn_timeline timeline = {0};
    struct cairn_calltree tree;
    struct chrome c = {.out = out, .tree = &tree};
    int code =
        cairn_calltree_make(tally, cairn_export_lines_or(options, CAIRN_EXPORT_LINES_FIRST), &tree);

    cairn_model_functions(tally->model, &c.functions);
    cairn_model_threads(tally->model, &c.threads);
    cairn_model_processes(tally->model, &c.processes);
    if (code == 0)
        code = cairn_timeline_make(tally, &timeline);
    if (code == 0)
        code = cairn_slices_pids(tally->model, &c.pids);
    if (code == 0)
        code = cairn_slices_tids(tally->model, &c.tids);
    c.first_ns = timeline.first_ns;
    if (code == 0)
        code = put_document(&c, &timeline);
    free(c.pids);
    free(c.tids);
    cairn_timeline_release(&timeline);
    cairn_calltree_release(&tree);
    return code;
}
