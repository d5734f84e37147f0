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
    uint64_t others = meter->natives + meter->resumes + meter->passed + meter->counted;

    return (double)(events > others ? events - others : 0) * host->call +
           (double)meter->natives * host->native + (double)meter->resumes * host->resume +
           (double)meter->passed * host->passed + (double)meter->counted * host->counted +
           meter->looking_ns;
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
        key->looks[0] = key->looks[1] = key->looks[2] = 0;
        key->spent[0] = key->spent[1] = 0;
    }
    meter->touched = NULL;
    meter->samples = 0;
    meter->period_events = meter->events;
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
    head->meter.slack_ns = exact->meter.slack_ns;
    head->meter.plain = exact->meter.plain;
    head->meter.let_go = exact->meter.let_go;
    head->meter.untimed = exact->meter.untimed;
}

void cairn_meter_write(struct cairn_exact *exact)
{
    if (exact->meter.host.share > 0)
        write_books(exact, cpu_ns(exact));
}

void cairn_meter_begin(struct cairn_exact *exact, const struct cairn_meter_host *host)
{
    exact->meter =
        (struct cairn_meter){.host = *host, .on = true, .draw = 1, .slack_ns = slack_ns(host)};
    draw(&exact->meter);
    begin_period(&exact->meter, cpu_ns(exact));
    cairn_meter_write(exact);
}

void cairn_meter_again(struct cairn_exact *exact)
{
    const struct cairn_meter_host host = exact->meter.host;
    bool on = exact->meter.on, plain = exact->meter.plain;

    if (host.share <= 0)
        return;
    cairn_meter_begin(exact, &host); /* what was looked at lies in the parent's file */
    exact->meter.on = on;
    exact->meter.plain = plain;
}

/* --- what is left out --- */

enum kind { /* of what was looked at */
            CALLS,
            NATIVES,
            COUNTED /* calls that are counted alone */
};

static double cost_of(const struct cairn_meter *meter, const struct cairn_exact_key *key,
                      enum kind kind)
{
    const struct cairn_meter_host *host = &meter->host;
    double each = kind == CALLS ? host->call : kind == NATIVES ? host->native : host->counted;

    return (double)key->looks[kind] * STRIDE * each;
}

/* Were it counted alone. */
static double counted_cost_of(const struct cairn_meter *meter, const struct cairn_exact_key *key)
{
    return ((double)key->looks[CALLS] + key->looks[COUNTED]) * STRIDE * meter->host.counted;
}

/* What it costs from now on, if this goes on. */
static double rate_of(const struct cairn_meter *meter, const struct cairn_exact_key *key)
{
    if (key->let_go & CAIRN_LET_GO_SELF)
        return 0;
    if (key->let_go & CAIRN_LET_GO_TIMES)
        return counted_cost_of(meter, key);
    return cost_of(meter, key, CALLS) + cost_of(meter, key, COUNTED) +
           (key->let_go & CAIRN_LET_GO_NATIVES ? 0 : cost_of(meter, key, NATIVES));
}

/* Whether an event that is passed over costs so much less than one that is counted that counting
 * is worth giving up for it. */
static bool passing_saves(const struct cairn_meter_host *host)
{
    return !host->passes_stay || 2 * host->passed < host->counted;
}

/* What may be left out of a callee next, CAIRN_LET_GO_*: its times, where what is left then is
 * within `limit`, ns, or no less would be left without its calls; else those. 0: nothing. */
static unsigned step_of(const struct cairn_meter *meter, const struct cairn_exact_key *key,
                        double limit)
{
    const struct cairn_meter_host *host = &meter->host;
    bool timed =
        (key->let_go & CAIRN_LET_GO_TIMES) == 0 && host->counted > 0 && host->counted < host->call;

    if (key->let_go & CAIRN_LET_GO_SELF || key->looks[CALLS] + key->looks[COUNTED] == 0)
        return 0;
    if (timed && (counted_cost_of(meter, key) <= limit || !passing_saves(host)))
        return CAIRN_LET_GO_TIMES;
    return passing_saves(host) || host->counted <= 0 ? CAIRN_LET_GO_SELF : 0;
}

static bool may_leave_natives(const struct cairn_exact_key *key)
{
    return (key->let_go & ~CAIRN_LET_GO_NATIVES) == 0 &&
           (key->let_go & CAIRN_LET_GO_NATIVES) == 0 && key->looks[NATIVES] > 0;
}

/* What a step saves, beyond a share of the time that is not told any more, ns. */
static double saving_of(const struct cairn_meter *meter, const struct cairn_exact_key *key,
                        unsigned step)
{
    double spent =
        (double)key->spent[1] + (step == CAIRN_LET_GO_NATIVES ? 0 : (double)key->spent[0]);
    double saved =
        step == CAIRN_LET_GO_NATIVES ? cost_of(meter, key, NATIVES) : rate_of(meter, key);

    if (step == CAIRN_LET_GO_TIMES)
        saved -= counted_cost_of(meter, key);
    if (key->let_go & CAIRN_LET_GO_TIMES)
        spent = 0; /* that is gone already */
    return saved - meter->host.share * spent * STRIDE * meter->host.tick_ns;
}

