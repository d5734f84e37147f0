#include "pytasksets.h"

#include <string.h>

#include "clock.h"
#include "pyattributes.h"
#include "pyread_parts.h"

#define SETS_MAX 4096
#define LOOPS_MAX 65536
#define SLOTS_MAX (UINT64_C(1) << 20) /* of a set: what lies behind them is not looked at */
#define SLOTS_AT_ONCE 64
#define LOOPS_NS UINT64_C(100000000)
#define TASK_FIRST 24  /* behind the loop of a task stands the rest */
#define HOLDER_LOOP 16 /* until 3.11 a thread has its loop in an object of its own */

static uint64_t u64_at(const uint8_t *data, uint64_t place)
{
    uint64_t value;

    memcpy(&value, data + place, sizeof(value));
    return value;
}

static bool is_final(int code)
{
    return code == -CAIRN_EGONE || code == -CAIRN_EPERM || code == -CAIRN_ENOMEM;
}

void cairn_pytasksets_release(struct cairn_pytasksets *sets)
{
    cairn_vec_release(&sets->sets);
    cairn_vec_release(&sets->loops);
    cairn_vec_release(&sets->running);
    cairn_pydict_release(&sets->dict);
    cairn_pydict_release(&sets->more);
}

/* --- What lasts --- */

static int find_set(const struct cairn_pysource *src, struct cairn_pytasksets *sets,
                    struct cairn_pytaskset *set)
{
    const char *name = src->runtime->table->minor >= 12 ? "_scheduled_tasks" : "_all_tasks";
    uint64_t weak;

    /* `asyncio.tasks` has others while it is imported, which it throws away. */
    CAIRN_TRY(cairn_pyattributes_of_module(src, set->interp, "_asyncio", &sets->dict));
    CAIRN_TRY(cairn_pydict_find(src, &sets->dict, "_current_tasks", &set->current));
    CAIRN_TRY(cairn_pydict_find(src, &sets->dict, name, &weak));
    CAIRN_TRY(cairn_pyattributes_of(src, weak, &sets->dict));
    return cairn_pydict_find(src, &sets->dict, "data", &set->set);
}

static bool has_set(const struct cairn_pytasksets *sets, uint64_t interp)
{
    for (size_t i = 0; i < sets->sets.count; i++)
        if (sets->sets.items[i].interp == interp)
            return true;
    return false;
}

int cairn_pytasksets_seek(struct cairn_pyread *read, struct cairn_pytasksets *sets)
{
    const struct cairn_pysource src = {&read->remote, &read->runtime};

    if (!cairn_pylayout_has(read->runtime.layout.set_table) ||
        !cairn_pylayout_has(read->runtime.layout.weakref_object))
        return -CAIRN_ENOTFOUND;
    for (size_t i = 0; i < read->interps.count; i++) {
        struct cairn_pytaskset set = {.interp = read->interps.items[i].address};
        int code;

        if (has_set(sets, set.interp))
            continue;
        code = find_set(&src, sets, &set);
        if (is_final(code))
            return code;
        if (code < 0)
            continue;
        CAIRN_TRY(cairn_vec_reserve(&sets->sets, sets->sets.count + 1, SETS_MAX));
        sets->sets.items[sets->sets.count++] = set;
    }
    return sets->sets.count ? 0 : -CAIRN_ENOTFOUND;
}

/* --- Loops --- */

/* The loop that a thread runs; 0: none. */
static int loop_of(const struct cairn_pyread *read, const struct cairn_pysource *src,
                   struct cairn_pydict *dict, uint64_t tstate, uint64_t *ret_loop)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    uint64_t names;

    *ret_loop = 0;
    if (cairn_pylayout_has(l->threadimpl_running_loop))
        return cairn_remote_get(src->remote, tstate + l->threadimpl_running_loop, ret_loop, 8);
    if (read->runtime.table->minor >= 13)
        return 0;
    CAIRN_TRY(cairn_remote_get(src->remote, tstate + l->thread_dict, &names, 8));
    if (!names)
        return 0;
    CAIRN_TRY(cairn_pydict_read(src, names, dict));
    CAIRN_TRY(cairn_pydict_find(src, dict, "__asyncio_running_event_loop__", ret_loop));
    return read->runtime.table->minor >= 12
               ? 0
               : cairn_remote_get(src->remote, *ret_loop + HOLDER_LOOP, ret_loop, 8);
}

