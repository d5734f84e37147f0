#include "exact.h"

#include "exact_parts.h"
#include "ticks.h"

#define FIRST_DEPTH ((size_t)128)

static uint64_t last_serial;

static inline int64_t now_of(const struct cairn_exact *exact)
{
    return exact->host.now != NULL ? exact->host.now(exact->host.context) : cairn_ticks_now();
}

/* Of folded calls: whether one was the outermost is to be seen on the stack below it. */
static void account_fold(const struct cairn_exact_thread *thread, struct cairn_exact_fold *fold,
                         int64_t calls, int64_t total)
{
    bool outer = true, outer_edge = true;

    for (size_t i = 0; i < thread->depth && outer_edge; i++)
        if (thread->stack[i].node->key == fold->node.key) {
            const void *caller = i == 0 ? NULL : thread->stack[i - 1].node->key;

            outer = false;
            outer_edge = caller != fold->caller;
        }
    fold->outer_calls += outer ? calls : 0;
    fold->outer_total += outer ? total : 0;
    fold->edge_calls += outer_edge ? calls : 0;
    fold->edge_total += outer_edge ? total : 0;
}

/* Ends the innermost entry. */
static inline void pop(const struct cairn_exact *exact, struct cairn_exact_thread *thread,
                       int64_t now)
{
    const struct cairn_exact_entry *top = &thread->stack[--thread->depth];
    struct cairn_exact_node *node = top->node;
    int64_t total = now - top->start;

    thread->last = now;
    if (__builtin_expect(top->event != NULL, 0))
        cairn_event_end(top->event, cairn_event_node(exact->timeline, node), top->start, total);
    node->calls++;
    node->total += total;
    node->self += total - top->inside;
    if (thread->depth > 0)
        thread->stack[thread->depth - 1].inside += total;
    if (__builtin_expect(exact->host.returned != NULL, 0) && thread->depth > 0)
        exact->host.returned(exact->host.context, thread->stack[thread->depth - 1].frame, total,
                             top->frame & 1);
    if (__builtin_expect(cairn_exact_is_fold(node), 0))
        account_fold(thread, (struct cairn_exact_fold *)node, 1, total);
}

/* Ends all above depth `to`, which nobody has left. */
static __attribute__((noinline)) void unwind(struct cairn_exact *exact,
                                             struct cairn_exact_thread *thread, size_t to)
{
    int64_t now = now_of(exact);

    thread->tally.healed += thread->depth - to;
    while (thread->depth > to)
        pop(exact, thread, now);
}

/* The depth above the innermost entry of a frame, or of what it called; 0: it has none. */
static size_t depth_of(const struct cairn_exact_thread *thread, uintptr_t frame, uintptr_t mask)
{
    size_t depth = thread->depth;

    while (depth > 0 && (thread->stack[depth - 1].frame & mask) != frame)
        depth--;
    return depth;
}

static struct cairn_exact_key *add_key(struct cairn_exact *exact, struct cairn_exact_thread *thread,
                                       const void *key)
{
    struct cairn_exact_key *known = cairn_pool_alloc(&thread->pool, &exact->budget, sizeof(*known));

    if (known == NULL ||
        cairn_pairs_add(&thread->keys, &exact->budget, (uintptr_t)key, 0, known) < 0)
        return NULL;
    known->key = key;
    known->next = thread->first_key;
    thread->first_key = known;
    return known;
}

static bool know(struct cairn_exact *exact, struct cairn_exact_thread *thread, const void *key,
                 void *callee)
{
    struct cairn_exact_key *known = cairn_pairs_get(&thread->keys, (uintptr_t)key, 0);

    if (known != NULL)
        return known->learnt != NULL;
    known = add_key(exact, thread, key);
    if (known == NULL)
        return false;
    known->learnt = exact->host.learn(exact->host.context, key, callee);
    if (exact->spool != NULL && known->learnt != NULL)
        known->name = cairn_exact_name_make(exact, thread, known->learnt);
    return known->learnt != NULL;
}

