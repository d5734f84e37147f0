/* Rows of asyncio tasks, added up while the files are read: they are few beside the samples. */
#include "model_raw.h"

struct columns {
    const uint64_t *track, *dur, *stack, *tasks, *state;
};

static int add(struct cairn_loader *loader, uint32_t writer, uint32_t track, uint32_t stack,
               uint64_t state, uint64_t task_ns)
{
    uint64_t from = (uint64_t)writer << 32 | track, to = (uint64_t)stack << 8 | state, at;

    if (!cairn_map_get(&loader->task_index, from, to, &at)) {
        at = loader->tasks.count;
        CAIRN_TRY(cairn_vec_reserve(&loader->tasks, at + 1, CAIRN_MODEL_ITEMS_MAX));
        CAIRN_TRY(cairn_map_put(&loader->task_index, from, to, at));
        loader->tasks.items[loader->tasks.count++] = (struct cairn_raw_task){
            .writer = writer,
            .track_id = track,
            .track = cairn_ids_get(&loader->model->writers.items[writer].tracks, track),
            .stack = stack,
            .state = (uint8_t)state,
        };
    }
    if (__builtin_add_overflow(loader->tasks.items[at].task_ns, task_ns,
                               &loader->tasks.items[at].task_ns))
        loader->tasks.items[at].task_ns = UINT64_MAX;
    return 0;
}

int cairn_model_count_tasks(struct cairn_loader *loader, uint32_t writer, struct cairn_span section)
{
    static const char *const wanted[] = {"track", "dur", "stack", "tasks", "state", NULL};
    struct cairn_table *table = &loader->table;
    struct columns columns;

    table->wanted = wanted;
    CAIRN_TRY(cairn_decode_table(section, table));
    columns = (struct columns){
        .track = cairn_table_find(table, "track"),
        .dur = cairn_table_find(table, "dur"),
        .stack = cairn_table_find(table, "stack"),
        .tasks = cairn_table_find(table, "tasks"),
        .state = cairn_table_find(table, "state"),
    };
    if (!columns.track || !columns.dur || !columns.stack || !columns.tasks || !columns.state)
        return 0;
    for (size_t i = 0; i < table->row_count; i++) {
        uint64_t task_ns;

        if (columns.track[i] > UINT32_MAX || columns.stack[i] > UINT32_MAX ||
            columns.state[i] > CAIRN_TASK_RUNNING ||
            __builtin_mul_overflow(columns.dur[i], columns.tasks[i], &task_ns)) {
            loader->model->quality.unknown_refs++;
            continue;
        }
        CAIRN_TRY(add(loader, writer, (uint32_t)columns.track[i], (uint32_t)columns.stack[i],
                      columns.state[i], task_ns));
    }
    return 0;
}

/* The leaf of a stack, and the innermost frame of the program's own code, else the leaf. */
static void find_frames(const struct cairn_model *model, uint32_t node, struct cairn_task_sum *sum)
{
    if (node == CAIRN_IDS_LOST || node == CAIRN_NODE_EMPTY)
        node = CAIRN_NODE_UNKNOWN;
    sum->node = node;
    sum->leaf = sum->own = model->nodes.items[node].frame;
    if (model->functions.items[model->frames.items[sum->leaf].function].kind ==
        CAIRN_FUNCTION_LABEL)
        return; /* [torn]: where it stood is not known */
    for (; node != CAIRN_NODE_EMPTY; node = model->nodes.items[node].parent) {
        uint32_t frame = model->nodes.items[node].frame;

        if (model->functions.items[model->frames.items[frame].function].origin ==
            CAIRN_ORIGIN_USER) {
            sum->own = frame;
            return;
        }
    }
}

int cairn_model_join_tasks(struct cairn_loader *loader)
{
    struct cairn_model *model = loader->model;

    CAIRN_TRY(cairn_vec_reserve(&model->tasks, loader->tasks.count, CAIRN_MODEL_ITEMS_MAX));
    for (size_t i = 0; i < loader->tasks.count; i++) {
        const struct cairn_raw_task *raw = &loader->tasks.items[i];
        const struct cairn_model_writer *writer = &model->writers.items[raw->writer];
        struct cairn_task_sum sum = {.state = raw->state, .task_ns = raw->task_ns};

        if (raw->track == CAIRN_RAW_LOST) {
            model->quality.unknown_refs++;
            continue;
        }
        sum.name = cairn_intern_get(&model->strings, loader->tracks.items[raw->track].name);
        sum.coroutine = cairn_intern_get(&model->strings, loader->tracks.items[raw->track].detail);
        sum.thread = cairn_ids_get(&writer->tracks, raw->track_id);
        sum.process = loader->tracks.items[raw->track].process;
        find_frames(model, cairn_ids_get(&writer->stacks, raw->stack), &sum);
        model->tasks.items[model->tasks.count++] = sum;
    }
    return 0;
}

size_t cairn_model_tasks(const struct cairn_model *model, const struct cairn_task_sum **ret)
{
    const struct cairn_model *owner = model->base ? model->base : model;

    *ret = owner->tasks.items;
    return owner->tasks.count;
}
