/* The trace event format: JSON for Perfetto's page, chrome://tracing and whatever else reads it.
 * A function that is on from one sample to the next is one slice, begun ("B") and ended ("E").
 * Regions overlap as they like: each is one of its own ("b", "e"); a mark is a moment ("i"). */
#include <stdio.h>
#include <stdlib.h>

#include "escape.h"
#include "exporters.h"
#include "json_out.h"
#include "regionlist.h"
#include "slices.h"

struct chrome {
    const struct cairn_tally *tally;
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

/* What the program wrote down may lie before the first sample: it begins with that at the latest.
 */
static void begin_written(struct chrome *c, const struct cairn_region_item *item, const char *phase,
                          uint64_t time_ns)
{
    begin_event(c, c->functions[item->function].name, phase);
    cairn_json_put_str(&c->json, "cat", item->mark ? "mark" : "region");
    cairn_json_key(&c->json, cairn_span_of("ts"));
    cairn_json_micros(&c->json, time_ns > c->first_ns ? time_ns - c->first_ns : 0);
}

static void put_region(struct chrome *c, const struct cairn_region_item *item, size_t number)
{
    const uint64_t times_ns[] = {item->first_ns, item->last_ns};
    char id[24];

    (void)snprintf(id, sizeof(id), "%zu", number);
    for (int i = 0; i < 2; i++) {
        begin_written(c, item, i == 0 ? "b" : "e", times_ns[i]);
        cairn_json_put_str(&c->json, "id", id);
        cairn_json_close(&c->json);
    }
}

static void put_mark(struct chrome *c, const struct cairn_region_item *item)
{
    begin_written(c, item, "i", item->first_ns);
    cairn_json_put_str(&c->json, "s", "t"); /* it is drawn in its thread */
    if (item->values != 0) {
        cairn_json_key(&c->json, cairn_span_of("args"));
        cairn_json_object(&c->json);
        cairn_json_put_text(&c->json, "values", cairn_model_text(c->tally->model, item->values));
        cairn_json_close(&c->json);
    }
    cairn_json_close(&c->json);
}

static int put_written(struct chrome *c)
{
    struct cairn_region_list list;
    int code = cairn_region_list_make(c->tally, &list);

    for (size_t i = 0; i < list.count && code == 0; i++) {
        c->thread = list.items[i].thread;
        if (list.items[i].mark)
            put_mark(c, &list.items[i]);
        else
            put_region(c, &list.items[i], i);
        code = cairn_outlet_drain(c->out);
    }
    cairn_region_list_release(&list);
    return code;
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
    CAIRN_TRY(cairn_slices_walk(c->tally, timeline, c->tree, &ops, c));
    CAIRN_TRY(put_written(c));
    cairn_json_close(&c->json);
    cairn_json_close(&c->json);
    return cairn_json_end(&c->json);
}

int cairn_export_chrome(const struct cairn_tally *tally, const struct cairn_export_options *options,
                        struct cairn_outlet *out)
{
    struct cairn_timeline timeline = {0};
    struct cairn_calltree tree;
    struct chrome c = {.tally = tally, .out = out, .tree = &tree};
    int code = cairn_calltree_make(tally, cairn_export_lines_or(options, CAIRN_EXPORT_LINES_FIRST),
                                   cairn_slices_counted(tally), &tree);

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
