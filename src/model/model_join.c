/* Joins what writers and files say by content: the same function, stack or thread met twice is one.
 *
 * An item's content is packed into a key; interning the keys gives dense indexes.
 */
#include "model_raw.h"

#include <stdlib.h>

#include "alloc.h"
#include "origin.h"

/* Results of the join, by raw index; and the keys met so far. */
struct join {
    struct cairn_loader *loader;
    struct cairn_model *model;
    struct cairn_intern function_keys, frame_keys, process_keys, thread_keys;
    struct cairn_map nodes;                        /* {parent, frame} to node */
    struct cairn_map modules;                      /* {file, kind} to the string of its module */
    struct cairn_map last_processes, last_threads; /* {pid, boot}, {tid, process}: the last one */
    struct cairn_map last_tracks;                  /* {writer, process}: the last of its tracks */
    struct cairn_buf name;
    uint32_t *code_functions, *location_frames, *stack_nodes;
    uint32_t *track_processes, *track_threads; /* LOST: has none */
};

#define FIXED_FUNCTIONS 2 /* what cairn_model_new() put there; likewise frames */

struct function_key {
    uint32_t kind, file, qualname, name, first_line;
};

struct frame_key {
    uint32_t function, line;
    int64_t offset;
};

struct process_key {
    uint64_t pid, start_ns;
    uint64_t boot_id;
};

struct thread_key {
    uint64_t tid, start_ns;
    uint64_t process;
};

/* The dense index of a key, from 0; *ret_new: it was not there. */
static int key_index(struct cairn_intern *keys, const void *key, size_t size_bytes,
                     uint32_t *ret_index, bool *ret_new)
{
    size_t count = cairn_intern_count(keys);
    uint32_t id;

    CAIRN_TRY(cairn_intern_add(keys, (struct cairn_span){key, size_bytes}, &id));
    *ret_new = cairn_intern_count(keys) > count;
    *ret_index = id - 1; /* id 0 is the empty string, which is no key */
    return 0;
}

static int module_string(struct join *join, uint32_t file, uint8_t kind, uint32_t *ret_string)
{
    struct cairn_span path = cairn_intern_get(&join->model->strings, file);
    uint64_t found;

    if (cairn_map_get(&join->modules, file, kind, &found)) {
        *ret_string = (uint32_t)found;
        return 0;
    }
    cairn_buf_clear(&join->name);
    if (kind == CAIRN_FUNCTION_NATIVE)
        path = cairn_file_of(path);
    else
        CAIRN_TRY(cairn_module_of(&join->name, path));
    if (kind != CAIRN_FUNCTION_NATIVE)
        path = cairn_buf_span(&join->name);
    CAIRN_TRY(cairn_intern_add(&join->model->strings, path, ret_string));
    return cairn_map_put(&join->modules, file, kind, *ret_string);
}

static int join_function(struct join *join, const struct function_key *key, uint32_t *ret_function)
{
    struct cairn_model *model = join->model;
    const struct cairn_intern *strings = &model->strings;
    struct cairn_function *function;
    uint32_t index, module = 0;
    bool is_new;

    CAIRN_TRY(key_index(&join->function_keys, key, sizeof(*key), &index, &is_new));
    *ret_function = index + FIXED_FUNCTIONS;
    if (!is_new)
        return 0;
    if (key->kind != CAIRN_FUNCTION_LABEL)
        CAIRN_TRY(module_string(join, key->file, (uint8_t)key->kind, &module));
    CAIRN_TRY(
        cairn_vec_reserve(&model->functions, model->functions.count + 1, CAIRN_MODEL_ITEMS_MAX));
    function = &model->functions.items[model->functions.count++];
    function->kind = (uint8_t)key->kind;
    function->name = cairn_intern_get(strings, key->name ? key->name : join->loader->unknown);
    function->plain_name = key->kind == CAIRN_FUNCTION_PYTHON && !key->qualname;
    function->qualname = key->qualname ? cairn_intern_get(strings, key->qualname) : function->name;
    function->module = cairn_intern_get(strings, module);
    function->first_line = key->first_line;
    function->origin = CAIRN_ORIGIN_NONE;
    if (key->kind == CAIRN_FUNCTION_PYTHON) {
        function->file = cairn_intern_get(strings, key->file);
        function->origin = cairn_origin_of(function->file);
    }
    model->quality.plain_names += function->plain_name;
    return 0;
}

