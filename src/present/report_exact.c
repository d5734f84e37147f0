/* The table that cProfile prints, of calls that were counted one by one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "exactrows.h"
#include "overhead.h"
#include "report_parts.h"
#include "text.h"

#define NS_PER_S 1e9
#define COUNT_COLUMNS 9

static void put_head(struct cairn_page *page, const char *title)
{
    cairn_page_end(page);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_str(page, title);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
    cairn_page_str(page, "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)");
    cairn_page_end(page);
}

static void put_title(struct cairn_report *report, const struct cairn_exact_table *table)
{
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    cairn_buf_init(&text, 256);
    if (table->calls > 0)
        cairn_text_count(&text, table->calls);
    else
        cairn_buf_add_str(&text, "no");
    cairn_buf_printf(&text, " call%s counted%s, ", table->calls == 1 ? "" : "s",
                     !cairn_exact_misses(table) ? ""
                     : table->stopped || table->let_go > 0 || table->natives_let_go
                         ? ", not all"
                         : ", not all timed");
    cairn_text_amount(&text, table->self_ns, report->facts.each_ns);
    cairn_buf_add_str(&text, ", by function");
    if (table->cost_known) {
        cairn_buf_add_str(&text, "; counting took about ");
        cairn_text_time(&text, (uint64_t)table->cost_ns);
        /* Who counts a part of the calls has the program pay for the others, too. */
        cairn_buf_add_str(&text, table->cost_ns <= (double)table->self_ns
                                     ? " of it"
                                     : ", most of it outside of what was counted");
    }
    put_head(page, cairn_buf_cstr(&text));
    cairn_page_drop(page, &text);
}

/* "12" or, of what recurses, "30/10"; "30/?" where it is not known whether it did, "?" where it is
 * not known how often it was called; ">12" where there were more. What has no room moves the rest
 * of the line. */
static void put_calls(struct cairn_page *page, bool whole, uint64_t calls, uint64_t primitive,
                      bool unsure)
{
    const char *more = whole ? "" : ">";
    char text[48];
    int length;

    if (unsure)
        length = calls == 0 ? snprintf(text, sizeof(text), "?")
                            : snprintf(text, sizeof(text), "%" PRIu64 "/?", calls);
    else if (calls == primitive)
        length = snprintf(text, sizeof(text), "%s%" PRIu64, more, calls);
    else
        length = snprintf(text, sizeof(text), "%s%" PRIu64 "/%" PRIu64, more, calls, primitive);
    if (length < COUNT_COLUMNS)
        cairn_page_to(page, (unsigned)(COUNT_COLUMNS - length));
    cairn_page_str(page, text);
}

/* What is counted without its times may have recursed: nobody knows. */
static void put_calls_of(struct cairn_page *page, const struct cairn_exact_table *table,
                         const struct cairn_exact_line *line)
{
    put_calls(page, cairn_exact_counts_all(table, line), line->calls,
              cairn_exact_is_untimed(line) ? line->calls : line->primitive_calls, line->unsure);
}

/* What a call took, or more: in seconds, or where it is no time, as the number it is. */
static void put_value(struct cairn_report *report, uint64_t ns, uint64_t per)
{
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    cairn_buf_init(&text, 64);
    if (per == 0) /* it was resumed alone, or not timed */
        cairn_buf_add_str(&text, "n/a");
    else if (report->facts.each_ns == 0)
        cairn_buf_printf(&text, "%.3f", (double)ns / (double)per / NS_PER_S);
    else
        cairn_text_amount(&text, (ns + per / 2) / per, report->facts.each_ns);
    cairn_page_printf(page, " %8s", cairn_buf_cstr(&text));
    cairn_page_drop(page, &text);
}

static void put_place(struct cairn_report *report, uint32_t index)
{
    struct cairn_page *page = &report->page;
    const struct cairn_function *functions, *function;
    struct cairn_buf text;

    cairn_model_functions(report->tally->model, &functions);
    function = &functions[index];
    cairn_buf_init(&text, 1 << 18);
    if (function->kind == CAIRN_FUNCTION_PYTHON &&
        (function->file.size_bytes != 1 || function->file.data[0] != '~')) {
        cairn_buf_add(&text, function->file.data, function->file.size_bytes);
        cairn_buf_printf(&text, ":%u(", function->first_line);
        cairn_buf_add(&text, function->qualname.data, function->qualname.size_bytes);
        cairn_buf_u8(&text, ')');
    } else if (function->name.size_bytes > 2 && function->name.data[0] == '<') {
        cairn_buf_u8(&text, '{');
        cairn_buf_add(&text, function->name.data + 1, function->name.size_bytes - 2);
        cairn_buf_u8(&text, '}');
    } else {
        cairn_buf_add(&text, function->name.data, function->name.size_bytes);
    }
    cairn_page_str(page, " ");
    cairn_page_fit(page, cairn_buf_span(&text), page->width - page->column, CAIRN_CUT_START);
    cairn_page_drop(page, &text);
    cairn_page_end(page);
}

