/* exactrecords.c: which record a thread has, its first event, its end, and forks; the beginning and
 * the end of a profile. */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exact_parts.h"

#define RECORDS_BYTES ((size_t)16 << 10)
#define LIVES 1u /* low bits of thread.owner */
#define ENDED 2u
#define OWNER_SHIFT 2
#define MOST_RECORDS 1024 /* in a spool, before threads take those of others that are over */

__thread struct cairn_exact_here cairn_exact_here __attribute__((tls_model("initial-exec")));
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ending;
static bool watches_ends;
unsigned cairn_exact_forks;
static uint64_t last_serial;
static struct cairn_exact_thread *spare; /* records that nobody has */
static struct cairn_exact_step *path;    /* the stack of the thread that forked last */
static size_t path_depth, path_bytes;
static struct cairn_budget records_budget = {.max_bytes = (size_t)64 << 20};

/* A thread ends: its record is free for the next. Without the caller's lock, hence one compare: the
 * profile may just have been released. */
static void at_end(void *unused)
{
    uint64_t lives = cairn_exact_here.serial << OWNER_SHIFT | LIVES;

    (void)unused;
    cairn_exact_here.dying = true;
    if (cairn_exact_here.thread != NULL)
        (void)__atomic_compare_exchange_n(&cairn_exact_here.thread->owner, &lives,
                                          cairn_exact_here.serial << OWNER_SHIFT | ENDED, false,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* The parent's stack, and what it is made of, go on changing in the file that both have mapped: the
 * child is left a copy. */
static void before_fork(void)
{
    const struct cairn_exact_thread *thread = cairn_exact_here.thread;
    size_t size_bytes;

    path_depth = 0;
    if (!cairn_exact_here.spooled || thread->depth == 0)
        return;
    size_bytes = thread->depth * sizeof(*path);
    if (size_bytes > path_bytes) {
        cairn_budget_unmap(&records_budget, path, path_bytes);
        path = cairn_budget_map(&records_budget, 2 * size_bytes);
        path_bytes = path == NULL ? 0 : 2 * size_bytes;
        if (path == NULL)
            return;
    }
    for (; path_depth < thread->depth; path_depth++) {
        const struct cairn_exact_entry *entry = &thread->stack[path_depth];
        const struct cairn_exact_key *key =
            cairn_pairs_get(&thread->keys, (uintptr_t)entry->node->key, 0);

        path[path_depth] = (struct cairn_exact_step){key->key, entry->frame, key->learnt, key->name,
                                                     !cairn_exact_is_fold(entry->node) &&
                                                         entry->node->parent->parent == NULL};
    }
}

const struct cairn_exact_step *cairn_exact_path(size_t *ret_depth)
{
    *ret_depth = path_depth;
    return path;
}

static void in_child(void)
{
    cairn_exact_forks++;
    if (cairn_exact_here.spooled) /* the file is the parent's */
        cairn_exact_here = (struct cairn_exact_here){.dying = cairn_exact_here.dying};
    if (cairn_exact_here.thread != NULL)
        cairn_exact_here.thread->forks = cairn_exact_forks;
}

static void watch(void)
{
    watches_ends = pthread_key_create(&ending, at_end) == 0;
    (void)pthread_atfork(before_fork, NULL, in_child);
}

void cairn_exact_watch(void)
{
    pthread_once(&once, watch);
}

bool cairn_exact_is_own(const struct cairn_exact_thread *thread)
{
    return thread->forks == cairn_exact_forks;
}

void cairn_exact_give_spares(struct cairn_exact_thread *first, struct cairn_exact_thread *last)
{
    last->next = __atomic_load_n(&spare, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&spare, &last->next, first, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        ;
}

/* All spare records are taken and all but one given back, since who compares a list's head alone
 * may be deceived by one that went and came back. */
static struct cairn_exact_thread *take_spare(void)
{
    struct cairn_exact_thread *first = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQUIRE), *last;
    size_t count = RECORDS_BYTES / sizeof(*first);

    if (first == NULL) {
        first = cairn_budget_map(&records_budget, RECORDS_BYTES);
        if (first == NULL)
            return NULL;
        for (size_t i = 0; i + 1 < count; i++)
            first[i].next = &first[i + 1];
    }
    last = first->next;
    if (last != NULL) {
        while (last->next != NULL)
            last = last->next;
        cairn_exact_give_spares(first->next, last);
    }
    memset(first, 0, sizeof(*first));
    return first;
}

/* Takes the record of a thread that is over: its tree goes on with this one. */
static bool adopt(const struct cairn_exact *exact, struct cairn_exact_thread *thread)
{
    uint64_t ended = exact->serial << OWNER_SHIFT | ENDED;

    if (!__atomic_compare_exchange_n(&thread->owner, &ended, exact->serial << OWNER_SHIFT | LIVES,
                                     false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    thread->tally.healed += thread->depth;
    while (thread->depth > 0) {
        const struct cairn_exact_entry *entry = &thread->stack[--thread->depth];

        if (entry->event != NULL)
            cairn_event_end(entry->event, cairn_event_node(exact->timeline, entry->node),
                            entry->start, thread->last - entry->start);
    }
    thread->busy = false;
    return true;
}

/* The record that this thread had before it took part in another profile, else one of a thread
 * that is over. Such a thread may have had the same place: then nobody else can be there. */
static struct cairn_exact_thread *find_record(const struct cairn_exact *exact)
{
    struct cairn_exact_thread *thread;

    for (thread = exact->threads; thread != NULL; thread = thread->next)
        if (thread->place == &cairn_exact_here && cairn_exact_is_own(thread)) {
            (void)adopt(exact, thread);
            return thread;
        }
    for (thread = exact->threads; thread != NULL; thread = thread->next)
        if (cairn_exact_is_own(thread) && adopt(exact, thread))
            return thread;
    return NULL;
}

/* A child made by fork has a file of its own from its first event on. */
static bool begin_again(struct cairn_exact *exact)
{
    if (exact->forks != cairn_exact_forks) {
        exact->forks = cairn_exact_forks;
        exact->threads = NULL;
        exact->nodes = exact->records = 0;
        exact->pool = (struct cairn_pool){0};
        exact->sleepers = (struct cairn_pairs){0};
        exact->tally = (struct cairn_exact_tally){0};
        exact->budget.used_bytes = 0;
        (void)cairn_spool_again(exact->spool);
        if (exact->timeline != NULL)
            cairn_timeline_again(exact->timeline, exact->spool);
        cairn_meter_again(exact);
    }
    return exact->spool->head != NULL;
}

static struct cairn_exact_thread *spool_record(struct cairn_exact *exact)
{
    struct cairn_exact_thread *thread;

    if (!begin_again(exact))
        return NULL;
    thread = exact->records < MOST_RECORDS ? NULL : find_record(exact);
    if (thread != NULL)
        return thread;
    thread = cairn_budget_map(&exact->budget, sizeof(*thread));
    if (thread == NULL)
        return NULL;
    exact->records++;
    thread->tid = (uint64_t)syscall(SYS_gettid);
    thread->start_ns = cairn_spool_start_ns("/proc/thread-self/stat");
    return thread;
}

struct cairn_exact_thread *cairn_exact_attach(struct cairn_exact *exact)
{
    struct cairn_exact_thread *thread;

    if (cairn_exact_here.dying)
        return NULL;
    thread = exact->spool != NULL ? spool_record(exact) : find_record(exact);
    if (thread == NULL && exact->spool == NULL)
        thread = take_spare();
    if (thread == NULL)
        return NULL;
    if (thread->owner == 0) {
        thread->forks = cairn_exact_forks;
        thread->next = exact->threads;
        exact->threads = thread;
        if (exact->spool != NULL)
            exact->spool->head->root = thread;
        __atomic_store_n(&thread->owner, exact->serial << OWNER_SHIFT | LIVES, __ATOMIC_RELEASE);
    }
    thread->place = &cairn_exact_here;
    cairn_exact_here.serial = exact->serial;
    cairn_exact_here.thread = thread;
    cairn_exact_here.spooled = exact->spool != NULL;
    if (exact->spool != NULL && exact->spool->parent != NULL) {
        cairn_exact_inherit(exact, thread);
        cairn_spool_let_go(exact->spool);
    }
    if (watches_ends)
        (void)pthread_setspecific(ending, thread);
    return thread;
}

void cairn_exact_tally(const struct cairn_exact *exact, struct cairn_exact_tally *ret_tally)
{
    *ret_tally = exact->tally;
    for (const struct cairn_exact_thread *thread = exact->threads; thread; thread = thread->next) {
        ret_tally->lost += thread->tally.lost;
        ret_tally->strays += thread->tally.strays;
        ret_tally->healed += thread->tally.healed;
        ret_tally->folded += thread->tally.folded;
    }
}

static void forget(struct cairn_exact *exact, struct cairn_exact_thread *thread)
{
    for (struct cairn_exact_key *key = thread->first_key; key != NULL; key = key->next)
        if (key->learnt != NULL)
            exact->host.forget(exact->host.context, key->learnt);
    if (exact->spool != NULL)
        return; /* it is to be read */
    cairn_budget_unmap(&exact->budget, thread->stack, thread->cap * sizeof(*thread->stack));
    cairn_pairs_release(&thread->children, &exact->budget);
    cairn_pairs_release(&thread->folds, &exact->budget);
    cairn_pairs_release(&thread->keys, &exact->budget);
    cairn_pairs_release(&thread->extras, &exact->budget);
    cairn_pairs_release(&thread->parked, &exact->budget);
    cairn_pool_release(&thread->pool, &exact->budget);
}

void cairn_exact_clear(struct cairn_exact *exact)
{
    struct cairn_exact_thread *threads = exact->threads, *next;

    /* Threads that have a record find that it is none of theirs any more. */
    exact->serial = __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED);
    exact->threads = NULL;
    exact->nodes = 0;
    exact->tally = (struct cairn_exact_tally){0};
    for (; threads != NULL; threads = next) {
        next = threads->next;
        __atomic_store_n(&threads->owner, 0, __ATOMIC_RELEASE);
        forget(exact, threads);
        if (exact->spool == NULL)
            cairn_exact_give_spares(threads, threads);
    }
    if (exact->spool == NULL) {
        cairn_pairs_release(&exact->sleepers, &exact->budget);
        cairn_pool_release(&exact->pool, &exact->budget);
    }
}

void cairn_exact_init(struct cairn_exact *exact, const struct cairn_exact_host *host,
                      size_t max_bytes, size_t max_nodes, size_t max_depth)
{
    cairn_exact_watch();
    *exact = (struct cairn_exact){.host = *host,
                                  .budget.max_bytes = max_bytes,
                                  .max_nodes = max_nodes,
                                  .max_depth = max_depth,
                                  .serial = __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED)};
}

bool cairn_exact_is_forked(const struct cairn_exact *exact)
{
    return exact->spool != NULL && exact->spool->inherited && exact->forks == cairn_exact_forks;
}

bool cairn_exact_owns_spool(const struct cairn_exact *exact)
{
    return exact->spool != NULL && exact->spool->head != NULL && exact->forks == cairn_exact_forks;
}

void cairn_exact_spool(struct cairn_exact *exact, struct cairn_spool *spool,
                       cairn_exact_describe *describe)
{
    exact->describe = describe;
    exact->spool = spool;
    exact->forks = cairn_exact_forks;
    exact->budget.grow = cairn_spool_grow;
    exact->budget.shrink = cairn_spool_shrink;
    exact->budget.context = spool;
}

void cairn_exact_keep_times(struct cairn_exact *exact, struct cairn_timeline *timeline)
{
    exact->timeline = timeline;
}

void cairn_exact_release(struct cairn_exact *exact)
{
    cairn_exact_clear(exact);
}
