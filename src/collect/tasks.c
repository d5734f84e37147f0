#include "tasks.h"

#include "alloc.h"
#include "clock.h"
#include "format.h"
#include "map.h"
#include "stackids.h"

#define ROUND_NS UINT64_C(10000000)
#define ROUND_SHARE 50 /* a round may cost this part of the time until the next */
#define NAMED_MAX 4096 /* names that tell tasks apart; behind them their coroutines do */
#define TRACKS_MAX (1u << 20)

enum task_column { COL_TRACK, COL_TIME, COL_DUR, COL_STACK, COL_TASKS, COL_STATE, COLS };

static const struct cairn_column_def task_columns[COLS] = {
    [COL_TRACK] = {"track", "id", CAIRN_ENC_RLE},
    [COL_TIME] = {"time", "ns", CAIRN_ENC_DELTA},
    [COL_DUR] = {"dur", "ns", CAIRN_ENC_UVARINT},
    [COL_STACK] = {"stack", "id", CAIRN_ENC_UVARINT},
    [COL_TASKS] = {"tasks", "count", CAIRN_ENC_RLE},
    [COL_STATE] = {"state", "", CAIRN_ENC_RLE},
};

/* Tasks that were found alike: an open row. */
struct group {
    uint32_t track, stack, tasks;
    uint8_t state;
    uint64_t first_ns, last_ns;
};

CAIRN_VEC_DECLARE(groups, struct group);

struct cairn_tasks {
    struct cairn_map tracks; /* {thread's track, name or coroutine} to a track */
    uint64_t made;           /* tracks, so far */
    struct groups open, now; /* of the last round, and of this */
    struct cairn_map index;  /* {track, stack and state} to a place in `now` */
    uint64_t round_at_ns, last_ns;
    uint64_t left_out; /* most of a round */
    uint64_t gone;     /* of this round: over before they could be looked at */
};

void cairn_tasks_free(struct cairn_tasks *tasks)
{
    if (!tasks)
        return;
    cairn_map_release(&tasks->tracks);
    cairn_map_release(&tasks->index);
    cairn_vec_release(&tasks->open);
    cairn_vec_release(&tasks->now);
    free(tasks);
}

static int write_group(struct cairn_writer *writer, const struct group *group)
{
    const uint64_t values[COLS] = {
        [COL_TRACK] = group->track, [COL_TIME] = group->first_ns,
        [COL_STACK] = group->stack, [COL_DUR] = group->last_ns - group->first_ns,
        [COL_TASKS] = group->tasks, [COL_STATE] = group->state,
    };

    return cairn_writer_row(writer, CAIRN_ROW_TASK, task_columns, COLS, values);
}

/* What a task stands on. */
struct standing {
    const struct cairn_pyframe *frames;
    uint32_t depth;
    bool torn;
};

/* The frames of the task that runs are on its thread's stack, from its coroutine's on. */
static struct standing standing_of(const struct cairn_pytask *task)
{
    const struct cairn_pythread *thread = task->thread;
    uint32_t start = task->runs && thread ? cairn_pytask_start(task) : 0;

    if (task->runs && thread && start < thread->depth)
        return (struct standing){thread->frames + start, thread->depth - start, false};
    return (struct standing){task->frames, task->depth, task->torn};
}

/* The track of a task; 0: nothing is known of it. */
static int track_of(struct cairn_subject *subject, struct cairn_writer *writer,
                    const struct cairn_pytask *task, const struct standing *standing,
                    uint32_t *ret_track)
{
    struct cairn_tasks *tasks = subject->tasks;
    const struct cairn_worker *worker = cairn_states_worker(task->thread);
    struct cairn_track_def def = {.kind = CAIRN_TRACK_TASK,
                                  .parent = worker ? worker->track : subject->track};
    const struct cairn_pycode *coroutine =
        standing->depth ? standing->frames[0].code : task->coroutine;
    uint32_t track = 0;
    uint64_t known;
    int code;

    *ret_track = 0;
    if (!def.parent || !coroutine)
        return 0;
    if (tasks->tracks.count < NAMED_MAX)
        CAIRN_TRY(cairn_writer_string(writer, task->name, &def.name));
    CAIRN_TRY(cairn_writer_string(
        writer, coroutine->qualname.size_bytes ? coroutine->qualname : coroutine->name,
        &def.detail));
    if (cairn_map_get(&tasks->tracks, (uint64_t)def.parent << 32 | def.name, def.detail, &known)) {
        *ret_track = (uint32_t)known;
        return 0;
    }
    if (tasks->tracks.count == TRACKS_MAX)
        return 0;
    def.number = ++tasks->made;
    CAIRN_TRY(cairn_writer_track(writer, &def, &track));
    code = cairn_map_put(&tasks->tracks, (uint64_t)def.parent << 32 | def.name, def.detail, track);
    *ret_track = track;
    return code;
}

