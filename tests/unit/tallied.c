#include "tallied.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct cairn_tally tally_of(const struct cairn_model *model, const struct cairn_filter *filter)
{
    struct cairn_filter all;
    struct cairn_tally tally;
    struct cairn_err err = {0};

    cairn_filter_init(&all);
    if (cairn_tally_make(model, filter ? filter : &all, &tally, &err) < 0)
        fail_msg("%s", err.text);
    return tally;
}

struct cairn_tally tally_by(const struct cairn_model *model, enum cairn_metric metric)
{
    struct cairn_filter filter;

    cairn_filter_init(&filter);
    filter.metric = metric;
    return tally_of(model, &filter);
}

void assert_closed(const struct cairn_tally *tally)
{
    uint64_t ticks = 0, value_ns = 0, idle_ns = 0, wall_ns = 0, state_ns = 0, phase_ticks = 0;
    uint64_t thread_ticks = 0, thread_ns = 0, thread_idle_ns = 0;

    for (size_t i = 0; i < tally->cell_count; i++) {
        const struct cairn_cell *cell = &tally->cells[i];

        assert_true(cell->node != 0);
        assert_true(cell->idle.ticks <= cell->weight.ticks);
        assert_true(cell->idle.value_ns <= cell->weight.value_ns);
        ticks += cell->weight.ticks;
        value_ns += cell->weight.value_ns;
        idle_ns += cell->idle.value_ns;
        for (int k = 0; k < CAIRN_STATE_COUNT; k++)
            wall_ns += cell->state_ns[k];
        assert_true(i == 0 || tally->cells[i - 1].thread <= cell->thread);
    }
    for (size_t i = 0; i < tally->thread_cell_count; i++) {
        const struct cairn_cell *cell = &tally->thread_cells[i];

        thread_ticks += cell->weight.ticks;
        thread_ns += cell->weight.value_ns;
        thread_idle_ns += cell->idle.value_ns;
    }
    assert_int_equal(thread_ticks, ticks);
    assert_int_equal(thread_ns, value_ns);
    assert_int_equal(thread_idle_ns, idle_ns);
    for (int i = 0; i < CAIRN_STATE_COUNT; i++)
        state_ns += tally->state_ns[i];
    for (int i = 0; i < CAIRN_PHASE_COUNT; i++)
        phase_ticks += tally->phase[i].ticks;
    assert_int_equal(ticks, tally->total.ticks);
    assert_int_equal(value_ns, tally->total.value_ns);
    assert_int_equal(idle_ns, tally->idle.value_ns);
    assert_int_equal(wall_ns, state_ns);
    assert_int_equal(phase_ticks, ticks);
    if (tally->filter.metric == CAIRN_METRIC_WALL)
        assert_int_equal(value_ns, wall_ns);
}
