/* exact.c is long because what happens at an event is one path, whose parts are inlined into it. */
#include "exact.h"

#include "exact_parts.h"
#include "ticks.h"

#define FIRST_DEPTH ((size_t)128)
#define MOST_UNSEEN 32 /* frames on the way to the innermost entry, before all are looked at */

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

static inline void meter(struct cairn_exact *exact, struct cairn_exact_thread *thread,
                         const struct cairn_exact_node *node, bool native, int64_t spent)
{
    exact->meter.natives += native;
    if (thread->stale > thread->depth)
        thread->stale = thread->depth;
    if (__builtin_expect(--exact->meter.left == 0, 0))
        cairn_meter_sample(exact, thread, node, native, spent);
}

/* Ends the innermost entry. */
static inline __attribute__((always_inline)) void pop(struct cairn_exact *exact,
                                                      struct cairn_exact_thread *thread,
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
    if (__builtin_expect(exact->meter.on, 0))
        meter(exact, thread, node, top->frame & 1, total - top->inside);
}

static inline struct cairn_exact_parked *parked_at(const struct cairn_exact_thread *thread,
                                                   uintptr_t frame)
{
    return cairn_pairs_get(&thread->parked, frame, 0);
}

/* Keeps in mind what ends without being left: it may only have been switched away from. */
static void park(struct cairn_exact *exact, struct cairn_exact_thread *thread,
                 const struct cairn_exact_entry *entry)
{
    struct cairn_exact_parked *parked = parked_at(thread, entry->frame);

    if (parked == NULL) {
        parked = cairn_pool_alloc(&thread->pool, &exact->budget, sizeof(*parked));
        if (parked == NULL ||
            cairn_pairs_add(&thread->parked, &exact->budget, entry->frame, 0, parked) < 0)
            return;
    }
    parked->key = entry->node->key;
    parked->turn = thread->turns;
}

/* Ends all above depth `to`, which nobody has left. */
static __attribute__((noinline)) void unwind(struct cairn_exact *exact,
                                             struct cairn_exact_thread *thread, size_t to)
{
    int64_t now = now_of(exact);