static const struct cairn_pythread *thread_at(const struct cairn_pyread *read, uint64_t tstate)
{
    for (size_t i = 0; i < read->threads.count; i++)
        if (read->threads.items[i]->tstate == tstate)
            return read->threads.items[i];
    return NULL;
}

static int note_loop(struct cairn_pytasksets *sets, uint64_t loop, uint64_t tstate)
{
    size_t at = 0;

    while (at < sets->loops.count && sets->loops.items[at].loop != loop)
        at++;
    CAIRN_TRY(cairn_vec_reserve(&sets->loops, at + 1, LOOPS_MAX));
    if (at == sets->loops.count)
        sets->loops.count++;
    sets->loops.items[at] = (struct cairn_pytaskloop){loop, tstate};
    return 0;
}

/* A loop that stops belongs to the thread that ran it last, as long as there is one. */
static int find_loops(struct cairn_pyread *read, struct cairn_pytasksets *sets)
{
    const struct cairn_pysource src = {&read->remote, &read->runtime};
    size_t kept = 0;

    sets->look_at_ns = cairn_clock_mono_ns() + LOOPS_NS;
    for (size_t i = 0; i < sets->loops.count; i++)
        if (thread_at(read, sets->loops.items[i].tstate))
            sets->loops.items[kept++] = sets->loops.items[i];
    sets->loops.count = kept;
    for (size_t i = 0; i < read->threads.count; i++) {
        uint64_t tstate = read->threads.items[i]->tstate, loop;
        int code = loop_of(read, &src, &sets->more, tstate, &loop);

        if (code == 0 && loop)
            code = note_loop(sets, loop, tstate);
        if (is_final(code))
            return code;
    }
    return 0;
}

static const struct cairn_pythread *thread_of(const struct cairn_pyread *read,
                                              const struct cairn_pytasksets *sets, uint64_t loop)
{
    for (size_t i = 0; i < sets->loops.count; i++)
        if (sets->loops.items[i].loop == loop)
            return thread_at(read, sets->loops.items[i].tstate);
    return NULL;
}

/* --- The tasks of a round --- */

struct round {
    struct cairn_pyread *read;
    struct cairn_pytasksets *sets;
    struct cairn_pychains *chains;
    struct cairn_pyview view;
    int (*take)(void *ctx, const struct cairn_pytaskset_task *task);
    void *ctx;
    bool looked; /* for loops, because one was not known */
};

static int get(const struct round *round, uint64_t address, void *data, size_t size_bytes)
{
    return cairn_pyview_get(&round->view, address, data, size_bytes);
}

static int kind_of(const struct round *round, uint64_t object, enum cairn_pychain_kind *ret_kind)
{
    uint64_t type;

    *ret_kind = CAIRN_PYCHAIN_OTHER;
    if (!object || object % 8 != 0)
        return 0;
    CAIRN_TRY(get(round, object + round->read->runtime.layout.object_type, &type, 8));
    return cairn_pychains_kind(round->read, round->chains, type, ret_kind);
}

/* Where the only coroutine stands that has a name behind it; 0: nowhere, or at two places. */
static int find_coro(const struct round *round, const uint8_t *task, size_t size_bytes,
                     uint32_t *ret_place)
{
    enum cairn_pychain_kind coro, name;
    uint32_t found = 0;

    *ret_place = 0;
    for (uint32_t place = TASK_FIRST; place + 16 <= size_bytes; place += 8) {
        int code = kind_of(round, u64_at(task, place), &coro);

        if (code == 0 && coro == CAIRN_PYCHAIN_FRAMED)
            code = kind_of(round, u64_at(task, place + 8), &name);
        if (is_final(code))
            return code;
        if (code < 0 || coro != CAIRN_PYCHAIN_FRAMED ||
            (name != CAIRN_PYCHAIN_STR && name != CAIRN_PYCHAIN_INT))
            continue;
        if (found)
            return 0;
        found = place;
    }
    *ret_place = found;
    return 0;
}

