#include "report_text.h"

#include <string.h>

#include "escape.h"
#include "exactrows.h"
#include "report_parts.h"
#include "text.h"

#define OVERVIEW_FUNCTIONS 10
#define OVERVIEW_COUNTED 10 /* functions */
#define OVERVIEW_LINES 8
#define OVERVIEW_GROUPS 6
#define OVERVIEW_WAITS 4
#define WORDS_WAITS 10
#define OVERVIEW_TASKS 6
#define OVERVIEW_REGIONS 8
#define VIEW_ROWS 25
#define EDGE_ROWS 12
#define WORDS_MAX_BYTES ((size_t)1 << 20)
#define WORDS_COLUMNS 1000000 /* more than any line has */
#define TOP_WORTH 0.05        /* of the program: below, no function is worth a sentence */

void cairn_report_options_init(struct cairn_report_options *options)
{
    *options = (struct cairn_report_options){.by = -1, .width = 80, .next = true};
}

/* The program alone is ranked where it has anything to rank. */
static bool program_only(const struct cairn_report *report)
{
    return report->facts.busy_phase[CAIRN_PHASE_PROGRAM].ticks > 0;
}

static int make_rows(struct cairn_report *report, enum cairn_by by, bool only_program,
                     struct cairn_rows *ret_rows, struct cairn_err *err)
{
    struct cairn_rows_options options = {
        .by = by,
        .sort = report->options->sort,
        .with_idle = report->options->with_idle,
        .program_only = only_program,
    };
    int code;

    CAIRN_TRY(cairn_rows_make(report->tally, &options, ret_rows, err));
    code = cairn_report_outside(report, &options, ret_rows, err);
    if (code < 0)
        cairn_rows_release(ret_rows);
    return code;
}

/* "program 1.2 s, by function": what the shares below are of. */
static void put_title(struct cairn_report *report, const char *whole, uint64_t value_ns,
                      const char *by)
{
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    cairn_buf_init(&text, 256);
    cairn_text_amount(&text, value_ns, report->facts.each_ns);
    cairn_page_end(page);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_printf(page, "%s %s%s", whole, cairn_buf_cstr(&text), by);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
    cairn_page_drop(page, &text);
}

static int put_exact(struct cairn_report *report, size_t usual, struct cairn_err *err)
{
    if (cairn_report_exact(report, usual) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "report", "cannot report the calls");
    return 0;
}

static int put_overview(struct cairn_report *report, const struct cairn_rows *functions,
                        struct cairn_err *err)
{
    bool only_program = program_only(report);
    const char *whole = only_program ? "program" : "all";
    struct cairn_rows rows;
    bool exact = cairn_exact_table_has(report->tally);

    if (exact)
        CAIRN_TRY(put_exact(report, OVERVIEW_FUNCTIONS, err));
    if (exact && !functions->rankable)
        return 0;
    if (!exact)
        put_title(report, whole, functions->base.value_ns,
                  functions->rankable ? ", by function" : "");
    if (!functions->rankable) {
        cairn_report_too_few(report, functions);
        return 0;
    }
    if (!exact)
        cairn_report_places(report, functions, OVERVIEW_FUNCTIONS);
    CAIRN_TRY(make_rows(report, CAIRN_BY_LINE, only_program, &rows, err));
    put_title(report, whole, rows.base.value_ns, ", by line");
    cairn_report_lines(report, &rows, OVERVIEW_LINES);
    cairn_rows_release(&rows);
    return 0;
}

static int put_groups(struct cairn_report *report, enum cairn_by by, size_t usual,
                      const char *title, struct cairn_err *err)
{
    struct cairn_rows rows;

    CAIRN_TRY(make_rows(report, by, false, &rows, err));
    put_title(report, "all", rows.base.value_ns, title);
    cairn_report_groups(report, &rows, usual);
    cairn_rows_release(&rows);
    return 0;
}

static int put_tasks(struct cairn_report *report, size_t usual, struct cairn_err *err)
{
    if (cairn_report_tasks(report, usual) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "report", "cannot report the tasks");
    return 0;
}

static int put_regions(struct cairn_report *report, struct cairn_err *err)
{
    int code = cairn_report_regions(report, OVERVIEW_REGIONS);

    return code == 0 ? 0
                     : cairn_err_set(err, code, 0, "report", "cannot report the regions: %s",
                                     cairn_err_sentence(code));
}