/* Whether most of its own time is what counting took. */
static bool is_poor(const struct cairn_exact_table *table, const struct cairn_exact_line *line)
{
    const char *confidence = cairn_exact_confidence(table, line);

    return confidence != NULL && confidence[0] == 'p';
}

static void put_line(struct cairn_report *report, const struct cairn_exact_table *table,
                     const struct cairn_exact_line *line)
{
    struct cairn_page *page = &report->page;
    bool timed = !(cairn_exact_counts_all(table, line) && cairn_exact_is_untimed(line));

    put_calls_of(page, table, line);
    put_value(report, line->self_ns, timed);
    put_value(report, line->self_ns, timed ? line->calls : 0);
    put_value(report, line->total_ns, timed);
    put_value(report, line->total_ns, timed && !line->unsure ? line->primitive_calls : 0);
    if (is_poor(table, line))
        cairn_page_str(page, " ~");
    put_place(report, line->function);
}

static void put_legend(struct cairn_report *report, const struct cairn_exact_table *table,
                       size_t most)
{
    for (size_t i = 0; i < table->lines.count && i < most; i++)
        if (is_poor(table, &table->lines.items[i])) {
            cairn_page_prose(&report->page, 0,
                             cairn_span_of("~: over half of its tottime is what counting took; "
                                           "without that: cairn report --json, self_corrected_s"));
            return;
        }
}

/* --- what was let go so that counting cost no more than it might --- */

static const struct cairn_row *row_of(const struct cairn_rows *rows, uint32_t function)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->items[i].function == function)
            return &rows->items[i];
    return NULL;
}

static void put_let_go_line(struct cairn_report *report, const struct cairn_rows *rows,
                            const struct cairn_exact_table *table,
                            const struct cairn_exact_line *line)
{
    struct cairn_page *page = &report->page;
    const struct cairn_row *row = row_of(rows, line->function);

    put_calls_of(page, table, line);
    if (row != NULL && row->self.ticks > 0)
        cairn_page_printf(page, "  %8.3f  %4.1f..%-4.1f %%", (double)row->self.value_ns / NS_PER_S,
                          100 * row->self_low, 100 * row->self_high);
    else
        cairn_page_str(page, "  no sample           ");
    put_place(report, line->function);
}

/* In the order of the table: what was let go, or what was counted on without its times. */
static void put_let_go_rows(struct cairn_report *report, const struct cairn_exact_table *table,
                            bool untimed, size_t most)
{
    const struct cairn_rows_options options = {.by = CAIRN_BY_FUNCTION, .with_idle = true};
    struct cairn_page *page = &report->page;
    struct cairn_rows rows;
    size_t count = untimed ? table->untimed : table->let_go, put = 0;

    if (count == 0)
        return;
    if (cairn_rows_make(report->tally, &options, &rows, NULL) < 0) {
        page->out->code = -CAIRN_ENOMEM;
        return;
    }
    cairn_page_end(page);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_printf(page, "%zu function%s %s", count, count == 1 ? "" : "s",
                      untimed ? "counted to the end, and timed only until it cost too much: sampled"
                              : "let go: counted until then (>), since then sampled");
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
    cairn_page_str(page, "   ncalls    self s     95 %      filename:lineno(function)");
    cairn_page_end(page);
    for (size_t i = 0; i < table->lines.count && put < most; i++)
        if (table->lines.items[i].let_go & CAIRN_CALLS_LET_GO
                ? !untimed
                : untimed && cairn_exact_is_untimed(&table->lines.items[i])) {
            put_let_go_line(report, &rows, table, &table->lines.items[i]);
            put++;
        }
    if (count > put) {
        cairn_page_printf(page, "and %zu more: cairn report --by function --limit %zu", count - put,
                          table->lines.count);
        cairn_page_end(page);
    }
    cairn_rows_release(&rows);
}

