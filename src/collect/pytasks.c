#include "pytasks.h"

#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "pyfresh.h"
#include "pytasks_parts.h"

#define TEXTS_MAX_BYTES ((size_t)CAIRN_PYTASKS_MAX * CAIRN_PYSTR_MAX_BYTES)
#define TOGETHER 32     /* tasks, which may have begun at about the same time */
#define KNOWN_MAX 24    /* places at which tasks come and go; each takes 12 to 18 us … */
#define KNOWN_ROUNDS 16 /* … unless nothing happened there for so many */

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
        cairn_pychains_init(&tasks->chains, CAIRN_PYTASKS_MAX + CAIRN_PYTASKS_ALONE_MAX);
        cairn_pypages_init(&tasks->pages, CAIRN_PYPAGE_BYTES);
        cairn_pypages_init(&tasks->alone, CAIRN_PYPAGE_SMALL_BYTES);
        tasks->chains.units = &tasks->pages;
        cairn_buf_init(&tasks->names.texts, TEXTS_MAX_BYTES);
        cairn_buf_init(&tasks->names_again.texts, TEXTS_MAX_BYTES);
        cairn_buf_init(&tasks->own_names, TEXTS_MAX_BYTES);
        cairn_map_init(&tasks->known_index, 2 * KNOWN_MAX);
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
    cairn_vec_release(&tasks->known);
    cairn_map_release(&tasks->known_index);
    cairn_vec_release(&tasks->names_again.strs);
    cairn_buf_release(&tasks->names_again.texts);
    cairn_buf_release(&tasks->own_names);
    cairn_pypages_release(&tasks->pages);
    cairn_pypages_release(&tasks->alone);
    free(tasks);
}

/* --- The lists --- */

static bool is_at_known(const struct cairn_pytasks *tasks, uint64_t address)
{
    uint64_t ignored;

    return cairn_map_get(&tasks->known_index, address, 0, &ignored);
}

static bool is_known(const struct cairn_pytasks *tasks, const struct cairn_pyfound *found)
{
    return is_at_known(tasks, found->address) ||
           (found->reference && is_at_known(tasks, found->reference));
}