static int put_tracks(struct cairn_report *report, struct cairn_err *err)
{
    if (report->facts.process_count > 1 && cairn_report_roles(report) < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "report", "cannot report the processes");
    /* One thread a process: that table would be the same again. */
    if (report->facts.thread_count > 1 && report->facts.thread_count > report->facts.process_count)
        CAIRN_TRY(put_groups(report, CAIRN_BY_THREAD, OVERVIEW_GROUPS, ", by thread", err));
    return 0;
}

static int put_view(struct cairn_report *report, struct cairn_err *err)
{
    static const char *const titles[CAIRN_BY_COUNT] = {
        [CAIRN_BY_FUNCTION] = ", by function", [CAIRN_BY_LINE] = ", by line",
        [CAIRN_BY_MODULE] = ", by module",     [CAIRN_BY_THREAD] = ", by thread",
        [CAIRN_BY_PROCESS] = ", by process",   [CAIRN_BY_STATE] = ", by state",
    };
    enum cairn_by by = (enum cairn_by)report->options->by;
    bool places = by == CAIRN_BY_FUNCTION || by == CAIRN_BY_LINE;
    bool only_program = places && program_only(report);
    struct cairn_rows rows;

    if (by == CAIRN_BY_FUNCTION && cairn_exact_table_has(report->tally))
        return put_exact(report, VIEW_ROWS, err);
    if (by == CAIRN_BY_LINE)
        CAIRN_TRY(cairn_report_counted(report, VIEW_ROWS, err));
    if (!places)
        return put_groups(report, by, VIEW_ROWS, titles[by], err);
    CAIRN_TRY(make_rows(report, by, only_program, &rows, err));
    put_title(report, only_program ? "program" : "all", rows.base.value_ns,
              rows.rankable ? titles[by] : "");
    if (!rows.rankable)
        cairn_report_too_few(report, &rows);
    else if (by == CAIRN_BY_LINE)
        cairn_report_lines(report, &rows, VIEW_ROWS);
    else
        cairn_report_places(report, &rows, VIEW_ROWS);
    cairn_rows_release(&rows);
    return 0;
}

static void put_subtitle(struct cairn_report *report, const char *text)
{
    cairn_page_end(&report->page);
    cairn_page_style(&report->page, CAIRN_STYLE_STRONG);
    cairn_page_str(&report->page, text);
    cairn_page_style(&report->page, CAIRN_STYLE_PLAIN);
    cairn_page_end(&report->page);
}

static int put_neighbours(struct cairn_report *report, struct cairn_err *err)
{
    struct cairn_rows callers, callees, self;

    if (cairn_exact_table_is_told(report->tally)) /* facts, where all else is inferred */
        return cairn_report_exact_of(report, EDGE_ROWS, err);
    CAIRN_TRY(
        cairn_rows_callers(report->tally, report->options->of, &callers, &callees, &self, err));
    put_subtitle(report, "called by");
    cairn_report_edges(report, &callers, EDGE_ROWS);
    put_title(report, "itself, of", self.base.value_ns, "");
    cairn_report_places(report, &self, EDGE_ROWS);
    put_subtitle(report, "calls");
    cairn_report_edges(report, &callees, EDGE_ROWS);
    cairn_rows_release(&callers);
    cairn_rows_release(&callees);
    cairn_rows_release(&self);
    return cairn_report_exact_of(report, EDGE_ROWS, err);
}

static bool is_label(const struct cairn_row *row)
{
    return strcmp(row->kind, "label") == 0;
}

/* The function with most time of its own, when the samples can tell that it is one. */
static const struct cairn_row *find_top(const struct cairn_rows *functions, bool labels)
{
    const struct cairn_row *top = NULL;

    for (size_t i = 0; i < functions->count && functions->rankable; i++)
        if ((labels || !is_label(&functions->items[i])) &&
            (!top || functions->items[i].self.value_ns > top->self.value_ns))
            top = &functions->items[i];
    return top && top->self_share >= TOP_WORTH ? top : NULL;
}

static int put_body(struct cairn_report *report, const struct cairn_rows *functions,
                    struct cairn_err *err)
{
    if (report->options->of)
        return put_neighbours(report, err);
    if (report->options->by == (int)CAIRN_BY_TASK)
        return put_tasks(report, VIEW_ROWS, err);
    if (report->options->by >= 0)
        return put_view(report, err);
    CAIRN_TRY(cairn_report_counted(report, OVERVIEW_COUNTED, err));
    CAIRN_TRY(put_overview(report, functions, err));
    CAIRN_TRY(put_regions(report, err));
    CAIRN_TRY(cairn_report_slow(report, OVERVIEW_REGIONS, err));
    CAIRN_TRY(put_tracks(report, err));
    return put_tasks(report, OVERVIEW_TASKS, err);
}