/* The step that saves most; NULL: none is left. */
static struct cairn_exact_key *worst_of(const struct cairn_meter *meter, double limit,
                                        unsigned *ret_step)
{
    struct cairn_exact_key *worst = NULL;
    double most = 0;

    for (struct cairn_exact_key *key = meter->touched; key != NULL; key = key->touched) {
        const unsigned steps[] = {step_of(meter, key, limit),
                                  may_leave_natives(key) ? CAIRN_LET_GO_NATIVES : 0};

        for (int i = 0; i < 2; i++) {
            double saving = steps[i] == 0 ? 0 : saving_of(meter, key, steps[i]);

            if (steps[i] == 0 || (worst != NULL && saving <= most))
                continue;
            worst = key;
            most = saving;
            *ret_step = steps[i];
        }
    }
    return worst;
}

/* All threads have records of their own of it, and stacks on which it may stand. */
static void let_go(struct cairn_exact *exact, const struct cairn_exact_key *what, unsigned step)
{
    bool was_untimed = what->let_go & CAIRN_LET_GO_TIMES;

    for (struct cairn_exact_thread *thread = exact->threads; thread; thread = thread->next) {
        struct cairn_exact_key *key;

        if (!cairn_exact_is_own(thread))
            continue;
        key = cairn_pairs_get(&thread->keys, (uintptr_t)what->key, 0);
        if (key != NULL)
            key->let_go |= step;
        thread->stale = thread->depth;
    }
    exact->partial = true;
    exact->meter.let_go += step != CAIRN_LET_GO_TIMES;
    exact->meter.untimed += step == CAIRN_LET_GO_TIMES;
    exact->meter.untimed -= step == CAIRN_LET_GO_SELF && was_untimed;
    exact->meter.host.let_go(exact->host.context, what->learnt, step);
}

void cairn_meter_end(struct cairn_exact *exact)
{
    exact->meter.on = false;
    if (exact->spool != NULL && exact->spool->head != NULL && exact->forks == cairn_exact_forks)
        exact->spool->head->meter.stopped = 1;
    exact->meter.host.stop(exact->host.context);
    cairn_exact_stop(exact);
}

bool cairn_meter_has_ended(const struct cairn_exact *exact)
{
    return exact->meter.host.share > 0 && !exact->meter.on;
}

/* What was counted so far ends here, and was paid for; from now on there is but one kind of event.
 */
static void turn_plain(struct cairn_exact *exact)
{
    struct cairn_meter *meter = &exact->meter;
    struct cairn_meter_host *host = &meter->host;
    double paid_ns = cairn_meter_cost_ns(meter);

    meter->on = false; /* what ends here has no events */
    cairn_exact_stop(exact);
    host->plain(exact->host.context);
    host->call = host->counted = host->plain_counted;
    host->passed = host->plain_passed;
    meter->events = meter->natives = meter->resumes = meter->passed = meter->counted = 0;
    meter->looking_ns = paid_ns;
    draw(meter);
    meter->on = meter->plain = true;
}

/* More was spent than may be: until what is left is little enough. */
static void reduce(struct cairn_exact *exact, uint64_t cpu)
{
    struct cairn_meter *meter = &exact->meter;
    const struct cairn_meter_host *host = &meter->host;
    double own = own_ns((double)(cpu - meter->period_cpu_ns),
                        cairn_meter_cost_ns(meter) - meter->period_cost_ns);
    /* Whatever is left out, that stays. */
    double passing = (double)(meter->events - meter->period_events) * host->passed;
    double limit = AIM * host->share * own, rate;
    unsigned step = 0;

    if (host->passes_stay && passing > host->share * own) {
        if (meter->plain || host->plain == NULL) {
            cairn_meter_end(exact);
            return;
        }
        turn_plain(exact);
        begin_period(meter, cpu);
        return;
    }
    for (;;) {
        struct cairn_exact_key *worst = worst_of(meter, limit, &step);

        rate = 0;
        for (struct cairn_exact_key *key = meter->touched; key != NULL; key = key->touched)
            rate += rate_of(meter, key);
        if (worst == NULL || rate <= limit)
            break;
        let_go(exact, worst, step);
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

static void note(struct cairn_meter *meter, struct cairn_exact_key *key, enum kind kind)
{
    if (key->looks[CALLS] + key->looks[NATIVES] + key->looks[COUNTED] == 0) {
        key->touched = meter->touched;
        meter->touched = key;
    }
    key->looks[kind]++;
}

void cairn_meter_count(struct cairn_exact *exact, struct cairn_exact_thread *thread,
                       const void *key)
{
    struct cairn_exact_key *known;

    exact->meter.counted++;
    if (--exact->meter.left > 0)
        return;
    known = cairn_pairs_get(&thread->keys, (uintptr_t)key, 0);
    if (known != NULL)
        note(&exact->meter, known, COUNTED);
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
        note(&exact->meter, known, native ? NATIVES : CALLS);
        known->spent[native] += spent;
    }
    turn(exact);
}
