/* The timeline: what each thread did in each slice of the time. */
#include "query_parts.h"

#include "escape.h"

/* The cells of one thread. */
struct lane {
    const struct cairn_cell *cells;
    size_t count;
};

static struct lane next_lane(const struct cairn_tally *tally, size_t *at)
{
    struct lane lane = {.cells = &tally->cells[*at]};

    while (*at < tally->cell_count && tally->cells[*at].thread == lane.cells->thread) {
        lane.count++;
        ++*at;
    }
    return lane;
}

enum { IDLE = CAIRN_STATE_COUNT, SUMS };

/* Waiting for work is no waiting for something, so it is apart from `blocked`. */
static uint64_t part_of(const struct cairn_cell *cell, unsigned what)
{
    if (what == IDLE)
        return cell->idle_blocked_ns;
    return cell->state_ns[what] - (what == CAIRN_STATE_BLOCKED ? cell->idle_blocked_ns : 0);
}

/* A number for each slice. Cells are in the order of their slices. */
static void put_series(struct cairn_json *json, const char *key, const struct lane *lane,
                       unsigned slices, unsigned what)
{
    size_t at = 0;

    cairn_json_key(json, cairn_span_of(key));
    cairn_json_array(json);
    for (unsigned slice = 0; slice < slices; slice++) {
        uint64_t sum_ns = 0;

        for (; at < lane->count && lane->cells[at].slice == slice; at++)
            sum_ns += part_of(&lane->cells[at], what);
        cairn_json_seconds(json, sum_ns);
    }
    cairn_json_close(json);
}

static bool has_any(const struct lane *lane, unsigned what)
{
    size_t i = 0;

    while (i < lane->count && part_of(&lane->cells[i], what) == 0)
        i++;
    return i < lane->count;
}

static void put_lane(struct cairn_json *json, const struct cairn_tally *tally,
                     const struct lane *lane, unsigned slices)
{
    const struct cairn_thread *threads;
    uint32_t thread = lane->cells->thread;

    cairn_model_threads(tally->model, &threads);
    cairn_json_object(json);
    cairn_json_put_text(json, "name", threads[thread].name);
    cairn_report_json_track(json, tally, thread, UINT32_MAX);
    for (unsigned what = 0; what < SUMS; what++) {
        const char *key = what == IDLE ? "idle" : cairn_state_name((enum cairn_state)what);

        if (has_any(lane, what))
            put_series(json, key, lane, slices, what);
        else
            cairn_json_put_null(json, key);
    }
    cairn_json_close(json);
}

int cairn_query_put_timeline(struct cairn_json *json, const struct cairn_tally *tally,
                             struct cairn_outlet *out)
{
    unsigned slices = tally->filter.slices > 1 ? tally->filter.slices : 1;
    uint64_t first_ns, last_ns;

    cairn_model_span(tally->model, &first_ns, &last_ns);
    cairn_json_put_seconds(json, "from_s", tally->first_ns - first_ns);
    cairn_json_put_u64(json, "slices", slices);
    cairn_json_put_seconds(json, "slice_s", tally->slice_ns);
    cairn_json_key(json, cairn_span_of("rows"));
    cairn_json_array(json);
    for (size_t at = 0; at < tally->cell_count && tally->known;) {
        struct lane lane = next_lane(tally, &at);

        put_lane(json, tally, &lane, slices);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    cairn_json_close(json);
    return 0;
}