/* Labels that the model has from the start are not made again. */
static int join_label(struct join *join, uint32_t label, uint32_t *ret_function)
{
    struct cairn_span text = cairn_intern_get(&join->model->strings, label);
    struct function_key key = {.kind = CAIRN_FUNCTION_LABEL, .qualname = label, .name = label};

    for (uint32_t i = 0; i < FIXED_FUNCTIONS; i++)
        /* Equal strings are the same string. */
        if (join->model->functions.items[i].name.data == text.data) {
            *ret_function = i;
            return 0;
        }
    return join_function(join, &key, ret_function);
}

static int join_codes(struct join *join)
{
    for (size_t i = 0; i < join->loader->codes.count; i++) {
        const struct cairn_raw_code *code = &join->loader->codes.items[i];
        struct function_key key = {
            .kind = CAIRN_FUNCTION_PYTHON,
            .file = code->file,
            .qualname = code->qualname,
            .name = code->name,
            .first_line = code->first_line,
        };

        CAIRN_TRY(join_function(join, &key, &join->code_functions[i]));
    }
    return 0;
}

static int function_of(struct join *join, const struct cairn_raw_location *location,
                       uint32_t *ret_function)
{
    if (location->ref == CAIRN_RAW_LOST) {
        *ret_function = CAIRN_FUNCTION_UNKNOWN;
    } else if (location->kind == CAIRN_LOC_PYTHON) {
        *ret_function = join->code_functions[location->ref];
    } else if (location->kind == CAIRN_LOC_LABEL) {
        return join_label(join, location->ref, ret_function);
    } else {
        /* Until its symbols are asked for: unknown, in a module that is known. */
        struct function_key key = {
            .kind = CAIRN_FUNCTION_NATIVE,
            .file = location->ref,
            .qualname = join->loader->unknown,
            .name = join->loader->unknown,
        };

        return join_function(join, &key, ret_function);
    }
    return 0;
}

static int join_frames(struct join *join)
{
    struct cairn_model *model = join->model;

    for (size_t i = 0; i < join->loader->locations.count; i++) {
        const struct cairn_raw_location *location = &join->loader->locations.items[i];
        struct frame_key key = {.line = location->line, .offset = location->offset};
        uint32_t index;
        bool is_new;

        CAIRN_TRY(function_of(join, location, &key.function));
        if (key.function < FIXED_FUNCTIONS) {
            join->location_frames[i] = key.function; /* their frames have the same numbers */
            continue;
        }
        CAIRN_TRY(key_index(&join->frame_keys, &key, sizeof(key), &index, &is_new));
        join->location_frames[i] = index + FIXED_FUNCTIONS;
        if (!is_new)
            continue;
        CAIRN_TRY(
            cairn_vec_reserve(&model->frames, model->frames.count + 1, CAIRN_MODEL_ITEMS_MAX));
        model->frames.items[model->frames.count++] = (struct cairn_frame){
            .function = key.function,
            .line = key.line,
            .offset = key.offset,
        };
    }
    return 0;
}

