#include "inferred.h"

#include <stdlib.h>

#include "alloc.h"

#define STACKS_MAX 200000u /* beyond them, and below a millionth of the whole, stacks end early */
#define DEPTH_MAX 512
#define WORTH 1e-6
#define NONE UINT32_MAX

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
    size_t *first_call;         /* of each function, and one more */
    double *self_in, *total_in; /* of each function: sums over all ways into it from others */
    uint32_t *frames, *best_stack;
    uint64_t *given_ns, *best_ns;
    bool *on_path;
    uint32_t thread, stacks;
    double whole_ns;
    struct place path[DEPTH_MAX];
    size_t depth;
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

/* One call of the innermost function of the path. */
static int follow(struct walk *walk, const struct cairn_inferred_call *call)
{
    const struct place *at = &walk->path[walk->depth - 1];
    uint32_t callee = call->callee, stack;
    double self = walk->self_in[callee], total = walk->total_in[callee];
    double self_part = self > 0 ? at->share * call->self / self : 0;
    double share = total > 0 ? at->share * call->total / total : self_part;
    double worth_ns = share * (double)walk->functions[callee].total_ns +
                      self_part * (double)walk->functions[callee].self_ns;

    if (walk->stacks >= STACKS_MAX || !(worth_ns > walk->whole_ns * WORTH))
        return 0;
    if (!walk->on_path[callee] && walk->depth < DEPTH_MAX)
        return enter(walk, callee, at->stack, share, self_part);
    CAIRN_TRY(cairn_guest_stack(walk->guest, at->stack, walk->frames[callee], &stack));
    walk->stacks++;
    return give_part(walk, callee, stack, self_part);
}

/* Who has no caller, and so much of who has some as came from none of them, begins stacks. */
static int walk_from(struct walk *walk, uint32_t root)
{
    double self = walk->functions[root].self, total = walk->functions[root].total;

    if (walk->self_in[root] <= 0 && walk->total_in[root] <= 0)
        self = total = walk->self_in[root] = walk->total_in[root] = 1;
    if (!(self > 0 || total > 0))
        return 0;
    CAIRN_TRY(enter(walk, root, 0, total > 0 ? total / walk->total_in[root] : 0,
                    self > 0 ? self / walk->self_in[root] : 0));
    while (walk->depth > 0) {
        struct place *at = &walk->path[walk->depth - 1];

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
    if (stack == 0 || (double)ns > walk->whole_ns * WORTH) {
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
        CAIRN_TRY(cairn_guest_frame(walk->guest, &walk->functions[i].frame, &walk->frames[i]));
        walk->whole_ns += (double)walk->functions[i].self_ns;
        walk->self_in[i] = walk->functions[i].self;
        walk->total_in[i] = walk->functions[i].total;
    }
    for (size_t i = 0; i < walk->call_count; i++) {
        const struct cairn_inferred_call *call = &walk->calls[i];

        walk->self_in[call->callee] += call->self;
        if (call->caller != call->callee)
            walk->total_in[call->callee] += call->total;
    }
    for (uint32_t i = 0; i < function_count; i++) {
        walk->first_call[i] = at;
        while (at < walk->call_count && walk->calls[at].caller == i)
            at++;
    }
    walk->first_call[function_count] = at;
    for (uint32_t i = 0; i < function_count; i++)
        CAIRN_TRY(walk_from(walk, i));
    for (uint32_t i = 0; i < function_count; i++)
        CAIRN_TRY(give_rest(walk, i));
    return 0;
}

int cairn_inferred_give(struct cairn_guest *guest, uint32_t thread,
                        const struct cairn_inferred_function *functions, size_t function_count,
                        struct cairn_inferred_call *calls, size_t call_count)
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
    walk->frames = cairn_calloc(function_count + 1, sizeof(*walk->frames));
    walk->best_stack = cairn_calloc(function_count + 1, sizeof(*walk->best_stack));
    walk->given_ns = cairn_calloc(function_count + 1, sizeof(*walk->given_ns));
    walk->best_ns = cairn_calloc(function_count + 1, sizeof(*walk->best_ns));
    walk->on_path = cairn_calloc(function_count + 1, sizeof(*walk->on_path));
    if (walk->first_call && walk->self_in && walk->total_in && walk->frames && walk->best_stack &&
        walk->given_ns && walk->best_ns && walk->on_path) {
        if (call_count > 0)
            qsort(calls, call_count, sizeof(*calls), by_caller);
        code = walk_all(walk, function_count);
    }
    free(walk->first_call);
    free(walk->self_in);
    free(walk->total_in);
    free(walk->frames);
    free(walk->best_stack);
    free(walk->given_ns);
    free(walk->best_ns);
    free(walk->on_path);
    free(walk);
    return code;
}
