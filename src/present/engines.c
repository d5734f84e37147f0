#include "engines.h"

#include <ctype.h>
#include <math.h>

#include "exactrows.h"

struct making {
    const struct cairn_model *model;
    unsigned minor; /* of Python 3; 0: not known */
    struct cairn_engine *engines;
    size_t count;
    bool has_bytes; /* those of what counts are told */
    /* What was counted in all, and what counting calls, keeping their times and counting lines
     * took of that; NAN: not known. */
    double all_ns, calls_ns, times_ns, lines_ns;
    const char *why; /* where lines_ns is not */
};

static uint64_t counter(const struct making *making, const char *name)
{
    return cairn_model_counter(making->model, name);
}

static void add(struct making *making, struct cairn_engine engine)
{
    if (isnan(engine.slowdown) && !isnan(engine.event_ns) && engine.why == NULL)
        engine.why = "by the estimate it is all of it";
    making->engines[making->count++] = engine;
}

/* They lie in the same chunks. */
static void add_counting(struct making *making, struct cairn_engine engine)
{
    engine.has_bytes = !making->has_bytes;
    engine.bytes = making->has_bytes ? 0 : cairn_model_quality(making->model)->counting_bytes;
    making->has_bytes = true;
    add(making, engine);
}

/* Of the calls that the filter keeps, whose cost it is. */
static double each(double all_ns, const struct cairn_exact_table *table)
{
    uint64_t events = table->calls + table->resumes;

    return table->cost_known && events > 0 ? all_ns / (double)events : NAN;
}

/* Python's minor version: of "3.9.2 (table+probe)". */
static unsigned minor_of(const struct cairn_model *model)
{
    struct cairn_span text = cairn_model_env(model, "target.python");
    unsigned minor = 0;

    if (text.size_bytes < 3 || text.data[0] != '3' || text.data[1] != '.')
        return 0;
    for (size_t i = 2; i < text.size_bytes && i < 4 && isdigit(text.data[i]); i++)
        minor = 10 * minor + (unsigned)(text.data[i] - '0');
    return minor;
}

/* As src/agent/python chooses them. */
static const char *source_of(const struct making *making, const char *before)
{
    return making->minor == 0 ? NULL : making->minor < 12 ? before : "sys.monitoring";
}

/* Of calls, where jumps in the text of all Pythons went before it. */
static const char *called_by(const struct making *making, const char *before)
{
    uint64_t jumped = counter(making, "exact_text_hook");

    return jumped > 0 && jumped == counter(making, "exact_processes")
               ? "sys.monitoring, and a jump in the text"
               : source_of(making, before);
}

static const char *unseen_of(const struct making *making)
{
    static const char all[] = "calls from C to C, of types, and operators";

    return making->minor == 0   ? NULL
           : making->minor < 12 ? all
                                : "calls from C to C, and operators";
}

static const char *calls_source_of(const struct making *making)
{
    return called_by(making, counter(making, "overhead_plain") > 0
                                 ? "the profile function, then PEP 523"
                                 : "the profile function");
}

/* Whether nothing was left out: what is told of lines is of all processes. */
static bool is_whole(const struct cairn_tally *tally)
{
    const struct cairn_filter *filter = &tally->filter;

    return !filter->process && !filter->thread && filter->focus.count == 0 &&
           filter->ignore.count == 0 && !filter->region && !filter->task && filter->from_ns == 0 &&
           filter->to_ns == UINT64_MAX;
}

static const char *why_not(const struct making *making, bool whole)
{
    return counter(making, "instructions") > 0     ? "of instructions it is not measured"
           : counter(making, "lines_cost_ns") == 0 ? "of lines without times it is not measured"
           : !whole                                ? "it is known of the whole recording"
                                                   : NULL;
}