static int join_stacks(struct join *join)
{
    struct cairn_model *model = join->model;

    for (uint32_t i = CAIRN_NODE_UNKNOWN; i <= CAIRN_NODE_NOT_PYTHON; i++)
        CAIRN_TRY(cairn_map_put(&join->nodes, 0, model->nodes.items[i].frame, i));
    for (size_t i = 0; i < join->loader->stacks.count; i++) {
        const struct cairn_raw_stack *stack = &join->loader->stacks.items[i];
        struct cairn_node node = {CAIRN_NODE_EMPTY, CAIRN_FRAME_UNKNOWN};
        uint64_t found;

        if (stack->parent == CAIRN_RAW_LOST)
            node.parent = CAIRN_NODE_UNKNOWN;
        else if (stack->parent != CAIRN_RAW_NONE)
            node.parent = join->stack_nodes[stack->parent];
        if (stack->location != CAIRN_RAW_LOST)
            node.frame = join->location_frames[stack->location];
        if (!cairn_map_get(&join->nodes, node.parent, node.frame, &found)) {
            found = model->nodes.count;
            CAIRN_TRY(cairn_vec_reserve(&model->nodes, found + 1, CAIRN_MODEL_ITEMS_MAX));
            CAIRN_TRY(cairn_map_put(&join->nodes, node.parent, node.frame, found));
            model->nodes.items[model->nodes.count++] = node;
        }
        join->stack_nodes[i] = (uint32_t)found;
    }
    return 0;
}

static void take_text(struct cairn_span *text, const struct cairn_intern *strings, uint32_t string)
{
    if (!text->size_bytes)
        *text = cairn_intern_get(strings, string);
}

/* The process a track belongs to, itself or above it; LOST when there is none. */
static uint32_t process_above(const struct join *join, size_t track)
{
    const struct cairn_raw_track *tracks = join->loader->tracks.items;

    for (;;) {
        if (tracks[track].kind == CAIRN_TRACK_PROCESS)
            return join->track_processes[track];
        if (tracks[track].parent >= CAIRN_RAW_NONE)
            return CAIRN_RAW_LOST;
        track = tracks[track].parent;
    }
}

/* The last one of that number, for one that could not be told when it began, as where there is no
 * /proc; UINT32_MAX: none. */
static uint32_t last_of(const struct cairn_map *last, uint64_t number, uint64_t within)
{
    uint64_t index = UINT32_MAX;

    (void)cairn_map_get(last, number, within, &index);
    return (uint32_t)index;
}

static int join_process(struct join *join, size_t track)
{
    struct cairn_model *model = join->model;
    const struct cairn_raw_track *raw = &join->loader->tracks.items[track];
    uint32_t boot_id =
        raw->boot_id ? raw->boot_id : join->loader->writers.items[raw->writer].boot_id;
    struct process_key key = {raw->number, raw->start_ns, boot_id};
    uint32_t index;
    bool is_new;

    if (raw->start_ns == 0) {
        index = last_of(&join->last_processes, raw->number, boot_id);
        join->track_processes[track] = index;
        if (index != UINT32_MAX)
            return 0;
    }
    CAIRN_TRY(key_index(&join->process_keys, &key, sizeof(key), &index, &is_new));
    join->track_processes[track] = index;
    if (is_new) {
        CAIRN_TRY(cairn_map_put(&join->last_processes, raw->number, boot_id, index));
        CAIRN_TRY(cairn_vec_reserve(&model->processes, (size_t)index + 1, CAIRN_MODEL_ITEMS_MAX));
        model->processes.items[model->processes.count++] = (struct cairn_process){
            .boot_id = cairn_intern_get(&model->strings, boot_id),
            .pid = raw->number,
            .start_ns = raw->start_ns,
            .parent = UINT32_MAX,
        };
    }
    return 0;
}

static int join_thread(struct join *join, size_t track)
{
    struct cairn_model *model = join->model;
    const struct cairn_raw_track *raw = &join->loader->tracks.items[track];
    struct thread_key key = {raw->number, raw->start_ns, process_above(join, track)};
    uint32_t index;
    bool is_new;

    if (key.process == CAIRN_RAW_LOST)
        return 0;
    if (raw->start_ns == 0) {
        join->track_threads[track] = last_of(&join->last_threads, raw->number, key.process);
        if (join->track_threads[track] != UINT32_MAX)
            return 0;
    }
    CAIRN_TRY(key_index(&join->thread_keys, &key, sizeof(key), &index, &is_new));
    if (is_new) {
        CAIRN_TRY(cairn_map_put(&join->last_threads, raw->number, key.process, index));
        CAIRN_TRY(cairn_vec_reserve(&model->threads, (size_t)index + 1, CAIRN_MODEL_ITEMS_MAX));
        model->threads.items[model->threads.count++] = (struct cairn_thread){
            .process = (uint32_t)key.process,
            .tid = raw->number,
            .start_ns = raw->start_ns,
        };
    }
    join->track_threads[track] = index;
    return 0;
}