static struct cairn_exact_node *fold_of(struct cairn_exact *exact,
                                        struct cairn_exact_thread *thread, const void *caller,
                                        const void *key)
{
    struct cairn_exact_fold *fold =
        cairn_pairs_get(&thread->folds, (uintptr_t)caller, (uintptr_t)key);

    if (fold != NULL)
        return &fold->node;
    fold = cairn_pool_alloc(&thread->pool, &exact->budget, sizeof(*fold));
    if (fold == NULL || cairn_pairs_add(&thread->folds, &exact->budget, (uintptr_t)caller,
                                        (uintptr_t)key, fold) < 0)
        return NULL;
    fold->node.key = key;
    fold->node.parent = &fold->node;
    fold->node.next = (struct cairn_exact_node *)thread->first_fold;
    fold->caller = caller;
    thread->first_fold = fold;
    return &fold->node;
}

/* The child of `parent` that was not the one entered last; made if need be. NULL: no memory. */
static __attribute__((noinline)) struct cairn_exact_node *child_of(
    struct cairn_exact *exact, struct cairn_exact_thread *thread, struct cairn_exact_node *parent,
    const void *key, void *callee)
{
    struct cairn_exact_node *node;

    if (!cairn_exact_is_fold(parent)) {
        node = cairn_pairs_get(&thread->children, (uintptr_t)parent, (uintptr_t)key);
        if (node != NULL)
            return node;
    }
    if (!know(exact, thread, key, callee))
        return NULL;
    /* A quarter of the memory is left for folds and keys. */
    if (!cairn_exact_is_fold(parent) &&
        __atomic_load_n(&exact->nodes, __ATOMIC_RELAXED) < exact->max_nodes &&
        exact->budget.used_bytes < exact->budget.max_bytes / 4 * 3) {
        node = cairn_pool_alloc(&thread->pool, &exact->budget, sizeof(*node));
        if (node != NULL && cairn_pairs_add(&thread->children, &exact->budget, (uintptr_t)parent,
                                            (uintptr_t)key, node) == 0) {
            __atomic_add_fetch(&exact->nodes, 1, __ATOMIC_RELAXED);
            node->key = key;
            node->parent = parent;
            node->next = parent->first;
            parent->first = node;
            return node;
        }
    }
    thread->tally.folded++;
    return fold_of(exact, thread, exact->flat ? NULL : parent->key, key);
}

static bool deepen(struct cairn_exact *exact, struct cairn_exact_thread *thread)
{
    size_t size_bytes = sizeof(*thread->stack),
           cap = thread->cap == 0 ? FIRST_DEPTH : 2 * thread->cap;
    void *stack;

    if (cap > exact->max_depth)
        return false;
    stack = thread->cap == 0 ? cairn_budget_map(&exact->budget, cap * size_bytes)
                             : cairn_budget_remap(&exact->budget, thread->stack,
                                                  thread->cap * size_bytes, cap * size_bytes);
    if (stack == NULL)
        return false;
    thread->stack = stack;
    thread->cap = cap;
    return true;
}

static inline struct cairn_exact_thread *thread_of(struct cairn_exact *exact)
{
    struct cairn_exact_thread *thread =
        __builtin_expect(cairn_exact_here.serial == exact->serial, 1) ? cairn_exact_here.thread
                                                                      : cairn_exact_attach(exact);

    if (__builtin_expect(thread != NULL && !thread->busy, 1))
        return thread;
    return NULL;
}

/* The place of a call that begins, in the timeline; NULL: it is not kept. */
static inline struct cairn_event *note(struct cairn_exact *exact, struct cairn_exact_thread *thread,
                                       const struct cairn_exact_entry *entry)
{
    struct cairn_event *event = thread->event;

    if (__builtin_expect(event == thread->event_end, 0))
        event = cairn_timeline_turn(exact->timeline, thread, &thread->event_end);
    if (__builtin_expect(event == NULL, 0)) {
        thread->event = thread->event_end; /* the next one asks again */
        return NULL;
    }
    cairn_event_begin(event, cairn_event_node(exact->timeline, entry->node), entry->start);
    thread->event = event + 1;
    return event;
}

