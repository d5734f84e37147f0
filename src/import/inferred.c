#include "inferred.h"

#include <math.h>
#include <stdlib.h>

#include "alloc.h"
#include "cycles.h"

#define STACKS_MAX 200000u /* beyond them, and below a millionth of the whole, stacks end early */
#define DEPTH_MAX 512
#define WORTH 1e-6
#define BLOCK 256           /* calls that are passed over at once where none is worth a stack */
#define ROUNDING (1 + 1e-9) /* more than products of the same numbers differ by */
#define NONE UINT32_MAX
#define NS_PER_S 1e9

struct place { /* a function on the way down */
    uint32_t function, stack, frame;
    double share;     /* of all the time in the function, what came this way */
    size_t next_call; /* to look at */
};

struct walk {
    struct cairn_guest *guest;
    const struct cairn_inferred_function *functions;
    const struct cairn_inferred_call *calls; /* by caller */
    size_t call_count;
    size_t *first_call; /* of each function, and one more */
    struct cairn_cycles cycles;
    /* Of each function, sums over all ways into it; total: but by what closes a cycle, so that what
     * goes down from who is entered comes by all of it once. */
    double *self_in, *total_in;
    double *most; /* of each block of calls, what one is worth at most, of all that comes in */
    uint32_t *frames, *best_stack;
    uint64_t *given_ns, *best_ns, *below_ns; /* below: of the stacks, with all above it */
    uint64_t *parts;                         /* of each function, each less than 1 ns too small */
    bool *on_path;
    uint32_t thread, stacks;
    double whole_ns;
    struct place path[DEPTH_MAX];
    size_t depth;
};

struct tables {                 /* of each function */
    uint64_t *calls, *recursed; /* recursed: by itself */
    bool recursion_known;
};

static int by_caller(const void *left, const void *right)
{
    const struct cairn_inferred_call *a = left, *b = right;

    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    return (a->callee > b->callee) - (a->callee < b->callee);
}

static int give(struct walk *walk, uint32_t function, uint32_t stack, uint64_t ns)
{
    struct cairn_guest_sample sample = {.thread = walk->thread,
                                        .stack = stack,
                                        .count = 1,
                                        .ns = ns,
                                        .state = CAIRN_SAMPLE_UNKNOWN};

    if (ns == 0)
        return 0;
    walk->given_ns[function] += ns;
    for (size_t i = 0; i < walk->depth; i++)
        walk->below_ns[walk->path[i].function] += ns;
    if (!walk->on_path[function])
        walk->below_ns[function] += ns;
    if (ns > walk->best_ns[function]) {
        walk->best_ns[function] = ns;
        walk->best_stack[function] = stack;
    }
    return cairn_guest_add(walk->guest, &sample);
}

/* A part of a function's own time, but never more than is left of it. */
static int give_part(struct walk *walk, uint32_t function, uint32_t stack, double part)
{
    uint64_t self_ns = walk->functions[function].self_ns;
    uint64_t left_ns = self_ns - walk->given_ns[function];
    double ns = part * (double)self_ns;

    walk->parts[function]++;
    if (!(ns >= 1))
        return 0;
    return give(walk, function, stack, ns < (double)left_ns ? (uint64_t)ns : left_ns);
}

static int enter(struct walk *walk, uint32_t function, uint32_t parent, double share,
                 double self_part)
{
    struct place *place = &walk->path[walk->depth];

    *place = (struct place){
        .function = function, .share = share, .next_call = walk->first_call[function]};
    CAIRN_TRY(cairn_guest_stack(walk->guest, parent, walk->frames[function], &place->stack));
    walk->stacks++;
    walk->depth++;
    walk->on_path[function] = true;
    return give_part(walk, function, place->stack, self_part);
}

/* One call of the innermost function of the path. Who is in a cycle is followed once: what it took
 * where the cycle is closed is shown as its own, and what it called as called before. */