struct said {
    uint64_t when_ns;
    uint32_t track;
};

static int latest_first(const void *left, const void *right)
{
    const struct said *a = left, *b = right;

    if (a->when_ns != b->when_ns)
        return a->when_ns < b->when_ns ? 1 : -1;
    return (a->track < b->track) - (a->track > b->track);
}

/* Names change, and not every writer hears of it: what was said last holds. */
static int join_names(struct join *join)
{
    const struct cairn_intern *strings = &join->model->strings;
    size_t count = join->loader->tracks.count;
    struct said *said = cairn_calloc(count + 1, sizeof(*said));

    if (!said)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < count; i++)
        said[i] = (struct said){join->loader->tracks.items[i].said_ns, (uint32_t)i};
    qsort(said, count, sizeof(*said), latest_first);
    for (size_t i = 0; i < count; i++) {
        const struct cairn_raw_track *raw = &join->loader->tracks.items[said[i].track];
        uint32_t process = join->track_processes[said[i].track];
        uint32_t thread = join->track_threads[said[i].track];

        if (raw->kind == CAIRN_TRACK_PROCESS) {
            take_text(&join->model->processes.items[process].name, strings, raw->name);
            take_text(&join->model->processes.items[process].command, strings, raw->detail);
            if (!join->model->processes.items[process].birth)
                join->model->processes.items[process].birth = raw->birth;
        } else if (raw->kind == CAIRN_TRACK_THREAD && thread != CAIRN_RAW_LOST) {
            take_text(&join->model->threads.items[thread].name, strings, raw->name);
        }
    }
    free(said);
    return 0;
}

/* Whether `a` began before `b`; a strict order, so that no ring of parents can come of it. Start
 * times are of a coarse clock. */
static bool began_before(const struct cairn_process *a, const struct cairn_process *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    return a->pid != b->pid ? a->pid < b->pid : a < b;
}

static void join_parent(struct join *join, size_t track)
{
    const struct cairn_raw_track *raw = &join->loader->tracks.items[track];
    struct cairn_process *processes = join->model->processes.items;
    uint32_t child = join->track_processes[track], parent;
    uint64_t last = 0;

    if (raw->parent >= CAIRN_RAW_NONE || processes[child].parent != UINT32_MAX)
        return;
    parent = process_above(join, raw->parent);
    if (parent == CAIRN_RAW_LOST || !began_before(&processes[parent], &processes[child]))
        return;
    processes[child].parent = parent;
    (void)cairn_map_get(&join->last_tracks, raw->writer, parent, &last);
    processes[child].before =
        raw->parent < last && join->loader->tracks.items[last].birth == CAIRN_BIRTH_EXEC;
}

static int join_tracks(struct join *join)
{
    struct cairn_raw_track *tracks = join->loader->tracks.items;
    size_t count = join->loader->tracks.count;

    /* Those whose beginning is not known come last: they may be among the others. */
    for (int known = 1; known >= 0; known--)
        for (size_t i = 0; i < count; i++)
            if (tracks[i].kind == CAIRN_TRACK_PROCESS && (tracks[i].start_ns != 0) == known)
                CAIRN_TRY(join_process(join, i));
    for (int known = 1; known >= 0; known--)
        for (size_t i = 0; i < count; i++)
            if (tracks[i].kind == CAIRN_TRACK_THREAD && (tracks[i].start_ns != 0) == known)
                CAIRN_TRY(join_thread(join, i));
    for (size_t i = 0; i < count; i++)
        if (tracks[i].kind == CAIRN_TRACK_PROCESS)
            CAIRN_TRY(
                cairn_map_put(&join->last_tracks, tracks[i].writer, join->track_processes[i], i));
    for (size_t i = 0; i < count; i++) {
        if (tracks[i].kind == CAIRN_TRACK_PROCESS)
            join_parent(join, i);
        else if (tracks[i].kind != CAIRN_TRACK_THREAD && tracks[i].parent < CAIRN_RAW_NONE)
            /* A task, a greenlet: what it does is its thread's doing. Parents come first. */
            join->track_threads[i] = join->track_threads[tracks[i].parent];
        tracks[i].process = process_above(join, i);
    }
    return join_names(join);
}

