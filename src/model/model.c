#include "model_priv.h"

#include <string.h>

#include "alloc.h"
#include "entry.h"
#include "io.h"

/* Who owns what a folded view shares. */
static const struct cairn_model *owner(const struct cairn_model *model)
{
    return model->base ? model->base : model;
}

static int add_label(struct cairn_model *model, const char *label)
{
    size_t count = model->functions.count;
    uint32_t id;

    CAIRN_TRY(cairn_intern_str(&model->strings, label, &id));
    CAIRN_TRY(cairn_vec_reserve(&model->functions, count + 1, CAIRN_MODEL_ITEMS_MAX));
    CAIRN_TRY(cairn_vec_reserve(&model->frames, count + 1, CAIRN_MODEL_ITEMS_MAX));
    model->functions.items[model->functions.count++] = (struct cairn_function){
        .kind = CAIRN_FUNCTION_LABEL,
        .origin = CAIRN_ORIGIN_NONE,
        .name = cairn_intern_get(&model->strings, id),
        .qualname = cairn_intern_get(&model->strings, id),
    };
    model->frames.items[model->frames.count++] = (struct cairn_frame){.function = (uint32_t)count};
    return 0;
}

static int add_fixed(struct cairn_model *model)
{
    CAIRN_TRY(cairn_intern_init(&model->strings, CAIRN_MODEL_BYTES_MAX));
    CAIRN_TRY(add_label(model, "[unknown]"));
    CAIRN_TRY(add_label(model, "[not python]"));
    CAIRN_TRY(cairn_vec_reserve(&model->nodes, 3, CAIRN_MODEL_ITEMS_MAX));
    model->nodes.items[CAIRN_NODE_UNKNOWN].frame = CAIRN_FRAME_UNKNOWN;
    model->nodes.items[CAIRN_NODE_NOT_PYTHON].frame = CAIRN_FRAME_NOT_PYTHON;
    model->nodes.count = 3;
    return 0;
}

int cairn_model_new(struct cairn_model **ret_model)
{
    struct cairn_model *model = cairn_calloc(1, sizeof(*model));
    int code;

    if (!model)
        return -CAIRN_ENOMEM;
    cairn_map_init(&model->writer_index, CAIRN_MODEL_ITEMS_MAX);
    model->lost_thread = UINT32_MAX;
    code = add_fixed(model);
    if (code < 0) {
        cairn_model_free(model);
        return code;
    }
    *ret_model = model;
    return 0;
}

void cairn_model_free(struct cairn_model *model)
{
    if (!model)
        return;
    cairn_vec_release(&model->nodes);
    cairn_vec_release(&model->marks);
    if (!model->base) {
        for (size_t i = 0; i < model->writers.count; i++) {
            cairn_ids_release(&model->writers.items[i].stacks);
            cairn_ids_release(&model->writers.items[i].tracks);
            cairn_ids_release(&model->writers.items[i].strings);
        }
        for (size_t i = 0; i < model->files.count; i++) {
            cairn_io_close(&model->files.items[i].fd);
            free(model->files.items[i].chunks);
        }
        cairn_vec_release(&model->writers);
        cairn_vec_release(&model->files);
        cairn_map_release(&model->writer_index);
        cairn_vec_release(&model->functions);
        cairn_vec_release(&model->frames);
        cairn_vec_release(&model->processes);
        cairn_vec_release(&model->threads);
        cairn_vec_release(&model->tasks);
        cairn_vec_release(&model->calls);
        cairn_vec_release(&model->pairs);
        cairn_vec_release(&model->counted);
        cairn_vec_release(&model->opcodes);
        cairn_vec_release(&model->given);
        cairn_vec_release(&model->env);
        cairn_vec_release(&model->counters);
        cairn_intern_release(&model->strings);
    }
    free(model);
}

int cairn_model_lost_thread(struct cairn_model *model, uint32_t *ret_thread)
{
    struct cairn_span unknown = model->functions.items[CAIRN_FUNCTION_UNKNOWN].name;
    size_t process = model->processes.count, thread = model->threads.count;

    if (model->lost_thread == UINT32_MAX) {
        CAIRN_TRY(cairn_vec_reserve(&model->processes, process + 1, CAIRN_MODEL_ITEMS_MAX));
        CAIRN_TRY(cairn_vec_reserve(&model->threads, thread + 1, CAIRN_MODEL_ITEMS_MAX));
        model->processes.items[model->processes.count++] = (struct cairn_process){
            .name = unknown,
            .parent = UINT32_MAX,
        };
        model->threads.items[model->threads.count++] = (struct cairn_thread){
            .process = (uint32_t)process,
            .name = unknown,
        };
        model->lost_thread = (uint32_t)thread;
    }
    *ret_thread = model->lost_thread;
    return 0;
}