/* One at a known place was looked at by itself before. */
static int add_task(struct cairn_pytasks *tasks, const struct cairn_pytask *task,
                    const struct cairn_pyfound *found)
{
    size_t count = tasks->items.count;

    if (!found->alone && is_known(tasks, found))
        return 0;
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
    const struct cairn_pyfound found = {.address = address,
                                        .name = u64_at(object, places->task_name),
                                        .coro = u64_at(object, places->task_coro),
                                        .loop = u64_at(object, CAIRN_PYTASK_LOOP),
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
    const struct cairn_pyfound found = {.address = told->address,
                                        .reference = told->reference,
                                        .loop = told->loop,
                                        .name = told->name,
                                        .coro = told->coro,
                                        .first = CAIRN_PYCHAIN_END};

    return add_task(ctx, &task, &found);
}

/* Tasks of threads that run, and those that threads left behind. */
static int find_tasks(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;
    const struct cairn_pytaskplaces *places = &tasks->places;

    if (cairn_pytasks_keeps_sets(read))
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

/* --- Tasks that come and go --- */

static const struct cairn_pythread *thread_at(const struct cairn_pyread *read, uint64_t tstate)
{
    for (size_t i = 0; i < read->threads.count; i++)
        if (read->threads.items[i]->tstate == tstate)
            return read->threads.items[i];
    return NULL;
}

/* `there`: what its reference leads to lies at its address. */
static int index_known(struct cairn_pytasks *tasks, const struct cairn_pyknown *known, bool there)
{
    if (known->reference)
        CAIRN_TRY(cairn_map_put(&tasks->known_index, known->reference, 0, 0));
    return there || !known->reference ? cairn_map_put(&tasks->known_index, known->address, 0, 0)
                                      : 0;
}

/* Those that did not stand still in this round; who runs is known by another place then. */
static int note_known(struct cairn_pytasks *tasks)
{
    for (size_t i = 0; i < tasks->found.count; i++) {
        const struct cairn_pyfound *found = &tasks->found.items[i];
        const struct cairn_pythread *thread = tasks->items.items[i].thread;
        size_t count = tasks->known.count;

        if (!found->moved || !thread || tasks->items.items[i].runs || count == KNOWN_MAX ||
            is_known(tasks, found))
            continue;
        CAIRN_TRY(cairn_vec_reserve(&tasks->known, count + 1, KNOWN_MAX));
        tasks->known.items[count] = (struct cairn_pyknown){.address = found->address,
                                                           .reference = found->reference,
                                                           .loop = found->loop,
                                                           .tstate = thread->tstate,
                                                           .round = tasks->round};
        tasks->known.count = count + 1;
        CAIRN_TRY(index_known(tasks, &tasks->known.items[count], true));
    }
    return 0;
}

/* Forgets where nothing happens any more, or whose thread is over. */
static void forget_known(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;
    size_t kept = 0;

    for (size_t i = 0; i < tasks->known.count; i++) {
        const struct cairn_pyknown *known = &tasks->known.items[i];

        if (known->round + KNOWN_ROUNDS >= tasks->round && thread_at(read, known->tstate))
            tasks->known.items[kept++] = *known;
    }
    tasks->known.count = kept;
}

/* Looks at each place at which tasks come and go, at a moment of its own: what is there then. */
static int take_known(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;

    cairn_map_clear(&tasks->known_index);
    tasks->chains.units = NULL; /* the copies of all pages are of the round before */
    for (size_t i = 0; i < tasks->known.count; i++) {
        struct cairn_pyknown *known = &tasks->known.items[i];
        const struct cairn_pytask task = {.thread = thread_at(read, known->tstate)};
        struct cairn_pyfound found = {.address = known->address,
                                      .reference = known->reference,
                                      .loop = known->loop,
                                      .first = CAIRN_PYCHAIN_END};

        CAIRN_TRY(cairn_pytasks_follow_alone(read, &found, false, known));
        cairn_pyknown_met(known, found.holds ? found.coro : 0, tasks->round);
        known->address = found.address;
        if (!found.holds)
            tasks->left_out += !found.alone;
        else if (!is_at_known(tasks, found.address)) /* two references may lead to one */
            CAIRN_TRY(add_task(tasks, &task, &found));
        CAIRN_TRY(index_known(tasks, known, found.holds));
    }
    tasks->chains.units = &tasks->pages;
    return 0;
}

static int follow(struct cairn_pyread *read, size_t index)
{
    struct cairn_pytasks *tasks = read->tasks;
    struct cairn_pyfound *found = &tasks->found.items[index];

    CAIRN_TRY(
        cairn_pychains_follow(read, &tasks->chains, &tasks->pages, found->coro, &found->first));
    CAIRN_TRY(cairn_pytasks_judge(read, &tasks->pages, found, found->first));
    if (found->settled)
        return 0;
    return cairn_pytasks_follow_alone(read, found, tasks->items.items[index].runs, NULL);
}

/* Of many tasks the last are the newest, and may be over soon; of those that came together, the
 * first are over first. */
static int follow_all(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;
    size_t start;

    for (size_t end = tasks->found.count; end > 0; end = start) {
        start = end > TOGETHER ? end - TOGETHER : 0;
        for (size_t i = start; i < end; i++)
            if (!tasks->found.items[i].alone)
                CAIRN_TRY(follow(read, i));
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
            CAIRN_TRY(cairn_pytasks_judge(read, &tasks->pages, &tasks->found.items[i],
                                          tasks->found.items[i].first));
    return 0;
}

/* Leaves out the tasks that had ended when the round began. */
static void drop_ended(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;
    size_t kept = 0;

    for (size_t i = 0; i < tasks->found.count; i++) {
        const struct cairn_pyfound *found = &tasks->found.items[i];

        if (found->first != CAIRN_PYCHAIN_END &&
            cairn_pychains_is_over(read, &tasks->chains.links.items[found->first]))
            continue;
        tasks->items.items[kept] = tasks->items.items[i];
        tasks->found.items[kept++] = *found;
    }
    tasks->items.count = tasks->found.count = kept;
}

/* --- Names --- */

bool cairn_pytasks_is_number(struct cairn_span name)
{
    static const char start[] = "Task-";
    size_t at = sizeof(start) - 1;

    if (name.size_bytes <= at || memcmp(name.data, start, at) != 0)
        return false;
    while (at < name.size_bytes && name.data[at] >= '0' && name.data[at] <= '9')
        at++;
    return at == name.size_bytes;
}

static int read_texts(struct cairn_pyread *read, struct cairn_pyview *view,
                      struct cairn_pynamed *names)
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
        struct cairn_pyfound *found = &tasks->found.items[i];
        enum cairn_pychain_kind kind = CAIRN_PYCHAIN_OTHER;
        uint64_t type;
        int code = found->alone
                       ? -CAIRN_ENOTFOUND
                       : cairn_pyview_get(&view, found->name + read->runtime.layout.object_type,
                                          &type, sizeof(type));

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

static void take_own_name(struct cairn_pytasks *tasks, size_t index)
{
    const struct cairn_pyfound *found = &tasks->found.items[index];

    if (found->name_bytes)
        tasks->items.items[index].name =
            (struct cairn_span){tasks->own_names.data + found->name_at, found->name_bytes};
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

        if (tasks->found.items[i].alone)
            take_own_name(tasks, i);
        if (!tasks->found.items[i].named)
            continue;
        named++;
        if (cairn_pytasks_keeps_sets(read) && name->ok && cairn_pytasks_is_number(name->text))
            continue;
        if (!name->ok || !now->ok || name->text.size_bytes != now->text.size_bytes ||
            memcmp(name->text.data, now->text.data, now->text.size_bytes) != 0)
            tasks->found.items[i].holds = false;
        else
            tasks->items.items[i].name = name->text;
    }
    return 0;
}

/* All that is told lies between two readings of the same pages, which are few, and of those that
 * are known in one call. */
static int look(struct cairn_pyread *read)
{
    struct cairn_pytasks *tasks = read->tasks;

    tasks->items.count = tasks->found.count = 0;
    tasks->left_out = 0;
    tasks->round++;
    cairn_buf_clear(&tasks->own_names);
    cairn_pychains_clear(&tasks->chains);
    tasks->alone_count = 0;
    forget_known(read);
    CAIRN_TRY(take_known(read));
    CAIRN_TRY(cairn_pypages_begin(&tasks->pages, &read->remote, true));
    CAIRN_TRY(find_tasks(read));
    CAIRN_TRY(follow_all(read));
    CAIRN_TRY(read_names(read));
    CAIRN_TRY(judge_again(read));
    CAIRN_TRY(take_names(read));
    if (cairn_pytasks_keeps_sets(read))
        drop_ended(read);
    return note_known(tasks);
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
    CAIRN_TRY(
        cairn_vec_reserve(&tasks->frames, tasks->chains.links.count,
                          (CAIRN_PYTASKS_MAX + CAIRN_PYTASKS_ALONE_MAX) * CAIRN_PYCHAIN_DEPTH_MAX));
    for (size_t i = 0; i < tasks->items.count; i++) {
        struct cairn_pytask *task = &tasks->items.items[i];
        const struct cairn_pyfound *found = &tasks->found.items[i];
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
 * not be read; where one lay when its thread was looked at, another may lie since. */
static bool is_its(const struct cairn_pyframe *frame, const struct cairn_pytask *task)
{
    return task->frame && frame->address == task->frame &&
           (!frame->code || !task->coroutine ||
            frame->code->name.data == task->coroutine->name.data);
}

uint32_t cairn_pytask_start(const struct cairn_pytask *task)
{
    const struct cairn_pythread *thread = task->thread;
    uint32_t at = 0;

    while (at < thread->depth && !is_its(&thread->frames[at], task))
        at++;
    return at;
}

int cairn_pytasks_read(struct cairn_pyread *read, const struct cairn_pytask **ret_tasks,
                       size_t *ret_count, uint64_t *ret_left_out)
{
    struct cairn_pytasks *tasks;

    CAIRN_TRY(tasks_of(read, &tasks));
    if (!cairn_pytasks_keeps_sets(read))
        CAIRN_TRY(cairn_pytaskplaces_seek(read, &tasks->places));
    else if (tasks->sets.sets.count < read->interps.count &&
             cairn_pytaskplaces_due(read, &tasks->places))
        CAIRN_TRY(cairn_pytasksets_seek(read, &tasks->sets));
    else if (!tasks->sets.sets.count)
        return -CAIRN_ENOTFOUND;
    CAIRN_TRY(look(read));
    CAIRN_TRY(load_codes(read));
    CAIRN_TRY(make_frames(read));
    *ret_tasks = tasks->items.items;
    *ret_count = tasks->items.count;
    *ret_left_out = tasks->left_out;
    return 0;
}