/* The functions, and of them the one that the head names. */
static int rank(struct cairn_report *report, struct cairn_rows *ret_functions,
                struct cairn_err *err)
{
    *ret_functions = (struct cairn_rows){0};
    if (report->tally->known)
        CAIRN_TRY(make_rows(report, CAIRN_BY_FUNCTION, program_only(report), ret_functions, err));
    report->top = find_top(ret_functions, true);
    if (report->top && is_label(report->top))
        report->top_python = find_top(ret_functions, false);
    report->top_base_ns = ret_functions->base.value_ns;
    return 0;
}

static bool has_counted(const struct cairn_report *report)
{
    const struct cairn_counted_line *lines;

    return cairn_model_counted_lines(report->tally->model, &lines) > 0;
}

static int put_all(struct cairn_report *report, struct cairn_err *err)
{
    struct cairn_rows functions;
    int code = 0;

    CAIRN_TRY(rank(report, &functions, err));
    cairn_report_head(report);
    cairn_report_run(report);
    cairn_report_beside(report, OVERVIEW_WAITS);
    cairn_report_idle(report);
    if (report->tally->known && report->tally->cell_count == 0 &&
        !cairn_exact_table_has(report->tally) && !has_counted(report))
        cairn_report_nothing(report);
    else if (report->tally->known)
        code = put_body(report, &functions, err);
    if (code == 0) {
        cairn_page_end(&report->page);
        cairn_report_quality(report);
        if (report->options->next)
            cairn_report_next(report);
    }
    cairn_rows_release(&functions);
    return code;
}

int cairn_report_text(const struct cairn_tally *tally, const struct cairn_report_options *options,
                      struct cairn_outlet *out, struct cairn_err *err)
{
    struct cairn_report report = {.tally = tally, .options = options};
    int code = cairn_facts_make(tally, &report.facts);

    if (code < 0)
        return cairn_err_set(err, code, 0, "report", "cannot report: %s", cairn_err_sentence(code));
    cairn_page_init(&report.page, &out->buf, options->width, options->colour);
    cairn_buf_init(&report.outside, WORDS_MAX_BYTES);
    code = put_all(&report, err);
    cairn_buf_release(&report.outside);
    return code < 0 ? code : cairn_outlet_drain(out);
}

int cairn_report_words_make(const struct cairn_tally *tally, struct cairn_report_words *ret_words,
                            struct cairn_err *err)
{
    struct cairn_report_options options = {.by = -1, .width = WORDS_COLUMNS};
    struct cairn_report report = {.tally = tally, .options = &options};
    struct cairn_rows functions;
    int code;

    cairn_buf_init(&ret_words->head, WORDS_MAX_BYTES);
    cairn_buf_init(&ret_words->beside, WORDS_MAX_BYTES);
    cairn_buf_init(&ret_words->quality, WORDS_MAX_BYTES);
    cairn_buf_init(&ret_words->no_table, WORDS_MAX_BYTES);
    code = cairn_facts_make(tally, &report.facts);
    if (code < 0)
        return cairn_err_set(err, code, 0, "report", "cannot report: %s", cairn_err_sentence(code));
    cairn_buf_init(&report.outside, WORDS_MAX_BYTES);
    code = rank(&report, &functions, err);
    if (code == 0) {
        cairn_page_init(&report.page, &ret_words->head, WORDS_COLUMNS, false);
        cairn_report_head(&report);
    }
    cairn_buf_release(&report.outside);
    if (code < 0)
        return code;
    cairn_page_init(&report.page, &ret_words->beside, WORDS_COLUMNS, false);
    cairn_report_beside(&report, WORDS_WAITS);
    cairn_page_init(&report.page, &ret_words->quality, WORDS_COLUMNS, false);
    cairn_report_quality(&report);
    cairn_page_init(&report.page, &ret_words->no_table, WORDS_COLUMNS, false);
    if (tally->known && tally->cell_count == 0)
        cairn_report_nothing(&report);
    else if (tally->known && !functions.rankable)
        cairn_report_too_few(&report, &functions);
    cairn_rows_release(&functions);
    code = ret_words->head.code      ? ret_words->head.code
           : ret_words->beside.code  ? ret_words->beside.code
           : ret_words->quality.code ? ret_words->quality.code
                                     : ret_words->no_table.code;
    return code < 0 ? cairn_err_set(err, code, 0, "report", "cannot report") : 0;
}

void cairn_report_words_release(struct cairn_report_words *words)
{
    cairn_buf_release(&words->head);
    cairn_buf_release(&words->beside);
    cairn_buf_release(&words->quality);
    cairn_buf_release(&words->no_table);
}
