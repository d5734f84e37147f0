#include "pytaskplaces.h"

#include <string.h>

#include "clock.h"
#include "pyread_parts.h"

#define SECTION ".AsyncioDebug"
#define SEEK_FIRST_NS UINT64_C(10000000)
#define SEEK_MOST_NS UINT64_C(1000000000)
#define STRUCTURE_MAX_BYTES (UINT64_C(16) << 20)

/* The words of the section, in their order. */
enum told {
    TOLD_TASK_SIZE,
    TOLD_TASK_NAME,
    TOLD_TASK_AWAITED_BY,
    TOLD_TASK_IS_TASK,
    TOLD_TASK_AWAITED_BY_IS_SET,
    TOLD_TASK_CORO,
    TOLD_TASK_NODE,
    TOLD_INTERP_SIZE,
    TOLD_INTERP_TASKS_HEAD,
    TOLD_THREAD_SIZE,
    TOLD_THREAD_RUNNING_LOOP,
    TOLD_THREAD_RUNNING_TASK,
    TOLD_THREAD_TASKS_HEAD,
    TOLD_COUNT
};

static bool fits(uint64_t place, uint64_t width, uint64_t size_bytes)
{
    return place < size_bytes && width <= size_bytes - place && (width == 1 || place % 8 == 0);
}

bool cairn_pytaskplaces_take(struct cairn_pytaskplaces *places, struct cairn_span told)
{
    uint64_t words[TOLD_COUNT];
    uint64_t task, interp, thread;

    _Static_assert(sizeof(words) == CAIRN_PYTASKPLACES_TOLD_BYTES, "what the header promises");
    if (told.size_bytes < sizeof(words))
        return false;
    memcpy(words, told.data, sizeof(words));
    task = words[TOLD_TASK_SIZE];
    interp = words[TOLD_INTERP_SIZE];
    thread = words[TOLD_THREAD_SIZE];
    if (task > CAIRN_PYTASKPLACES_TASK_BYTES || interp > STRUCTURE_MAX_BYTES ||
        thread > STRUCTURE_MAX_BYTES || !fits(words[TOLD_TASK_NAME], 8, task) ||
        !fits(words[TOLD_TASK_CORO], 8, task) || !fits(words[TOLD_TASK_IS_TASK], 1, task) ||
        !fits(words[TOLD_TASK_NODE], 16, task) ||
        !fits(words[TOLD_INTERP_TASKS_HEAD], 16, interp) ||
        !fits(words[TOLD_THREAD_RUNNING_TASK], 8, thread) ||
        !fits(words[TOLD_THREAD_TASKS_HEAD], 16, thread))
        return false;
    places->task_size = task;
    places->task_name = words[TOLD_TASK_NAME];
    places->task_is_task = words[TOLD_TASK_IS_TASK];
    places->task_coro = words[TOLD_TASK_CORO];
    places->task_node = words[TOLD_TASK_NODE];
    places->interp_tasks_head = words[TOLD_INTERP_TASKS_HEAD];
    places->thread_running_task = words[TOLD_THREAD_RUNNING_TASK];
    places->thread_tasks_head = words[TOLD_THREAD_TASKS_HEAD];
    places->known = true;
    return true;
}

/* Whether the code is of asyncio, or of a loop that takes its place. */
static bool is_asyncio(const struct cairn_pycode *code)
{
    static const char *const folders[] = {"/asyncio/", "/uvloop/"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (code->file.size_bytes > 0 &&
            memmem(code->file.data, code->file.size_bytes, folders[i], strlen(folders[i])))
            return true;
    return false;
}

/* Code of its that was not met before says that it goes on: once its import has come so far, the
 * tasks are found within a round, however long it took. */
static bool look_if_used(const struct cairn_pyread *read, struct cairn_pytaskplaces *places)
{
    for (; places->codes_met < read->codes.entries.count; places->codes_met++) {
        if (!is_asyncio(&read->codes.entries.items[places->codes_met]->code))
            continue;
        places->used = true;
        places->seek_at_ns = places->seek_wait_ns = 0;
    }
    return places->used;
}

bool cairn_pytaskplaces_due(const struct cairn_pyread *read, struct cairn_pytaskplaces *places)
{
    uint64_t now_ns;

    if (!look_if_used(read, places))
        return false;
    now_ns = cairn_clock_mono_ns();
    if (now_ns < places->seek_at_ns)
        return false;
    places->seek_wait_ns = places->seek_wait_ns ? 2 * places->seek_wait_ns : SEEK_FIRST_NS;
    if (places->seek_wait_ns > SEEK_MOST_NS)
        places->seek_wait_ns = SEEK_MOST_NS;
    places->seek_at_ns = now_ns + places->seek_wait_ns;
    return true;
}

int cairn_pytaskplaces_seek(struct cairn_pyread *read, struct cairn_pytaskplaces *places)
{
    uint8_t told[CAIRN_PYTASKPLACES_TOLD_BYTES];
    uint64_t address;
    int code;

    if (places->known)
        return 0;
    if (!read->tids.pid || !cairn_pytaskplaces_due(read, places))
        return -CAIRN_ENOTFOUND;
    code = cairn_pyruntime_section(read->tids.pid, &read->remote, SECTION, &address);
    if (code == 0)
        code = cairn_remote_get(&read->remote, address, told, sizeof(told));
    if (code == -CAIRN_EGONE || code == -CAIRN_EPERM || code == -CAIRN_ENOMEM)
        return code;
    if (code < 0 || !cairn_pytaskplaces_take(places, (struct cairn_span){told, sizeof(told)}))
        return -CAIRN_ENOTFOUND;
    return 0;
}
