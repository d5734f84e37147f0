#include "pytasks.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "pychains.h"
#include "pyfresh.h"
#include "pyread_parts.h"
#include "pystr.h"
#include "pytaskplaces.h"
#include "pytasksets.h"

#define TEXTS_MAX_BYTES ((size_t)CAIRN_PYTASKS_MAX * CAIRN_PYSTR_MAX_BYTES)
#define TOGETHER 32    /* tasks, which may have begun at about the same time */
#define TRIES_MAX 4    /* for a task that did not hold still … */
#define ALONE_MAX 128  /* … and for all of them in a round */

struct found {
    uint64_t address, name, coro;
    uint64_t reference, loop; /* until 3.13: as in struct cairn_pytaskset_task */
    uint32_t first;           /* link of its chain */
    bool named;
    bool holds;   /* it was still linked, with the same coroutine, when read again */
    bool settled; /* … and no more is to be found out */
};

struct names {
    CAIRN_VEC(struct cairn_pystr) strs;
    struct cairn_buf texts;
};

struct cairn_pytasks {
    struct cairn_pytaskplaces places;  /* 3.14 on */
    struct cairn_pytasksets sets;      /* before */
    struct cairn_pypages pages, alone; /* of all tasks, and of one */
    struct cairn_pychains chains;
    CAIRN_VEC(struct cairn_pytask) items;
    CAIRN_VEC(struct found) found; /* beside items */
    CAIRN_VEC(struct cairn_pyframe) frames;
    struct names names, names_again;
    uint64_t left_out;
    unsigned alone_count; /* tasks that were followed alone in this round */
};

static uint64_t u64_at(const uint8_t *data, uint64_t place)
{
    uint64_t value;

    memcpy(&value, data + place, sizeof(value));
    return value;
}

static int tasks_of(struct cairn_pyread *read, struct cairn_pytasks **ret_tasks)
{
    struct cairn_pytasks *tasks = read->tasks;

    if (!tasks) {
        tasks = cairn_calloc(1, sizeof(*tasks));
        if (!tasks)
            return -CAIRN_ENOMEM;
        cairn_pychains_init(&tasks->chains, CAIRN_PYTASKS_MAX + ALONE_MAX);
        cairn_pypages_init(&tasks->pages, CAIRN_PYPAGE_BYTES);
        cairn_pypages_init(&tasks->alone, CAIRN_PYPAGE_SMALL_BYTES);
        tasks->chains.units = &tasks->pages;
        cairn_buf_init(&tasks->names.texts, TEXTS_MAX_BYTES);
        cairn_buf_init(&tasks->names_again.texts, TEXTS_MAX_BYTES);
        read->tasks = tasks;
    }
    *ret_tasks = tasks;
    return 0;
}

void cairn_pytasks_free(struct cairn_pytasks *tasks)
{
    if (!tasks)
        return;
    cairn_pytasksets_release(&tasks->sets);
    cairn_pychains_release(&tasks->chains);
    cairn_vec_release(&tasks->items);
    cairn_vec_release(&tasks->found);
    cairn_vec_release(&tasks->frames);
    cairn_vec_release(&tasks->names.strs);
    cairn_buf_release(&tasks->names.texts);
    cairn_vec_release(&tasks->names_again.strs);
    cairn_buf_release(&tasks->names_again.texts);
    cairn_pypages_release(&tasks->pages);
    cairn_pypages_release(&tasks->alone);
    free(tasks);
}

/* --- The lists --- */

static int add_task(struct cairn_pytasks *tasks, const struct cairn_pytask *task,
                    const struct found *found)
{
    size_t count = tasks->items.count;

    if (count == CAIRN_PYTASKS_MAX) {
        tasks->left_out++;
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&tasks->items, count + 1, CAIRN_PYTASKS_MAX));
    CAIRN_TRY(cairn_vec_reserve(&tasks->found, count + 1, CAIRN_PYTASKS_MAX));
    tasks->items.items[count] = *task;
    tasks->found.items[count] = *found;
    tasks->items.count = tasks->found.count = count + 1;
    return 0;
}

