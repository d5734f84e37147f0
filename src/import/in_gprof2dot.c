/* in_gprof2dot.c: the JSON that gprof2dot reads (-f json): functions with their names, and events,
 * each a stack of them, leaf first, with what it cost. The functions may stand behind the events,
 * so the file is gone through twice. */
#include <math.h>

#include "chain.h"
#include "formats.h"
#include "jsonin.h"

#define FUNCTIONS_MAX ((size_t)1 << 22)

struct gprof2dot {
    struct cairn_jsonin json;
    struct cairn_chain chain;
    struct cairn_err *err;
    CAIRN_VEC(uint32_t) frames; /* of the functions, by number */
    struct cairn_buf name, module;
    uint32_t thread;
};

static int take_text(struct gprof2dot *g, struct cairn_buf *buf)
{
    struct cairn_span text;

    CAIRN_TRY(cairn_jsonin_text(&g->json, &text));
    cairn_buf_clear(buf);
    return cairn_buf_add(buf, text.data, text.size_bytes);
}

static int read_function(struct gprof2dot *g)
{
    struct cairn_guest_frame frame = {.line = 0};
    struct cairn_span key;
    int more;

    cairn_buf_clear(&g->name);
    cairn_buf_clear(&g->module);
    CAIRN_TRY(cairn_jsonin_enter(&g->json, '{'));
    while ((more = cairn_jsonin_key(&g->json, &key)) > 0) {
        if (cairn_span_is(key, "name"))
            CAIRN_TRY(take_text(g, &g->name));
        else if (cairn_span_is(key, "module"))
            CAIRN_TRY(take_text(g, &g->module));
        else
            CAIRN_TRY(cairn_jsonin_skip(&g->json));
    }
    CAIRN_TRY(more);
    frame.name = cairn_buf_span(&g->name);
    frame.file = cairn_buf_span(&g->module);
    CAIRN_TRY(cairn_vec_reserve(&g->frames, g->frames.count + 1, FUNCTIONS_MAX));
    CAIRN_TRY(cairn_guest_frame(g->chain.guest, &frame, &g->frames.items[g->frames.count]));
    g->frames.count++;
    return 0;
}

static int read_chain(struct gprof2dot *g)
{
    int64_t number;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '['));
    while ((more = cairn_jsonin_item(&g->json)) > 0) {
        CAIRN_TRY(cairn_jsonin_whole(&g->json, &number));
        if (number < 0 || (uint64_t)number >= g->frames.count)
            return cairn_err_set(g->err, -CAIRN_EDAMAGED, 0, "import",
                                 "an event names a function that is not there");
        CAIRN_TRY(cairn_chain_add_known(&g->chain, g->frames.items[number]));
    }
    return more;
}

/* The first of the costs. */
static int read_cost(struct gprof2dot *g, double *ret_cost)
{
    bool first = true;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '['));
    while ((more = cairn_jsonin_item(&g->json)) > 0) {
        CAIRN_TRY(first ? cairn_jsonin_number(&g->json, ret_cost) : cairn_jsonin_skip(&g->json));
        first = false;
    }
    return more;
}

static int read_event(struct gprof2dot *g)
{
    struct cairn_guest_sample sample = {.thread = g->thread, .state = CAIRN_SAMPLE_UNKNOWN};
    uint64_t unit = cairn_chain_unit_ns(&g->chain);
    double cost = -1, unit_ns = (double)unit;
    struct cairn_span key;
    int more;

    CAIRN_TRY(cairn_jsonin_enter(&g->json, '{'));
    while ((more = cairn_jsonin_key(&g->json, &key)) > 0) {
        if (cairn_span_is(key, "callchain"))
            CAIRN_TRY(read_chain(g));
        else if (cairn_span_is(key, "cost"))
            CAIRN_TRY(read_cost(g, &cost));
        else
            CAIRN_TRY(cairn_jsonin_skip(&g->json));
    }
    CAIRN_TRY(more);
    if (g->chain.frames.count == 0 || !(cost >= 0) ||
        cost > (double)CAIRN_GUEST_TIME_MAX_NS / unit_ns)
        return cairn_err_set(g->err, -CAIRN_EDAMAGED, 0, "import",
                             "an event has no stack, or a cost that cannot be");
    sample.ns = (uint64_t)llround(cost * unit_ns);
    sample.count = g->chain.guest->counted && cost >= 1 ? (uint64_t)llround(cost) : 1;
    if (sample.ns > 0)
        return cairn_chain_give(&g->chain, &sample);
    g->chain.frames.count = 0;
    return 0;
}

/* Walks the values of one key; the others are passed over. */
static int walk(struct gprof2dot *g, struct cairn_feed *feed, const char *wanted,
                int (*read)(struct gprof2dot *g))
{
    struct cairn_span key;
    int more, item;

    CAIRN_TRY(cairn_feed_rewind(feed));
    cairn_jsonin_init(&g->json, feed);
    CAIRN_TRY(cairn_jsonin_enter(&g->json, '{'));
    while ((more = cairn_jsonin_key(&g->json, &key)) > 0) {
        if (!cairn_span_is(key, wanted)) {
            CAIRN_TRY(cairn_jsonin_skip(&g->json));
            continue;
        }
        CAIRN_TRY(cairn_jsonin_enter(&g->json, '['));
        while ((item = cairn_jsonin_item(&g->json)) > 0)
            CAIRN_TRY(read(g));
        CAIRN_TRY(item);
    }
    CAIRN_TRY(more);
    return cairn_jsonin_end(&g->json);
}

static int read_file(struct gprof2dot *g, struct cairn_feed *feed)
{
    struct cairn_guest_thread all = {.name = {NULL, 0}};
    int code;

    CAIRN_TRY(cairn_guest_thread(g->chain.guest, &all, &g->thread));
    code = walk(g, feed, "functions", read_function);
    cairn_jsonin_release(&g->json);
    CAIRN_TRY(code);
    code = walk(g, feed, "events", read_event);
    cairn_jsonin_release(&g->json);
    CAIRN_TRY(code);
    CAIRN_TRY(cairn_guest_fact(g->chain.guest, "import.times", "none"));
    return cairn_guest_fact(g->chain.guest, "import.values",
                            g->chain.guest->counted ? "samples" : "numbers without a unit");
}

int cairn_in_gprof2dot(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err)
{
    struct gprof2dot g = {.chain = {.guest = guest}, .err = err};
    int code;

    guest->counted = guest->interval_ns > 0;
    cairn_buf_init(&g.name, 2 * CAIRN_JSONIN_TEXT_MAX_BYTES);
    cairn_buf_init(&g.module, 2 * CAIRN_JSONIN_TEXT_MAX_BYTES);
    code = read_file(&g, feed);
    cairn_buf_release(&g.name);
    cairn_buf_release(&g.module);
    cairn_vec_release(&g.frames);
    cairn_chain_release(&g.chain);
    return code;
}