/* Whether it is on the stack now. */
static bool push(struct cairn_exact *exact, struct cairn_exact_thread *thread, const void *key,
                 uintptr_t frame, void *callee)
{
    struct cairn_exact_node *parent, *node;
    struct cairn_exact_entry *entry;

    if (__builtin_expect(thread->depth == thread->cap, 0) && !deepen(exact, thread)) {
        thread->tally.lost++;
        return false;
    }
    parent =
        thread->depth > 0 ? thread->stack[thread->depth - 1].node : &thread->roots[exact->flat];
    node = parent->recent;
    if (node == NULL || node->key != key) {
        node = child_of(exact, thread, parent, key, callee);
        if (node == NULL) {
            thread->tally.lost++;
            return false;
        }
        parent->recent = node;
    }
    entry = &thread->stack[thread->depth++];
    entry->node = node;
    entry->frame = frame;
    entry->inside = 0;
    entry->event = NULL;
    entry->start = thread->last = now_of(exact);
    if (__builtin_expect(exact->timeline != NULL, 0))
        entry->event = note(exact, thread, entry);
    return true;
}

/* In a child made by fork: the stack that its thread had, with the time from now on; those calls
 * began elsewhere and are none here. */
void cairn_exact_inherit(struct cairn_exact *exact, struct cairn_exact_thread *thread)
{
    size_t depth;
    const struct cairn_exact_step *path = cairn_exact_path(&depth);

    for (size_t i = 0; i < depth; i++) {
        struct cairn_exact_key *known = cairn_pairs_get(&thread->keys, (uintptr_t)path[i].key, 0);

        if (known == NULL)
            known = add_key(exact, thread, path[i].key);
        if (known == NULL)
            return;
        known->learnt = path[i].learnt;
        if (known->name == NULL && path[i].name != NULL)
            known->name = cairn_exact_name_copy(exact, thread, path[i].name);
        if (!push(exact, thread, path[i].key, path[i].frame, NULL))
            return;
        thread->stack[thread->depth - 1].node->calls--;
    }
}

/* The record of this thread, with the caller on top of its stack; NULL: the call is lost. */
static inline struct cairn_exact_thread *begin_call(struct cairn_exact *exact, uintptr_t caller)
{
    struct cairn_exact_thread *thread = thread_of(exact);

    if (thread == NULL) {
        exact->tally.lost++;
        if (exact->spool != NULL && exact->spool->head != NULL && exact->forks == cairn_exact_forks)
            exact->spool->head->lost++;
        return NULL;
    }
    thread->busy = true;
    if (caller != 0 && thread->depth > 0 &&
        __builtin_expect((thread->stack[thread->depth - 1].frame & ~(uintptr_t)1) != caller, 0)) {
        size_t depth = depth_of(thread, caller, ~(uintptr_t)1);

        if (depth > 0)
            unwind(exact, thread, depth);
    }
    return thread;
}

void cairn_exact_enter(struct cairn_exact *exact, const void *key, uintptr_t frame,
                       uintptr_t caller, void *callee)
{
    struct cairn_exact_thread *thread = begin_call(exact, caller);

    if (thread == NULL)
        return;
    (void)push(exact, thread, key, frame, callee);
    thread->busy = false;
}

/* Ends the entry of a frame: the node it was in, NULL: it was not there. */
static inline struct cairn_exact_node *end_call(struct cairn_exact *exact,
                                                struct cairn_exact_thread *thread, uintptr_t frame)
{
    size_t depth;
    depth = thread->depth;
    if (__builtin_expect(depth == 0 || thread->stack[depth - 1].frame != frame, 0)) {
        depth = depth_of(thread, frame, ~(uintptr_t)0);
        if (depth == 0) {
            thread->tally.strays++;
            return NULL;
        }
    }
    thread->busy = true;
    if (__builtin_expect(depth < thread->depth, 0))
        unwind(exact, thread, depth);
    pop(exact, thread, now_of(exact));
    thread->busy = false;
    return thread->stack[thread->depth].node;
}

