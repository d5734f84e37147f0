#include "pprof_samples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"
#include "facts.h"
#include "pprof_split.h"
#include "text.h"

#define TEXT_MAX_BYTES ((size_t)1 << 30)
#define KEY_MAX_BYTES ((size_t)8 << 30)
#define FRAMES_MAX ((size_t)1 << 28)
#define SAMPLES_MAX ((size_t)1 << 28)
#define STACKS_MAX ((size_t)1 << 32)
#define US_NS 1000

int cairn_pprof_init(struct cairn_pprof *pprof, const struct cairn_pprof_kind *kind)
{
    *pprof = (struct cairn_pprof){.kind = *kind};
    CAIRN_TRY(cairn_intern_init(&pprof->texts, TEXT_MAX_BYTES));
    CAIRN_TRY(cairn_intern_init(&pprof->frame_keys, KEY_MAX_BYTES));
    return cairn_intern_init(&pprof->sample_keys, KEY_MAX_BYTES);
}

void cairn_pprof_release(struct cairn_pprof *pprof)
{
    cairn_intern_release(&pprof->texts);
    cairn_intern_release(&pprof->frame_keys);
    cairn_intern_release(&pprof->sample_keys);
    cairn_vec_release(&pprof->frames);
    cairn_vec_release(&pprof->stacks);
    cairn_vec_release(&pprof->samples);
    cairn_vec_release(&pprof->key);
}

static size_t find(struct cairn_span text, const char *part)
{
    size_t size_bytes = strlen(part);

    for (size_t i = 0; i + size_bytes <= text.size_bytes; i++)
        if (memcmp(text.data + i, part, size_bytes) == 0)
            return i;
    return SIZE_MAX;
}

static void copy(char *to, size_t room, const uint8_t *data, size_t size_bytes)
{
    snprintf(to, room, "%.*s", (int)(size_bytes & 0xffff), (const char *)data);
}

/* What an importer says about its numbers: "TYPE in UNIT, each shown as 1 us"; the parts behind
 * TYPE may be missing. False: they are time, as any recording's. */
static bool read_values(struct cairn_span values, struct cairn_pprof_kind *kind)
{
    size_t shown = find(values, ", each shown as 1 "), in;

    kind->each_ns = 1;
    if (shown != SIZE_MAX) {
        if (find(values, ", each shown as 1 us") == shown)
            kind->each_ns = US_NS;
        values.size_bytes = shown;
    }
    in = find(values, " in ");
    if (in != SIZE_MAX)
        copy(kind->type, sizeof(kind->type), values.data, in);
    else
        copy(kind->type, sizeof(kind->type), values.data, values.size_bytes);
    if (shown == SIZE_MAX)
        snprintf(kind->unit, sizeof(kind->unit), "nanoseconds");
    else if (in != SIZE_MAX)
        copy(kind->unit, sizeof(kind->unit), values.data + in + 4, values.size_bytes - in - 4);
    else
        snprintf(kind->unit, sizeof(kind->unit), "count");
    return shown != SIZE_MAX || (in != SIZE_MAX && strcmp(kind->type, "wall") != 0);
}

size_t cairn_pprof_kinds(const struct cairn_model *model, struct cairn_pprof_kind *ret_kinds,
                         size_t *ret_usual)
{
    static const char *const names[CAIRN_PPROF_COLUMNS] = {"samples", "wall", "cpu", "runq",
                                                           "blocked"};
    struct cairn_span values = cairn_model_env(model, "import.values");
    struct cairn_pprof_kind own;

    for (int i = 0; i < CAIRN_PPROF_COLUMNS; i++) {
        ret_kinds[i] =
            (struct cairn_pprof_kind){.column = (enum cairn_pprof_column)i, .each_ns = 1};
        snprintf(ret_kinds[i].type, sizeof(ret_kinds[i].type), "%s", names[i]);
        snprintf(ret_kinds[i].unit, sizeof(ret_kinds[i].unit), "%s",
                 i == CAIRN_PPROF_SAMPLES ? "count" : "nanoseconds");
    }
    *ret_usual = CAIRN_PPROF_WALL;
    own = ret_kinds[CAIRN_PPROF_WALL];
    if (values.size_bytes == 0 || !read_values(values, &own))
        return CAIRN_PPROF_COLUMNS;
    own.foreign = ret_kinds[CAIRN_PPROF_SAMPLES].foreign = true;
    ret_kinds[CAIRN_PPROF_WALL] = own;
    return CAIRN_PPROF_WALL + 1;
}