bool cairn_function_is_label(const struct cairn_function *function, const char *label)
{
    size_t size_bytes = strlen(label);

    return function->kind == CAIRN_FUNCTION_LABEL && function->name.size_bytes == size_bytes &&
           !memcmp(function->name.data, label, size_bytes);
}

int cairn_model_mark(struct cairn_model *model)
{
    const struct cairn_model *base = owner(model);

    CAIRN_TRY(cairn_vec_reserve(&model->marks, model->nodes.count, CAIRN_MODEL_ITEMS_MAX));
    model->marks.count = model->nodes.count;
    for (size_t i = 1; i < model->nodes.count; i++) {
        const struct cairn_node *node = &model->nodes.items[i];
        uint32_t function_index = base->frames.items[node->frame].function;
        const struct cairn_function *function = &base->functions.items[function_index];
        uint8_t marks = model->marks.items[node->parent];

        if (function->kind == CAIRN_FUNCTION_LABEL) {
            if (cairn_function_is_label(function, "[torn]"))
                marks |= CAIRN_MARK_TORN;
            if (cairn_function_is_label(function, "[truncated]"))
                marks |= CAIRN_MARK_TRUNCATED;
        }
        if ((marks & CAIRN_MARK_ENTRIES) < CAIRN_MARK_ENTRIES && cairn_function_is_entry(function))
            marks += CAIRN_MARK_ENTRIES_ONE;
        model->marks.items[i] = marks;
    }
    return 0;
}

size_t cairn_model_functions(const struct cairn_model *model, const struct cairn_function **ret)
{
    *ret = owner(model)->functions.items;
    return owner(model)->functions.count;
}

size_t cairn_model_frames(const struct cairn_model *model, const struct cairn_frame **ret)
{
    *ret = owner(model)->frames.items;
    return owner(model)->frames.count;
}

size_t cairn_model_nodes(const struct cairn_model *model, const struct cairn_node **ret)
{
    *ret = model->nodes.items;
    return model->nodes.count;
}

const uint8_t *cairn_model_marks(const struct cairn_model *model)
{
    return model->marks.items;
}

size_t cairn_model_processes(const struct cairn_model *model, const struct cairn_process **ret)
{
    *ret = owner(model)->processes.items;
    return owner(model)->processes.count;
}

size_t cairn_model_threads(const struct cairn_model *model, const struct cairn_thread **ret)
{
    *ret = owner(model)->threads.items;
    return owner(model)->threads.count;
}

const struct cairn_quality *cairn_model_quality(const struct cairn_model *model)
{
    return &owner(model)->quality;
}

size_t cairn_model_env_count(const struct cairn_model *model)
{
    return owner(model)->env.count;
}

void cairn_model_env_at(const struct cairn_model *model, size_t index, struct cairn_span *ret_key,
                        struct cairn_span *ret_value)
{
    const struct cairn_model_env_entry *entry = &owner(model)->env.items[index];

    *ret_key = cairn_intern_get(&owner(model)->strings, entry->key);
    *ret_value = cairn_intern_get(&owner(model)->strings, entry->value);
}

bool cairn_model_has_overlays(const struct cairn_model *model)
{
    return cairn_model_whole(model)->has_overlays;
}

struct cairn_span cairn_model_text(const struct cairn_model *model, uint32_t text)
{
    return cairn_intern_get(&owner(model)->strings, text);
}

size_t cairn_model_texts(const struct cairn_model *model)
{
    return cairn_intern_count(&owner(model)->strings);
}

struct cairn_span cairn_model_env(const struct cairn_model *model, const char *key)
{
    size_t size_bytes = strlen(key);

    for (size_t i = 0; i < cairn_model_env_count(model); i++) {
        struct cairn_span found, value;

        cairn_model_env_at(model, i, &found, &value);
        if (found.size_bytes == size_bytes && !memcmp(found.data, key, size_bytes))
            return value;
    }
    return (struct cairn_span){NULL, 0};
}

uint64_t cairn_model_counter(const struct cairn_model *model, const char *name)
{
    size_t size_bytes = strlen(name);

    for (size_t i = 0; i < owner(model)->counters.count; i++) {
        const struct cairn_model_counter *counter = &owner(model)->counters.items[i];
        struct cairn_span found = cairn_intern_get(&owner(model)->strings, counter->name);

        if (found.size_bytes == size_bytes && !memcmp(found.data, name, size_bytes))
            return counter->value;
    }
    return 0;
}

size_t cairn_model_recordings(const struct cairn_model *model)
{
    return owner(model)->recordings;
}

uint64_t cairn_model_real_ns(const struct cairn_model *model, uint64_t time_ns)
{
    return owner(model)->has_real ? time_ns + owner(model)->real_shift_ns : 0;
}

void cairn_model_span(const struct cairn_model *model, uint64_t *ret_first_ns,
                      uint64_t *ret_last_ns)
{
    *ret_first_ns = owner(model)->first_ns;
    *ret_last_ns = owner(model)->last_ns;
}
