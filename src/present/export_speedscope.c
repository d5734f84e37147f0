/* speedscope's own format: shared frames, and one sampled profile for each thread. The cells have
 * no order in time, so the samples have none either: its "left heavy" view is the one to look at.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "exporters.h"
#include "json_out.h"
#include "map.h"
#include "vec.h"

#define SCHEMA_URL "https://www.speedscope.app/file-format-schema.json"
#define DEPTH_MAX ((size_t)1 << 30)

struct speedscope {
    const struct cairn_tally *tally;
    const struct cairn_export_options *options;
    struct cairn_outlet *out;
    struct cairn_json json;
    const struct cairn_node *nodes;
    const struct cairn_frame *frames;
    const struct cairn_function *functions;
    uint32_t *shared; /* of each frame: its number among the shared ones */
    CAIRN_VEC(uint32_t) path;
};

static uint32_t line_of(const struct speedscope *s, uint32_t frame)
{
    switch (s->options->lines) {
    case CAIRN_EXPORT_LINES_NONE:
        return 0;
    case CAIRN_EXPORT_LINES_EXECUTING:
        return s->frames[frame].line;
    default:
        return s->functions[s->frames[frame].function].first_line;
    }
}

static void put_frame(struct speedscope *s, uint32_t frame)
{
    const struct cairn_function *function = &s->functions[s->frames[frame].function];
    struct cairn_span file = function->file;
    uint32_t line = line_of(s, frame);

    if (function->kind == CAIRN_FUNCTION_NATIVE)
        file = function->module;
    cairn_json_object(&s->json);
    cairn_json_put_text(&s->json, "name", function->qualname);
    if (file.size_bytes > 0)
        cairn_json_put_text(&s->json, "file", file);
    if (file.size_bytes > 0 && line > 0)
        cairn_json_put_u64(&s->json, "line", line);
    cairn_json_close(&s->json);
}

/* Frames of one function and line are one. */
static int put_frames(struct speedscope *s)
{
    size_t count = cairn_model_frames(s->tally->model, &s->frames);
    struct cairn_map numbers;
    uint64_t number;
    int code = 0;

    cairn_map_init(&numbers, count + 1);
    cairn_json_key(&s->json, cairn_span_of("shared"));
    cairn_json_object(&s->json);
    cairn_json_key(&s->json, cairn_span_of("frames"));
    cairn_json_array(&s->json);
    for (size_t i = 0; i < count && code == 0; i++) {
        uint32_t frame = (uint32_t)i, function = s->frames[i].function, line = line_of(s, frame);

        if (!cairn_map_get(&numbers, function, line, &number)) {
            number = numbers.count;
            code = cairn_map_put(&numbers, function, line, number);
            put_frame(s, frame);
        }
        s->shared[i] = (uint32_t)number;
        if (code == 0)
            code = cairn_outlet_drain(s->out);
    }
    cairn_json_close(&s->json);
    cairn_json_close(&s->json);
    cairn_map_release(&numbers);
    return code;
}

static uint64_t value_of(const struct speedscope *s, const struct cairn_cell *cell)
{
    return s->options->samples ? cell->weight.ticks : cell->weight.value_ns;
}

static void put_thread_name(struct speedscope *s, uint32_t index)
{
    const struct cairn_thread *threads, *thread;
    const struct cairn_process *processes;
    struct cairn_buf name;

    cairn_model_threads(s->tally->model, &threads);
    cairn_model_processes(s->tally->model, &processes);
    thread = &threads[index];
    cairn_buf_init(&name, (size_t)1 << 20);
    cairn_buf_add(&name, thread->name.data, thread->name.size_bytes);
    cairn_buf_printf(&name, "%s(pid %" PRIu64 ", tid %" PRIu64 ")",
                     thread->name.size_bytes ? " " : "", processes[thread->process].pid,
                     thread->tid);
    cairn_json_put_text(&s->json, "name", cairn_buf_span(&name));
    if (name.code < 0)
        s->out->buf.code = name.code;
    cairn_buf_release(&name);
}

