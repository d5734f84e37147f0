#include "lines.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "err.h"
#include "exact_parts.h"
#include "lines_parts.h"
#include "ticks.h"

#define NO_LINE UINT32_MAX
#define FIRST_DEPTH ((size_t)128)
#define MOST_DEPTH ((size_t)1 << 20)
#define LIVES 1u /* low bits of thread.owner */
#define ENDED 2u
#define OWNER_SHIFT 2

struct entry { /* a frame that has begun */
    uintptr_t frame;
    struct cairn_lines_code *code;
    uint32_t line; /* from the code's first; NO_LINE: none so far */
    int64_t start; /* of the line */
};

struct sleeper { /* a frame that yielded at least once */
    uint32_t line;
    int64_t since;
};

struct cairn_lines_thread {
    uint64_t owner;         /* atomic: the hub's serial, shifted, and whether its thread lives */
    const void *place;      /* of the thread's own storage: tells it apart while it lives */
    uint64_t number;        /* no other thread of this hub has it */
    uint64_t tid, start_ns; /* with a spool, as the kernel tells them */
    struct entry *stack;
    size_t depth, cap;
    struct cairn_lines_thread *next;
};

static __thread struct { /* of this thread */
    uint64_t serial;
    struct cairn_lines_thread *thread;
} here __attribute__((tls_model("initial-exec")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ending;
static bool watches_ends;
static uint64_t last_serial;

/* A thread ends: its stack is free for the next. Without the caller's lock, hence one compare. */
static void at_end(void *ended)
{
    struct cairn_lines_thread *thread = ended;
    uint64_t lives = here.serial << OWNER_SHIFT | LIVES;

    if (here.thread == thread)
        (void)__atomic_compare_exchange_n(&thread->owner, &lives,
                                          here.serial << OWNER_SHIFT | ENDED, false,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    here.thread = NULL;
    here.serial = 0;
}

static void watch(void)
{
    watches_ends = pthread_key_create(&ending, at_end) == 0;
}

void cairn_lines_init(struct cairn_lines_hub *hub, size_t max_bytes)
{
    memset(hub, 0, sizeof(*hub));
    hub->budget.max_bytes = max_bytes;
    hub->serial = __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED);
    hub->forks = cairn_exact_forks;
    pthread_once(&once, watch);
}

void cairn_lines_release(struct cairn_lines_hub *hub)
{
    for (struct cairn_lines_thread *thread = hub->threads; thread != NULL; thread = thread->next)
        cairn_budget_unmap(&hub->budget, thread->stack, thread->cap * sizeof(*thread->stack));
    if (here.serial == hub->serial) {
        here.serial = 0;
        here.thread = NULL;
    }
    cairn_pairs_release(&hub->codes, &hub->budget);
    cairn_pairs_release(&hub->sleepers, &hub->budget);
    cairn_pool_release(&hub->pool, &hub->budget);
}

/* Who a thread is: when it first takes part, where another had its storage, and in a child. */
static void name_thread(struct cairn_lines_hub *hub, struct cairn_lines_thread *thread)
{
    uint64_t tid = hub->spool == NULL ? 0 : (uint64_t)syscall(SYS_gettid);

    if (thread->number != 0 && thread->tid == tid)
        return;
    thread->number = ++hub->thread_count;
    thread->tid = tid;
    thread->start_ns = tid == 0 ? 0 : cairn_spool_start_ns("/proc/thread-self/stat");
}

/* --- forks --- */

/* A child made by fork: other threads are not there, and what its own stack holds begins now. What
 * is kept goes into a file of its own; the parent's is still changed by the parent. */
static __attribute__((noinline)) void go_on_in_child(struct cairn_lines_hub *hub)
{
    struct cairn_lines_thread *own = here.serial == hub->serial ? here.thread : NULL;
    int64_t now = cairn_ticks_now();

    hub->forks = cairn_exact_forks;
    for (struct cairn_lines_thread *thread = hub->threads; thread != NULL; thread = thread->next) {
        if (thread != own) {
            thread->depth = 0;
            thread->place = NULL;
            __atomic_store_n(&thread->owner, hub->serial << OWNER_SHIFT | ENDED, __ATOMIC_RELEASE);
        }
        for (size_t i = 0; i < thread->depth; i++)
            thread->stack[i].start = now;
    }
    for (size_t i = 0; i < hub->codes.cap; i++) {
        struct cairn_lines_code *code = hub->codes.slots[i].value;

        for (struct cairn_lines_counter *counter = code == NULL ? NULL : code->counters;
             counter != NULL; counter = counter->next)
            counter->since = now; /* what slept till now did so in the parent */
    }
    if (own != NULL)
        name_thread(hub, own);
    if (hub->spool != NULL)
        cairn_lines_again(hub);
}

void cairn_lines_look_for_fork(struct cairn_lines_hub *hub)
{
    if (__builtin_expect(hub->forks != cairn_exact_forks, 0))
        go_on_in_child(hub);
}

static inline void look_for_fork(struct cairn_lines_hub *hub)
{
    cairn_lines_look_for_fork(hub);
}

/* --- stacks --- */

/* The stack that this thread had in this hub before it took part in another, else one of a thread
 * that is over. */
static struct cairn_lines_thread *find_thread(const struct cairn_lines_hub *hub)
{
    struct cairn_lines_thread *thread;

    for (thread = hub->threads; thread != NULL; thread = thread->next)
        if (thread->place == &here)
            return thread;
    for (thread = hub->threads; thread != NULL; thread = thread->next) {
        uint64_t ended = hub->serial << OWNER_SHIFT | ENDED;

        if (__atomic_compare_exchange_n(&thread->owner, &ended, hub->serial << OWNER_SHIFT | LIVES,
                                        false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            thread->depth = 0;
            thread->number = 0;
            return thread;
        }
    }
    return NULL;
}

static __attribute__((noinline)) struct cairn_lines_thread *attach(struct cairn_lines_hub *hub)
{
    struct cairn_lines_thread *thread = find_thread(hub);

    if (thread == NULL) {
        thread = cairn_pool_alloc(&hub->pool, &hub->budget, sizeof(*thread));
        if (thread == NULL)
            return NULL;
        thread->next = hub->threads;
        hub->threads = thread;
    }
    __atomic_store_n(&thread->owner, hub->serial << OWNER_SHIFT | LIVES, __ATOMIC_RELEASE);
    thread->place = &here;
    name_thread(hub, thread);
    here.serial = hub->serial;
    here.thread = thread;
    if (watches_ends)
        (void)pthread_setspecific(ending, thread);
    return thread;
}

static inline struct cairn_lines_thread *thread_of(struct cairn_lines_hub *hub)
{
    return __builtin_expect(here.serial == hub->serial, 1) ? here.thread : attach(hub);
}

static bool deepen(struct cairn_lines_hub *hub, struct cairn_lines_thread *thread)
{
    size_t size_bytes = sizeof(*thread->stack);
    size_t cap = thread->cap == 0 ? FIRST_DEPTH : 2 * thread->cap;
    void *stack;

    if (cap > MOST_DEPTH)
        return false;
    stack = thread->cap == 0 ? cairn_budget_map(&hub->budget, cap * size_bytes)
                             : cairn_budget_remap(&hub->budget, thread->stack,
                                                  thread->cap * size_bytes, cap * size_bytes);
    if (stack == NULL)
        return false;
    thread->stack = stack;
    thread->cap = cap;
    return true;
}

/* --- sums --- */

static inline int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Of a counter that is on, those of this thread, or of all where nothing is kept. */
static inline struct cairn_line_sum *sums_of(struct cairn_lines_hub *hub,
                                             struct cairn_lines_counter *counter,
                                             const struct cairn_lines_thread *thread)
{
    if (__builtin_expect(counter->number != thread->number, 0) && counter->block != NULL)
        cairn_lines_share_out(hub, counter, thread->number, thread->tid, thread->start_ns);
    return counter->sums;
}

static inline void add_time(struct cairn_lines_hub *hub, const struct cairn_lines_thread *thread,
                            const struct entry *entry, int64_t now)
{
    if (entry->line == NO_LINE)
        return;
    for (struct cairn_lines_counter *counter = entry->code->counters; counter != NULL;
         counter = counter->next)
        if (counter->on)
            sums_of(hub, counter, thread)[entry->line].total +=
                now - later_of(entry->start, counter->since);
}

/* Ends all above depth `to`. */
static void pop_to(struct cairn_lines_hub *hub, struct cairn_lines_thread *thread, size_t to,
                   int64_t now)
{
    while (thread->depth > to)
        add_time(hub, thread, &thread->stack[--thread->depth], now);
}

/* The depth above the innermost entry of a frame; 0: it has none. */
static inline size_t depth_of(const struct cairn_lines_thread *thread, uintptr_t frame)
{
    size_t depth = thread->depth;

    while (depth > 0 && thread->stack[depth - 1].frame != frame)
        depth--;
    return depth;
}

static struct entry *push(struct cairn_lines_hub *hub, struct cairn_lines_thread *thread,
                          struct cairn_lines_code *code, uintptr_t frame)
{
    struct entry *entry;

    if (thread->depth == thread->cap && !deepen(hub, thread)) {
        cairn_lines_lose(hub);
        return NULL;
    }
    entry = &thread->stack[thread->depth++];
    *entry = (struct entry){.frame = frame, .code = code, .line = NO_LINE};
    return entry;
}

void cairn_lines_enter(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uintptr_t frame)
{
    struct cairn_lines_thread *thread;
    size_t depth;

    if (!code->active)
        return;
    look_for_fork(hub);
    thread = thread_of(hub);
    if (thread == NULL)
        return;
    depth = depth_of(thread, frame);
    if (depth > 0) /* of a frame that is over, and whose end nobody told */
        pop_to(hub, thread, depth - 1, cairn_ticks_now());
    if (push(hub, thread, code, frame) == NULL)
        return;
    if (hub->spool != NULL && hub->spool->head != NULL)
        hub->spool->head->frames++;
    cairn_lines_charge(hub, code, 2); /* and its end */
}

/* The entry of a frame in which a line begins, on top of its stack. NULL: no memory. */
static inline struct entry *entry_of(struct cairn_lines_hub *hub, struct cairn_lines_thread *thread,
                                     struct cairn_lines_code *code, uintptr_t frame, int64_t now)
{
    size_t depth;

    if (thread == NULL)
        return NULL;
    if (__builtin_expect(thread->depth > 0 && thread->stack[thread->depth - 1].frame == frame, 1))
        return &thread->stack[thread->depth - 1];
    depth = depth_of(thread, frame);
    if (depth == 0)
        return push(hub, thread, code, frame); /* it began before anybody asked */
    pop_to(hub, thread, depth, now);
    return &thread->stack[depth - 1];
}

void cairn_lines_line(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uintptr_t frame,
                      uint32_t line)
{
    struct cairn_lines_thread *thread;
    struct entry *entry;
    int64_t now;

    if (!code->active)
        return;
    look_for_fork(hub);
    now = cairn_ticks_now();
    thread = thread_of(hub);
    entry = entry_of(hub, thread, code, frame, now);
    if (entry == NULL)
        return;
    add_time(hub, thread, entry, now);
    entry->code = code;
    entry->start = now;
    entry->line = line - code->first_line;
    if (__builtin_expect(line < code->first_line || entry->line >= code->line_count, 0)) {
        entry->line = NO_LINE;
        cairn_lines_lose(hub);
        return;
    }
    for (struct cairn_lines_counter *counter = code->counters; counter; counter = counter->next)
        if (counter->on)
            sums_of(hub, counter, thread)[entry->line].hits++;
    cairn_lines_charge(hub, code, 1);
}

void cairn_lines_called(struct cairn_lines_hub *hub, uintptr_t frame, int64_t ticks, bool native)
{
    struct cairn_lines_thread *thread;
    const struct entry *entry;

    look_for_fork(hub);
    thread = thread_of(hub);
    if (thread == NULL || thread->depth == 0)
        return;
    /* The caller is on top, or below what it called, whose end may not have been told here yet. */
    entry = &thread->stack[thread->depth - 1];
    if (entry->frame != frame && thread->depth > 1)
        entry--;
    if (entry->frame != frame || entry->line == NO_LINE)
        return;
    for (struct cairn_lines_counter *counter = entry->code->counters; counter != NULL;
         counter = counter->next)
        if (counter->on) {
            struct cairn_line_sum *sum = &sums_of(hub, counter, thread)[entry->line];

            *(native ? &sum->native : &sum->called) += ticks;
        }
}

void cairn_lines_leave(struct cairn_lines_hub *hub, uintptr_t frame)
{
    struct cairn_lines_thread *thread;
    size_t depth;

    look_for_fork(hub);
    thread = thread_of(hub);
    depth = thread == NULL ? 0 : depth_of(thread, frame);
    if (depth > 0)
        pop_to(hub, thread, depth - 1, cairn_ticks_now());
}

void cairn_lines_suspend(struct cairn_lines_hub *hub, uintptr_t frame)
{
    struct cairn_lines_thread *thread;
    struct sleeper *sleeper;
    size_t depth;
    int64_t now;

    look_for_fork(hub);
    thread = thread_of(hub);
    depth = thread == NULL ? 0 : depth_of(thread, frame);
    if (depth == 0)
        return;
    now = cairn_ticks_now();
    pop_to(hub, thread, depth - 1, now);
    sleeper = cairn_pairs_get(&hub->sleepers, frame, 0);
    if (sleeper == NULL) {
        sleeper = cairn_pool_alloc(&hub->pool, &hub->budget, sizeof(*sleeper));
        if (sleeper == NULL || cairn_pairs_add(&hub->sleepers, &hub->budget, frame, 0, sleeper) < 0)
            return; /* what it does until its next line is nobody's then */
    }
    sleeper->line = thread->stack[depth - 1].line;
    sleeper->since = now;
}

void cairn_lines_resume(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uintptr_t frame)
{
    struct sleeper *sleeper = cairn_pairs_get(&hub->sleepers, frame, 0);
    struct cairn_lines_thread *thread;
    struct entry *entry;

    if (!code->active)
        return;
    cairn_lines_enter(hub, code, frame);
    if (!code->active) /* it was let go */
        return;
    thread = thread_of(hub);
    entry = entry_of(hub, thread, code, frame, 0);
    if (entry == NULL || sleeper == NULL || sleeper->line >= code->line_count)
        return;
    entry->start = cairn_ticks_now();
    entry->line = sleeper->line;
    for (struct cairn_lines_counter *counter = code->counters; counter; counter = counter->next)
        if (counter->on)
            sums_of(hub, counter, thread)[entry->line].slept +=
                entry->start - later_of(sleeper->since, counter->since);
    sleeper->line = NO_LINE; /* whoever has this address next is another one */
}

/* --- who asks --- */

struct cairn_lines_code *cairn_lines_code_of(struct cairn_lines_hub *hub, const void *key)
{
    struct cairn_lines_code *code = cairn_lines_find(hub, key);

    if (code == NULL) {
        code = cairn_pool_alloc(&hub->pool, &hub->budget, sizeof(*code));
        if (code == NULL || cairn_pairs_add(&hub->codes, &hub->budget, (uintptr_t)key, 0, code) < 0)
            return NULL;
    }
    if (!cairn_lines_asked(code)) /* new, or other code at the address of what is gone */
        *code = (struct cairn_lines_code){.key = key};
    return code;
}

static struct cairn_lines_code *code_of(struct cairn_lines_hub *hub, const void *key,
                                        uint32_t first_line, uint32_t line_count)
{
    struct cairn_lines_code *code = cairn_lines_code_of(hub, key);

    if (code != NULL && code->counters == NULL) {
        code->first_line = first_line;
        code->line_count = line_count;
    }
    return code;
}

struct cairn_lines_counter *cairn_lines_add(struct cairn_lines_hub *hub, const void *key,
                                            uint32_t first_line, uint32_t line_count)
{
    struct cairn_lines_code *code = code_of(hub, key, first_line, line_count);
    struct cairn_lines_counter *counter =
        code == NULL ? NULL : cairn_pool_alloc(&hub->pool, &hub->budget, sizeof(*counter));

    if (counter == NULL)
        return NULL;
    *counter = (struct cairn_lines_counter){.code = code};
    counter->sums = cairn_budget_map(&hub->budget, line_count * sizeof(*counter->sums));
    if (counter->sums == NULL)
        return NULL;
    counter->next = code->counters;
    code->counters = counter;
    return counter;
}

/* Frames of code that nobody counts any more are not heard of again. */
static void drop_entries(struct cairn_lines_hub *hub, const struct cairn_lines_code *code)
{
    for (struct cairn_lines_thread *thread = hub->threads; thread != NULL; thread = thread->next) {
        size_t kept = 0;

        for (size_t i = 0; i < thread->depth; i++)
            if (thread->stack[i].code != code)
                thread->stack[kept++] = thread->stack[i];
        thread->depth = kept;
    }
}

void cairn_lines_on(struct cairn_lines_counter *counter)
{
    if (counter->on || counter->sums == NULL /* a child that could not make its file */ ||
        (counter->block != NULL && counter->code->gone))
        return;
    counter->on = true;
    counter->since = cairn_ticks_now();
    counter->code->active++;
}

void cairn_lines_off(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter)
{
    int64_t now;

    look_for_fork(hub);
    now = cairn_ticks_now();
    if (!counter->on)
        return;
    for (struct cairn_lines_thread *thread = hub->threads; thread != NULL; thread = thread->next)
        for (size_t i = 0; i < thread->depth; i++) {
            const struct entry *entry = &thread->stack[i];

            if (entry->code == counter->code && entry->line != NO_LINE)
                sums_of(hub, counter, thread)[entry->line].total +=
                    now - later_of(entry->start, counter->since);
        }
    counter->on = false;
    if (--counter->code->active == 0)
        drop_entries(hub, counter->code);
}

void cairn_lines_clear(struct cairn_lines_counter *counter)
{
    memset(counter->sums, 0, counter->code->line_count * sizeof(*counter->sums));
    counter->since = cairn_ticks_now();
}

bool cairn_lines_remove(struct cairn_lines_hub *hub, struct cairn_lines_counter *counter)
{
    struct cairn_lines_code *code = counter->code;
    struct cairn_lines_counter **link = &code->counters;

    cairn_lines_off(hub, counter);
    while (*link != counter)
        link = &(*link)->next;
    *link = counter->next;
    if (counter->block == NULL)
        cairn_budget_unmap(&hub->budget, counter->sums, code->line_count * sizeof(*counter->sums));
    counter->sums = NULL;
    return code->counters == NULL;
}
