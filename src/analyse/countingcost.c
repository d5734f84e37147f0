#include "countingcost.h"

#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"

#define TEXT_MAX_BYTES 256
#define MOST_NS 1e6

struct event { /* ns */
    double whole, inside;
};

struct costs {
    struct event call, native, resume;
    double timeline; /* within each of them */
    double counted;  /* a call whose time is not taken */
};

/* What a recording says may be anything. */
static bool is_possible(struct event cost)
{
    return cost.inside >= 0 && cost.inside <= cost.whole && cost.whole < MOST_NS;
}

static bool read_costs(const struct cairn_model *model, struct costs *ret_costs)
{
    struct cairn_span said = cairn_model_env(model, "counting.costs_ns");
    struct costs *to = ret_costs;
    char text[TEXT_MAX_BYTES];

    if (said.size_bytes == 0 || said.size_bytes >= sizeof(text))
        return false;
    (void)snprintf(text, sizeof(text), "%.*s", (int)said.size_bytes, (const char *)said.data);
    to->counted = 0; /* older recordings have no such calls */
    if (sscanf(text, "%lf %lf %lf %lf %lf %lf %lf %lf", &to->call.whole, &to->call.inside,
               &to->native.whole, &to->native.inside, &to->resume.whole, &to->resume.inside,
               &to->timeline, &to->counted) < 7)
        return false;
    if (!is_possible(to->call) || !is_possible(to->native) || !is_possible(to->resume) ||
        !is_possible((struct event){to->timeline, 0}) ||
        !is_possible((struct event){to->counted, 0}))
        return false;
    to->call.whole += to->timeline;
    to->native.whole += to->timeline;
    to->resume.whole += to->timeline;
    return true;
}

static struct event cost_of(const struct costs *costs, const struct cairn_function *function,
                            const struct cairn_call_sum *sum)
{
    bool native = function->file.size_bytes == 1 && function->file.data[0] == '~';
    struct event call = native ? costs->native : costs->call;
    double calls = (double)sum->calls, resumes = (double)sum->resumes;

    if (sum->let_go & CAIRN_CALLS_UNTIMED)
        return (struct event){costs->counted * calls, 0};

    return (struct event){
        call.whole * calls + costs->resume.whole * resumes,
        (call.inside + costs->timeline / 2) * calls +
            (costs->resume.inside + costs->timeline / 2) * resumes,
    };
}

/* Children stand behind their parents: from the last to the first each has all that is below it. */
static void add_up(struct cairn_counting_cost *cost, const struct cairn_node *nodes, size_t count,
                   const struct event *own, double *below)
{
    for (size_t i = count; i-- > 1;) {
        uint32_t parent = nodes[i].parent;

        cost->self_ns[i] += own[i].inside;
        cost->total_ns[i] = own[i].inside + below[i];
        cost->self_ns[parent] += own[i].whole - own[i].inside;
        below[parent] += own[i].whole + below[i];
    }
}

static int make(const struct cairn_tally *tally, const struct costs *costs,
                struct cairn_counting_cost *cost)
{
    const struct cairn_model *model = cairn_model_whole(tally->model);
    const struct cairn_function *functions;
    const struct cairn_call_sum *sums;
    const struct cairn_frame *frames;
    const struct cairn_node *nodes;
    size_t count = cairn_model_nodes(model, &nodes), sum_count = cairn_model_calls(model, &sums);
    struct event *own = cairn_calloc(count + 1, sizeof(*own));
    double *below = cairn_calloc(count + 1, sizeof(*below));

    cairn_model_functions(model, &functions);
    cairn_model_frames(model, &frames);
    cost->self_ns = cairn_calloc(count + 1, sizeof(*cost->self_ns));
    cost->total_ns = cairn_calloc(count + 1, sizeof(*cost->total_ns));
    for (size_t i = 0; own && below && cost->self_ns && cost->total_ns && i < sum_count; i++) {
        uint32_t node = sums[i].node;
        struct event event =
            cost_of(costs, &functions[frames[nodes[node].frame].function], &sums[i]);

        if (!tally->kept[sums[i].thread])
            continue;
        own[node].whole += event.whole;
        own[node].inside += event.inside;
        cost->all_ns += event.whole;
        if ((sums[i].let_go & CAIRN_CALLS_UNTIMED) == 0)
            cost->tracing_ns += costs->timeline * (double)(sums[i].calls + sums[i].resumes);
    }
    if (own && below && cost->self_ns && cost->total_ns)
        add_up(cost, nodes, count, own, below);
    cost->known = own && below && cost->self_ns && cost->total_ns;
    free(own);
    free(below);
    return cost->known ? 0 : -CAIRN_ENOMEM;
}

int cairn_counting_cost_make(const struct cairn_tally *tally, struct cairn_counting_cost *ret_cost)
{
    struct costs costs = {.timeline = 0};

    *ret_cost = (struct cairn_counting_cost){.known = false};
    if (!read_costs(cairn_model_whole(tally->model), &costs))
        return 0;
    return make(tally, &costs, ret_cost);
}

void cairn_counting_cost_release(struct cairn_counting_cost *cost)
{
    free(cost->self_ns);
    free(cost->total_ns);
    cost->self_ns = cost->total_ns = NULL;
}
