#include "meter.h"

#include "clock.h"
#include "exact_parts.h"
#include "ticks.h"

#define STRIDE 64u   /* events, in the mean, of which one is looked at */
#define LOOKS 16u    /* so many of these, until the books are read */
#define ENOUGH 32u   /* so many are needed to tell what costs most */
#define PERIOD 1024u /* and with so many a new period begins: programs change */
#define AIM 0.7      /* of what may be spent: then what was spent too much comes back */

double cairn_meter_cost_ns(const struct cairn_meter *meter)
{
    const struct cairn_meter_host *host = &meter->host;
    uint64_t events = meter->events + (meter->stride - meter->left);
    uint64_t others = meter->natives + meter->resumes + meter->passed;

    return (double)(events > others ? events - others : 0) * host->call +
           (double)meter->natives * host->native + (double)meter->resumes * host->resume +
           (double)meter->passed * host->passed + meter->looking_ns;
}

static uint64_t cpu_ns(const struct cairn_exact *exact)
{
    const struct cairn_meter_host *host = &exact->meter.host;

    return host->cpu_ns != NULL ? host->cpu_ns(exact->host.context) : cairn_clock_own_cpu_ns();
}

static double own_ns(double cpu, double cost)
{
    return cpu > cost ? cpu - cost : 0;
}

/* Not always the same number: programs call in patterns. */
static void draw(struct cairn_meter *meter)
{
    meter->draw = meter->draw * 1664525u + 1013904223u;
    meter->stride = meter->left = STRIDE / 2 + meter->draw % (STRIDE + 1);
}

static void begin_period(struct cairn_meter *meter, uint64_t cpu)
{
    struct cairn_exact_key *next;

    for (struct cairn_exact_key *key = meter->touched; key != NULL; key = next) {
        next = key->touched;
        key->touched = NULL;
        key->looks[0] = key->looks[1] = 0;
        key->spent[0] = key->spent[1] = 0;
    }
    meter->touched = NULL;
    meter->samples = 0;
    meter->period_passed = meter->passed;
    meter->period_cpu_ns = cpu;
    meter->period_cost_ns = cairn_meter_cost_ns(meter);
}

/* What is spent in any case, and from when too much was until it is told where. */
static double slack_ns(const struct cairn_meter_host *host)
{
    double most = host->call > host->native ? host->call : host->native;

    return CAIRN_METER_FLOOR_NS + (ENOUGH + LOOKS) * STRIDE * most;
}

static void write_books(struct cairn_exact *exact, uint64_t cpu)
{
    struct cairn_spool_head *head =
        exact->spool != NULL && exact->forks == cairn_exact_forks ? exact->spool->head : NULL;

    if (head == NULL)
        return;
    head->meter.share = exact->meter.host.share;
    head->meter.cpu_ns = (double)cpu;
    head->meter.cost_ns = cairn_meter_cost_ns(&exact->meter);
    head->meter.slack_ns = slack_ns(&exact->meter.host);
    head->meter.let_go = exact->meter.let_go;
}

void cairn_meter_write(struct cairn_exact *exact)
{
    if (exact->meter.host.share > 0)
        write_books(exact, cpu_ns(exact));
}

void cairn_meter_begin(struct cairn_exact *exact, const struct cairn_meter_host *host)
{
    exact->meter = (struct cairn_meter){.host = *host, .on = true, .draw = 1};
    draw(&exact->meter);
    begin_period(&exact->meter, cpu_ns(exact));
    cairn_meter_write(exact);
}

void cairn_meter_again(struct cairn_exact *exact)
{
    const struct cairn_meter_host host = exact->meter.host;
    bool on = exact->meter.on;

    if (host.share <= 0)
        return;
    cairn_meter_begin(exact, &host); /* what was looked at lies in the parent's file */
    exact->meter.on = on;
}

/* --- what is let go --- */

static double cost_of(const struct cairn_meter *meter, const struct cairn_exact_key *key, int kind)
{
    return (double)key->looks[kind] * STRIDE * (kind == 0 ? meter->host.call : meter->host.native);
}

/* So much more than a share of its own time, ns; `natives`: of what it calls of C alone. */
static double excess_of(const struct cairn_meter *meter, const struct cairn_exact_key *key,
                        bool natives)
{
    double spent = (double)key->spent[1] + (natives ? 0 : (double)key->spent[0]);
    double cost = cost_of(meter, key, 1) + (natives ? 0 : cost_of(meter, key, 0));

    return cost - meter->host.share * spent * STRIDE * meter->host.tick_ns;
}

static bool may_go(const struct cairn_exact_key *key, bool natives)
{
    unsigned gone = natives ? CAIRN_LET_GO_SELF | CAIRN_LET_GO_NATIVES : CAIRN_LET_GO_SELF;

    return (key->let_go & gone) == 0 && key->looks[natives] > 0;
}