void cairn_exact_leave(struct cairn_exact *exact, uintptr_t frame)
{
    struct cairn_exact_thread *thread = thread_of(exact);

    if (thread != NULL)
        (void)end_call(exact, thread, frame);
}

/* What a generator's node has beside its calls; NULL: no memory. */
static struct cairn_exact_extra *extra_of(struct cairn_exact *exact,
                                          struct cairn_exact_thread *thread,
                                          const struct cairn_exact_node *node)
{
    struct cairn_exact_extra *extra = cairn_pairs_get(&thread->extras, (uintptr_t)node, 0);

    if (extra != NULL)
        return extra;
    extra = cairn_pool_alloc(&thread->pool, &exact->budget, sizeof(*extra));
    if (extra == NULL ||
        cairn_pairs_add(&thread->extras, &exact->budget, (uintptr_t)node, 0, extra) < 0)
        return NULL;
    extra->node = node;
    extra->next = thread->first_extra;
    thread->first_extra = extra;
    return extra;
}

void cairn_exact_resume(struct cairn_exact *exact, const void *key, uintptr_t frame,
                        uintptr_t caller, void *callee)
{
    struct cairn_exact_thread *thread = begin_call(exact, caller);
    struct cairn_exact_sleeper *sleeper;
    struct cairn_exact_extra *extra;
    struct cairn_exact_node *node;

    if (thread == NULL)
        return;
    sleeper = cairn_pairs_get(&exact->sleepers, frame, 0); /* not before: a child has its own */
    extra = sleeper == NULL ? NULL : sleeper->extra;
    if (push(exact, thread, key, frame, callee)) {
        node = thread->stack[thread->depth - 1].node;
        if (extra == NULL || extra->node != node)
            extra = extra_of(exact, thread, node);
        node->calls--; /* who ends it will count it */
        if (cairn_exact_is_fold(node)) {
            thread->depth--;
            account_fold(thread, (struct cairn_exact_fold *)node, -1, 0);
            thread->depth++;
        }
        if (extra != NULL) {
            extra->resumes++;
            if (sleeper != NULL)
                extra->suspended += thread->last - sleeper->since;
        }
        if (sleeper != NULL)
            sleeper->extra = extra;
    }
    thread->busy = false;
}

void cairn_exact_suspend(struct cairn_exact *exact, uintptr_t frame)
{
    struct cairn_exact_thread *thread = thread_of(exact);
    struct cairn_exact_sleeper *sleeper;

    if (thread == NULL || end_call(exact, thread, frame) == NULL)
        return;
    sleeper = cairn_pairs_get(&exact->sleepers, frame, 0);
    if (sleeper == NULL) {
        sleeper = cairn_pool_alloc(&exact->pool, &exact->budget, sizeof(*sleeper));
        if (sleeper == NULL ||
            cairn_pairs_add(&exact->sleepers, &exact->budget, frame, 0, sleeper) < 0)
            return; /* for how long it sleeps is not known then */
    }
    sleeper->since = thread->last;
}

void cairn_exact_stop(struct cairn_exact *exact)
{
    for (struct cairn_exact_thread *thread = exact->threads; thread; thread = thread->next) {
        if (!cairn_exact_is_own(thread))
            continue;
        thread->busy = true;
        while (thread->depth > 0)
            pop(exact, thread, now_of(exact));
        thread->busy = false;
    }
}

bool cairn_exact_is_busy(const struct cairn_exact *exact)
{
    return cairn_exact_here.serial == exact->serial && cairn_exact_here.thread->busy;
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

void cairn_exact_end(struct cairn_exact *exact)
{
    cairn_exact_stop(exact);
    if (exact->spool != NULL && exact->spool->head != NULL && exact->forks == cairn_exact_forks)
        exact->spool->head->ended = 1;
}

bool cairn_exact_is_forked(const struct cairn_exact *exact)
{
    return exact->spool != NULL && exact->spool->inherited && exact->forks == cairn_exact_forks;
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