    thread->tally.healed += thread->depth - to;
    thread->turns++;
    for (; thread->depth > to; pop(exact, thread, now))
        if (exact->host.outer != NULL)
            park(exact, thread, &thread->stack[thread->depth - 1]);
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

/* Children stand in the order in which they were first entered, each behind the one entered before
 * it, so that whoever does the same again finds the next one beside the last. Folds are not linked
 * by caller. */
static inline void link_child(struct cairn_exact_node *parent, struct cairn_exact_node *node)
{
    struct cairn_exact_node *before = parent->recent;
    struct cairn_exact_node **at =
        before != NULL && before->parent == parent ? &before->next : &parent->first;

    node->next = *at;
    *at = node;
}

/* The child that was entered last, or the one behind it; NULL: it is neither. */
static inline struct cairn_exact_node *next_child(const struct cairn_exact_node *parent,
                                                  const void *key)
{
    struct cairn_exact_node *node = parent->recent;

    if (node == NULL || node->key == key)
        return node;
    if (cairn_exact_is_fold(node) || node->parent != parent)
        return NULL;
    node = node->next != NULL ? node->next : parent->first;
    return node->key == key ? node : NULL;
}

/* The child of `parent` that is not next_child(); made if need be. NULL: no memory. */
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
    if (!know(exact, thread, cairn_exact_plain(key), callee))
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
            link_child(parent, node);
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

/* What is called now stands below this node. */
static inline struct cairn_exact_node *top_of(const struct cairn_exact *exact,
                                              struct cairn_exact_thread *thread)
{
    return thread->depth > 0 ? thread->stack[thread->depth - 1].node : &thread->roots[exact->flat];
}

/* Whether it is on the stack now. */
static inline __attribute__((always_inline)) bool push(struct cairn_exact *exact,
                                                       struct cairn_exact_thread *thread,
                                                       struct cairn_exact_node *parent,
                                                       const void *key, uintptr_t frame,
                                                       void *callee)
{
    struct cairn_exact_entry *entry;
    struct cairn_exact_node *node;

    if (__builtin_expect(thread->depth == thread->cap, 0) && !deepen(exact, thread)) {
        thread->tally.lost++;
        return false;
    }
    node = next_child(parent, key);
    if (node == NULL) {
        node = child_of(exact, thread, parent, key, callee);
        if (node == NULL) {
            thread->tally.lost++;
            return false;
        }
    }
    parent->recent = node;
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

/* What goes on has been counted, or will be by somebody else: whoever ends it counts it. */
static void uncount(struct cairn_exact_thread *thread)
{
    struct cairn_exact_node *node = thread->stack[thread->depth - 1].node;

    node->calls--;
    if (cairn_exact_is_fold(node)) {
        thread->depth--;
        account_fold(thread, (struct cairn_exact_fold *)node, -1, 0);
        thread->depth++;
    }
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
        if (!push(exact, thread,
                  path[i].apart ? &thread->roots[exact->flat] : top_of(exact, thread), path[i].key,
                  path[i].frame, NULL))
            return;
        uncount(thread);
    }
}

/* How many entries a frame that lives had when they ended without being left: its own, and one of
 * a callee without a frame. */
static size_t entries_of(const struct cairn_exact_thread *thread, uintptr_t frame, const void *key)
{
    const struct cairn_exact_parked *own = parked_at(thread, frame),
                                    *native = parked_at(thread, frame | 1);

    if (own == NULL || own->key != key)
        return 0;
    return native != NULL && native->turn == own->turn ? 2 : 1;
}

/* Puts entries of a frame, and of those that called it, back above what is on the stack. */
static bool put_back(struct cairn_exact *exact, struct cairn_exact_thread *thread, uintptr_t frame,
                     size_t count, struct cairn_exact_node *parent)
{
    size_t top = thread->depth + count;

    while (thread->cap < top)
        if (!deepen(exact, thread))
            return false;
    while (top > thread->depth) {
        uintptr_t caller;
        const void *key = exact->host.outer(frame, &caller);
        size_t entries = entries_of(thread, frame, key);

        if (entries == 2)
            thread->stack[--top].frame = frame | 1;
        if (entries > 0)
            thread->stack[--top].frame = frame;
        frame = caller;
    }
    for (; count > 0; count--) {
        frame = thread->stack[thread->depth].frame;
        if (!push(exact, thread, parent, parked_at(thread, frame)->key, frame, NULL))
            return false;
        uncount(thread);
        parent = top_of(exact, thread);
    }
    return true;
}

/* Whether the innermost entry's frame called this one, by way of few that have no events. */
static bool is_below(const struct cairn_exact *exact, const struct cairn_exact_thread *thread,
                     uintptr_t frame)
{
    uintptr_t top = thread->depth == 0 ? 0 : thread->stack[thread->depth - 1].frame & ~(uintptr_t)1;

    for (int i = 0; i < MOST_UNSEEN && frame != 0 && frame != CAIRN_EXACT_HIDDEN && frame != top;
         i++)
        (void)exact->host.outer(frame, &frame);
    return frame != 0 && frame == top;
}

/* A frame is at work that is not on the stack. Its callers tell which of them is the innermost
 * that is: what stands above that has ended, or was switched away from. Those that were switched
 * away from come back; of none of which a caller is there they stand at a root, above what is
 * there, since that may have switched to them. The node of what is innermost then. */
static __attribute__((noinline)) struct cairn_exact_node *find_again(
    struct cairn_exact *exact, struct cairn_exact_thread *thread, uintptr_t frame)
{
    struct cairn_exact_node *root = &thread->roots[exact->flat];
    size_t depth = 0, count = 0;

    if (exact->partial && is_below(exact, thread, frame))
        return top_of(exact, thread);
    for (uintptr_t at = frame, caller; at != 0; at = caller) {
        const void *key;

        if (at == CAIRN_EXACT_HIDDEN)
            return top_of(exact, thread);
        depth = depth_of(thread, at, ~(uintptr_t)1);
        if (depth > 0)
            break;
        key = exact->host.outer(at, &caller);
        count += entries_of(thread, at, key);
    }
    if (depth < thread->depth && (depth > 0 || count == 0))
        unwind(exact, thread, depth);
    if (count == 0)
        return depth > 0 ? top_of(exact, thread) : root;
    return put_back(exact, thread, frame, count, depth > 0 ? top_of(exact, thread) : root)
               ? top_of(exact, thread)
               : root;
}

/* The node of the caller, which is not the innermost entry; 0: nobody called. */
static __attribute__((noinline)) struct cairn_exact_node *caller_node(
    struct cairn_exact *exact, struct cairn_exact_thread *thread, uintptr_t caller)
{
    size_t depth;