static int stack_of(struct cairn_writer *writer, const struct cairn_tasks_labels *labels,
                    const struct cairn_pytask *task, const struct standing *standing,
                    uint32_t *ret_stack)
{
    *ret_stack = 0;
    for (uint32_t i = 0; i < standing->depth; i++)
        CAIRN_TRY(cairn_stackids_frame(writer, labels->unknown, *ret_stack, &standing->frames[i],
                                       ret_stack));
    if (standing->torn)
        CAIRN_TRY(cairn_writer_stack(writer, *ret_stack, labels->torn, ret_stack));
    else if (task->truncated)
        CAIRN_TRY(cairn_writer_stack(writer, *ret_stack, labels->truncated, ret_stack));
    return 0;
}

/* Counts a task with those of this round that are like it. */
static int add_task(struct cairn_subject *subject, struct cairn_writer *writer,
                    const struct cairn_tasks_labels *labels, const struct cairn_pytask *task,
                    uint64_t now_ns)
{
    struct cairn_tasks *tasks = subject->tasks;
    struct group group = {.tasks = 1,
                          .state = task->runs ? CAIRN_TASK_RUNNING : CAIRN_TASK_WAITING,
                          .first_ns = tasks->last_ns,
                          .last_ns = now_ns};
    struct standing standing = standing_of(task);
    uint64_t key, at;

    CAIRN_TRY(track_of(subject, writer, task, &standing, &group.track));
    if (!group.track) {
        tasks->gone++;
        return 0;
    }
    CAIRN_TRY(stack_of(writer, labels, task, &standing, &group.stack));
    key = (uint64_t)group.stack << 8 | group.state;
    if (cairn_map_get(&tasks->index, group.track, key, &at)) {
        tasks->now.items[at].tasks++;
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&tasks->now, tasks->now.count + 1, CAIRN_PYTASKS_MAX));
    CAIRN_TRY(cairn_map_put(&tasks->index, group.track, key, tasks->now.count));
    tasks->now.items[tasks->now.count++] = group;
    return 0;
}

/* Groups that stayed as they were go on; the others are rows now. */
static int take_over(struct cairn_tasks *tasks, struct cairn_writer *writer)
{
    struct groups open = tasks->open;
    int code = 0;

    for (size_t i = 0; i < open.count; i++) {
        const struct group *group = &open.items[i];
        uint64_t at;

        if (cairn_map_get(&tasks->index, group->track, (uint64_t)group->stack << 8 | group->state,
                          &at) &&
            tasks->now.items[at].tasks == group->tasks)
            tasks->now.items[at].first_ns = group->first_ns;
        else if (code == 0)
            code = write_group(writer, group);
    }
    tasks->open = tasks->now;
    tasks->now = open;
    tasks->now.count = 0;
    return code;
}

static int make_round(struct cairn_subject *subject, struct cairn_writer *writer,
                      const struct cairn_tasks_labels *labels, uint64_t now_ns)
{
    struct cairn_tasks *tasks = subject->tasks;
    const struct cairn_pytask *items;
    uint64_t left_out;
    size_t count;
    int code = cairn_pytasks_read(subject->py, &items, &count, &left_out);

    if (code < 0)
        return code == -CAIRN_ENOMEM ? code : 0; /* no tasks, or nobody there: said elsewhere */
    cairn_map_clear(&tasks->index);
    tasks->gone = 0;
    for (size_t i = 0; i < count && tasks->last_ns; i++)
        CAIRN_TRY(add_task(subject, writer, labels, &items[i], now_ns));
    tasks->last_ns = now_ns;
    if (left_out + tasks->gone > tasks->left_out) {
        tasks->left_out = left_out + tasks->gone;
        CAIRN_TRY(cairn_writer_counter(writer, "tasks_left_out", tasks->left_out));
    }
    return take_over(tasks, writer);
}

