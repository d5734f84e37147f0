/* Tasks that do not stand still for as long as it takes to read all of them. */
#include <string.h>

#include "pytasks_parts.h"

#define TRIES_MAX 4 /* for each */

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

/* Whether a task is there that has this coroutine: one that is over is taken out of the list, and
 * its coroutine's memory may be another's. */
static bool is_task(const struct cairn_pytaskplaces *places, const uint8_t *object, uint64_t coro)
{
    return object[places->task_is_task] && u64_at(object, places->task_coro) == coro &&
           u64_at(object, places->task_node) != 0;
}

/* Until 3.13 one that has ended is in its set until nobody holds it any more. */
static int is_there(struct cairn_pyread *read, const struct cairn_pyview *view,
                    const struct cairn_pyfound *found, bool *ret_there)
{
    struct cairn_pytasks *tasks = read->tasks;
    const struct cairn_pytaskset_task task = {.address = found->address,
                                              .reference = found->reference,
                                              .coro = found->coro,
                                              .loop = found->loop};
    uint8_t object[CAIRN_PYTASKPLACES_TASK_BYTES];

    *ret_there = false;
    if (cairn_pytasks_keeps_sets(read)) {
        CAIRN_TRY(cairn_pytasksets_is_there(read, &tasks->sets, view, &task, ret_there));
        return *ret_there ? cairn_pychains_goes(read, &tasks->chains, view, found->coro, ret_there)
                          : 0;
    }
    CAIRN_TRY(cairn_pyview_get(view, found->address, object, (size_t)tasks->places.task_size));
    *ret_there = is_task(&tasks->places, object, found->coro);
    return 0;
}

static int renew_in_list(struct cairn_pyread *read, const struct cairn_pyview *view,
                         struct cairn_pyfound *found)
{
    const struct cairn_pytaskplaces *places = &read->tasks->places;
    uint8_t object[CAIRN_PYTASKPLACES_TASK_BYTES];
    enum cairn_pychain_kind kind;

    CAIRN_TRY(cairn_pyview_get(view, found->address, object, (size_t)places->task_size));
    CAIRN_TRY(cairn_pychains_kind(read, &read->tasks->chains,
                                  u64_at(object, read->runtime.layout.object_type), &kind));
    found->coro = u64_at(object, places->task_coro);
    found->name = u64_at(object, places->task_name);
    return kind == CAIRN_PYCHAIN_TASK && is_task(places, object, found->coro) &&
                   u64_at(object, CAIRN_PYTASK_LOOP) == found->loop
               ? 0
               : -CAIRN_ENOTFOUND;
}

static int renew_in_set(struct cairn_pyread *read, const struct cairn_pyview *view,
                        struct cairn_pyfound *found)
{
    struct cairn_pytasks *tasks = read->tasks;
    struct cairn_pytaskset_task task = {
        .address = found->address, .reference = found->reference, .loop = found->loop};
    bool goes;

    CAIRN_TRY(cairn_pytasksets_renew(read, &tasks->sets, &tasks->chains, view, &task));
    CAIRN_TRY(cairn_pychains_goes(read, &tasks->chains, view, task.coro, &goes));
    found->address = task.address;
    found->coro = task.coro;
    found->name = task.name;
    return goes ? 0 : -CAIRN_ENOTFOUND;
}

int cairn_pytasks_renew(struct cairn_pyread *read, const struct cairn_pyview *view, bool same,
                        struct cairn_pyfound *found)
{
    const uint64_t coro = found->coro;

    CAIRN_TRY(cairn_pytasks_keeps_sets(read) ? renew_in_set(read, view, found)
                                             : renew_in_list(read, view, found));
    return found->coro && (!same || found->coro == coro) ? 0 : -CAIRN_ENOTFOUND;
}

/* Its frames are on its thread's stack. */
static bool runs(const struct cairn_pyread *read, uint32_t first)
{
    return first != CAIRN_PYCHAIN_END &&
           cairn_pychains_runs(read, &read->tasks->chains.links.items[first]);
}

int cairn_pytasks_judge(struct cairn_pyread *read, struct cairn_pypages *pages,
                        struct cairn_pyfound *found, uint32_t first)
{
    const struct cairn_pyview again = {.pages = pages};
    int code = is_there(read, &again, found, &found->holds);

    if (is_final(code))
        return code;
    found->moved = code == 0;
    found->holds = code == 0 && found->holds;
    cairn_pychains_confirm(read, &read->tasks->chains, pages, first);
    found->settled = code == 0 && (!found->holds || runs(read, first) ||
                                   cairn_pychains_holds(&read->tasks->chains, first));
    found->moved &= !found->holds || !found->settled;
    return 0;
}

/* Where a task lies, its name and its chain from link `first` on, as far as is known. */
static int want_task(struct cairn_pyread *read, const struct cairn_pyfound *found, uint32_t first,
                     const struct cairn_pyknown *known)
{
    struct cairn_pytasks *tasks = read->tasks;
    bool sets = cairn_pytasks_keeps_sets(read);

    cairn_pypages_clear(&tasks->alone);
    for (unsigned i = 0; known && i < known->page_count; i++)
        CAIRN_TRY(cairn_pypages_want(&tasks->alone, known->pages[i], 1));
    CAIRN_TRY(cairn_pypages_want(&tasks->alone, found->address,
                                 sets ? tasks->sets.task_size : tasks->places.task_size));
    if (found->name)
        CAIRN_TRY(cairn_pypages_want(&tasks->alone, found->name,
                                     sizeof(((struct cairn_pystr *)0)->head)));
    if (found->reference)
        CAIRN_TRY(cairn_pypages_want(&tasks->alone,
                                     found->reference + read->runtime.layout.weakref_object, 8));
    return cairn_pychains_want(read, &tasks->chains, &tasks->alone, first);
}