/* A task of which `object` is a copy. */
static int take_task(struct cairn_pytasks *tasks, const struct cairn_pythread *thread,
                     uint64_t address, uint64_t running, const uint8_t *object)
{
    const struct cairn_pytaskplaces *places = &tasks->places;
    const struct cairn_pytask task = {.thread = thread, .runs = address == running};
    const struct found found = {.address = address,
                                .name = u64_at(object, places->task_name),
                                .coro = u64_at(object, places->task_coro),
                                .first = CAIRN_PYCHAIN_END};

    return object[places->task_is_task] ? add_task(tasks, &task, &found) : -CAIRN_EDAMAGED;
}

/* Goes through the list whose head lies at `head`. A link that does not point back was changed
 * under our eyes: what follows is left for the next round. */
static int walk_list(struct cairn_pyread *read, const struct cairn_pythread *thread, uint64_t head,
                     uint64_t running)
{
    struct cairn_pytasks *tasks = read->tasks;
    const struct cairn_pytaskplaces *places = &tasks->places;
    uint8_t object[CAIRN_PYTASKPLACES_TASK_BYTES];
    uint64_t at = head, next;

    CAIRN_TRY(cairn_pypages_get(&tasks->pages, &read->remote, head, &next, sizeof(next)));
    for (size_t hops = 0; next != head && next && hops < 2 * CAIRN_PYTASKS_MAX; hops++) {
        uint64_t node = next;
        int code;

        CAIRN_TRY(cairn_pypages_get(&tasks->pages, &read->remote, node - places->task_node, object,
                                    (size_t)places->task_size));
        if (u64_at(object, places->task_node + 8) != at)
            return 0;
        code = node - places->task_node == running
                   ? 0 /* taken before the others */
                   : take_task(tasks, thread, node - places->task_node, running, object);
        if (code < 0)
            return code == -CAIRN_EDAMAGED ? 0 : code;
        at = node;
        next = u64_at(object, places->task_node);
    }
    return 0;
}

static bool is_final(int code)
{
    return code == -CAIRN_EGONE || code == -CAIRN_EPERM || code == -CAIRN_ENOMEM;
}

/* The task that runs is taken whether it is linked or not, and however many there are. */
static int take_running(struct cairn_pyread *read, const struct cairn_pythread *thread,
                        uint64_t *ret_running)
{
    struct cairn_pytasks *tasks = read->tasks;
    uint8_t object[CAIRN_PYTASKPLACES_TASK_BYTES];
    int code;

    CAIRN_TRY(cairn_pypages_get(&tasks->pages, &read->remote,
                                thread->tstate + tasks->places.thread_running_task, ret_running,
                                sizeof(*ret_running)));
    if (!*ret_running)
        return 0;
    code = cairn_pypages_get(&tasks->pages, &read->remote, *ret_running, object,
                             (size_t)tasks->places.task_size);
    if (code == 0)
        code = take_task(tasks, thread, *ret_running, *ret_running, object);
    return code;
}

static int take_from_set(void *ctx, const struct cairn_pytaskset_task *told)
{
    const struct cairn_pytask task = {.thread = told->thread, .runs = told->runs};
    const struct found found = {.address = told->address,
                                .reference = told->reference,
                                .loop = told->loop,
                                .name = told->name,
                                .coro = told->coro,
                                .first = CAIRN_PYCHAIN_END};

    return add_task(ctx, &task, &found);
}

static bool keeps_sets(const struct cairn_pyread *read)
{
    return read->runtime.table->minor < 14;
}