/* Learns from a task what they look like. -CAIRN_ENOTFOUND: it does not tell. */
static int learn(const struct round *round, uint64_t task)
{
    const struct cairn_pylayout *l = &round->read->runtime.layout;
    struct cairn_pytasksets *sets = round->sets;
    uint8_t object[CAIRN_PYTASKSETS_TASK_BYTES];
    uint64_t type, base, size_bytes;
    enum cairn_pychain_kind kind;
    uint32_t place;

    CAIRN_TRY(get(round, task + l->object_type, &type, 8));
    /* One of a class made from it is larger: what they have in common counts. */
    for (;;) {
        CAIRN_TRY(cairn_remote_get(&round->read->remote, type + l->type_base, &base, 8));
        CAIRN_TRY(cairn_pychains_kind(round->read, round->chains, base, &kind));
        if (kind != CAIRN_PYCHAIN_TASK)
            break;
        type = base;
    }
    CAIRN_TRY(cairn_remote_get(&round->read->remote, type + l->type_basic_size, &size_bytes, 8));
    if (size_bytes > sizeof(object))
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(get(round, task, object, (size_t)size_bytes));
    CAIRN_TRY(find_coro(round, object, (size_t)size_bytes, &place));
    if (!place)
        return -CAIRN_ENOTFOUND;
    sets->task_coro = place;
    sets->task_size = (size_t)size_bytes;
    return 0;
}

static int tell(struct round *round, uint64_t address, uint64_t reference, bool runs)
{
    struct cairn_pytasksets *sets = round->sets;
    uint8_t object[CAIRN_PYTASKSETS_TASK_BYTES];
    struct cairn_pytaskset_task task = {.address = address, .reference = reference, .runs = runs};
    enum cairn_pychain_kind kind;

    CAIRN_TRY(kind_of(round, address, &kind));
    if (kind != CAIRN_PYCHAIN_TASK)
        return 0;
    if (!sets->task_size)
        CAIRN_TRY(learn(round, address));
    CAIRN_TRY(get(round, address, object, sets->task_size));
    task.coro = u64_at(object, sets->task_coro);
    task.name = u64_at(object, sets->task_coro + 8);
    task.loop = u64_at(object, CAIRN_PYTASK_LOOP);
    task.thread = thread_of(round->read, sets, task.loop);
    if (!task.thread && !round->looked) {
        round->looked = true;
        CAIRN_TRY(find_loops(round->read, sets));
        task.thread = thread_of(round->read, sets, task.loop);
    }
    return round->take(round->ctx, &task);
}

/* Those that run, which a set need not hold. */
static int tell_running(struct round *round, const struct cairn_pytaskset *set)
{
    struct cairn_pytasksets *sets = round->sets;
    struct cairn_remote remote;
    const struct cairn_pysource src = {&remote, &round->read->runtime};
    int code;

    cairn_pyview_remote(&round->view, &remote);
    code = cairn_pydict_read(&src, set->current, &sets->dict);
    sets->running.count = 0;
    for (size_t i = 0; i < sets->dict.entries.count && code == 0; i++) {
        uint64_t task = sets->dict.entries.items[i].value;

        CAIRN_TRY(cairn_vec_reserve(&sets->running, sets->running.count + 1, LOOPS_MAX));
        sets->running.items[sets->running.count++] = task;
        code = tell(round, task, 0, true);
        if (!is_final(code))
            code = 0;
    }
    return code;
}

static bool is_running(const struct cairn_pytasksets *sets, uint64_t task)
{
    for (size_t i = 0; i < sets->running.count; i++)
        if (sets->running.items[i] == task)
            return true;
    return false;
}

/* What a slot of the set refers to. */
static int tell_reference(struct round *round, uint64_t reference)
{
    enum cairn_pychain_kind kind;
    uint64_t task;

    CAIRN_TRY(kind_of(round, reference, &kind));
    if (kind != CAIRN_PYCHAIN_REF)
        return 0; /* an empty slot, or one whose reference was taken out */
    CAIRN_TRY(get(round, reference + round->read->runtime.layout.weakref_object, &task, 8));
    return is_running(round->sets, task) ? 0 : tell(round, task, reference, false);
}

