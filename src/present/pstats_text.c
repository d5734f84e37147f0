#include "pstats_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "escape.h"

#define CALLERS_MAX ((size_t)1 << 21)
#define NUMBER_MAX 48

static void put_spaces(struct cairn_buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cairn_buf_u8(out, ' ');
}

/* A number of calls: "12", or "12/3" where some are recursive; "?" for what nobody knows. */
static void calls_text(const struct cairn_prof_numbers *numbers, char text[NUMBER_MAX])
{
    if (numbers->unsure && numbers->calls == 0)
        snprintf(text, NUMBER_MAX, "?");
    else if (numbers->unsure)
        snprintf(text, NUMBER_MAX, "%" PRId64 "/?", numbers->calls);
    else if (numbers->calls == numbers->primitive)
        snprintf(text, NUMBER_MAX, "%" PRId64, numbers->calls);
    else
        snprintf(text, NUMBER_MAX, "%" PRId64 "/%" PRId64, numbers->calls, numbers->primitive);
}

static void put_name(struct cairn_buf *out, const struct cairn_pstats *stats, uint32_t key)
{
    cairn_escape_terminal(out, cairn_pstats_name(stats, key));
}

/* The standard name, filled up to a width. */
static void put_wide_name(struct cairn_buf *out, const struct cairn_pstats *stats, uint32_t key,
                          size_t width)
{
    size_t own = cairn_pstats_width(cairn_pstats_name(stats, key));

    put_name(out, stats, key);
    put_spaces(out, own < width ? width - own : 0);
}

static void put_per_call(struct cairn_buf *out, double time_s, int64_t calls)
{
    if (calls == 0)
        put_spaces(out, 8);
    else
        cairn_buf_printf(out, "%8.3f", time_s / (double)calls);
    cairn_buf_u8(out, ' ');
}

static int print_row(const struct cairn_pstats *stats, uint32_t row, struct cairn_outlet *out)
{
    const struct cairn_prof_numbers *numbers = &stats->prof.rows.items[row].numbers;
    char calls[NUMBER_MAX];

    calls_text(numbers, calls);
    cairn_buf_printf(&out->buf, "%9s %8.3f ", calls, numbers->self_s);
    put_per_call(&out->buf, numbers->self_s, numbers->calls);
    cairn_buf_printf(&out->buf, "%8.3f ", numbers->total_s);
    put_per_call(&out->buf, numbers->total_s, numbers->unsure ? 0 : numbers->primitive);
    put_name(&out->buf, stats, stats->prof.rows.items[row].key);
    cairn_buf_u8(&out->buf, '\n');
    return cairn_outlet_drain(out);
}

static int print_rows(const struct cairn_pstats *stats, const struct cairn_pstats_list *list,
                      struct cairn_outlet *out)
{
    cairn_buf_add_str(&out->buf, stats->prof.sampled
                                     ? " nsamples  tottime persample cumtime persample "
                                     : "   ncalls  tottime  percall  cumtime  percall ");
    cairn_buf_add_str(&out->buf, "filename:lineno(function)\n");
    for (size_t i = 0; i < list->rows.count; i++)
        CAIRN_TRY(print_row(stats, list->rows.items[i], out));
    return 0;
}

static void put_head(const struct cairn_pstats *stats, struct cairn_buf *out)
{
    struct cairn_span head = cairn_buf_span(&stats->head);

    /* A line for each file, which Python leaves as it is. */
    for (size_t start = 0, at = 0; at < head.size_bytes; at++) {
        if (head.data[at] != '\n')
            continue;
        cairn_escape_terminal(out, (struct cairn_span){head.data + start, at - start});
        cairn_buf_u8(out, '\n');
        start = at + 1;
    }
    if (head.size_bytes > 0)
        cairn_buf_u8(out, '\n');
    cairn_buf_printf(out, "         %" PRId64 " function calls ", stats->calls);
    if (stats->unsure)
        cairn_buf_add_str(out, "(? primitive calls) ");
    else if (stats->calls != stats->primitive)
        cairn_buf_printf(out, "(%" PRId64 " primitive calls) ", stats->primitive);
    cairn_buf_printf(out, "in %.3f seconds\n\n", stats->total_s);
}

/* One entry of a list of callers or callees: the first stands behind the function and an arrow. */
static int print_edge(const struct cairn_pstats *stats, uint32_t key,
                      const struct cairn_prof_numbers *numbers, bool first, size_t width,
                      struct cairn_outlet *out)
{
    char calls[NUMBER_MAX];
    uint32_t row;

    if (numbers->plain) {
        put_spaces(&out->buf, first ? 0 : width + 3);
        put_name(&out->buf, stats, key);
        cairn_buf_printf(&out->buf, "(%" PRId64 ") ", numbers->calls);
        if (cairn_prof_find(&stats->prof, key, &row))
            cairn_buf_printf(&out->buf, "%8.3f\n", stats->prof.rows.items[row].numbers.total_s);
        else
            cairn_buf_add_str(&out->buf, "     n/a\n");
        return cairn_outlet_drain(out);
    }
    calls_text(numbers, calls);
    put_spaces(&out->buf, first ? 0 : width + 1);
    cairn_buf_printf(&out->buf, "%*s %8.3f %8.3f  ", first ? 7 : 9, calls, numbers->self_s,
                     numbers->total_s);
    put_name(&out->buf, stats, key);
    cairn_buf_u8(&out->buf, '\n');
    return cairn_outlet_drain(out);
}