/* What costs most beyond its share; NULL: nothing is left. */
static struct cairn_exact_key *worst_of(const struct cairn_meter *meter, bool *ret_natives)
{
    struct cairn_exact_key *worst = NULL;
    double most = 0;

    for (struct cairn_exact_key *key = meter->touched; key != NULL; key = key->touched) {
        for (int natives = 0; natives < 2; natives++) {
            double excess = excess_of(meter, key, natives);

            if (!may_go(key, natives) || (worst != NULL && excess <= most))
                continue;
            worst = key;
            most = excess;
            *ret_natives = natives;
        }
    }
    return worst;
}

/* All threads have records of their own of it, and stacks on which it may stand. */
static void let_go(struct cairn_exact *exact, const struct cairn_exact_key *what, bool natives)
{
    for (struct cairn_exact_thread *thread = exact->threads; thread; thread = thread->next) {
        struct cairn_exact_key *key;

        if (!cairn_exact_is_own(thread))
            continue;
        key = cairn_pairs_get(&thread->keys, (uintptr_t)what->key, 0);
        if (key != NULL)
            key->let_go |= natives ? CAIRN_LET_GO_NATIVES : CAIRN_LET_GO_SELF;
        thread->stale = thread->depth;
    }
    exact->partial = true;
    exact->meter.let_go++;
    exact->meter.host.let_go(exact->host.context, what->learnt, natives);
}

static void stop(struct cairn_exact *exact)
{
    exact->meter.on = false;
    if (exact->spool != NULL && exact->spool->head != NULL && exact->forks == cairn_exact_forks)
        exact->spool->head->meter.stopped = 1;
    exact->meter.host.stop(exact->host.context);
    cairn_exact_stop(exact);
}

/* More was spent than may be: until what is left is little enough. */
static void reduce(struct cairn_exact *exact, uint64_t cpu)
{
    struct cairn_meter *meter = &exact->meter;
    const struct cairn_meter_host *host = &meter->host;
    double own = own_ns((double)(cpu - meter->period_cpu_ns),
                        cairn_meter_cost_ns(meter) - meter->period_cost_ns);
    double passing = (double)(meter->passed - meter->period_passed) * host->passed, rate = 0;
    bool natives = false;

    if (host->passes_stay && passing > host->share * own) {
        stop(exact);
        return;
    }
    for (struct cairn_exact_key *key = meter->touched; key != NULL; key = key->touched)
        rate += (may_go(key, false) ? cost_of(meter, key, 0) : 0) +
                (may_go(key, true) ? cost_of(meter, key, 1) : 0);
    while (rate > AIM * host->share * own) {
        struct cairn_exact_key *key = worst_of(meter, &natives);

        if (key == NULL)
            break;
        rate -= may_go(key, true) ? cost_of(meter, key, 1) : 0;
        rate -= natives ? 0 : cost_of(meter, key, 0);
        let_go(exact, key, natives);
    }
    begin_period(meter, cpu);
}

static void look(struct cairn_exact *exact)
{
    struct cairn_meter *meter = &exact->meter;
    int64_t began = cairn_ticks_now();
    uint64_t cpu = cpu_ns(exact);
    double cost = cairn_meter_cost_ns(meter);

    if (cost > meter->host.share * own_ns((double)cpu, cost) + CAIRN_METER_FLOOR_NS) {
        if (meter->samples >= ENOUGH)
            reduce(exact, cpu);
    } else if (meter->samples >= PERIOD) {
        begin_period(meter, cpu);
    }
    if (exact->host.now == NULL)
        meter->looking_ns += (double)(cairn_ticks_now() - began) * meter->host.tick_ns;
    write_books(exact, cpu);
}

static void turn(struct cairn_exact *exact)
{
    struct cairn_meter *meter = &exact->meter;

    meter->events += meter->stride;
    draw(meter);
    if (++meter->samples % LOOKS == 0)
        look(exact);
}

void cairn_meter_pass(struct cairn_exact *exact)
{
    if (!exact->meter.on)
        return;
    exact->meter.passed++;
    if (--exact->meter.left == 0)
        turn(exact);
}

void cairn_meter_sample(struct cairn_exact *exact, struct cairn_exact_thread *thread,
                        const struct cairn_exact_node *node, bool native, int64_t spent)
{
    const struct cairn_exact_entry *below =
        thread->depth > 0 ? &thread->stack[thread->depth - 1] : NULL;
    const void *key = node->key;
    struct cairn_exact_key *known = NULL;

    if (native)
        key = below == NULL || below->frame & 1 ? NULL : below->node->key;
    if (key != NULL)
        known = cairn_pairs_get(&thread->keys, (uintptr_t)key, 0);
    if (known != NULL) {
        if (known->looks[0] + known->looks[1] == 0) {
            known->touched = exact->meter.touched;
            exact->meter.touched = known;
        }
        known->looks[native]++;
        known->spent[native] += spent;
    }
    turn(exact);
}