static int translate(struct join *join)
{
    struct cairn_model *model = join->model;

    for (size_t i = 0; i < model->writers.count; i++) {
        CAIRN_TRY(cairn_ids_translate(&model->writers.items[i].stacks, join->stack_nodes));
        CAIRN_TRY(cairn_ids_translate(&model->writers.items[i].tracks, join->track_threads));
    }
    return 0;
}

static int join_all(struct join *join)
{
    size_t track_count = join->loader->tracks.count;

    CAIRN_TRY(cairn_intern_init(&join->function_keys, CAIRN_MODEL_BYTES_MAX));
    CAIRN_TRY(cairn_intern_init(&join->frame_keys, CAIRN_MODEL_BYTES_MAX));
    CAIRN_TRY(cairn_intern_init(&join->process_keys, CAIRN_MODEL_BYTES_MAX));
    CAIRN_TRY(cairn_intern_init(&join->thread_keys, CAIRN_MODEL_BYTES_MAX));
    join->code_functions = cairn_calloc(join->loader->codes.count + 1, sizeof(uint32_t));
    join->location_frames = cairn_calloc(join->loader->locations.count + 1, sizeof(uint32_t));
    join->stack_nodes = cairn_calloc(join->loader->stacks.count + 1, sizeof(uint32_t));
    join->track_processes = cairn_calloc(track_count + 1, sizeof(uint32_t));
    join->track_threads = cairn_calloc(track_count + 1, sizeof(uint32_t));
    if (!join->code_functions || !join->location_frames || !join->stack_nodes ||
        !join->track_processes || !join->track_threads)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < track_count; i++)
        join->track_processes[i] = join->track_threads[i] = CAIRN_RAW_LOST;
    CAIRN_TRY(cairn_model_lines(join->loader));
    CAIRN_TRY(join_codes(join));
    CAIRN_TRY(join_frames(join));
    CAIRN_TRY(join_stacks(join));
    CAIRN_TRY(join_tracks(join));
    CAIRN_TRY(translate(join));
    CAIRN_TRY(cairn_model_join_counted(join->loader, join->code_functions));
    CAIRN_TRY(cairn_model_join_opcodes(join->loader, join->code_functions));
    return cairn_model_join_given(join->loader, join->code_functions);
}

int cairn_model_join(struct cairn_loader *loader)
{
    struct join join = {.loader = loader, .model = loader->model};
    int code;

    cairn_map_init(&join.nodes, CAIRN_MODEL_ITEMS_MAX);
    cairn_map_init(&join.modules, CAIRN_MODEL_ITEMS_MAX);
    cairn_map_init(&join.last_processes, CAIRN_MODEL_ITEMS_MAX);
    cairn_map_init(&join.last_threads, CAIRN_MODEL_ITEMS_MAX);
    cairn_map_init(&join.last_tracks, CAIRN_MODEL_ITEMS_MAX);
    cairn_buf_init(&join.name, 2 * CAIRN_STRING_MAX_BYTES);
    code = join_all(&join);
    cairn_intern_release(&join.function_keys);
    cairn_intern_release(&join.frame_keys);
    cairn_intern_release(&join.process_keys);
    cairn_intern_release(&join.thread_keys);
    cairn_map_release(&join.last_processes);
    cairn_map_release(&join.last_threads);
    cairn_map_release(&join.last_tracks);
    cairn_map_release(&join.nodes);
    cairn_map_release(&join.modules);
    cairn_buf_release(&join.name);
    free(join.code_functions);
    free(join.location_frames);
    free(join.stack_nodes);
    free(join.track_processes);
    free(join.track_threads);
    return code;
}