    if (exact->host.outer != NULL)
        return caller == 0 ? &thread->roots[exact->flat] : find_again(exact, thread, caller);
    /* Where callers may be unknown what is on top is known to be alive, unless it is stale. */
    depth = caller == 0 || (exact->partial && thread->depth > thread->stale)
                ? 0
                : depth_of(thread, caller, ~(uintptr_t)1);
    if (depth > 0)
        unwind(exact, thread, depth);
    return top_of(exact, thread);
}

static void lose(struct cairn_exact *exact)
{
    exact->tally.lost++;
    if (exact->spool != NULL && exact->spool->head != NULL && exact->forks == cairn_exact_forks)
        exact->spool->head->lost++;
}

/* The record of this thread, and the caller's node; NULL: the call is lost. */
static inline struct cairn_exact_thread *begin_call(struct cairn_exact *exact, uintptr_t caller,
                                                    struct cairn_exact_node **ret_parent)
{
    struct cairn_exact_thread *thread = thread_of(exact);

    if (thread == NULL) {
        lose(exact);
        return NULL;
    }
    thread->busy = true;
    if (__builtin_expect(thread->depth > 0
                             ? (thread->stack[thread->depth - 1].frame & ~(uintptr_t)1) != caller
                             : thread->parked.count > 0,
                         0))
        *ret_parent = caller_node(exact, thread, caller);
    else
        *ret_parent = top_of(exact, thread);
    return thread;
}

void cairn_exact_enter(struct cairn_exact *exact, const void *key, uintptr_t frame,
                       uintptr_t caller, void *callee)
{
    struct cairn_exact_node *parent;
    struct cairn_exact_thread *thread = begin_call(exact, caller, &parent);

    if (thread == NULL)
        return;
    (void)push(exact, thread, parent, key, frame, callee);
    thread->busy = false;
}

static inline __attribute__((always_inline)) void count(struct cairn_exact *exact, const void *key,
                                                        uintptr_t caller, void *callee, int calls)
{
    const void *apart = (const void *)((uintptr_t)key | CAIRN_EXACT_COUNTED);
    struct cairn_exact_node *parent, *node;
    struct cairn_exact_thread *thread = begin_call(exact, caller, &parent);

    if (thread == NULL)
        return;
    node = next_child(parent, apart);
    if (node == NULL)
        node = child_of(exact, thread, parent, apart, callee);
    if (node != NULL) {
        parent->recent = node;
        node->calls += calls;
        if (__builtin_expect(cairn_exact_is_fold(node), 0)) {
            ((struct cairn_exact_fold *)node)->outer_calls += calls;
            ((struct cairn_exact_fold *)node)->edge_calls += calls;
        }
    } else {
        thread->tally.lost++;
    }
    if (exact->meter.on)
        cairn_meter_count(exact, thread, key);
    thread->busy = false;
}

void cairn_exact_count(struct cairn_exact *exact, const void *key, uintptr_t caller, void *callee)
{
    count(exact, key, caller, callee, 1);
}

void cairn_exact_uncount(struct cairn_exact *exact, const void *key, uintptr_t caller, void *callee)
{
    count(exact, key, caller, callee, -1);
}

static __attribute__((noinline)) struct cairn_exact_node *pair_of(struct cairn_exact *exact,
                                                                  struct cairn_exact_thread *thread,
                                                                  const void *apart,
                                                                  const void *caller, void *callee,
                                                                  void *calling)
{
    struct cairn_exact_fold *fold =
        cairn_pairs_get(&thread->folds, (uintptr_t)caller, (uintptr_t)apart);

    if (fold != NULL)
        return &fold->node;
    if (!know(exact, thread, cairn_exact_plain(apart), callee) ||
        (caller != NULL && !know(exact, thread, caller, calling)))
        return NULL;
    return fold_of(exact, thread, caller, apart);
}

void cairn_exact_count_pair(struct cairn_exact *exact, const void *key, const void *caller,
                            void *callee, void *calling)
{
    const void *apart = (const void *)((uintptr_t)key | CAIRN_EXACT_COUNTED);
    struct cairn_exact_thread *thread = thread_of(exact);
    struct cairn_exact_fold *fold;

    if (thread == NULL) {
        lose(exact);
        return;
    }
    fold = thread->recent_pair;
    if (fold == NULL || fold->node.key != apart || fold->caller != caller)
        fold = (struct cairn_exact_fold *)pair_of(exact, thread, apart, caller, callee, calling);
    if (fold != NULL) {
        thread->recent_pair = fold;
        fold->node.calls++;
        fold->outer_calls++;
        fold->edge_calls++;
    } else {
        thread->tally.lost++;
    }
    if (exact->meter.on)
        cairn_meter_count(exact, thread, key);
}

/* The depth above the entry of a frame that ends and is not the innermost; 0: it has none. */
static __attribute__((noinline)) size_t depth_again(struct cairn_exact *exact,
                                                    struct cairn_exact_thread *thread,
                                                    uintptr_t frame)
{
    size_t depth = depth_of(thread, frame, ~(uintptr_t)0);

    if (depth > 0 || parked_at(thread, frame) == NULL ||
        depth_of(thread, frame & ~(uintptr_t)1, ~(uintptr_t)1) > 0)
        return depth;
    thread->busy = true;
    (void)find_again(exact, thread, frame & ~(uintptr_t)1);
    thread->busy = false;
    return depth_of(thread, frame, ~(uintptr_t)0);
}

/* Ends the entry of a frame: the node it was in, NULL: it was not there. */
static inline struct cairn_exact_node *end_call(struct cairn_exact *exact,
                                                struct cairn_exact_thread *thread, uintptr_t frame)
{
    size_t depth;
    depth = thread->depth;
    if (__builtin_expect(depth == 0 || thread->stack[depth - 1].frame != frame, 0)) {
        depth = depth_again(exact, thread, frame);
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

void cairn_exact_leave_top(struct cairn_exact *exact, uintptr_t frame)
{
    struct cairn_exact_thread *thread = thread_of(exact);

    if (thread != NULL && thread->depth > 0 && thread->stack[thread->depth - 1].frame == frame)
        (void)end_call(exact, thread, frame);
}

/* A place in the timeline is the next call's again, unless a ring gave it to another thread. */
static void take_back_event(struct cairn_exact_thread *thread, const struct cairn_exact_entry *top)
{
    struct cairn_event *event = top->event;

    if (event == NULL || thread->event != event + 1 || event->start != top->start)
        return;
    event->start = 0;
    thread->event = event;
}

void cairn_exact_take_back(struct cairn_exact *exact, uintptr_t frame)
{
    struct cairn_exact_thread *thread = thread_of(exact);
    const struct cairn_exact_entry *top;

    if (thread == NULL || thread->depth == 0 || thread->stack[thread->depth - 1].frame != frame)
        return;
    thread->busy = true;
    top = &thread->stack[--thread->depth];
    take_back_event(thread, top);
    if (exact->meter.on)
        meter(exact, thread, top->node, false, 0);
    thread->busy = false;
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
    struct cairn_exact_node *parent, *node;
    struct cairn_exact_thread *thread = begin_call(exact, caller, &parent);
    struct cairn_exact_sleeper *sleeper;
    struct cairn_exact_extra *extra;

    if (thread == NULL)
        return;
    sleeper = cairn_pairs_get(&exact->sleepers, frame, 0); /* not before: a child has its own */
    extra = sleeper == NULL ? NULL : sleeper->extra;
    if (push(exact, thread, parent, key, frame, callee)) {
        node = thread->stack[thread->depth - 1].node;
        if (extra == NULL || extra->node != node)
            extra = extra_of(exact, thread, node);
        uncount(thread);
        exact->meter.resumes++;
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

void cairn_exact_end(struct cairn_exact *exact)
{
    cairn_exact_stop(exact);
    cairn_meter_write(exact);
    if (exact->spool != NULL && exact->spool->head != NULL && exact->forks == cairn_exact_forks)
        exact->spool->head->ended = 1;
}