static int follow(struct walk *walk, const struct cairn_inferred_call *call)
{
    const struct place *at = &walk->path[walk->depth - 1];
    uint32_t callee = call->callee, stack;
    double self = walk->self_in[callee], total = walk->total_in[callee];
    double self_part = self > 0 ? at->share * call->self / self : 0;
    bool closes = cairn_cycles_close(&walk->cycles, call);
    double share = closes ? 0 : total > 0 ? at->share * call->total / total : self_part;
    double worth_ns = share * (double)walk->functions[callee].total_ns +
                      self_part * (double)walk->functions[callee].self_ns;

    if (walk->stacks >= STACKS_MAX || !(worth_ns > walk->whole_ns * WORTH))
        return 0;
    if (!closes && walk->depth < DEPTH_MAX)
        return enter(walk, callee, at->stack, share, self_part);
    CAIRN_TRY(cairn_guest_stack(walk->guest, at->stack, walk->frames[callee], &stack));
    walk->stacks++;
    return give_part(walk, callee, stack, self_part);
}

/* What follow() finds a call worth, or more, where all of its caller's time comes this way. */
static double worth_of(const struct walk *walk, const struct cairn_inferred_call *call)
{
    const struct cairn_inferred_function *callee = &walk->functions[call->callee];
    double self = walk->self_in[call->callee], total = walk->total_in[call->callee];
    double self_part = self > 0 ? call->self / self : 0;
    double share = cairn_cycles_close(&walk->cycles, call) ? 0
                   : total > 0                             ? call->total / total
                                                           : self_part;

    return share * (double)callee->total_ns + self_part * (double)callee->self_ns;
}

/* The next call of the innermost function that may be worth a stack: a function of many callers and
 * many callees is entered often, and most that it calls is worth none. */
static size_t next_call(const struct walk *walk, const struct place *at)
{
    size_t call = at->next_call, end = walk->first_call[at->function + 1];

    if (walk->stacks >= STACKS_MAX)
        return end;
    while (call < end && call % BLOCK == 0 &&
           at->share * walk->most[call / BLOCK] * ROUNDING <= walk->whole_ns * WORTH)
        call += BLOCK;
    return call < end ? call : end;
}

/* Who has no caller, and so much of who has some as came from none of them, begins stacks. */
static int walk_from(struct walk *walk, uint32_t root)
{
    double self = walk->functions[root].self, total = walk->functions[root].total;

    if (walk->total_in[root] <= 0) {
        total = walk->total_in[root] = 1;
        if (walk->self_in[root] <= 0)
            self = walk->self_in[root] = 1;
    }
    if (!(self > 0 || total > 0))
        return 0;
    CAIRN_TRY(enter(walk, root, 0, total > 0 ? total / walk->total_in[root] : 0,
                    self > 0 ? self / walk->self_in[root] : 0));
    while (walk->depth > 0) {
        struct place *at = &walk->path[walk->depth - 1];

        at->next_call = next_call(walk, at);
        if (at->next_call < walk->first_call[at->function + 1]) {
            CAIRN_TRY(follow(walk, &walk->calls[at->next_call++]));
        } else {
            walk->on_path[at->function] = false;
            walk->depth--;
        }
    }
    return 0;
}

/* What went no way: next to nothing goes with the most, more below "[unknown]". */
static int give_rest(struct walk *walk, uint32_t function)
{
    uint64_t ns = walk->functions[function].self_ns - walk->given_ns[function];
    struct cairn_guest_frame unknown = {.line = 0};
    uint32_t frame, stack = walk->best_stack[function];

    if (ns == 0)
        return 0;
    if (stack == 0 || ((double)ns > walk->whole_ns * WORTH && ns > walk->parts[function])) {
        CAIRN_TRY(cairn_guest_frame(walk->guest, &unknown, &frame));
        CAIRN_TRY(cairn_guest_stack(walk->guest, 0, frame, &stack));
        CAIRN_TRY(cairn_guest_stack(walk->guest, stack, walk->frames[function], &stack));
    }
    return give(walk, function, stack, ns);
}