static int tell_set(struct round *round, const struct cairn_pytaskset *set)
{
    const struct cairn_pylayout *l = &round->read->runtime.layout;
    uint8_t slots[SLOTS_AT_ONCE * 16];
    enum cairn_pychain_kind kind;
    uint64_t mask, table;

    CAIRN_TRY(kind_of(round, set->set, &kind));
    if (kind != CAIRN_PYCHAIN_SET)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(get(round, set->set + l->set_mask, &mask, 8));
    CAIRN_TRY(get(round, set->set + l->set_table, &table, 8));
    for (uint64_t at = 0; at <= mask && at < SLOTS_MAX; at += SLOTS_AT_ONCE) {
        uint64_t count = mask + 1 - at < SLOTS_AT_ONCE ? mask + 1 - at : SLOTS_AT_ONCE;

        CAIRN_TRY(get(round, table + at * 16, slots, (size_t)count * 16));
        for (uint64_t i = 0; i < count; i++) {
            int code = tell_reference(round, u64_at(slots, i * 16));

            if (is_final(code))
                return code;
        }
    }
    return 0;
}

int cairn_pytasksets_each(struct cairn_pyread *read, struct cairn_pytasksets *sets,
                          struct cairn_pychains *chains, struct cairn_pypages *pages,
                          int (*take)(void *ctx, const struct cairn_pytaskset_task *task),
                          void *ctx)
{
    struct round round = {read, sets, chains, {pages, &read->remote}, take, ctx, false};

    if (cairn_clock_mono_ns() >= sets->look_at_ns)
        CAIRN_TRY(find_loops(read, sets));
    for (size_t i = 0; i < sets->sets.count;) {
        int code = tell_running(&round, &sets->sets.items[i]);

        if (!is_final(code))
            code = tell_set(&round, &sets->sets.items[i]);
        if (is_final(code))
            return code;
        if (code < 0) /* the interpreter is another: its set is looked for again */
            sets->sets.items[i] = sets->sets.items[--sets->sets.count];
        else
            i++;
    }
    return 0;
}

int cairn_pytasksets_renew(struct cairn_pyread *read, struct cairn_pytasksets *sets,
                           struct cairn_pychains *chains, const struct cairn_pyview *view,
                           struct cairn_pytaskset_task *task)
{
    const struct round round = {read, sets, chains, *view, NULL, NULL, false};
    enum cairn_pychain_kind kind;
    uint8_t object[CAIRN_PYTASKSETS_TASK_BYTES];

    if (task->reference) {
        CAIRN_TRY(kind_of(&round, task->reference, &kind));
        if (kind != CAIRN_PYCHAIN_REF)
            return -CAIRN_ENOTFOUND;
        CAIRN_TRY(
            get(&round, task->reference + read->runtime.layout.weakref_object, &task->address, 8));
    }
    CAIRN_TRY(kind_of(&round, task->address, &kind));
    if (kind != CAIRN_PYCHAIN_TASK)
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(get(&round, task->address, object, sets->task_size));
    task->coro = u64_at(object, sets->task_coro);
    task->name = u64_at(object, sets->task_coro + 8);
    return u64_at(object, CAIRN_PYTASK_LOOP) == task->loop ? 0 : -CAIRN_ENOTFOUND;
}

int cairn_pytasksets_is_there(const struct cairn_pyread *read, const struct cairn_pytasksets *sets,
                              const struct cairn_pyview *view,
                              const struct cairn_pytaskset_task *task, bool *ret_there)
{
    uint64_t coro, loop, referred = task->address;

    if (task->reference)
        CAIRN_TRY(cairn_pyview_get(view, task->reference + read->runtime.layout.weakref_object,
                                   &referred, 8));
    CAIRN_TRY(cairn_pyview_get(view, task->address + sets->task_coro, &coro, 8));
    CAIRN_TRY(cairn_pyview_get(view, task->address + CAIRN_PYTASK_LOOP, &loop, 8));
    *ret_there = referred == task->address && coro == task->coro && loop == task->loop;
    return 0;
}
