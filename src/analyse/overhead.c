#include "overhead.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_MAX_BYTES 32

struct cairn_overhead cairn_overhead_of(const struct cairn_model *model)
{
    const struct cairn_model *whole = cairn_model_whole(model);
    struct cairn_span said = cairn_model_env(whole, "counting.max_overhead");
    double cpu = (double)cairn_model_counter(whole, "overhead_cpu_ns");
    double cost = (double)cairn_model_counter(whole, "overhead_cost_ns");
    struct cairn_overhead overhead = {.asked = false};
    char text[TEXT_MAX_BYTES];

    if (said.size_bytes == 0 || said.size_bytes >= sizeof(text))
        return overhead;
    (void)snprintf(text, sizeof(text), "%.*s", (int)said.size_bytes, (const char *)said.data);
    overhead.limit = strtod(text, NULL);
    if (!(overhead.limit > 0 && overhead.limit <= 1))
        return overhead;
    overhead.asked = true;
    overhead.reached = cpu > cost ? cost / (cpu - cost) : cost > 0 ? 1 : 0;
    overhead.kept = cairn_model_counter(whole, "overhead_over") == 0;
    overhead.setup_ns = cairn_model_counter(whole, "overhead_setup_ns");
    overhead.let_go = cairn_model_counter(whole, "overhead_let_go");
    overhead.untimed = cairn_model_counter(whole, "overhead_untimed");
    overhead.plain = cairn_model_counter(whole, "overhead_plain");
    overhead.ended = cairn_model_counter(whole, "overhead_stopped");
    return overhead;
}