static void put_misses(struct cairn_report *report, const struct cairn_exact_table *table)
{
    struct cairn_overhead overhead = cairn_overhead_of(report->tally->model);
    struct cairn_buf text;

    if (!cairn_exact_misses(table))
        return;
    cairn_buf_init(&text, 512);
    if (table->untimed > 0)
        cairn_buf_printf(&text,
                         "n/a: counted without its time, which was too dear for "
                         "--max-overhead %g %%, and falls to the tottime of what called it; ",
                         100 * overhead.limit);
    if (table->let_go > 0 || table->stopped || table->natives_let_go)
        cairn_buf_printf(&text,
                         "> so many and more: let go for --max-overhead %g %%; a tottime may hold "
                         "that of what was let go, and the sum of all calls is too small",
                         100 * overhead.limit);
    else
        cairn_buf_add_str(&text, "no call is missing");
    if (table->natives_let_go)
        cairn_buf_add_str(&text, "; some functions' calls of C are among it, so of C and types no "
                                 "number of calls is whole");
    if (table->stopped)
        cairn_buf_add_str(&text, "; and all counting ended before the program did");
    cairn_page_prose(&report->page, 0, cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
}

int cairn_report_exact(struct cairn_report *report, size_t usual)
{
    size_t most = report->options->limit ? report->options->limit : usual;
    struct cairn_exact_table table;
    int code = cairn_exact_table_make(report->tally, report->options->sort, &table);

    if (code == 0) {
        put_title(report, &table);
        for (size_t i = 0; i < table.lines.count && i < most; i++)
            put_line(report, &table, &table.lines.items[i]);
        put_legend(report, &table, most);
        if (table.lines.count > most) {
            cairn_page_printf(&report->page, "and %zu more: cairn report --by function --limit %zu",
                              table.lines.count - most, table.lines.count);
            cairn_page_end(&report->page);
        }
        put_misses(report, &table);
        put_let_go_rows(report, &table, true, most);
        put_let_go_rows(report, &table, false, most);
    }
    cairn_exact_table_release(&table);
    return code;
}

/* --- the functions of --of --- */

static void put_edge(struct cairn_report *report, const struct cairn_exact_caller *caller,
                     uint32_t function)
{
    struct cairn_page *page = &report->page;
    bool timed = !caller->plain, own = timed && !caller->inferred;

    put_calls(page, true, caller->calls, caller->primitive_calls, caller->unsure);
    put_value(report, caller->self_ns, own);
    put_value(report, caller->self_ns, own ? caller->calls : 0);
    put_value(report, caller->total_ns, timed);
    put_value(report, caller->total_ns, timed && !caller->unsure ? caller->primitive_calls : 0);
    put_place(report, function);
}

/* The pairs in which a function that matches is the callee, or the caller. */
static void put_edges(struct cairn_report *report, const struct cairn_exact_table *table,
                      const bool *matched, bool callers, size_t most)
{
    struct cairn_page *page = &report->page;
    size_t count = 0;

    put_head(page, callers ? "counted, called by" : "counted, calls");
    for (size_t i = 0; i < table->callers.count; i++) {
        const struct cairn_exact_caller *caller = &table->callers.items[i];

        if (matched[callers ? caller->callee : caller->function] && count++ < most)
            put_edge(report, caller, callers ? caller->function : caller->callee);
    }
    if (count == 0)
        cairn_page_str(page, "     none");
    else if (count > most)
        cairn_page_printf(page, "and %zu more: --limit %zu", count - most, count);
    if (count == 0 || count > most)
        cairn_page_end(page);
}

int cairn_report_exact_of(struct cairn_report *report, size_t usual, struct cairn_err *err)
{
    const struct cairn_model *model = report->tally->model;
    size_t most = report->options->limit ? report->options->limit : usual;
    const struct cairn_function *functions;
    struct cairn_exact_table table = {.calls = 0};
    bool *matched;
    int code;

    if (!cairn_exact_table_has(report->tally))
        return 0;
    matched = cairn_calloc(cairn_model_functions(model, &functions) + 1, sizeof(*matched));
    code = matched == NULL ? -CAIRN_ENOMEM
                           : cairn_rows_match(model, report->options->of, matched, err);
    if (code == 0)
        code = cairn_exact_table_make(report->tally, report->options->sort, &table);
    if (code == 0) {
        put_head(&report->page, "counted, itself");
        for (size_t i = 0, put = 0; i < table.lines.count && put < most; i++)
            if (matched[table.lines.items[i].function]) {
                put_line(report, &table, &table.lines.items[i]);
                put++;
            }
        put_edges(report, &table, matched, true, most);
        put_edges(report, &table, matched, false, most);
    }
    cairn_exact_table_release(&table);
    free(matched);
    if (code == -CAIRN_ENOMEM)
        cairn_err_set(err, code, 0, "report", "cannot report the calls");
    return code;
}