/* What the task is called, in the view: *ret_name lies in `names`, and is empty for one that was
 * given no name. -CAIRN_EUNREADABLE: it could not be read. */
static int read_name(struct cairn_pyread *read, struct cairn_pyview *view, uint64_t name,
                     struct cairn_pynamed *names, struct cairn_span *ret_name)
{
    enum cairn_pychain_kind kind;
    struct cairn_remote remote;
    struct cairn_pystr str = {.kind = CAIRN_PYSTR_STR, .address = name};
    uint64_t type;

    *ret_name = (struct cairn_span){NULL, 0};
    CAIRN_TRY(cairn_pyview_get(view, name + read->runtime.layout.object_type, &type, sizeof(type)));
    CAIRN_TRY(cairn_pychains_kind(read, &read->tasks->chains, type, &kind));
    if (kind != CAIRN_PYCHAIN_STR)
        return 0;
    cairn_pyview_remote(view, &remote);
    CAIRN_TRY(cairn_pystr_read(&remote, &read->runtime.layout, read->runtime.table, &str, 1,
                               &names->texts));
    if (!str.ok)
        return -CAIRN_EUNREADABLE;
    if (!cairn_pytasks_keeps_sets(read) || !cairn_pytasks_is_number(str.text))
        *ret_name = str.text;
    return 0;
}

/* Whether it is called the same when it was read again; then that is kept. Negative: a code. */
static int confirm_name(struct cairn_pyread *read, struct cairn_pyfound *found,
                        struct cairn_span name)
{
    struct cairn_pytasks *tasks = read->tasks;
    struct cairn_pyview again = {.pages = &tasks->alone};
    struct cairn_span now;
    int code = read_name(read, &again, found->name, &tasks->names_again, &now);

    if (code < 0)
        return is_final(code) ? code : 0;
    if (now.size_bytes != name.size_bytes ||
        (name.size_bytes && memcmp(now.data, name.data, name.size_bytes) != 0))
        return 0;
    found->name_at = tasks->own_names.size_bytes;
    found->name_bytes = name.size_bytes;
    if (name.size_bytes)
        CAIRN_TRY(cairn_buf_add(&tasks->own_names, name.data, name.size_bytes));
    return 1;
}

static void keep_pages(const struct cairn_pypages *pages, struct cairn_pyknown *known)
{
    size_t count = pages->pages.count;

    known->page_count = 0;
    for (size_t i = 0; i < count && known->page_count < CAIRN_PYKNOWN_PAGES; i++)
        if (pages->pages.items[i].round == pages->round)
            known->pages[known->page_count++] = pages->pages.items[i].address;
}

/* A task that moved between two readings of all is read by itself, and again in the same call: that
 * takes a microsecond or two, in which few move. What it awaits by now may lie elsewhere; the next
 * try knows where. */
int cairn_pytasks_follow_alone(struct cairn_pyread *read, struct cairn_pyfound *found, bool same,
                               struct cairn_pyknown *known)
{
    struct cairn_pytasks *tasks = read->tasks;
    struct cairn_pyview view = {&tasks->alone, &read->remote};
    struct cairn_pyfound at = *found;
    uint32_t first = found->first;

    for (int tries = 0; tries < TRIES_MAX && tasks->alone_count < CAIRN_PYTASKS_ALONE_MAX;
         tries++) {
        struct cairn_pyfound now;
        struct cairn_span name;
        int code, named;

        tasks->alone_count++;
        found->settled = true;
        CAIRN_TRY(want_task(read, &at, first, known));
        CAIRN_TRY(cairn_pypages_begin(&tasks->alone, &read->remote, true));
        code = cairn_pytasks_renew(read, &view, same, &at);
        if (code < 0) { /* it was over before it could be looked at, or looked at again */
            found->holds = found->holds && found->alone;
            found->alone = true;
            return is_final(code) ? code : 0;
        }
        now = at;
        now.first = CAIRN_PYCHAIN_END;
        CAIRN_TRY(cairn_pychains_follow(read, &tasks->chains, &tasks->alone, now.coro, &now.first));
        code = read_name(read, &view, now.name, &tasks->names, &name);
        if (is_final(code))
            return code;
        CAIRN_TRY(cairn_pypages_again(&tasks->alone, &read->remote));
        CAIRN_TRY(cairn_pytasks_judge(read, &tasks->alone, &now, now.first));
        first = now.first != CAIRN_PYCHAIN_END ? now.first : first;
        if (code < 0 || !now.holds || now.first == CAIRN_PYCHAIN_END)
            continue;
        named = confirm_name(read, &now, name);
        if (named < 0)
            return named;
        if (!named)
            continue;
        now.moved = found->moved;
        *found = now;
        found->alone = true;
        if (known)
            keep_pages(&tasks->alone, known);
        if (now.settled)
            return 0;
    }
    return 0;
}
