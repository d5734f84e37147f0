#include "tally_metric.h"

#include <string.h>

static bool is_uncounted(const struct cairn_model *model)
{
    struct cairn_span told = cairn_model_env(model, "import.samples");

    return told.size_bytes == 7 && memcmp(told.data, "unknown", 7) == 0;
}

void cairn_tally_judge(struct cairn_tally *tally)
{
    enum cairn_metric metric = tally->filter.metric;
    uint64_t known_ns = 0;
    bool waits_unknown = metric == CAIRN_METRIC_GIL_WAIT && tally->wait_unknown_ns > 0;

    tally->pieces = is_uncounted(tally->model) || tally->filter.task;
    tally->counted = !cairn_filter_is_of_sums(&tally->filter) && !tally->pieces;
    if (metric == CAIRN_METRIC_COUNTED) {
        tally->known = cairn_model_counter(tally->model, "exact_processes") > 0;
        tally->why = "calls are counted one by one with `cairn run --exact` alone";
        return;
    }
    if (tally->filter.task) {
        tally->known = metric == CAIRN_METRIC_WALL || metric == CAIRN_METRIC_BLOCKED;
        tally->why = "of tasks it is known how long they ran and waited, and no more";
        return;
    }
    for (int i = 0; i < CAIRN_STATE_UNKNOWN; i++)
        known_ns += tally->state_ns[i];
    tally->known = metric == CAIRN_METRIC_WALL || tally->looked_at_ns == 0;
    if (tally->known)
        return;
    /* Who waits for the GIL sleeps in it. */
    if ((metric == CAIRN_METRIC_GIL || waits_unknown) &&
        tally->overlay_unknown_ns[0] == tally->looked_at_ns)
        tally->why = "where this Python keeps its GIL is not known to this Cairn, or the recording "
                     "is older than that";
    else if (metric != CAIRN_METRIC_GIL && known_ns == 0)
        tally->why = "the kernel did not tell how long threads ran: perf events and "
                     "/proc/PID/task/TID/schedstat were both closed to Cairn";
    else if (waits_unknown && tally->wait_unknown_ns == tally->state_ns[CAIRN_STATE_BLOCKED])
        tally->why = "the kernel did not tell what threads waited for: /proc/PID/task/TID/syscall "
                     "was closed to Cairn, or the recording is older than that";
    else
        tally->known = true;
}