static void know_costs(struct making *making, const struct cairn_tally *tally,
                       const struct cairn_exact_table *table)
{
    bool calls = counter(making, "exact_processes") > 0;

    making->all_ns = calls ? (double)table->self_ns : (double)tally->looked_at_ns;
    making->calls_ns = !calls ? 0 : table->cost_known ? table->cost_ns - table->tracing_ns : NAN;
    making->times_ns = calls && table->cost_known ? table->tracing_ns : 0;
    making->lines_ns = (double)counter(making, "lines_cost_ns");
    if (counter(making, "lines_processes") == 0)
        return;
    making->why = why_not(making, is_whole(tally));
    if (making->why != NULL)
        making->lines_ns = NAN;
}

static void add_calls(struct making *making, const struct cairn_exact_table *table)
{
    double alone_ns = making->all_ns - making->lines_ns - making->times_ns;
    uint64_t events = counter(making, "events");

    add_counting(making, (struct cairn_engine){
                             .name = "counting",
                             .slowdown = cairn_exact_factor(alone_ns, making->calls_ns),
                             .why = making->why,
                             .events = events,
                             .lost = counter(making, "events_lost"),
                             .event_ns = each(table->cost_ns - table->tracing_ns, table),
                             .source = calls_source_of(making),
                             .unseen = unseen_of(making),
                         });
}

static void add_tracing(struct making *making, const struct cairn_exact_table *table)
{
    double cost_ns = making->calls_ns + making->times_ns + making->lines_ns;
    uint64_t events = counter(making, "timeline_calls");

    add(making, (struct cairn_engine){
                    .name = "tracing",
                    .slowdown = cairn_exact_factor(making->all_ns, cost_ns),
                    .why = making->why,
                    .bytes = cairn_model_quality(making->model)->tracing_bytes,
                    .has_bytes = true,
                    .events = events,
                    .lost = counter(making, "timeline_lost") + counter(making, "timeline_gone"),
                    .event_ns = each(table->tracing_ns, table),
                    .source = called_by(making, "the profile function"),
                    .unseen = unseen_of(making),
                });
}

static void add_lines(struct making *making, const char *source)
{
    double cost_ns = making->calls_ns + making->lines_ns;
    uint64_t events = counter(making, "lines_events");

    add_counting(making, (struct cairn_engine){.name = "lines",
                                               .slowdown = cairn_exact_factor(
                                                   making->all_ns - making->times_ns, cost_ns),
                                               .why = making->why,
                                               .events = events,
                                               .lost = counter(making, "lines_lost"),
                                               .event_ns = making->lines_ns / (double)events,
                                               .source = source});
}

int cairn_engines_make(const struct cairn_tally *tally,
                       struct cairn_engine ret_engines[CAIRN_ENGINES_MAX], size_t *ret_count)
{
    struct making making = {
        .model = tally->model, .minor = minor_of(tally->model), .engines = ret_engines};
    const struct cairn_quality *quality = cairn_model_quality(making.model);
    const char *traced = source_of(&making, "the trace function");
    struct cairn_exact_table table;
    int code;

    *ret_count = 0;
    if (cairn_model_env(making.model, "import.format").size_bytes > 0)
        return 0;
    code = cairn_exact_table_make(tally, CAIRN_SORT_NAME, &table);
    add(&making, (struct cairn_engine){
                     .name = "sampling",
                     .slowdown = NAN,
                     .bytes = quality->bytes - quality->counting_bytes - quality->tracing_bytes,
                     .has_bytes = true,
                     .events = quality->samples,
                     .lost = quality->missed,
                     .event_ns = NAN,
                 });
    know_costs(&making, tally, &table);
    if (counter(&making, "exact_processes") > 0)
        add_calls(&making, &table);
    if (counter(&making, "lines_events") > 0)
        add_lines(&making, traced);
    if (counter(&making, "instructions") > 0)
        add_counting(&making, (struct cairn_engine){.name = "opcodes",
                                                    .slowdown = NAN,
                                                    .why = making.why,
                                                    .events = counter(&making, "instructions"),
                                                    .event_ns = NAN,
                                                    .source = traced});
    if (counter(&making, "timeline_processes") > 0)
        add_tracing(&making, &table);
    *ret_count = making.count;
    cairn_exact_table_release(&table);
    return code;
}