static int add_text(struct cairn_pprof *pprof, struct cairn_span text, uint32_t *ret_id)
{
    return cairn_intern_add(&pprof->texts, text, ret_id);
}

static int add_word(struct cairn_pprof *pprof, const char *word, uint32_t *ret_id)
{
    return cairn_intern_str(&pprof->texts, word, ret_id);
}

/* A path without what it can do without: "a//b/./c/../d" is "a/b/d". */
static int add_file(struct cairn_pprof *pprof, struct cairn_span path, uint32_t *ret_id)
{
    struct cairn_buf clean;
    bool rooted = path.size_bytes > 0 && path.data[0] == '/';
    size_t from = 0;
    int code;

    if (find(path, "//") == SIZE_MAX && find(path, "/.") == SIZE_MAX &&
        !(path.size_bytes > 1 && path.data[0] == '.' && path.data[1] == '/'))
        return add_text(pprof, path, ret_id);
    cairn_buf_init(&clean, TEXT_MAX_BYTES);
    while (from < path.size_bytes) {
        size_t until = from, back = clean.size_bytes;

        while (until < path.size_bytes && path.data[until] != '/')
            until++;
        if (until - from == 2 && memcmp(path.data + from, "..", 2) == 0 && back > 0 &&
            !(back >= 2 && memcmp(clean.data + back - 2, "..", 2) == 0)) {
            while (back > 0 && clean.data[back - 1] != '/')
                back--;
            clean.size_bytes = back > 0 ? back - 1 : 0;
        } else if (until > from && !(until - from == 1 && path.data[from] == '.')) {
            if (clean.size_bytes > 0 || rooted)
                cairn_buf_u8(&clean, '/');
            cairn_buf_add(&clean, path.data + from, until - from);
        }
        from = until + 1;
    }
    code = clean.code;
    if (code == 0)
        code = add_text(pprof, cairn_buf_span(&clean), ret_id);
    cairn_buf_release(&clean);
    return code;
}

static int add_frame(struct cairn_pprof *pprof, const struct cairn_function *function,
                     uint32_t line, uint32_t *ret_frame)
{
    bool native = function->kind == CAIRN_FUNCTION_NATIVE;
    struct cairn_pprof_frame frame = {.line = line, .first_line = function->first_line};
    uint32_t id;

    CAIRN_TRY(add_text(pprof, function->qualname, &frame.name));
    CAIRN_TRY(add_file(pprof, native ? function->module : function->file, &frame.file));
    CAIRN_TRY(cairn_intern_add(&pprof->frame_keys,
                               (struct cairn_span){(const uint8_t *)&frame, sizeof(frame)}, &id));
    if (id > pprof->frames.count) {
        CAIRN_TRY(cairn_vec_reserve(&pprof->frames, id, FRAMES_MAX));
        pprof->frames.items[pprof->frames.count++] = frame;
    }
    *ret_frame = id - 1;
    return 0;
}

struct adding {
    struct cairn_pprof *pprof;
    const struct cairn_tally *tally;
    const struct cairn_pprof_kind *kind;
    enum cairn_pprof_role role;
    double scale;
    const struct cairn_node *nodes;
    const struct cairn_frame *frames;
    const struct cairn_function *functions;
    CAIRN_VEC(uint32_t) path;
    uint32_t *frame_of; /* of each frame of the model, its frame here and 1 */
};

static int make_path(struct adding *a, uint32_t node)
{
    a->path.count = 0;
    for (; node != 0; node = a->nodes[node].parent) {
        uint32_t index = a->nodes[node].frame;

        if (a->frame_of[index] == 0) {
            const struct cairn_frame *frame = &a->frames[index];

            CAIRN_TRY(add_frame(a->pprof, &a->functions[frame->function], frame->line,
                                &a->frame_of[index]));
            a->frame_of[index]++;
        }
        CAIRN_TRY(cairn_vec_reserve(&a->path, a->path.count + 1, FRAMES_MAX));
        a->path.items[a->path.count++] = a->frame_of[index] - 1;
    }
    return 0;
}

