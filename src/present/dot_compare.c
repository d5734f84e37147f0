#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "dot_priv.h"
#include "intern.h"

#define NAMES_MAX_BYTES ((size_t)1 << 30)
#define LABEL_BYTES 128
#define NUMBER_BYTES 400 /* digits behind the point go as far as a tolerance does */
#define DIGITS_MAX 17    /* so many tell a double from every other */

struct compared {
    struct cairn_dot *before, *after;
    const struct cairn_dot_compare *options;
    uint32_t *other;    /* of each node of before the one of after that is called so */
    double least, most; /* how much functions differ, points of the total's percentage */
};

/* How a function is shown. */
struct look {
    const char *shape, *orientation;
    double difference; /* what it is coloured by; 0: by nothing */
};

/* --- which functions are one --- */

/* Of several that are called alike the last one, as gprof2dot takes it. */
static int name_after(struct cairn_dot *after, struct cairn_intern *names, uint32_t *number_of)
{
    for (uint32_t number = 0; number < after->nodes.count; number++) {
        uint32_t id;

        if (!after->nodes.items[number].kept)
            continue;
        CAIRN_TRY(cairn_dot_name(after, after->nodes.items[number].key));
        CAIRN_TRY(cairn_intern_add(names, cairn_buf_span(&after->text), &id));
        number_of[id] = number;
    }
    return 0;
}

static int pair(struct compared *compared)
{
    struct cairn_dot *before = compared->before, *after = compared->after;
    uint32_t *number_of = cairn_malloc((after->nodes.count + 1) * sizeof(*number_of));
    struct cairn_intern names;
    int code = cairn_intern_init(&names, NAMES_MAX_BYTES);
    size_t named = 0;

    compared->other = cairn_malloc((before->nodes.count + 1) * sizeof(*compared->other));
    if (code == 0 && (!number_of || !compared->other))
        code = -CAIRN_ENOMEM;
    if (code == 0)
        code = name_after(after, &names, number_of);
    if (code == 0)
        named = cairn_intern_count(&names);
    for (size_t i = 0; code == 0 && i < before->nodes.count; i++) {
        uint32_t id;

        code = cairn_dot_name(before, before->nodes.items[i].key);
        if (code == 0)
            code = cairn_intern_add(&names, cairn_buf_span(&before->text), &id);
        if (code == 0)
            compared->other[i] = id < named ? number_of[id] : CAIRN_DOT_NO_NUMBER;
    }
    cairn_intern_release(&names);
    free(number_of);
    return code;
}

static const struct cairn_dot_node *other_of(const struct compared *compared, uint32_t number)
{
    uint32_t other = compared->other[number];

    return other == CAIRN_DOT_NO_NUMBER ? NULL : &compared->after->nodes.items[other];
}

/* The same calls in the other one; NULL: there are none. */
static const struct cairn_dot_call *other_call(const struct compared *compared,
                                               const struct cairn_dot_call *call)
{
    const struct cairn_dot_node *caller = other_of(compared, call->caller);
    uint32_t callee = compared->other[call->callee];

    for (size_t i = caller ? caller->first_call : 0; caller && i < caller[1].first_call; i++) {
        const struct cairn_dot_call *other = &compared->after->calls.items[i];

        if (other->callee == callee && other->kept && compared->after->nodes.items[callee].kept)
            return other;
    }
    return NULL;
}

/* --- how much they differ --- */

static double measure(const struct cairn_dot *dot, const struct cairn_dot_node *node,
                      enum cairn_dot_measure which)
{
    const struct cairn_prof_numbers *numbers = cairn_dot_numbers(dot, node);

    switch (which) {
    case CAIRN_DOT_TOTAL_SHARE:
        return cairn_dot_share(numbers->total_s, dot->whole_total_s);
    case CAIRN_DOT_SELF_SHARE:
        return cairn_dot_share(numbers->self_s, dot->whole_self_s);
    case CAIRN_DOT_TOTAL_TIME:
        return numbers->total_s;
    default:
        return numbers->self_s;
    }
}

static double difference(const struct compared *compared, uint32_t number,
                         enum cairn_dot_measure which, bool *ret_more)
{
    const struct cairn_dot_node *other = other_of(compared, number);
    double before = measure(compared->before, &compared->before->nodes.items[number], which);
    double after = other ? measure(compared->after, other, which) : before;

