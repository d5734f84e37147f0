#include "perfetto_stacks.h"

#include <stdlib.h>

#include "alloc.h"
#include "perfetto.pb-c.h"
#include "perfetto_packet.h"

#define TEXTS_MAX_BYTES ((size_t)4 << 30)
#define FRAMES_MAX ((size_t)1 << 30)
#define DEPTH_MAX ((size_t)1 << 28)

enum { UNIT_NANOSECONDS = 1, UNIT_COUNT = 9 };
enum { KIND_NATIVE = 1, KIND_INTERPRETED = 3 };

struct cairn_perfetto_weights { /* its parts point at one another */
    Perfetto__StackSampleDefaults defaults;
    Perfetto__CounterDescriptor value, ticks, *followers[1];
};

static void describe_weights(const struct cairn_tally *tally, bool samples,
                             struct cairn_perfetto_weights *weights)
{
    perfetto__stack_sample_defaults__init(&weights->defaults);
    perfetto__counter_descriptor__init(&weights->value);
    perfetto__counter_descriptor__init(&weights->ticks);
    weights->value.has_unit = weights->ticks.has_unit = true;
    weights->value.name = (char *)(uintptr_t)cairn_metric_name(tally->filter.metric);
    weights->value.unit = UNIT_NANOSECONDS;
    weights->ticks.name = (char *)(uintptr_t) "samples";
    weights->ticks.unit = UNIT_COUNT;
    weights->followers[0] = samples ? &weights->value : &weights->ticks;
    weights->defaults.source = (char *)(uintptr_t) "cairn";
    weights->defaults.primary_descriptor = samples ? &weights->ticks : &weights->value;
    weights->defaults.n_follower_descriptors = tally->counted;
    weights->defaults.follower_descriptors = weights->followers;
}

int cairn_perfetto_stacks_init(struct cairn_perfetto_stacks *stacks,
                               const struct cairn_tally *tally, const struct cairn_calltree *tree,
                               bool samples, struct cairn_outlet *out)
{
    const struct cairn_thread *threads;
    size_t thread_count = cairn_model_threads(tally->model, &threads);

    *stacks = (struct cairn_perfetto_stacks){
        .tally = tally, .tree = tree, .out = out, .samples = samples};
    cairn_map_init(&stacks->frames, FRAMES_MAX);
    cairn_buf_init(&stacks->text, CAIRN_PERFETTO_TEXT_MAX_BYTES);
    CAIRN_TRY(cairn_intern_init(&stacks->names, TEXTS_MAX_BYTES));
    CAIRN_TRY(cairn_intern_init(&stacks->paths, TEXTS_MAX_BYTES));
    stacks->stack_done = cairn_calloc(tree->nodes.count, sizeof(*stacks->stack_done));
    stacks->task_done = cairn_calloc(thread_count + 1, sizeof(*stacks->task_done));
    stacks->weights = cairn_calloc(1, sizeof(*stacks->weights));
    if (!stacks->stack_done || !stacks->task_done || !stacks->weights)
        return -CAIRN_ENOMEM;
    describe_weights(tally, samples, stacks->weights);
    return 0;
}

void cairn_perfetto_stacks_release(struct cairn_perfetto_stacks *stacks)
{
    cairn_intern_release(&stacks->names);
    cairn_intern_release(&stacks->paths);
    cairn_map_release(&stacks->frames);
    cairn_vec_release(&stacks->path);
    cairn_buf_release(&stacks->text);
    free(stacks->stack_done);
    free(stacks->task_done);
    free(stacks->weights);
}

Perfetto__StackSampleDefaults *cairn_perfetto_stacks_defaults(
    const struct cairn_perfetto_stacks *stacks)
{
    return &stacks->weights->defaults;
}

static int put(struct cairn_perfetto_stacks *stacks, Perfetto__TracePacket *packet)
{
    packet->has_sequence_flags = true;
    packet->sequence_flags = CAIRN_PERFETTO_NEEDED;
    return cairn_perfetto_put(stacks->out, packet);
}

/* What samples will name by its number. */
static int put_interned(struct cairn_perfetto_stacks *stacks, Perfetto__InternedData *interned)
{
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

    packet.interned_data = interned;
    return put(stacks, &packet);
}

/* Whether it is to be told, which it is once. */
static bool is_new(bool *done)
{
    bool before = *done;

    *done = true;
    return !before;
}

/* The number of a text in its table; 0, which means none, for the empty one. `ret_entry` is what is
 * to be told of it; `ret_count` 0: it was told before. */
static int intern(struct cairn_perfetto_stacks *stacks, struct cairn_intern *table,
                  struct cairn_span raw, Perfetto__InternedString *ret_entry, size_t *ret_count)
{
    size_t known = cairn_intern_count(table);
    struct cairn_span told;
    uint32_t number;
    char *text;

    CAIRN_TRY(cairn_perfetto_text(&stacks->text, raw, &text));
    CAIRN_TRY(cairn_intern_str(table, text, &number));
    told = cairn_intern_get(table, number);
    perfetto__interned_string__init(ret_entry);
    ret_entry->has_iid = ret_entry->has_str = true;
    ret_entry->iid = number;
    ret_entry->str.data = (uint8_t *)(uintptr_t)told.data;
    ret_entry->str.len = told.size_bytes;
    *ret_count = cairn_intern_count(table) - known;
    return 0;
}