static int put_stack(struct speedscope *s, uint32_t node)
{
    s->path.count = 0;
    for (; node != 0; node = s->nodes[node].parent) {
        CAIRN_TRY(cairn_vec_reserve(&s->path, s->path.count + 1, DEPTH_MAX));
        s->path.items[s->path.count++] = s->shared[s->nodes[node].frame];
    }
    cairn_json_array(&s->json);
    while (s->path.count > 0)
        cairn_json_u64(&s->json, s->path.items[--s->path.count]);
    cairn_json_close(&s->json);
    return cairn_outlet_drain(s->out);
}

/* The cells from `first` up to `end` are those of one thread. */
static int put_profile(struct speedscope *s, size_t first, size_t end)
{
    uint64_t sum = 0;

    for (size_t i = first; i < end; i++)
        sum += value_of(s, &s->tally->cells[i]);
    cairn_json_object(&s->json);
    cairn_json_put_str(&s->json, "type", "sampled");
    put_thread_name(s, s->tally->cells[first].thread);
    cairn_json_put_str(&s->json, "unit", s->options->samples ? "none" : "nanoseconds");
    cairn_json_put_u64(&s->json, "startValue", 0);
    cairn_json_put_u64(&s->json, "endValue", sum);
    cairn_json_key(&s->json, cairn_span_of("samples"));
    cairn_json_array(&s->json);
    for (size_t i = first; i < end; i++)
        if (value_of(s, &s->tally->cells[i]) > 0)
            CAIRN_TRY(put_stack(s, s->tally->cells[i].node));
    cairn_json_close(&s->json);
    cairn_json_key(&s->json, cairn_span_of("weights"));
    cairn_json_array(&s->json);
    for (size_t i = first; i < end; i++)
        if (value_of(s, &s->tally->cells[i]) > 0)
            cairn_json_u64(&s->json, value_of(s, &s->tally->cells[i]));
    cairn_json_close(&s->json);
    cairn_json_close(&s->json);
    return cairn_outlet_drain(s->out);
}

static int put_profiles(struct speedscope *s)
{
    const struct cairn_tally *tally = s->tally;

    cairn_json_key(&s->json, cairn_span_of("profiles"));
    cairn_json_array(&s->json);
    for (size_t first = 0, end; first < tally->cell_count; first = end) {
        for (end = first + 1; end < tally->cell_count; end++)
            if (tally->cells[end].thread != tally->cells[first].thread)
                break;
        CAIRN_TRY(put_profile(s, first, end));
    }
    cairn_json_close(&s->json);
    return 0;
}

static int put_document(struct speedscope *s)
{
    struct cairn_span command = cairn_model_env(s->tally->model, "run.command");

    cairn_json_init(&s->json, &s->out->buf, 3);
    cairn_json_object(&s->json);
    cairn_json_put_str(&s->json, "$schema", SCHEMA_URL);
    cairn_json_put_str(&s->json, "exporter", "cairn");
    if (s->options->title)
        cairn_json_put_str(&s->json, "name", s->options->title);
    else if (command.size_bytes > 0)
        cairn_json_put_text(&s->json, "name", command);
    CAIRN_TRY(put_frames(s));
    CAIRN_TRY(put_profiles(s));
    cairn_json_close(&s->json);
    return cairn_json_end(&s->json);
}

int cairn_export_speedscope(const struct cairn_tally *tally,
                            const struct cairn_export_options *options, struct cairn_outlet *out)
{
    struct speedscope s = {.tally = tally, .options = options, .out = out};
    size_t frame_count = cairn_model_frames(tally->model, &s.frames);
    int code;

    cairn_model_nodes(tally->model, &s.nodes);
    cairn_model_functions(tally->model, &s.functions);
    s.shared = cairn_calloc(frame_count + 1, sizeof(*s.shared));
    code = s.shared ? put_document(&s) : -CAIRN_ENOMEM;
    free(s.shared);
    cairn_vec_release(&s.path);
    return code;
}