static void put_edge_head(const struct cairn_pstats *stats, uint32_t row, size_t width,
                          const char *arrow, struct cairn_buf *out)
{
    put_wide_name(out, stats, stats->prof.rows.items[row].key, width);
    cairn_buf_printf(out, "%s ", arrow);
}

static int print_callees(const struct cairn_pstats *stats, uint32_t row, size_t width,
                         struct cairn_outlet *out)
{
    const struct cairn_pstats_callee *callees;
    size_t count = cairn_pstats_callees(stats, stats->prof.rows.items[row].key, &callees);

    put_edge_head(stats, row, width, "->", &out->buf);
    if (count == 0)
        return cairn_buf_u8(&out->buf, '\n');
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(print_edge(stats, callees[i].callee, &callees[i].numbers, i == 0, width, out));
    return 0;
}

CAIRN_VEC_DECLARE(caller_list, const struct cairn_prof_caller *);

static int compare_callers(const void *a, const void *b, void *ctx)
{
    const struct cairn_prof_caller *left = *(const struct cairn_prof_caller *const *)a;
    const struct cairn_prof_caller *right = *(const struct cairn_prof_caller *const *)b;

    return cairn_prof_compare(ctx, left->key, right->key);
}

/* `list`: room for the callers of one function, kept from one to the next. */
static int print_callers(const struct cairn_pstats *stats, uint32_t row, size_t width,
                         struct caller_list *list, struct cairn_outlet *out)
{
    const struct cairn_prof *prof = &stats->prof;

    put_edge_head(stats, row, width, "<-", &out->buf);
    list->count = 0;
    for (uint32_t i = prof->rows.items[row].first; i != CAIRN_PROF_NONE;
         i = prof->callers.items[i].next) {
        CAIRN_TRY(cairn_vec_reserve(list, list->count + 1, CALLERS_MAX));
        list->items[list->count++] = &prof->callers.items[i];
    }
    if (list->count == 0)
        return cairn_buf_u8(&out->buf, '\n');
    qsort_r(list->items, list->count, sizeof(*list->items), compare_callers,
            (void *)(uintptr_t)prof);
    for (size_t i = 0; i < list->count; i++)
        CAIRN_TRY(
            print_edge(stats, list->items[i]->key, &list->items[i]->numbers, i == 0, width, out));
    return 0;
}

/* Whether the first function that has callers knows their times. */
static bool has_caller_times(const struct cairn_prof *prof)
{
    for (size_t i = 0; i < prof->rows.count; i++)
        if (prof->rows.items[i].first != CAIRN_PROF_NONE)
            return !prof->callers.items[prof->rows.items[i].first].numbers.plain;
    return false;
}

static int print_edges(struct cairn_pstats *stats, enum cairn_pstats_table table,
                       const struct cairn_pstats_list *list, struct cairn_outlet *out)
{
    bool callees = table == CAIRN_PSTATS_CALLEES;
    size_t width = list->name_width + 2;
    struct caller_list callers = {0};
    int code = callees ? cairn_pstats_find_callees(stats) : 0;

    cairn_buf_add_str(&out->buf, "Function ");
    put_spaces(&out->buf, width > 9 ? width - 9 : 0);
    cairn_buf_add_str(&out->buf, callees ? "called...\n" : "was called by...\n");
    if (has_caller_times(&stats->prof)) {
        put_spaces(&out->buf, width);
        cairn_buf_add_str(&out->buf, stats->prof.sampled ? "    nsamples  tottime  cumtime\n"
                                                         : "    ncalls  tottime  cumtime\n");
    }
    for (size_t i = 0; i < list->rows.count && code == 0; i++)
        code = callees ? print_callees(stats, list->rows.items[i], width, out)
                       : print_callers(stats, list->rows.items[i], width, &callers, out);
    cairn_vec_release(&callers);
    return code;
}

static int print_list(struct cairn_pstats *stats, enum cairn_pstats_table table,
                      const struct cairn_pstats_list *list, struct cairn_outlet *out)
{
    if (list->rows.count == 0)
        return 0;
    cairn_buf_add(&out->buf, list->message.data, list->message.size_bytes);
    cairn_buf_u8(&out->buf, '\n');
    if (table == CAIRN_PSTATS_STATS)
        CAIRN_TRY(print_rows(stats, list, out));
    else
        CAIRN_TRY(print_edges(stats, table, list, out));
    return cairn_buf_add_str(&out->buf, "\n\n");
}

int cairn_pstats_print(struct cairn_pstats *stats, enum cairn_pstats_table table,
                       const struct cairn_pstats_limit *limits, size_t count,
                       struct cairn_outlet *out)
{
    struct cairn_pstats_list list;
    int code = cairn_pstats_select(stats, limits, count, &list);

    if (code == 0 && table == CAIRN_PSTATS_STATS)
        put_head(stats, &out->buf);
    if (code == 0)
        code = print_list(stats, table, &list, out);
    cairn_pstats_list_release(&list);
    return code < 0 ? code : cairn_outlet_drain(out);
}