static int walk_all(struct walk *walk, size_t function_count)
{
    size_t at = 0;

    for (uint32_t i = 0; i < function_count; i++) {
        walk->first_call[i] = at;
        while (at < walk->call_count && walk->calls[at].caller == i)
            at++;
    }
    walk->first_call[function_count] = at;
    CAIRN_TRY(cairn_cycles_find(walk->functions, walk->calls, walk->first_call, function_count,
                                &walk->cycles));
    for (uint32_t i = 0; i < function_count; i++) {
        CAIRN_TRY(cairn_guest_frame(walk->guest, &walk->functions[i].frame, &walk->frames[i]));
        walk->whole_ns += (double)walk->functions[i].self_ns;
        walk->self_in[i] = walk->functions[i].self;
        walk->total_in[i] = walk->functions[i].total;
    }
    for (size_t i = 0; i < walk->call_count; i++) {
        const struct cairn_inferred_call *call = &walk->calls[i];

        walk->self_in[call->callee] += call->self;
        if (!cairn_cycles_close(&walk->cycles, call))
            walk->total_in[call->callee] += call->total;
    }
    for (size_t i = 0; i < walk->call_count; i++)
        walk->most[i / BLOCK] = fmax(walk->most[i / BLOCK], worth_of(walk, &walk->calls[i]));
    for (uint32_t i = 0; i < function_count; i++)
        CAIRN_TRY(walk_from(walk, i));
    for (uint32_t i = 0; i < function_count; i++)
        CAIRN_TRY(give_rest(walk, i));
    return 0;
}

static double s_of(double ns)
{
    return ns / NS_PER_S;
}

/* Of a function, all calls. Those by itself recursed; whoever is in no cycle did so no other way.
 */
static int count_function(struct walk *walk, const struct tables *tables, uint32_t function)
{
    const struct cairn_inferred_function *of = &walk->functions[function];
    bool unsure = walk->cycles.cycle[function] || !tables->recursion_known;
    struct cairn_guest_calls calls = {.thread = walk->thread,
                                      .calls = of->calls ? of->calls : tables->calls[function],
                                      .self_s = s_of((double)of->self_ns),
                                      .total_s = s_of((double)of->total_ns)};
    uint64_t recursed = tables->recursed[function];

    calls.unsure = unsure || calls.calls == 0;
    calls.primitive = unsure || recursed > calls.calls ? calls.calls : calls.calls - recursed;
    if (walk->cycles.cycle[function])
        calls.total_s = s_of((double)walk->below_ns[function]);
    CAIRN_TRY(cairn_guest_stack(walk->guest, 0, walk->frames[function], &calls.stack));
    return cairn_guest_count_calls(walk->guest, &calls);
}

static int count_call(struct walk *walk, const struct cairn_inferred_call *call)
{
    double self_in = walk->self_in[call->callee];
    struct cairn_guest_calls calls = {
        .thread = walk->thread,
        .calls = call->calls,
        .primitive = call->calls,
        .self_s = self_in > 0
                      ? s_of((double)walk->functions[call->callee].self_ns * call->self / self_in)
                      : 0,
        .total_s = s_of(call->total),
        .inferred = true,
        .unsure = call->caller == call->callee ||
                  (walk->cycles.cycle[call->caller] && walk->cycles.cycle[call->callee])};

    if (call->calls == 0)
        return 0;
    CAIRN_TRY(cairn_guest_stack(walk->guest, 0, walk->frames[call->caller], &calls.stack));
    CAIRN_TRY(
        cairn_guest_stack(walk->guest, calls.stack, walk->frames[call->callee], &calls.stack));
    return cairn_guest_count_calls(walk->guest, &calls);
}

static int count_all(struct walk *walk, const struct tables *tables, size_t function_count)
{
    for (size_t i = 0; i < walk->call_count; i++) {
        const struct cairn_inferred_call *call = &walk->calls[i];

        tables->calls[call->callee] += call->calls;
        if (call->caller == call->callee)
            tables->recursed[call->callee] += call->calls;
    }
    for (uint32_t i = 0; i < function_count; i++)
        CAIRN_TRY(count_function(walk, tables, i));
    for (size_t i = 0; i < walk->call_count; i++)
        CAIRN_TRY(count_call(walk, &walk->calls[i]));
    return 0;
}