/* As the export has them; of a file of another tool those that the file has. */
static int make_labels(struct adding *a, uint32_t index, struct cairn_pprof_labels *labels)
{
    const struct cairn_thread *threads;
    const struct cairn_process *processes;

    cairn_model_threads(a->tally->model, &threads);
    cairn_model_processes(a->tally->model, &processes);
    *labels = (struct cairn_pprof_labels){.tid = threads[index].tid,
                                          .pid = processes[threads[index].process].pid,
                                          .base = a->role == CAIRN_PPROF_MINUS_BASE};
    CAIRN_TRY(add_text(a->pprof, threads[index].name, &labels->thread));
    if (threads[index].name.size_bytes == 0 && !a->kind->foreign)
        CAIRN_TRY(add_word(a->pprof, "[no name]", &labels->thread));
    return add_text(a->pprof, processes[threads[index].process].name, &labels->process);
}

static int64_t value_of(const struct adding *a, const struct cairn_pprof_part *part,
                        const struct cairn_pprof_kind *kind)
{
    int64_t value = part->values[kind->column] / (int64_t)kind->each_ns;

    if (a->scale < 1 || a->scale > 1)
        value = (int64_t)llround((double)value * a->scale);
    return a->role == CAIRN_PPROF_PLUS ? value : -value;
}

static int add_sample(struct adding *a, const struct cairn_pprof_labels *labels,
                      const struct cairn_pprof_part *part)
{
    struct cairn_pprof *p = a->pprof;
    size_t stack_bytes = a->path.count * sizeof(*a->path.items);
    int64_t count = a->role == CAIRN_PPROF_PLUS ? part->values[0] : -part->values[0];
    struct cairn_pprof_sample *sample;
    uint32_t id;

    CAIRN_TRY(cairn_vec_reserve(&p->key, sizeof(*labels) + stack_bytes, KEY_MAX_BYTES));
    memcpy(p->key.items, labels, sizeof(*labels));
    if (stack_bytes > 0)
        memcpy(p->key.items + sizeof(*labels), a->path.items, stack_bytes);
    CAIRN_TRY(cairn_intern_add(
        &p->sample_keys, (struct cairn_span){p->key.items, sizeof(*labels) + stack_bytes}, &id));
    if (id > p->samples.count) {
        CAIRN_TRY(cairn_vec_reserve(&p->samples, id, SAMPLES_MAX));
        CAIRN_TRY(cairn_vec_reserve(&p->stacks, p->stacks.count + a->path.count + 1, STACKS_MAX));
        if (stack_bytes > 0)
            memcpy(p->stacks.items + p->stacks.count, a->path.items, stack_bytes);
        p->samples.items[p->samples.count++] = (struct cairn_pprof_sample){
            .labels = *labels, .first = p->stacks.count, .depth = (uint32_t)a->path.count};
        p->stacks.count += a->path.count;
    }
    sample = &p->samples.items[id - 1];
    sample->value += value_of(a, part, a->kind);
    for (size_t i = 0; i < p->kind_count; i++)
        sample->values[i] += value_of(a, part, &p->kinds[i]);
    sample->count += count;
    for (int i = 0; i < CAIRN_PPROF_VALUES; i++)
        sample->any = sample->any || part->values[i] != 0;
    return 0;
}

static int add_cell(struct adding *a, const struct cairn_cell *cell,
                    struct cairn_pprof_labels *labels)
{
    struct cairn_pprof_part parts[CAIRN_STATE_COUNT];
    size_t count = cairn_pprof_split(cell, a->tally->counted, parts);

    CAIRN_TRY(make_path(a, cell->node));
    for (size_t i = 0; i < count; i++) {
        labels->state = 0;
        if (!a->kind->foreign)
            CAIRN_TRY(add_word(a->pprof, cairn_state_name(parts[i].state), &labels->state));
        CAIRN_TRY(add_sample(a, labels, &parts[i]));
    }
    return 0;
}

/* Of several the sum, as far as they are known; and the earliest start. */
static void add_times(struct cairn_pprof *pprof, const struct cairn_tally *tally)
{
    uint64_t duration_ns = tally->last_ns - tally->first_ns;
    uint64_t time_ns = cairn_model_real_ns(tally->model, tally->first_ns);

    if (cairn_model_env(tally->model, "import.format").size_bytes >
        0) { /* such times are those of its threads, one behind the other */
        duration_ns = cairn_facts_number(tally->model, "run.wall_ns");
        time_ns = cairn_facts_number(tally->model, "import.start_real_ns");
    }
    if (duration_ns != CAIRN_FACT_NONE)
        pprof->duration_ns += (int64_t)duration_ns;
    if (time_ns != CAIRN_FACT_NONE && time_ns != 0 &&
        (pprof->time_ns == 0 || (int64_t)time_ns < pprof->time_ns))
        pprof->time_ns = (int64_t)time_ns;
}

