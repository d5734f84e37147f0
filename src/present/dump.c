#include "dump.h"

#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "json_out.h"
#include "page.h"
#include "report_json.h"
#include "samples.h"

#define WIDTH_MAX 10000 /* paths are shown whole here, whatever the terminal */

struct dump {
    const struct cairn_model *model;
    const struct cairn_node *nodes;
    const struct cairn_frame *frames;
    const struct cairn_function *functions;
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    size_t thread_count;
    struct cairn_sample *latest; /* of each thread; ticks 0: there was none */
};

static int gather(struct dump *dump, struct cairn_err *err)
{
    struct cairn_samples *samples;
    struct cairn_sample sample;
    int code = cairn_samples_open(dump->model, 0, UINT64_MAX, &samples, err);

    if (code < 0)
        return code;
    while ((code = cairn_samples_next(samples, &sample)) == 0)
        if (sample.last_ns >= dump->latest[sample.thread].last_ns)
            dump->latest[sample.thread] = sample;
    cairn_samples_free(samples);
    if (code == -CAIRN_EEND)
        return 0;
    return cairn_err_set(err, code, 0, "dump", "cannot read the samples: %s",
                         cairn_err_sentence(code));
}

static int prepare(struct dump *dump, const struct cairn_model *model, struct cairn_err *err)
{
    *dump = (struct dump){.model = model};
    cairn_model_nodes(model, &dump->nodes);
    cairn_model_frames(model, &dump->frames);
    cairn_model_functions(model, &dump->functions);
    cairn_model_processes(model, &dump->processes);
    dump->thread_count = cairn_model_threads(model, &dump->threads);
    dump->latest = cairn_calloc(dump->thread_count + 1, sizeof(*dump->latest));
    if (!dump->latest)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "dump", "cannot dump: out of memory");
    return gather(dump, err);
}

/* What the thread did for most of the sample's time. */
static enum cairn_state state_of(const struct cairn_sample *sample)
{
    enum cairn_state most = CAIRN_STATE_UNKNOWN;

    for (int state = 0; state < CAIRN_STATE_COUNT; state++)
        if (sample->state_ns[state] > sample->state_ns[most])
            most = (enum cairn_state)state;
    return most;
}

static bool waits(enum cairn_state state)
{
    return state == CAIRN_STATE_BLOCKED || state == CAIRN_STATE_GIL_WAIT;
}

static void put_text_frame(struct cairn_page *page, const struct dump *dump, uint32_t frame)
{
    const struct cairn_function *function = &dump->functions[dump->frames[frame].function];
    uint32_t line = dump->frames[frame].line;

    cairn_page_to(page, 4);
    cairn_page_fit(page, function->qualname, WIDTH_MAX, CAIRN_CUT_END);
    cairn_page_style(page, CAIRN_STYLE_FAINT);
    if (function->kind == CAIRN_FUNCTION_NATIVE) {
        cairn_page_str(page, "  [");
        cairn_page_fit(page, function->module, WIDTH_MAX, CAIRN_CUT_END);
        cairn_page_str(page, "]");
    } else if (function->file.size_bytes > 0) {
        cairn_page_str(page, "  ");
        cairn_page_fit(page, function->file, WIDTH_MAX, CAIRN_CUT_END);
        if (line > 0)
            cairn_page_printf(page, ":%" PRIu32, line);
    }
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
}

static void put_text_process(struct cairn_page *page, const struct cairn_process *process)
{
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_printf(page, "process %" PRIu64 "  ", process->pid);
    cairn_page_fit(page, process->command.size_bytes ? process->command : process->name, WIDTH_MAX,
                   CAIRN_CUT_END);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
}

static void put_text_thread(struct cairn_page *page, const struct dump *dump, size_t index)
{
    const struct cairn_thread *thread = &dump->threads[index];
    enum cairn_state state = state_of(&dump->latest[index]);

    cairn_page_to(page, 2);
    cairn_page_printf(page, "thread %" PRIu64 "  ", thread->tid);
    cairn_page_style(page, (enum cairn_style)(CAIRN_STYLE_STATES + state));
    cairn_page_str(page, cairn_state_name(state));
    if (waits(state) && dump->latest[index].on) {
        cairn_page_str(page, " in ");
        cairn_page_fit(page, cairn_model_text(dump->model, dump->latest[index].on), WIDTH_MAX,
                       CAIRN_CUT_END);
    }
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_str(page, "  ");
    cairn_page_fit(page, thread->name, WIDTH_MAX, CAIRN_CUT_END);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
    for (uint32_t node = dump->latest[index].node; node != 0; node = dump->nodes[node].parent)
        put_text_frame(page, dump, dump->nodes[node].frame);
}