/* Tasks of threads that run, and those that threads left behind. */
static int find_tasks(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;
    const struct cairn_pytaskplaces *places = &tasks->places;

    if (keeps_sets(read))
        return cairn_pytasksets_each(read, &tasks->sets, &tasks->chains, &tasks->pages,
                                     take_from_set, tasks);
    for (size_t i = 0; i < read->threads.count; i++) {
        const struct cairn_pythread *thread = read->threads.items[i];
        uint64_t running = 0;
        int code = take_running(read, thread, &running);

        if (!is_final(code))
            code = walk_list(read, thread, thread->tstate + places->thread_tasks_head, running);
        if (is_final(code))
            return code;
    }
    for (size_t i = 0; i < read->interps.count; i++) {
        int code =
            walk_list(read, NULL, read->interps.items[i].address + places->interp_tasks_head, 0);

        if (is_final(code))
            return code;
    }
    return 0;
}

/* Whether a task is there that has this coroutine: one that is over is taken out of the list, and
 * its coroutine's memory may be another's. */
static bool is_task(const struct cairn_pytaskplaces *places, const uint8_t *object, uint64_t coro)
{
    return object[places->task_is_task] && u64_at(object, places->task_coro) == coro &&
           u64_at(object, places->task_node) != 0;
}

/* Until 3.13 one that has ended is in its set until nobody holds it any more. */
static int is_there(struct cairn_pyread *read, const struct cairn_pyview *view,
                    const struct found *found, bool *ret_there)
{
    struct cairn_pytasks *tasks = read->tasks;
    const struct cairn_pytaskset_task task = {.address = found->address,
                                              .reference = found->reference,
                                              .coro = found->coro,
                                              .loop = found->loop};
    uint8_t object[CAIRN_PYTASKPLACES_TASK_BYTES];

    *ret_there = false;
    if (keeps_sets(read)) {
        CAIRN_TRY(cairn_pytasksets_is_there(read, &tasks->sets, view, &task, ret_there));
        return *ret_there ? cairn_pychains_goes(read, &tasks->chains, view, found->coro, ret_there)
                          : 0;
    }
    CAIRN_TRY(cairn_pyview_get(view, found->address, object, (size_t)tasks->places.task_size));
    *ret_there = is_task(&tasks->places, object, found->coro);
    return 0;
}

/* Whether a task and its chain were still there when the pages were read again. */
static int judge(struct cairn_pyread *read, struct cairn_pypages *pages, struct found *found,
                 uint32_t first)
{
    const struct cairn_pyview again = {.pages = pages};
    int code = is_there(read, &again, found, &found->holds);

    if (is_final(code))
        return code;
    found->holds = code == 0 && found->holds;
    cairn_pychains_confirm(read, &read->tasks->chains, pages, first);
    found->settled =
        code == 0 && (!found->holds || cairn_pychains_holds(&read->tasks->chains, first));
    return 0;
}

/* Where a task lies, as far as is known. */
static int want_task(struct cairn_pyread *read, const struct found *found)
{
    struct cairn_pytasks *tasks = read->tasks;

    cairn_pypages_clear(&tasks->alone);
    CAIRN_TRY(
        cairn_pypages_want(&tasks->alone, found->address,
                           keeps_sets(read) ? tasks->sets.task_size : tasks->places.task_size));
    if (found->reference)
        CAIRN_TRY(cairn_pypages_want(&tasks->alone,
                                     found->reference + read->runtime.layout.weakref_object, 8));
    return cairn_pychains_want(read, &tasks->chains, &tasks->alone, found->first);
}

/* A task that moved between two readings of all is read by itself, and again in the same call: that
 * takes a microsecond or two, in which few move. What it awaits by now may lie elsewhere; the next
 * try knows where. */