static int add_cells(struct adding *a)
{
    struct cairn_pprof_labels labels = {0};

    for (size_t i = 0; i < a->tally->cell_count; i++) {
        const struct cairn_cell *cell = &a->tally->cells[i];

        if (i == 0 || cell->thread != cell[-1].thread)
            CAIRN_TRY(make_labels(a, cell->thread, &labels));
        CAIRN_TRY(add_cell(a, cell, &labels));
    }
    return 0;
}

static bool has_line(struct cairn_span text, struct cairn_span line)
{
    struct cairn_span rest = text, known;

    while (cairn_text_line(&rest, &known))
        if (known.size_bytes == line.size_bytes &&
            memcmp(known.data, line.data, line.size_bytes) == 0)
            return true;
    return false;
}

/* Comments of all files, the same one once. What is inferred is one. */
static int add_comments(struct cairn_pprof *pprof, const struct cairn_model *model)
{
    const char *inference = cairn_facts_inference(model);
    struct cairn_span line, known,
        rest = inference ? cairn_span_of(inference) : cairn_model_env(model, "import.comments");
    struct cairn_buf all;
    int code;

    if (inference)
        pprof->inference = inference;
    cairn_buf_init(&all, TEXT_MAX_BYTES);
    known = cairn_intern_get(&pprof->texts, pprof->comments);
    cairn_buf_add(&all, known.data, known.size_bytes);
    while (cairn_text_line(&rest, &line)) {
        if (has_line(cairn_buf_span(&all), line))
            continue;
        cairn_buf_add(&all, line.data, line.size_bytes);
        cairn_buf_u8(&all, '\n');
    }
    code = all.code < 0 ? all.code : add_text(pprof, cairn_buf_span(&all), &pprof->comments);
    cairn_buf_release(&all);
    return code;
}

int cairn_pprof_add(struct cairn_pprof *pprof, const struct cairn_tally *tally,
                    const struct cairn_pprof_kind *kind, enum cairn_pprof_role role, double scale)
{
    struct adding a = {.pprof = pprof, .tally = tally, .kind = kind, .role = role, .scale = scale};
    size_t frame_count = cairn_model_frames(tally->model, &a.frames);
    int code;

    if (pprof->kind_count == 0)
        pprof->kind_count = cairn_pprof_kinds(tally->model, pprof->kinds, &pprof->kind_usual);
    cairn_model_nodes(tally->model, &a.nodes);
    cairn_model_functions(tally->model, &a.functions);
    a.frame_of = cairn_calloc(frame_count + 1, sizeof(*a.frame_of));
    code = a.frame_of ? add_cells(&a) : -CAIRN_ENOMEM;
    if (code == 0)
        add_times(pprof, tally);
    if (code == 0 && pprof->binary == 0)
        code = add_text(pprof, cairn_model_env(tally->model, "import.binary"), &pprof->binary);
    if (code == 0)
        code = add_comments(pprof, tally->model);
    free(a.frame_of);
    cairn_vec_release(&a.path);
    return code;
}

int64_t cairn_pprof_column_sum(const struct cairn_tally *tally, const struct cairn_pprof_kind *kind)
{
    struct cairn_pprof_part parts[CAIRN_STATE_COUNT];
    int64_t sum = 0;

    for (size_t i = 0; i < tally->cell_count; i++) {
        size_t count = cairn_pprof_split(&tally->cells[i], tally->counted, parts);

        for (size_t k = 0; k < count; k++)
            sum += parts[k].values[kind->column] / (int64_t)kind->each_ns;
    }
    return sum;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

void cairn_pprof_sum(struct cairn_pprof *pprof, bool mean)
{
    int64_t total = 0, count = 0, base = 0, base_count = 0;

    for (size_t i = 0; i < pprof->samples.count; i++) {
        const struct cairn_pprof_sample *sample = &pprof->samples.items[i];

        total += magnitude(sample->value);
        count += sample->count;
        if (sample->labels.base) {
            base += magnitude(sample->value);
            base_count += sample->count;
        }
    }
    if (base > 0) {
        total = base;
        count = base_count;
    }
    pprof->total = mean && count != 0 ? total / count : total;
}