    *ret_more = after > before;
    return fabs(before - after) * 100;
}

static void find_range(struct compared *compared)
{
    bool more, any = false;

    for (uint32_t i = 0; i < compared->before->nodes.count; i++) {
        double points;

        if (!compared->before->nodes.items[i].kept)
            continue;
        points = difference(compared, i, CAIRN_DOT_TOTAL_SHARE, &more);
        compared->least = any ? fmin(compared->least, points) : points;
        compared->most = any ? fmax(compared->most, points) : points;
        any = true;
    }
}

/* --- what is written --- */

/* As Python writes a number that it has rounded to as many places as the tolerance has. */
static void put_rounded(struct cairn_buf *out, double number, double tolerance)
{
    int places = (int)-floor(log10(tolerance));
    char text[NUMBER_BYTES], *end;
    double rounded;

    if (places < 0) {
        double scale = pow(10, -places);

        rounded = rint(number / scale) * scale;
    } else {
        (void)snprintf(text, sizeof(text), "%.*f", places, number);
        rounded = strtod(text, &end);
    }
    for (int digits = 1; digits <= DIGITS_MAX; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, rounded);
        if (strtod(text, &end) == rounded)
            break;
    }
    /* Whole numbers below 1e16 are written with a point, and without an exponent. */
    if (fabs(rounded) < 1e16 && rounded == trunc(rounded))
        (void)snprintf(text, sizeof(text), "%.1f", rounded);
    cairn_buf_add_str(out, text);
}

static void put_both(const struct compared *compared, uint32_t number, enum cairn_dot_measure which,
                     struct look *look, struct cairn_buf *out)
{
    const struct cairn_dot_compare *options = compared->options;
    struct cairn_dot *before = compared->before;
    bool more, shown = true;
    double points = difference(compared, number, which, &more);

    cairn_dot_put_measure(before, cairn_dot_numbers(before, &before->nodes.items[number]), which,
                          out);
    if (which == CAIRN_DOT_TOTAL_SHARE) {
        shown =
            points >= options->tolerance && !(more ? options->only_faster : options->only_slower);
        look->difference = shown ? points : 0;
        look->shape = shown ? "cds" : "box";
        look->orientation = shown && !more ? "90" : "0";
    }
    if (!shown || points < options->tolerance)
        return;
    cairn_buf_add_str(out, more ? " + " : " - ");
    put_rounded(out, points, options->tolerance);
    cairn_buf_u8(out, '%');
}

/* The text of a box, and what it looks like. */
static int put_label(const struct compared *compared, uint32_t number, struct look *look,
                     struct cairn_buf *out)
{
    struct cairn_dot *before = compared->before;
    const struct cairn_dot_node *node = &before->nodes.items[number];
    const struct cairn_dot_node *other = other_of(compared, number);
    const struct cairn_prof_numbers *numbers = cairn_dot_numbers(before, node);
    const enum cairn_dot_measure *labels;
    size_t count = cairn_dot_labels(before->options, &labels);

    CAIRN_TRY(cairn_dot_put_name(before, node->key, other != NULL, out));
    for (size_t i = 0; i < count; i++) {
        cairn_buf_add_str(out, "\\n");
        if (!other) {
            cairn_dot_put_measure(before, numbers, labels[i], out);
            continue;
        }
        put_both(compared, number, labels[i], look, out);
        cairn_buf_printf(out, "\\n%" PRId64 " " CAIRN_DOT_TIMES "/ %" PRId64 " " CAIRN_DOT_TIMES,
                         numbers->calls, cairn_dot_numbers(compared->after, other)->calls);
    }
    if (!other)
        cairn_buf_printf(out, "\\n%" PRId64 CAIRN_DOT_TIMES, numbers->calls);
    return out->code;
}

static double weight_of(const struct compared *compared, const struct cairn_dot_node *node,
                        const struct look *look)
{
    double range = compared->most - compared->least;

    if (!compared->options->by_difference)
        return node->weight;
    if (look->difference == 0)
        return 0;
    return range > 0 ? (look->difference - compared->least) / range : 1;
}