static int follow_alone(struct cairn_pyread *read, struct found *found)
{
    struct cairn_pytasks *tasks = read->tasks;
    const struct cairn_pyview view = {&tasks->alone, &read->remote};

    for (int tries = 0; tries < TRIES_MAX && tasks->alone_count < ALONE_MAX; tries++) {
        uint32_t first = CAIRN_PYCHAIN_END;
        struct found now = *found;
        bool there = false;
        int code;

        tasks->alone_count++;
        found->settled = true;
        CAIRN_TRY(want_task(read, found));
        CAIRN_TRY(cairn_pypages_begin(&tasks->alone, &read->remote, true));
        code = is_there(read, &view, found, &there);
        if (code < 0 || !there) { /* it was over before it could be looked at */
            found->holds = false;
            return is_final(code) ? code : 0;
        }
        CAIRN_TRY(cairn_pychains_follow(read, &tasks->chains, &tasks->alone, found->coro, &first));
        CAIRN_TRY(cairn_pypages_again(&tasks->alone, &read->remote));
        CAIRN_TRY(judge(read, &tasks->alone, &now, first));
        if (!now.holds || first == CAIRN_PYCHAIN_END)
            continue;
        *found = now;
        found->first = first;
        if (now.settled)
            return 0;
        found->settled = true;
    }
    return 0;
}

static int follow(struct cairn_pyread *read, struct found *found)
{
    struct cairn_pytasks *tasks = read->tasks;

    CAIRN_TRY(
        cairn_pychains_follow(read, &tasks->chains, &tasks->pages, found->coro, &found->first));
    CAIRN_TRY(judge(read, &tasks->pages, found, found->first));
    return found->settled ? 0 : follow_alone(read, found);
}

/* Of many tasks the last are the newest, and may be over soon; of those that came together, the
 * first are over first. */
static int follow_all(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;
    size_t start;

    tasks->alone_count = 0;
    for (size_t end = tasks->found.count; end > 0; end = start) {
        start = end > TOGETHER ? end - TOGETHER : 0;
        for (size_t i = start; i < end; i++)
            CAIRN_TRY(follow(read, &tasks->found.items[i]));
    }
    return 0;
}

/* What lies in pages that were not known before was read once as yet. */
static int judge_again(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;

    CAIRN_TRY(cairn_pypages_again(&tasks->pages, &read->remote));
    for (size_t i = 0; i < tasks->found.count; i++)
        if (!tasks->found.items[i].settled)
            CAIRN_TRY(
                judge(read, &tasks->pages, &tasks->found.items[i], tasks->found.items[i].first));
    return 0;
}

/* Leaves out the tasks that had ended when the round began. */
static void drop_ended(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;
    size_t kept = 0;

    for (size_t i = 0; i < tasks->found.count; i++) {
        const struct found *found = &tasks->found.items[i];

        if (found->first != CAIRN_PYCHAIN_END &&
            cairn_pychains_is_over(read, &tasks->chains.links.items[found->first]))
            continue;
        tasks->items.items[kept] = tasks->items.items[i];
        tasks->found.items[kept++] = *found;
    }
    tasks->items.count = tasks->found.count = kept;
}

/* --- Names --- */

/* "Task-12": what asyncio calls a task that was given no name. */
static bool is_number(struct cairn_span name)
{
    static const char start[] = "Task-";
    size_t at = sizeof(start) - 1;

    if (name.size_bytes <= at || memcmp(name.data, start, at) != 0)
        return false;
    while (at < name.size_bytes && name.data[at] >= '0' && name.data[at] <= '9')
        at++;
    return at == name.size_bytes;
}

static int read_texts(struct cairn_pyread *read, struct cairn_pyview *view, struct names *names)
{
    struct cairn_remote remote;

    cairn_pyview_remote(view, &remote);
    return cairn_pystr_read(&remote, &read->runtime.layout, read->runtime.table, names->strs.items,
                            names->strs.count, &names->texts);
}