static int count(struct walk *walk, size_t function_count, bool recursion_known)
{
    struct tables tables = {.recursion_known = recursion_known};
    int code = -CAIRN_ENOMEM;

    tables.calls = cairn_calloc(function_count + 1, sizeof(*tables.calls));
    tables.recursed = cairn_calloc(function_count + 1, sizeof(*tables.recursed));
    if (tables.calls && tables.recursed)
        code = count_all(walk, &tables, function_count);
    free(tables.calls);
    free(tables.recursed);
    return code;
}

enum counted { NOT_COUNTED, CALLS_ALONE, WITH_RECURSION };

static int give_all(struct cairn_guest *guest, uint32_t thread,
                    const struct cairn_inferred_function *functions, size_t function_count,
                    struct cairn_inferred_call *calls, size_t call_count, enum counted counted)
{
    struct walk *walk = cairn_calloc(1, sizeof(*walk));
    int code = -CAIRN_ENOMEM;

    if (!walk)
        return code;
    walk->guest = guest;
    walk->thread = thread;
    walk->functions = functions;
    walk->calls = calls;
    walk->call_count = call_count;
    walk->first_call = cairn_calloc(function_count + 1, sizeof(*walk->first_call));
    walk->self_in = cairn_calloc(function_count + 1, sizeof(*walk->self_in));
    walk->total_in = cairn_calloc(function_count + 1, sizeof(*walk->total_in));
    walk->most = cairn_calloc(call_count / BLOCK + 1, sizeof(*walk->most));
    walk->frames = cairn_calloc(function_count + 1, sizeof(*walk->frames));
    walk->best_stack = cairn_calloc(function_count + 1, sizeof(*walk->best_stack));
    walk->given_ns = cairn_calloc(function_count + 1, sizeof(*walk->given_ns));
    walk->best_ns = cairn_calloc(function_count + 1, sizeof(*walk->best_ns));
    walk->below_ns = cairn_calloc(function_count + 1, sizeof(*walk->below_ns));
    walk->parts = cairn_calloc(function_count + 1, sizeof(*walk->parts));
    walk->on_path = cairn_calloc(function_count + 1, sizeof(*walk->on_path));
    if (walk->first_call && walk->self_in && walk->total_in && walk->most && walk->frames &&
        walk->best_stack && walk->given_ns && walk->best_ns && walk->below_ns && walk->parts &&
        walk->on_path) {
        if (call_count > 0)
            qsort(calls, call_count, sizeof(*calls), by_caller);
        code = walk_all(walk, function_count);
        if (code == 0 && counted != NOT_COUNTED)
            code = count(walk, function_count, counted == WITH_RECURSION);
    }
    cairn_cycles_release(&walk->cycles);
    free(walk->first_call);
    free(walk->self_in);
    free(walk->total_in);
    free(walk->most);
    free(walk->frames);
    free(walk->best_stack);
    free(walk->given_ns);
    free(walk->best_ns);
    free(walk->below_ns);
    free(walk->parts);
    free(walk->on_path);
    free(walk);
    return code;
}

int cairn_inferred_give(struct cairn_guest *guest, uint32_t thread,
                        const struct cairn_inferred_function *functions, size_t function_count,
                        struct cairn_inferred_call *calls, size_t call_count)
{
    return give_all(guest, thread, functions, function_count, calls, call_count, NOT_COUNTED);
}

int cairn_inferred_give_counted(struct cairn_guest *guest, uint32_t thread,
                                const struct cairn_inferred_function *functions,
                                size_t function_count, struct cairn_inferred_call *calls,
                                size_t call_count, bool recursion_known)
{
    return give_all(guest, thread, functions, function_count, calls, call_count,
                    recursion_known ? WITH_RECURSION : CALLS_ALONE);
}