static int put_frame(struct cairn_perfetto_stacks *stacks, const struct cairn_calltree_node *call,
                     uint64_t number)
{
    const struct cairn_function *functions, *function;
    Perfetto__InternedData interned = PERFETTO__INTERNED_DATA__INIT;
    Perfetto__Frame frame = PERFETTO__FRAME__INIT, *frames = &frame;
    Perfetto__InternedString name, *names = &name, path, *paths = &path;
    bool native;

    cairn_model_functions(stacks->tally->model, &functions);
    function = &functions[call->function];
    native = function->kind == CAIRN_FUNCTION_NATIVE;
    CAIRN_TRY(
        intern(stacks, &stacks->names, function->qualname, &name, &interned.n_function_names));
    CAIRN_TRY(intern(stacks, &stacks->paths, native ? function->module : function->file, &path,
                     &interned.n_source_paths));
    frame.has_iid = true;
    frame.iid = number;
    frame.has_function_name_id = name.iid != 0;
    frame.function_name_id = name.iid;
    frame.has_source_path_iid = path.iid != 0;
    frame.source_path_iid = path.iid;
    frame.has_line_number = call->line > 0;
    frame.line_number = call->line;
    frame.has_kind = native || function->kind == CAIRN_FUNCTION_PYTHON;
    frame.kind = native ? KIND_NATIVE : KIND_INTERPRETED;
    interned.function_names = &names;
    interned.source_paths = &paths;
    interned.n_frames = 1;
    interned.frames = &frames;
    return put_interned(stacks, &interned);
}

static int number_of_frame(struct cairn_perfetto_stacks *stacks,
                           const struct cairn_calltree_node *call, uint64_t *ret_number)
{
    if (cairn_map_get(&stacks->frames, call->function, call->line, ret_number))
        return 0;
    *ret_number = stacks->frames.count + 1;
    CAIRN_TRY(cairn_map_put(&stacks->frames, call->function, call->line, *ret_number));
    return put_frame(stacks, call, *ret_number);
}

/* The numbers of a stack's frames, the outermost first. */
static int make_path(struct cairn_perfetto_stacks *stacks, uint32_t stack)
{
    const struct cairn_calltree_node *nodes = stacks->tree->nodes.items;
    size_t depth = nodes[stack].depth;

    CAIRN_TRY(cairn_vec_reserve(&stacks->path, depth, DEPTH_MAX));
    stacks->path.count = depth;
    for (uint32_t at = stack; at != 0; at = nodes[at].parent)
        CAIRN_TRY(number_of_frame(stacks, &nodes[at], &stacks->path.items[--depth]));
    return 0;
}

static int put_stack(struct cairn_perfetto_stacks *stacks, uint32_t stack)
{
    Perfetto__InternedData interned = PERFETTO__INTERNED_DATA__INIT;
    Perfetto__Callstack callstack = PERFETTO__CALLSTACK__INIT, *callstacks = &callstack;

    if (!is_new(&stacks->stack_done[stack]))
        return 0;
    CAIRN_TRY(make_path(stacks, stack));
    callstack.has_iid = true;
    callstack.iid = stack;
    callstack.n_frame_ids = stacks->path.count;
    callstack.frame_ids = stacks->path.items;
    interned.n_callstacks = 1;
    interned.callstacks = &callstacks;
    return put_interned(stacks, &interned);
}

static int put_task(struct cairn_perfetto_stacks *stacks, uint32_t thread, uint64_t pid,
                    uint64_t tid)
{
    Perfetto__InternedData interned = PERFETTO__INTERNED_DATA__INIT;
    Perfetto__TaskContext task = PERFETTO__TASK_CONTEXT__INIT, *tasks = &task;

    if (!is_new(&stacks->task_done[thread]))
        return 0;
    task.has_iid = task.has_pid = task.has_tid = true;
    task.iid = (uint64_t)thread + 1;
    task.pid = (uint32_t)pid;
    task.tid = (uint32_t)tid;
    interned.n_stack_sample_task_contexts = 1;
    interned.stack_sample_task_contexts = &tasks;
    return put_interned(stacks, &interned);
}

int cairn_perfetto_stacks_put(struct cairn_perfetto_stacks *stacks,
                              const struct cairn_moment *moment, uint64_t pid, uint64_t tid)
{
    uint32_t stack = stacks->tree->of[moment->node];
    uint64_t follower = stacks->samples ? moment->value_ns : moment->ticks;
    Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
    Perfetto__StackSample sample = PERFETTO__STACK_SAMPLE__INIT;

    sample.primary_weight = stacks->samples ? moment->ticks : moment->value_ns;
    if (sample.primary_weight == 0)
        return 0;
    CAIRN_TRY(put_task(stacks, moment->thread, pid, tid));
    CAIRN_TRY(put_stack(stacks, stack));
    sample.has_primary_weight = sample.has_task_context_iid = sample.has_callstack_iid = true;
    sample.task_context_iid = (uint64_t)moment->thread + 1;
    sample.callstack_iid = stack;
    sample.n_follower_weights = stacks->tally->counted;
    sample.follower_weights = &follower;
    packet.has_timestamp = true;
    packet.timestamp = moment->first_ns;
    packet.stack_sample = &sample;
    return put(stacks, &packet);
}