static int put_text(const struct dump *dump, bool colour, struct cairn_outlet *out)
{
    struct cairn_page page;
    uint32_t process = UINT32_MAX;

    cairn_page_init(&page, &out->buf, WIDTH_MAX, colour);
    for (size_t i = 0; i < dump->thread_count; i++) {
        if (dump->latest[i].ticks == 0)
            continue;
        if (dump->threads[i].process != process) {
            process = dump->threads[i].process;
            put_text_process(&page, &dump->processes[process]);
        }
        put_text_thread(&page, dump, i);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    return 0;
}

int cairn_dump_text(const struct cairn_model *model, bool colour, struct cairn_outlet *out,
                    struct cairn_err *err)
{
    struct dump dump;
    int code = prepare(&dump, model, err);

    if (code == 0)
        code = put_text(&dump, colour, out);
    free(dump.latest);
    return code;
}

static void put_json_frame(struct cairn_json *json, const struct dump *dump, uint32_t frame)
{
    static const char *const kinds[] = {[CAIRN_FUNCTION_PYTHON] = "python",
                                        [CAIRN_FUNCTION_NATIVE] = "native",
                                        [CAIRN_FUNCTION_LABEL] = "label"};
    const struct cairn_function *function = &dump->functions[dump->frames[frame].function];

    cairn_json_object(json);
    cairn_json_put_text(json, "name",
                        function->name.size_bytes ? function->name : function->qualname);
    cairn_json_put_text(json, "qualname", function->qualname);
    cairn_json_put_text(json, "file", function->file);
    cairn_json_put_u64(json, "line", dump->frames[frame].line);
    cairn_json_put_u64(json, "first_line", function->first_line);
    cairn_json_put_text(json, "module", function->module);
    cairn_json_put_str(json, "kind", kinds[function->kind]);
    cairn_json_close(json);
}

static void put_json_thread(struct cairn_json *json, const struct dump *dump, size_t index)
{
    const struct cairn_thread *thread = &dump->threads[index];
    const struct cairn_process *process = &dump->processes[thread->process];
    enum cairn_state state = state_of(&dump->latest[index]);

    cairn_json_object(json);
    cairn_json_put_text(json, "name", thread->name);
    cairn_json_put_u64(json, "tid", thread->tid);
    cairn_json_put_u64(json, "pid", process->pid);
    cairn_json_put_text(json, "command",
                        process->command.size_bytes ? process->command : process->name);
    cairn_json_put_str(json, "state", cairn_state_name(state));
    cairn_json_put_text(json, "waits_in",
                        waits(state) ? cairn_model_text(dump->model, dump->latest[index].on)
                                     : (struct cairn_span){NULL, 0});
    cairn_json_key(json, cairn_span_of("frames"));
    cairn_json_array(json);
    for (uint32_t node = dump->latest[index].node; node != 0; node = dump->nodes[node].parent)
        put_json_frame(json, dump, dump->nodes[node].frame);
    cairn_json_close(json);
    cairn_json_close(json);
}

static int put_json(const struct dump *dump, struct cairn_outlet *out)
{
    struct cairn_json json;

    cairn_json_init(&json, &out->buf, 4);
    cairn_json_object(&json);
    cairn_json_put_u64(&json, "schema", CAIRN_JSON_SCHEMA);
    cairn_json_key(&json, cairn_span_of("threads"));
    cairn_json_array(&json);
    for (size_t i = 0; i < dump->thread_count; i++) {
        if (dump->latest[i].ticks == 0)
            continue;
        put_json_thread(&json, dump, i);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    cairn_json_close(&json);
    cairn_json_close(&json);
    CAIRN_TRY(cairn_json_end(&json));
    return cairn_outlet_drain(out);
}

int cairn_dump_json(const struct cairn_model *model, struct cairn_outlet *out,
                    struct cairn_err *err)
{
    struct dump dump;
    int code = prepare(&dump, model, err);

    if (code == 0)
        code = put_json(&dump, out);
    free(dump.latest);
    return code;
}
