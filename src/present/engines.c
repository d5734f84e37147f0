#include "engines.h"

#include <math.h>

#include "exactrows.h"

static uint64_t counter(const struct cairn_model *model, const char *name)
{
    return cairn_model_counter(model, name);
}

int cairn_engines_make(const struct cairn_tally *tally,
                       struct cairn_engine ret_engines[CAIRN_ENGINES_MAX], size_t *ret_count)
{
    const struct cairn_model *model = tally->model;
    const struct cairn_quality *quality = cairn_model_quality(model);
    struct cairn_exact_table table;
    int code;

    *ret_count = 0;
    if (counter(model, "exact_processes") == 0 && counter(model, "lines_processes") == 0)
        return 0;
    code = cairn_exact_table_make(tally, CAIRN_SORT_NAME, &table);
    ret_engines[(*ret_count)++] = (struct cairn_engine){
        "sampling", NAN, quality->bytes - quality->counting_bytes - quality->tracing_bytes,
        quality->samples, quality->missed};
    ret_engines[(*ret_count)++] = (struct cairn_engine){
        "counting", cairn_exact_counting_factor(&table), quality->counting_bytes,
        counter(model, "events") + counter(model, "lines_events") + counter(model, "instructions"),
        counter(model, "events_lost") + counter(model, "lines_lost")};
    if (counter(model, "timeline_processes") > 0)
        ret_engines[(*ret_count)++] = (struct cairn_engine){
            "tracing", cairn_exact_tracing_factor(&table), quality->tracing_bytes,
            counter(model, "timeline_calls"),
            counter(model, "timeline_lost") + counter(model, "timeline_gone")};
    /* Lines cost as well, and nobody measured how much. */
    for (size_t i = 1; i < *ret_count && counter(model, "lines_processes") > 0; i++)
        ret_engines[i].slowdown = NAN;
    cairn_exact_table_release(&table);
    return code;
}
