/* in_lprof.c: what line_profiler writes: lines of functions, with their hits and their time, as a
 * pickle (pickle.h). A line's time holds what it called. There are no stacks: each function stands
 * alone. */
#include <math.h>

#include "formats.h"
#include "pickle.h"

#define FILE_MAX_BYTES ((size_t)96 << 20)
#define HITS_MAX 9e15 /* what a number of the pickle holds to the last one */
#define NS_PER_S 1e9

static bool is_line(const struct cairn_pickle_value *value)
{
    return value->kind == CAIRN_PICKLE_NUMBER && value->number >= 0 && value->number <= INT32_MAX;
}

static int give_line(struct cairn_pickle *p, struct cairn_guest *guest, uint32_t thread,
                     const struct cairn_guest_frame *function, uint32_t row, double unit_s)
{
    struct cairn_guest_sample sample = {
        .thread = thread, .state = CAIRN_SAMPLE_UNKNOWN, .count = 1};
    struct cairn_guest_line counted = {.thread = thread};
    struct cairn_guest_frame frame = *function;
    const struct cairn_pickle_value *items[3];
    uint32_t id;
    double ns;

    if (!cairn_pickle_items(p, row, 3, items) || !is_line(items[0]) ||
        items[1]->kind != CAIRN_PICKLE_NUMBER || items[2]->kind != CAIRN_PICKLE_NUMBER)
        return -CAIRN_EDAMAGED;
    ns = items[2]->number * unit_s * NS_PER_S;
    if (!(ns >= 0 && ns < (double)CAIRN_GUEST_TIME_MAX_NS) ||
        !(items[1]->number >= 0 && items[1]->number < HITS_MAX))
        return -CAIRN_EDAMAGED;
    frame.line = (uint32_t)items[0]->number;
    sample.ns = counted.total_ns = (uint64_t)llround(ns);
    counted.hits = (uint64_t)items[1]->number;
    CAIRN_TRY(cairn_guest_count_line(guest, &frame, &counted));
    CAIRN_TRY(cairn_guest_frame(guest, &frame, &id));
    CAIRN_TRY(cairn_guest_stack(guest, 0, id, &sample.stack));
    return cairn_guest_add(guest, &sample);
}

static int give_function(struct cairn_pickle *p, struct cairn_guest *guest, uint32_t thread,
                         uint32_t key, uint32_t rows, double unit_s)
{
    struct cairn_guest_frame frame = {.line = 0};
    const struct cairn_pickle_value *items[3];

    if (!cairn_pickle_items(p, key, 3, items) || items[0]->kind != CAIRN_PICKLE_TEXT ||
        !is_line(items[1]) || items[2]->kind != CAIRN_PICKLE_TEXT ||
        p->values.items[rows].kind != CAIRN_PICKLE_LIST)
        return -CAIRN_EDAMAGED;
    frame.file = items[0]->text;
    frame.first_line = (uint32_t)items[1]->number;
    frame.name = items[2]->text;
    for (uint32_t cell = p->values.items[rows].first; cell; cell = p->cells.items[cell].next)
        CAIRN_TRY(give_line(p, guest, thread, &frame, p->cells.items[cell].value, unit_s));
    return 0;
}

/* What a LineStats was set to: {"timings", "unit"}, in a pair behind None where it has slots; or
 * what it was made with: (timings, unit). */
static int find_state(const struct cairn_pickle *p, uint32_t stats, uint32_t *ret_timings,
                      double *ret_unit_s)
{
    uint32_t state = p->values.items[stats].first, unit = 0;
    const struct cairn_pickle_value *items[2];

    *ret_timings = 0;
    if (p->values.items[stats].kind != CAIRN_PICKLE_OBJECT)
        return -CAIRN_EDAMAGED;
    if (cairn_pickle_items(p, state, 2, items)) {
        *ret_timings = (uint32_t)(items[0] - p->values.items);
        unit = (uint32_t)(items[1] - p->values.items);
        if (items[0]->kind == CAIRN_PICKLE_NONE)
            state = unit;
    }
    if (p->values.items[state].kind == CAIRN_PICKLE_DICT) {
        *ret_timings = cairn_pickle_value_of(p, state, "timings");
        unit = cairn_pickle_value_of(p, state, "unit");
    }
    *ret_unit_s = p->values.items[unit].number;
    return p->values.items[*ret_timings].kind == CAIRN_PICKLE_DICT &&
                   p->values.items[unit].kind == CAIRN_PICKLE_NUMBER && *ret_unit_s > 0
               ? 0
               : -CAIRN_EDAMAGED;
}

static int give(struct cairn_pickle *p, struct cairn_guest *guest, uint32_t stats)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    uint32_t timings = 0, thread;
    double unit_s = 0;

    CAIRN_TRY(find_state(p, stats, &timings, &unit_s));
    CAIRN_TRY(cairn_guest_thread(guest, &all, &thread));
    for (uint32_t cell = p->values.items[timings].first; cell; cell = p->cells.items[cell].next) {
        uint32_t rows = p->cells.items[cell].next;

        if (!rows)
            return -CAIRN_EDAMAGED;
        CAIRN_TRY(give_function(p, guest, thread, p->cells.items[cell].value,
                                p->cells.items[rows].value, unit_s));
        cell = rows;
    }
    CAIRN_TRY(cairn_guest_fact(guest, "import.stacks", "none"));
    CAIRN_TRY(cairn_guest_fact(guest, "import.times", "none"));
    CAIRN_TRY(cairn_guest_fact(guest, "import.lost",
                               "what a line called: its time holds that, also where that has "
                               "lines of its own here"));
    return cairn_guest_fact(guest, "import.values", "time of lines");
}

int cairn_in_lprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct cairn_pickle pickle;
    struct cairn_span bytes;
    uint32_t stats;
    int code = cairn_feed_rest(feed, FILE_MAX_BYTES, &bytes);

    if (code < 0)
        return code;
    code = cairn_pickle_read(&pickle, bytes, err, &stats);
    if (code == 0)
        code = give(&pickle, guest, stats);
    cairn_pickle_release(&pickle);
    return code;
}