int cairn_tasks_look(struct cairn_subject *subject, struct cairn_writer *writer,
                     const struct cairn_tasks_labels *labels, uint64_t now_ns)
{
    struct cairn_tasks *tasks = subject->tasks;
    uint64_t cost_ns = 0, cpu_ns;
    bool met;
    int code;

    if (subject->python != CAIRN_PYTHON_READ)
        return 0;
    if (!tasks) {
        tasks = subject->tasks = cairn_calloc(1, sizeof(*tasks));
        if (!tasks)
            return -CAIRN_ENOMEM;
        cairn_map_init(&tasks->tracks, TRACKS_MAX);
        cairn_map_init(&tasks->index, CAIRN_PYTASKS_MAX);
    }
    if (now_ns < tasks->round_at_ns)
        return 0;
    met = tasks->last_ns != 0; /* to look whether there are any costs less than to time that */
    cpu_ns = met ? cairn_clock_own_cpu_ns() : 0; /* waiting for a processor costs nobody anything */
    code = make_round(subject, writer, labels, now_ns);
    if (met)
        cost_ns = (cairn_clock_own_cpu_ns() - cpu_ns) * ROUND_SHARE;
    tasks->round_at_ns = now_ns + (cost_ns > ROUND_NS ? cost_ns : ROUND_NS);
    return code;
}

/* The tracks that tasks may have as parents. 0 or -CAIRN_ENOMEM. */
static int find_alive(const struct cairn_subject *subject, struct cairn_map *alive)
{
    CAIRN_TRY(cairn_map_put(alive, subject->track, 0, 0));
    for (size_t i = 0; i < subject->workers.count; i++)
        CAIRN_TRY(cairn_map_put(alive, subject->workers.items[i]->track, 0, 0));
    return 0;
}

/* Fills `kept` with those of living threads; fails: all stay. */
static int find_kept(const struct cairn_tasks *tasks, const struct cairn_map *alive,
                     struct cairn_map *kept)
{
    uint64_t parent_name, detail, track, none;
    size_t at = 0;

    while (cairn_map_next(&tasks->tracks, &at, &parent_name, &detail, &track))
        if (cairn_map_get(alive, parent_name >> 32, 0, &none))
            CAIRN_TRY(cairn_map_put(kept, parent_name, detail, track));
    return 0;
}

/* A thread that is over has no tasks any more, nor a row of theirs that is open. */
static void forget_over(struct cairn_subject *subject, struct cairn_writer *writer)
{
    struct cairn_tasks *tasks = subject->tasks;
    uint64_t parent_name, detail, track, none;
    struct cairn_map alive, kept;
    size_t at = 0;

    if (!tasks->tracks.count)
        return;
    cairn_map_init(&alive, TRACKS_MAX);
    cairn_map_init(&kept, TRACKS_MAX);
    if (find_alive(subject, &alive) == 0 && find_kept(tasks, &alive, &kept) == 0 &&
        kept.count < tasks->tracks.count) {
        while (cairn_map_next(&tasks->tracks, &at, &parent_name, &detail, &track))
            if (!cairn_map_get(&kept, parent_name, detail, &none))
                cairn_writer_track_end(writer, (uint32_t)track);
        cairn_map_release(&tasks->tracks);
        tasks->tracks = kept;
        cairn_map_init(&kept, TRACKS_MAX);
    }
    cairn_map_release(&alive);
    cairn_map_release(&kept);
}

int cairn_tasks_settle(struct cairn_subject *subject, struct cairn_writer *writer)
{
    struct cairn_tasks *tasks = subject->tasks;

    if (!tasks)
        return 0;
    for (size_t i = 0; i < tasks->open.count; i++)
        CAIRN_TRY(write_group(writer, &tasks->open.items[i]));
    tasks->open.count = 0;
    forget_over(subject, writer);
    return 0;
}

int cairn_tasks_end(struct cairn_subject *subject, struct cairn_writer *writer)
{
    int code = cairn_tasks_settle(subject, writer);

    if (subject->tasks) {
        subject->tasks->open.count = 0;
        subject->tasks->last_ns = 0;
    }
    return code;
}

void cairn_tasks_end_tracks(struct cairn_subject *subject, struct cairn_writer *writer)
{
    uint64_t parent_name, detail, track;
    size_t at = 0;

    while (subject->tasks &&
           cairn_map_next(&subject->tasks->tracks, &at, &parent_name, &detail, &track))
        cairn_writer_track_end(writer, (uint32_t)track);
}