static int put_node(const struct compared *compared, uint32_t number, struct cairn_buf *label,
                    struct cairn_buf *out)
{
    struct cairn_dot *before = compared->before;
    const struct cairn_dot_node *node = &before->nodes.items[number];
    struct look look = {.shape = "box", .orientation = "0"};
    double weight;

    cairn_buf_clear(label);
    CAIRN_TRY(put_label(compared, number, &look, label));
    weight = weight_of(compared, node, &look);
    cairn_buf_printf(out, "\t%" PRIu32 " [color=", number);
    cairn_dot_colour(out, before->theme, weight, before->options->skew);
    cairn_buf_add_str(out, ", fontcolor=");
    cairn_dot_text_colour(out, before->theme, weight, before->options->skew);
    cairn_buf_printf(out, ", fontsize=\"%f\", label=\"",
                     cairn_dot_font_size(before->theme, weight));
    cairn_buf_add(out, label->data, label->size_bytes);
    cairn_buf_printf(out, "\", orientation=%s, shape=%s, tooltip=", look.orientation, look.shape);
    CAIRN_TRY(cairn_dot_put_tooltip(before, node->key, out));
    return cairn_buf_add_str(out, "];\n");
}

static void put_call(const struct compared *compared, const struct cairn_dot_call *call,
                     struct cairn_buf *out)
{
    const struct cairn_dot_call *other = other_call(compared, call);
    double weight = cairn_dot_share(call->numbers->total_s, compared->before->whole_total_s);
    double part =
        other ? cairn_dot_share(other->numbers->total_s, compared->after->whole_total_s) : 0;
    char label[LABEL_BYTES];
    int length;

    if (other)
        length =
            snprintf(label, sizeof(label),
                     "%.2f%% / %.2f%%\\n%" PRId64 CAIRN_DOT_TIMES " / %" PRId64 CAIRN_DOT_TIMES,
                     weight * 100, part * 100, call->numbers->primitive, other->numbers->primitive);
    else
        length = snprintf(label, sizeof(label), "%.2f%%\\n%" PRId64 CAIRN_DOT_TIMES, weight * 100,
                          call->numbers->primitive);
    cairn_dot_put_call(compared->before, call, compared->options->by_difference ? 0 : weight,
                       (struct cairn_span){(const uint8_t *)label, (size_t)length}, out);
}

static int put_graph(const struct compared *compared, struct cairn_buf *label,
                     struct cairn_outlet *out)
{
    const struct cairn_dot *before = compared->before;

    cairn_dot_put_head(before->theme, "", &out->buf);
    for (uint32_t number = 0; number < before->nodes.count; number++) {
        const struct cairn_dot_node *node = &before->nodes.items[number];

        if (!node->kept)
            continue;
        CAIRN_TRY(put_node(compared, number, label, &out->buf));
        for (size_t i = node->first_call; i < node[1].first_call; i++)
            if (before->calls.items[i].kept &&
                before->nodes.items[before->calls.items[i].callee].kept)
                put_call(compared, &before->calls.items[i], &out->buf);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    return cairn_buf_add_str(&out->buf, "}\n");
}

int cairn_dot_compare(const struct cairn_prof *before, const struct cairn_prof *after,
                      const struct cairn_dot_options *options,
                      const struct cairn_dot_compare *compare, struct cairn_outlet *out,
                      struct cairn_err *err)
{
    struct compared compared = {.options = compare};
    struct cairn_dot dots[2];
    struct cairn_buf label;
    int code;

    CAIRN_TRY(cairn_dot_make(before, options, &dots[0], err));
    code = cairn_dot_make(after, options, &dots[1], err);
    if (code < 0) {
        cairn_dot_release(&dots[0]);
        return code;
    }
    cairn_buf_init(&label, NAMES_MAX_BYTES);
    compared.before = &dots[0];
    compared.after = &dots[1];
    code = pair(&compared);
    if (code == 0) {
        find_range(&compared);
        code = put_graph(&compared, &label, out);
    }
    cairn_buf_release(&label);
    free(compared.other);
    cairn_dot_release(&dots[0]);
    cairn_dot_release(&dots[1]);
    return code;
}
