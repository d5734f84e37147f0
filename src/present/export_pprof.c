/* pprof's profile.proto, gzipped. Protobuf messages that stand one behind the other read as one, so
 * the profile is written as a row of small ones and never held whole. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"
#include "exporters.h"
#include "facts.h"
#include "gzip_out.h"
#include "intern.h"
#include "pprof.pb-c.h"
#include "pprof_split.h"

#define STRINGS_MAX_BYTES ((size_t)4 << 30)
#define MESSAGE_MAX_BYTES ((size_t)1 << 30)
#define DEPTH_MAX ((size_t)1 << 28)
#define LABEL_COUNT 5 /* thread, process, state, tid, pid */

struct pprof {
    const struct cairn_tally *tally;
    const struct cairn_export_options *options;
    struct cairn_gzip gzip;
    struct cairn_intern strings;
    size_t strings_written;
    struct cairn_buf message, text;
    const struct cairn_node *nodes;
    const struct cairn_frame *frames;
    const struct cairn_function *functions;
    bool *function_done, *frame_done;
    CAIRN_VEC(uint64_t) path;
};

/* Writes a profile that holds no more than a few entries. */
static int put(struct pprof *p, const Pprof__Profile *profile)
{
    size_t size_bytes = pprof__profile__get_packed_size(profile);

    cairn_buf_clear(&p->message);
    CAIRN_TRY(cairn_buf_reserve(&p->message, size_bytes + 1));
    pprof__profile__pack(profile, p->message.data);
    return cairn_gzip_add(&p->gzip, p->message.data, size_bytes);
}

/* The index of a text in the string table, which is written as it grows. */
static int text(struct pprof *p, struct cairn_span raw, int64_t *ret_index)
{
    uint32_t id;

    cairn_buf_clear(&p->text);
    cairn_escape_utf8(&p->text, raw);
    CAIRN_TRY(p->text.code);
    CAIRN_TRY(cairn_intern_add(&p->strings, cairn_buf_span(&p->text), &id));
    *ret_index = id;
    while (p->strings_written < cairn_intern_count(&p->strings)) {
        struct cairn_span next = cairn_intern_get(&p->strings, (uint32_t)p->strings_written++);
        char *entry = next.size_bytes ? (char *)(uintptr_t)next.data : (char *)(uintptr_t) "";
        Pprof__Profile profile = PPROF__PROFILE__INIT;

        profile.n_string_table = 1;
        profile.string_table = &entry;
        CAIRN_TRY(put(p, &profile));
    }
    return 0;
}

static int text_of(struct pprof *p, const char *str, int64_t *ret_index)
{
    return text(p, cairn_span_of(str), ret_index);
}

static int put_types(struct pprof *p)
{
    static const char *const names[CAIRN_PPROF_VALUES] = {"samples", "wall", "cpu", "runq",
                                                          "blocked"};
    const char *chosen = cairn_metric_name(p->tally->filter.metric);
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    Pprof__ValueType type = PPROF__VALUE_TYPE__INIT, *types = &type;

    profile.n_sample_type = 1;
    profile.sample_type = &types;
    for (size_t i = 0; i < CAIRN_PPROF_VALUES; i++) {
        CAIRN_TRY(text_of(p, names[i], &type.type));
        CAIRN_TRY(text_of(p, i == 0 ? "count" : "nanoseconds", &type.unit));
        CAIRN_TRY(put(p, &profile));
    }
    profile.n_sample_type = 0;
    CAIRN_TRY(text_of(p, p->options->samples ? "samples" : chosen, &profile.default_sample_type));
    profile.duration_nanos = (int64_t)(p->tally->last_ns - p->tally->first_ns);
    return put(p, &profile);
}

static int put_function(struct pprof *p, uint32_t index)
{
    const struct cairn_function *function = &p->functions[index];
    Pprof__Function entry = PPROF__FUNCTION__INIT, *entries = &entry;
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    bool native = function->kind == CAIRN_FUNCTION_NATIVE;

    if (p->function_done[index])
        return 0;
    p->function_done[index] = true;
    entry.id = (uint64_t)index + 1;
    CAIRN_TRY(text(p, function->qualname, &entry.name));
    /* No system name: pprof would take "<module>" for C++ and cut off what is in brackets. */
    CAIRN_TRY(text(p, native ? function->module : function->file, &entry.filename));
    entry.start_line = function->first_line;
    profile.n_function = 1;
    profile.function = &entries;
    return put(p, &profile);
}

static int put_location(struct pprof *p, uint32_t frame)
{
    Pprof__Line line = PPROF__LINE__INIT, *lines = &line;
    Pprof__Location entry = PPROF__LOCATION__INIT, *entries = &entry;
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    uint32_t function = p->frames[frame].function;

    if (p->frame_done[frame])
        return 0;
    p->frame_done[frame] = true;
    CAIRN_TRY(put_function(p, function));
    line.function_id = (uint64_t)function + 1;
    if (p->options->lines == CAIRN_EXPORT_LINES_FIRST)
        line.line = p->functions[function].first_line;
    else if (p->options->lines != CAIRN_EXPORT_LINES_NONE)
        line.line = p->frames[frame].line;
    entry.id = (uint64_t)frame + 1;
    entry.n_line = 1;
    entry.line = &lines;
    profile.n_location = 1;
    profile.location = &entries;
    return put(p, &profile);
}