/* A task that was given no name has a number in its place, until 3.13 as text or not. */
static int read_names(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;
    struct cairn_pyview view = {&tasks->pages, &read->remote};
    size_t count = tasks->found.count, named = 0;

    CAIRN_TRY(cairn_vec_reserve(&tasks->names.strs, count, CAIRN_PYTASKS_MAX));
    for (size_t i = 0; i < count; i++) {
        struct found *found = &tasks->found.items[i];
        enum cairn_pychain_kind kind = CAIRN_PYCHAIN_OTHER;
        uint64_t type;
        int code = cairn_pyview_get(&view, found->name + read->runtime.layout.object_type, &type,
                                    sizeof(type));

        if (code == 0)
            code = cairn_pychains_kind(read, &tasks->chains, type, &kind);
        if (is_final(code))
            return code;
        found->named = kind == CAIRN_PYCHAIN_STR;
        if (found->named)
            tasks->names.strs.items[named++] =
                (struct cairn_pystr){.kind = CAIRN_PYSTR_STR, .address = found->name};
    }
    tasks->names.strs.count = named;
    return read_texts(read, &view, &tasks->names);
}

/* A name that was not the same when read again is another's by now, and so is the task; but of one
 * that has a number no name is told, and that number is freed with it: then only its frames say
 * whether it was there. */
static int take_names(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;
    struct cairn_pyview again = {.pages = &tasks->pages};
    size_t count = tasks->names.strs.count, named = 0;

    CAIRN_TRY(cairn_vec_reserve(&tasks->names_again.strs, count, CAIRN_PYTASKS_MAX));
    for (size_t i = 0; i < count; i++)
        tasks->names_again.strs.items[i] = (struct cairn_pystr){
            .kind = CAIRN_PYSTR_STR, .address = tasks->names.strs.items[i].address};
    tasks->names_again.strs.count = count;
    CAIRN_TRY(read_texts(read, &again, &tasks->names_again));
    for (size_t i = 0; i < tasks->found.count; i++) {
        const struct cairn_pystr *name = &tasks->names.strs.items[named];
        const struct cairn_pystr *now = &tasks->names_again.strs.items[named];

        if (!tasks->found.items[i].named)
            continue;
        named++;
        if (keeps_sets(read) && name->ok && is_number(name->text))
            continue;
        if (!name->ok || !now->ok || name->text.size_bytes != now->text.size_bytes ||
            memcmp(name->text.data, now->text.data, now->text.size_bytes) != 0)
            tasks->found.items[i].holds = false;
        else
            tasks->items.items[i].name = name->text;
    }
    return 0;
}

/* All that is told lies between two readings of the same pages, which are few; `at_once`: of those
 * that are known, in one call. Else each task is read by itself. */
static int look(struct cairn_pyread *read, bool at_once)
{
    struct cairn_pytasks *tasks = read->tasks;

    tasks->items.count = tasks->found.count = 0;
    tasks->left_out = 0;
    cairn_pychains_clear(&tasks->chains);
    CAIRN_TRY(cairn_pypages_begin(&tasks->pages, &read->remote, at_once));
    CAIRN_TRY(find_tasks(read));
    CAIRN_TRY(follow_all(read));
    CAIRN_TRY(read_names(read));
    CAIRN_TRY(judge_again(read));
    CAIRN_TRY(take_names(read));
    if (keeps_sets(read))
        drop_ended(read);
    return 0;
}

/* Whether most tasks were over when all pages had been read again: they live no longer than that
 * takes, most of all where the program runs on a processor that is far from ours. */
static bool are_brief(const struct cairn_pytasks *tasks)
{
    size_t over = 0;

    for (size_t i = 0; i < tasks->found.count; i++)
        over += !tasks->found.items[i].holds;
    return 2 * over > tasks->found.count;
}

/* --- What is handed out --- */

