/* linecounts.c: how often lines begin, without their times, from as few places as will do. */
#include "linecounts.h"

#include <string.h>

#include "err.h"
#include "lines_parts.h"

#define NUMBERS 3 /* of a place in a plan */

void cairn_lines_use_block(struct cairn_line_counts *counts, struct cairn_lines_block *block)
{
    counts->block = block;
    counts->sums = block == NULL ? NULL : cairn_lines_sums(block);
    counts->places = block == NULL ? NULL : cairn_lines_places(block);
}

/* How many places of the plan can be: by unit, each through a probe that stands before it. */
static uint32_t sound_places(const struct cairn_line_counts *counts,
                             const struct cairn_line_plan *plan)
{
    size_t places = plan->count / NUMBERS;

    for (size_t i = 0; i < places; i++) {
        const uint32_t *place = plan->numbers + i * NUMBERS;

        if (place[0] >= plan->unit_count || (i > 0 && place[0] <= place[-NUMBERS]) ||
            place[1] < counts->first_line || place[1] - counts->first_line >= counts->line_count ||
            place[2] > i || plan->numbers[place[2] * NUMBERS + 2] != place[2])
            return 0;
    }
    return (uint32_t)places;
}

/* The place at each unit, or before it. NULL: no memory. */
static uint32_t *map_units(struct cairn_lines_hub *hub, const struct cairn_line_plan *plan,
                           uint32_t place_count)
{
    uint32_t *at = cairn_budget_map(&hub->budget, plan->unit_count * sizeof(*at));
    uint32_t next = 0;

    for (uint32_t unit = 0; at != NULL && unit < plan->unit_count; unit++) {
        next += next < place_count && plan->numbers[next * NUMBERS] == unit;
        at[unit] = next;
    }
    return at;
}

static struct cairn_line_counts *counts_new(struct cairn_lines_hub *hub, uint32_t first_line,
                                            uint32_t line_count, const struct cairn_line_plan *plan)
{
    struct cairn_line_counts *counts = cairn_pool_alloc(&hub->pool, &hub->budget, sizeof(*counts));

    if (counts == NULL)
        return NULL;
    *counts = (struct cairn_line_counts){.first_line = first_line, .line_count = line_count};
    counts->place_count = sound_places(counts, plan);
    if (counts->place_count == 0)
        return counts;
    counts->unit_count = plan->unit_count;
    counts->at = map_units(hub, plan, counts->place_count);
    return counts->at == NULL ? NULL : counts;
}

int cairn_lines_count(struct cairn_lines_hub *hub, const void *key, uint32_t first_line,
                      uint32_t line_count, const struct cairn_line_plan *plan,
                      const struct cairn_exact_words *words)
{
    struct cairn_lines_code *code = cairn_lines_code_of(hub, key);
    struct cairn_line_counts *counts =
        code == NULL ? NULL : counts_new(hub, first_line, line_count, plan);
    struct cairn_lines_block *block = NULL, head = {.untimed = 1};

    cairn_lines_look_for_fork(hub);
    if (counts != NULL) {
        head.first_line = first_line;
        head.line_count = line_count;
        head.place_count = counts->place_count;
        block = cairn_lines_block_make(hub, &head, words, (struct cairn_span){NULL, 0});
    }
    if (block == NULL) {
        cairn_lines_lose(hub);
        return -CAIRN_ENOMEM;
    }
    cairn_lines_use_block(counts, block);
    for (uint32_t i = 0; i < counts->place_count; i++)
        counts->places[i] = (struct cairn_line_place){.unit = plan->numbers[i * NUMBERS],
                                                      .line = plan->numbers[i * NUMBERS + 1],
                                                      .probe = plan->numbers[i * NUMBERS + 2]};
    code->counts = counts;
    return 0;
}

void cairn_lines_hit(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uint32_t line)
{
    const struct cairn_line_counts *counts = code->counts;

    cairn_lines_look_for_fork(hub);
    if (counts->sums == NULL || !hub->counts_units || code->gone)
        return;
    if (line >= counts->first_line && line - counts->first_line < counts->line_count)
        counts->sums[line - counts->first_line].hits++;
    else
        cairn_lines_lose(hub);
    cairn_lines_charge(hub, code, 1);
}

/* What is counted through a probe that was never met began before anybody counted: it counts
 * itself, this once. */
bool cairn_lines_hit_at(struct cairn_lines_hub *hub, struct cairn_lines_code *code, uint32_t unit,
                        uint32_t line)
{
    const struct cairn_line_counts *counts = code->counts;
    struct cairn_line_place *place;
    uint32_t number;

    cairn_lines_look_for_fork(hub);
    if (counts->sums == NULL || !hub->counts_units || code->gone)
        return true;
    number = unit < counts->unit_count ? counts->at[unit] : 0;
    place = number == 0 ? NULL : &counts->places[number - 1];
    if (place == NULL || place->unit != unit || place->line != line) {
        cairn_lines_hit(hub, code, line);
        return true;
    }
    if (place->probe == number - 1) {
        place->hits++;
        cairn_lines_charge(hub, code, 1);
        return true;
    }
    if (counts->places[place->probe].hits == 0) {
        cairn_lines_hit(hub, code, line);
        return true;
    }
    place->heard = 1;
    return false;
}

void cairn_lines_gone(struct cairn_lines_hub *hub, const struct cairn_lines_code *code,
                      uint32_t unit)
{
    const struct cairn_line_counts *counts = code->counts;

    cairn_lines_look_for_fork(hub);
    if (counts->places != NULL && hub->counts_units && !code->gone && unit < counts->unit_count &&
        counts->at[unit] > 0)
        counts->places[counts->at[unit] - 1].gone++;
}