static int make_path(struct pprof *p, uint32_t node)
{
    p->path.count = 0;
    for (; node != 0; node = p->nodes[node].parent) {
        CAIRN_TRY(put_location(p, p->nodes[node].frame));
        CAIRN_TRY(cairn_vec_reserve(&p->path, p->path.count + 1, DEPTH_MAX));
        p->path.items[p->path.count++] = (uint64_t)p->nodes[node].frame + 1;
    }
    return 0;
}

static int make_labels(struct pprof *p, uint32_t thread_index, Pprof__Label *labels)
{
    const struct cairn_thread *threads, *thread;
    const struct cairn_process *processes, *process;

    cairn_model_threads(p->tally->model, &threads);
    cairn_model_processes(p->tally->model, &processes);
    thread = &threads[thread_index];
    process = &processes[thread->process];
    for (size_t i = 0; i < LABEL_COUNT; i++)
        pprof__label__init(&labels[i]);
    CAIRN_TRY(text_of(p, "thread", &labels[0].key));
    CAIRN_TRY(thread->name.size_bytes ? text(p, thread->name, &labels[0].str)
                                      : text_of(p, "[no name]", &labels[0].str));
    CAIRN_TRY(text_of(p, "process", &labels[1].key));
    CAIRN_TRY(text(p, process->name, &labels[1].str));
    CAIRN_TRY(text_of(p, "state", &labels[2].key));
    CAIRN_TRY(text_of(p, "tid", &labels[3].key));
    labels[3].num = (int64_t)thread->tid;
    CAIRN_TRY(text_of(p, "pid", &labels[4].key));
    labels[4].num = (int64_t)process->pid;
    return 0;
}

/* One sample for each state of the cell. */
static int put_states(struct pprof *p, const struct cairn_cell *cell, Pprof__Label *labels)
{
    Pprof__Label *label_list[LABEL_COUNT] = {&labels[0], &labels[1], &labels[2], &labels[3],
                                             &labels[4]};
    Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples = &sample;
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    struct cairn_pprof_part parts[CAIRN_STATE_COUNT];
    size_t count = cairn_pprof_split(cell, p->tally->counted, parts);

    sample.n_location_id = p->path.count;
    sample.location_id = p->path.items;
    sample.n_value = CAIRN_PPROF_VALUES;
    sample.n_label = LABEL_COUNT;
    sample.label = label_list;
    profile.n_sample = 1;
    profile.sample = &samples;
    for (size_t i = 0; i < count; i++) {
        sample.value = parts[i].values;
        CAIRN_TRY(text_of(p, cairn_state_name(parts[i].state), &labels[2].str));
        CAIRN_TRY(put(p, &profile));
    }
    return 0;
}

/* Who reads the file elsewhere is told as well. */
static int put_comment(struct pprof *p)
{
    const char *inference = cairn_facts_inference(p->tally->model);
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    int64_t comment;

    if (!inference)
        return 0;
    CAIRN_TRY(text_of(p, inference, &comment));
    profile.n_comment = 1;
    profile.comment = &comment;
    return put(p, &profile);
}

static int put_all(struct pprof *p)
{
    Pprof__Label labels[LABEL_COUNT];

    CAIRN_TRY(text_of(p, "", &(int64_t){0}));
    CAIRN_TRY(put_types(p));
    CAIRN_TRY(put_comment(p));
    for (size_t i = 0; i < p->tally->cell_count; i++) {
        const struct cairn_cell *cell = &p->tally->cells[i];

        if (i == 0 || cell->thread != cell[-1].thread)
            CAIRN_TRY(make_labels(p, cell->thread, labels));
        CAIRN_TRY(make_path(p, cell->node));
        CAIRN_TRY(put_states(p, cell, labels));
    }
    return 0;
}

int cairn_export_pprof(const struct cairn_tally *tally, const struct cairn_export_options *options,
                       struct cairn_outlet *out)
{
    struct pprof p = {.tally = tally, .options = options};
    size_t function_count = cairn_model_functions(tally->model, &p.functions);
    size_t frame_count = cairn_model_frames(tally->model, &p.frames);
    int code = cairn_intern_init(&p.strings, STRINGS_MAX_BYTES);

    if (code < 0)
        return code;
    cairn_model_nodes(tally->model, &p.nodes);
    cairn_buf_init(&p.message, MESSAGE_MAX_BYTES);
    cairn_buf_init(&p.text, MESSAGE_MAX_BYTES);
    p.function_done = cairn_calloc(function_count + 1, sizeof(*p.function_done));
    p.frame_done = cairn_calloc(frame_count + 1, sizeof(*p.frame_done));
    code = p.function_done && p.frame_done ? cairn_gzip_open(&p.gzip, Z_DEFAULT_COMPRESSION, out)
                                           : -CAIRN_ENOMEM;
    if (code == 0)
        code = cairn_gzip_close(&p.gzip, put_all(&p));
    free(p.function_done);
    free(p.frame_done);
    cairn_vec_release(&p.path);
    cairn_buf_release(&p.message);
    cairn_buf_release(&p.text);
    cairn_intern_release(&p.strings);
    return code;
}