static int load_codes(struct cairn_pyread *read)
{
    const struct cairn_pychains *chains = &read->tasks->chains;
    uint64_t now_ns = cairn_clock_mono_ns();

    for (size_t i = 0; i < chains->links.count; i++) {
        const struct cairn_pychain_link *link = &chains->links.items[i];

        if (link->kind == CAIRN_PYCHAIN_FRAMED && link->keeps_code &&
            !cairn_pycodes_is_fresh(&read->codes, cairn_pychains_code(read, link),
                                    CAIRN_PYCODE_OUTER, now_ns))
            CAIRN_TRY(cairn_pycodes_want(&read->codes, link->code));
    }
    return read->codes.wanted.count ? cairn_pycodes_load(&read->codes, now_ns) : 0;
}

/* The frames of a chain, from link `at` on, as far as they hold. */
static void take_frames(struct cairn_pyread *read, uint32_t at, struct cairn_pytask *task)
{
    struct cairn_pytasks *tasks = read->tasks;

    for (const struct cairn_pychain_link *link; at != CAIRN_PYCHAIN_END; at = link->next) {
        link = &tasks->chains.links.items[at];
        if (!cairn_pychains_goes_on(link))
            return;
        if (!link->holds) {
            task->torn = true;
            return;
        }
        task->truncated = link->truncated;
        if (link->kind == CAIRN_PYCHAIN_WRAPS)
            continue;
        if (!cairn_pychains_frame(read, link, &tasks->frames.items[tasks->frames.count])) {
            task->torn = true;
            return;
        }
        tasks->frames.count++;
        task->depth++;
    }
}

static int make_frames(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;

    tasks->frames.count = 0;
    CAIRN_TRY(cairn_vec_reserve(&tasks->frames, tasks->chains.links.count,
                                (CAIRN_PYTASKS_MAX + ALONE_MAX) * CAIRN_PYCHAIN_DEPTH_MAX));
    for (size_t i = 0; i < tasks->items.count; i++) {
        struct cairn_pytask *task = &tasks->items.items[i];
        const struct found *found = &tasks->found.items[i];
        const struct cairn_pycode_entry *entry;

        task->frames = tasks->frames.items + tasks->frames.count;
        if (!found->holds || found->first == CAIRN_PYCHAIN_END)
            continue;
        task->frame = tasks->chains.links.items[found->first].frame;
        /* Its loop may have said which one runs a moment before. */
        task->runs |= cairn_pychains_runs(read, &tasks->chains.links.items[found->first]);
        /* Whose it is holds even where it moved on. */
        entry = cairn_pychains_code(read, &tasks->chains.links.items[found->first]);
        task->coroutine = entry && entry->named ? &entry->code : NULL;
        take_frames(read, found->first, task);
    }
    return 0;
}

/* Frames of which it is not known where they lie have no address, nor has a coroutine that could
 * not be read. */
uint32_t cairn_pytask_start(const struct cairn_pytask *task)
{
    const struct cairn_pythread *thread = task->thread;
    uint32_t at = 0;

    while (at < thread->depth && (!task->frame || thread->frames[at].address != task->frame))
        at++;
    return at;
}

int cairn_pytasks_read(struct cairn_pyread *read, const struct cairn_pytask **ret_tasks,
                       size_t *ret_count, uint64_t *ret_left_out)
{
    struct cairn_pytasks *tasks;

    CAIRN_TRY(tasks_of(read, &tasks));
    if (!keeps_sets(read))
        CAIRN_TRY(cairn_pytaskplaces_seek(read, &tasks->places));
    else if (tasks->sets.sets.count < read->interps.count &&
             cairn_pytaskplaces_due(read, &tasks->places))
        CAIRN_TRY(cairn_pytasksets_seek(read, &tasks->sets));
    else if (!tasks->sets.sets.count)
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(look(read, true));
    if (are_brief(tasks))
        CAIRN_TRY(look(read, false));
    CAIRN_TRY(load_codes(read));
    CAIRN_TRY(make_frames(read));
    *ret_tasks = tasks->items.items;
    *ret_count = tasks->items.count;
    *ret_left_out = tasks->left_out;
    return 0;
}
