#include "linemeter.h"

#include "clock.h"
#include "exact_parts.h"
#include "lines_parts.h"

#define LOOK 1024u   /* events, until the books are read */
#define PERIOD 16u   /* so many times that, and a new period begins: programs change */
#define FLOOR_NS 2e5 /* so much may be spent in any case: before, nothing can be told */
#define AIM 0.7      /* of what may be spent: then what was spent too much comes back */

static double cost_ns(const struct cairn_line_meter *meter, uint64_t events)
{
    return (double)events * meter->event_ns;
}

static double own_ns(double cpu, double cost)
{
    return cpu > cost ? cpu - cost : 0;
}

static void begin_period(struct cairn_line_meter *meter, uint64_t cpu)
{
    meter->period++;
    meter->period_events = meter->events;
    meter->period_cpu_ns = cpu;
}

static void write_books(struct cairn_lines_hub *hub, uint64_t cpu)
{
    const struct cairn_line_meter *meter = &hub->meter;
    struct cairn_spool_head *head =
        hub->spool != NULL && hub->forks == cairn_exact_forks ? hub->spool->head : NULL;

    if (head == NULL)
        return;
    head->meter.share = meter->share;
    head->meter.cpu_ns = (double)cpu;
    head->meter.cost_ns = cost_ns(meter, meter->events);
    head->meter.slack_ns = FLOOR_NS + cost_ns(meter, 2 * LOOK);
    head->meter.let_go = meter->let_go;
}

void cairn_line_meter_begin(struct cairn_lines_hub *hub, double share, double event_ns,
                            uint64_t (*cpu_ns)(void))
{
    hub->meter =
        (struct cairn_line_meter){.share = share,
                                  .event_ns = event_ns,
                                  .cpu_ns = cpu_ns != NULL ? cpu_ns : cairn_clock_own_cpu_ns};
    begin_period(&hub->meter, hub->meter.cpu_ns());
    cairn_line_meter_write(hub);
}

/* The periods go on: charges of the parent's are of none of the child's. */
void cairn_line_meter_again(struct cairn_lines_hub *hub)
{
    struct cairn_line_meter *meter = &hub->meter;

    if (meter->share <= 0)
        return;
    meter->events = meter->let_go = 0;
    begin_period(meter, meter->cpu_ns());
    cairn_line_meter_write(hub);
}

void cairn_line_meter_write(struct cairn_lines_hub *hub)
{
    if (hub->meter.share > 0)
        write_books(hub, hub->meter.cpu_ns());
}

/* NULL: nothing is left. */
static struct cairn_lines_code *worst_of(const struct cairn_lines_hub *hub)
{
    struct cairn_lines_code *worst = NULL;

    for (size_t i = 0; i < hub->codes.cap; i++) {
        struct cairn_lines_code *code = hub->codes.slots[i].value;

        if (code != NULL && !code->gone && code->charge.period == hub->meter.period &&
            (worst == NULL || code->charge.events > worst->charge.events))
            worst = code;
    }
    return worst;
}

/* More was spent than may be: until what is left is little enough. */
static void reduce(struct cairn_lines_hub *hub, uint64_t cpu)
{
    struct cairn_line_meter *meter = &hub->meter;
    uint64_t left = meter->events - meter->period_events;
    double own = own_ns((double)(cpu - meter->period_cpu_ns), cost_ns(meter, left));

    while (cost_ns(meter, left) > AIM * meter->share * own) {
        struct cairn_lines_code *code = worst_of(hub);

        if (code == NULL)
            break;
        left -= code->charge.events < left ? code->charge.events : left;
        cairn_lines_let_go(hub, code);
        meter->let_go++;
    }
    begin_period(meter, cpu);
}

static void look(struct cairn_lines_hub *hub)
{
    struct cairn_line_meter *meter = &hub->meter;
    uint64_t cpu = meter->cpu_ns();
    double cost = cost_ns(meter, meter->events);

    if (cost > meter->share * own_ns((double)cpu, cost) + FLOOR_NS)
        reduce(hub, cpu);
    else if (meter->events - meter->period_events >= PERIOD * LOOK)
        begin_period(meter, cpu);
    write_books(hub, cpu);
}

void cairn_line_meter_charge(struct cairn_lines_hub *hub, struct cairn_lines_code *code,
                             unsigned events)
{
    struct cairn_line_meter *meter = &hub->meter;
    uint64_t before = meter->events / LOOK;

    if (code->charge.period != meter->period)
        code->charge = (struct cairn_line_charge){.period = meter->period};
    code->charge.events += events;
    meter->events += events;
    if (meter->events / LOOK != before)
        look(hub);
}
