/* The tables of the text report. */
#include "report_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "err.h"
#include "escape.h"
#include "text.h"

#define SHARE_COLUMNS 12 /* "100.0 ±0.3  " */
#define TIME_COLUMNS 9
#define BOUND_COLUMNS 7
#define WIDE_COLUMNS 100 /* from here on times stand beside the shares */
#define GROUP_BAR_COLUMNS 16
#define ROLE_COLUMNS 24
#define NARROW_COLUMNS 64 /* below, bars have no room */
#define BOUND_SHOWN_MAX 100.0

#define SELF_WORTH 0.005 /* with less a row is shown only when asked for... */
#define TOTAL_WORTH 0.05 /* ...or when it is the user's and at least so much is below it */

/* Unless the user said how many rows, what is next to nothing is left out. */
static bool is_worth(const struct cairn_report *report, const struct cairn_row *row, bool edges)
{
    if (report->options->limit)
        return true;
    if ((edges ? row->total_share : row->self_share) >= SELF_WORTH)
        return true;
    return row->origin == CAIRN_ORIGIN_USER && row->total_share >= TOTAL_WORTH;
}

/* The rows to show, at most `usual` of them or as many as were asked for: indexes into rows->items
 * in `ret_list`, which is freed by the caller. */
static size_t choose_rows(const struct cairn_report *report, const struct cairn_rows *rows,
                          size_t usual, bool edges, size_t **ret_list)
{
    size_t limit = report->options->limit ? report->options->limit : usual, count = 0;
    size_t *list = cairn_malloc((rows->count + 1) * sizeof(*list));

    for (size_t i = 0; list && i < rows->count && count < limit; i++)
        if (is_worth(report, &rows->items[i], edges))
            list[count++] = i;
    if (!list)
        report->page.out->code = -CAIRN_ENOMEM;
    *ret_list = list;
    return count;
}

/* "38 ±7", "3.1 ±0.4": no more digits than the error leaves any meaning; "38" where none is known.
 */
static void put_share(struct cairn_page *page, double share, double low, double high)
{
    unsigned start = page->column;
    double error = 100 * fmax(share - low, high - share);
    int decimals = error < 0.95;
    char number[32];

    if (isnan(low))
        decimals = share < 0.0995;
    snprintf(number, sizeof(number), "%.*f", decimals, 100 * share);
    cairn_page_to(page, start + 5 - (unsigned)strlen(number));
    cairn_page_str(page, number);
    cairn_page_style(page, CAIRN_STYLE_FAINT);
    if (!isnan(low))
        cairn_page_printf(page, " \xc2\xb1%.*f", decimals, error);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_to(page, start + SHARE_COLUMNS);
}

static void put_time(struct cairn_report *report, uint64_t ns)
{
    struct cairn_page *page = &report->page;
    unsigned start = page->column;
    struct cairn_buf text;
    unsigned columns;

    cairn_buf_init(&text, 64);
    cairn_text_amount(&text, ns, report->facts.each_ns);
    columns = (unsigned)text.size_bytes;
    cairn_page_to(page, columns < TIME_COLUMNS - 2 ? start + TIME_COLUMNS - 2 - columns : start);
    cairn_page_str(page, cairn_buf_cstr(&text));
    cairn_page_to(page, start + TIME_COLUMNS);
    cairn_page_drop(page, &text);
}

static void put_bound(struct cairn_page *page, double bound)
{
    unsigned start = page->column;

    if (isfinite(bound) && bound < BOUND_SHOWN_MAX)
        cairn_page_printf(page, bound < 9.995 ? "x%.2f" : "x%.0f", bound);
    else
        cairn_page_str(page, ">x100");
    cairn_page_to(page, start + BOUND_COLUMNS);
}

/* Where a reader finds it: below the library's folder, else as it was recorded. */
static struct cairn_span short_path(struct cairn_span path, enum cairn_origin origin)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/", "/lib/python"};

    if (origin == CAIRN_ORIGIN_USER)
        return path;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && path.size_bytes; i++) {
        const uint8_t *found = memmem(path.data, path.size_bytes, folders[i], strlen(folders[i]));
        const uint8_t *end = path.data + path.size_bytes;

        if (!found)
            continue;
        found += strlen(folders[i]);
        if (folders[i][strlen(folders[i]) - 1] != '/') /* the version is a part of the folder */
            found = memchr(found, '/', (size_t)(end - found));
        else
            found--;
        if (found && found + 1 < end)
            return (struct cairn_span){found + 1, (size_t)(end - found - 1)};
    }
    return path;
}

void cairn_report_path(struct cairn_page *page, struct cairn_buf *out, struct cairn_span file,
                       enum cairn_origin origin, uint32_t line_number, unsigned columns)
{
    struct cairn_span path = short_path(file, origin);
    char line[16] = "";

    if (path.size_bytes == 0)
        return;
    if (line_number)
        snprintf(line, sizeof(line), ":%" PRIu32, line_number);
    /* Whole folders go first; what is still too long is cut where it is shown. */
    while (cairn_page_columns(page, path) + strlen(line) > columns) {
        const uint8_t *slash = memchr(path.data + 1, '/', path.size_bytes - 1);

        if (path.size_bytes < 2 || !slash || slash + 1 == path.data + path.size_bytes)
            break;
        path.size_bytes -= (size_t)(slash + 1 - path.data);
        path.data = slash + 1;
    }
    cairn_buf_add(out, path.data, path.size_bytes);
    cairn_buf_add_str(out, line);
}

void cairn_report_place(struct cairn_page *page, struct cairn_buf *out, const struct cairn_row *row,
                        unsigned columns)
{
    cairn_buf_clear(out);
    if (strcmp(row->kind, "native") == 0) {
        cairn_buf_u8(out, '[');
        cairn_buf_add(out, row->module.data, row->module.size_bytes);
        cairn_buf_u8(out, ']');
        return;
    }
    if (strcmp(row->kind, "label") == 0)
        cairn_buf_add(out, row->module.data, row->module.size_bytes);
    cairn_report_path(page, out, row->file, row->origin, row->line, columns);
}

/* Columns behind the numbers. Of lines the text is worth more than the function's name: where both
 * have no room, the name gives way. */
struct layout {
    unsigned start, name_columns, place_columns, text_columns;
};

/* The line's own text; empty when it is not known. */
static struct cairn_span text_of(const struct cairn_report *report, const struct cairn_row *row)
{
    if (!report->options->source || row->line == 0)
        return (struct cairn_span){NULL, 0};
    return cairn_source_line(report->options->source, row->file, row->name, row->first_line,
                             row->line);
}

static void share_columns(struct layout *layout, unsigned left, unsigned names, unsigned places)
{
    if (names + 2 + places > left) {
        if (names <= left / 2)
            places = left - 2 - names;
        else if (places + 2 <= left / 2)
            names = left - 2 - places;
        else
            names = left / 2 - 2, places = left - left / 2;
    }
    layout->name_columns = names;
    layout->place_columns = places;
}

/* The widest place, none of them above `most` unless its file's name alone is. */
static unsigned widest_place(struct cairn_page *page, const struct cairn_rows *rows,
                             const size_t *list, size_t count, unsigned most)
{
    struct cairn_buf place;
    unsigned widest = 0;

    cairn_buf_init(&place, (size_t)1 << 20);
    for (size_t i = 0; i < count; i++) {
        unsigned columns;

        cairn_report_place(page, &place, &rows->items[list[i]], most);
        columns = cairn_page_columns(page, cairn_buf_span(&place));
        widest = columns > widest ? columns : widest;
    }
    cairn_page_drop(page, &place);
    return widest;
}

/* Shares what is left of the width between names, places and, of lines, their texts. */
static struct layout lay_out(struct cairn_report *report, const struct cairn_rows *rows,
                             const size_t *list, size_t count, unsigned start, bool lines)
{
    struct cairn_page *page = &report->page;
    unsigned left = page->width - start, names = 8, places;
    struct layout layout = {.start = start};
    bool has_text = false;

    for (size_t i = 0; i < count; i++) {
        const struct cairn_row *row = &rows->items[list[i]];
        unsigned name = cairn_page_columns(page, row->qualname);

        names = name > names ? name : names;
        has_text |= lines && text_of(report, row).size_bytes > 0;
    }
    if (has_text && page->width < WIDE_COLUMNS) {
        places = widest_place(page, rows, list, count, left / 3);
        layout.place_columns = places < left / 2 ? places : left / 2;
        layout.text_columns = left - layout.place_columns - 2;
        return layout;
    }
    if (has_text) {
        layout.text_columns = left / 2;
        left -= layout.text_columns + 2;
    }
    places = widest_place(page, rows, list, count, left - left / 2);
    share_columns(&layout, left, names, places);
    return layout;
}

static void put_names(struct cairn_report *report, const struct layout *layout,
                      const struct cairn_row *row)
{
    struct cairn_page *page = &report->page;
    unsigned column = layout->start;
    struct cairn_span text;
    struct cairn_buf place;

    cairn_buf_init(&place, (size_t)1 << 20);
    cairn_report_place(page, &place, row, layout->place_columns);
    if (layout->name_columns > 0) {
        cairn_page_to(page, column);
        cairn_page_fit(page, row->qualname, layout->name_columns, CAIRN_CUT_END);
        column += layout->name_columns + 2;
    }
    cairn_page_to(page, column);
    cairn_page_fit(page, cairn_buf_span(&place), layout->place_columns,
                   strcmp(row->kind, "label") == 0 ? CAIRN_CUT_END : CAIRN_CUT_START);
    column += layout->place_columns + 2;
    if (layout->text_columns > 0) {
        cairn_page_to(page, column);
        text = text_of(report, row);
        if (text.size_bytes == 0 && layout->name_columns == 0) {
            text = row->qualname;
            cairn_page_style(page, CAIRN_STYLE_FAINT);
        }
        cairn_page_fit(page, text, layout->text_columns, CAIRN_CUT_END);
        cairn_page_style(page, CAIRN_STYLE_PLAIN);
    }
    cairn_page_end(page);
    cairn_page_drop(page, &place);
}

static void put_rest(struct cairn_page *page, const struct cairn_rows *rows, size_t count)
{
    if (count == rows->count)
        return;
    cairn_page_style(page, CAIRN_STYLE_FAINT);
    cairn_page_printf(page, "  and %zu more: --limit %zu", rows->count - count, rows->count);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
}

/* `pair`: columns of a share and its time. */
static void put_heading(struct cairn_page *page, const struct layout *layout, unsigned pair,
                        bool wide)
{
    static const char *const names[] = {"self %", "total %"};

    cairn_page_style(page, CAIRN_STYLE_FAINT);
    for (unsigned i = 0; i < 2; i++) {
        cairn_page_to(page, i * pair + (i == 0 ? 2 : 1));
        cairn_page_str(page, names[i]);
        if (wide) {
            cairn_page_to(page, (i + 1) * pair - 2 - (unsigned)strlen("time"));
            cairn_page_str(page, "time");
        }
    }
    cairn_page_to(page, 2 * pair);
    cairn_page_str(page, "bound");
    cairn_page_to(page, layout->start);
    cairn_page_fit(page, cairn_span_of("function"), layout->name_columns, CAIRN_CUT_END);
    if (layout->name_columns > 0)
        cairn_page_to(page, layout->start + layout->name_columns + 2);
    cairn_page_fit(page, cairn_span_of("where"), layout->place_columns, CAIRN_CUT_END);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
}

static void put_table(struct cairn_report *report, const struct cairn_rows *rows, size_t usual,
                      bool lines)
{
    struct cairn_page *page = &report->page;
    size_t *list, count = choose_rows(report, rows, usual, false, &list);
    bool wide = page->width >= WIDE_COLUMNS;
    unsigned pair = SHARE_COLUMNS + (wide ? TIME_COLUMNS : 0);
    struct layout layout = lay_out(report, rows, list, count, 2 * pair + BOUND_COLUMNS, lines);

    put_heading(page, &layout, pair, wide);
    for (size_t i = 0; i < count; i++) {
        const struct cairn_row *row = &rows->items[list[i]];

        put_share(page, row->self_share, row->self_low, row->self_high);
        if (wide)
            put_time(report, row->self.value_ns);
        put_share(page, row->total_share, row->total_low, row->total_high);
        if (wide)
            put_time(report, row->total.value_ns);
        put_bound(page, row->bound);
        put_names(report, &layout, row);
    }
    put_rest(page, rows, count);
    free(list);
}

void cairn_report_places(struct cairn_report *report, const struct cairn_rows *rows, size_t usual)
{
    put_table(report, rows, usual, false);
}

void cairn_report_lines(struct cairn_report *report, const struct cairn_rows *rows, size_t usual)
{
    put_table(report, rows, usual, true);
}

void cairn_report_edges(struct cairn_report *report, const struct cairn_rows *rows, size_t usual)
{
    struct cairn_page *page = &report->page;
    size_t *list, count = choose_rows(report, rows, usual, true, &list);
    unsigned start = SHARE_COLUMNS + TIME_COLUMNS;
    struct layout layout = lay_out(report, rows, list, count, start, false);

    for (size_t i = 0; i < count; i++) {
        const struct cairn_row *row = &rows->items[list[i]];

        put_share(page, row->total_share, row->total_low, row->total_high);
        put_time(report, row->total.value_ns);
        put_names(report, &layout, row);
    }
    if (rows->count == 0) {
        cairn_page_str(page, "   none");
        cairn_page_end(page);
    }
    put_rest(page, rows, count);
    free(list);
}

/* Sums the states of a row's cells: of its thread, or of all threads of its process. */
static void sum_states(const struct cairn_tally *tally, const struct cairn_row *row,
                       uint64_t *ret_state_ns)
{
    const struct cairn_thread *threads;

    memset(ret_state_ns, 0, CAIRN_STATE_COUNT * sizeof(*ret_state_ns));
    cairn_model_threads(tally->model, &threads);
    for (size_t i = 0; i < tally->thread_cell_count; i++) {
        const struct cairn_cell *cell = &tally->thread_cells[i];

        if (row->thread != UINT32_MAX ? cell->thread != row->thread
                                      : threads[cell->thread].process != row->process)
            continue;
        for (int state = 0; state < CAIRN_STATE_COUNT; state++)
            ret_state_ns[state] += cell->state_ns[state];
    }
}

/* The number that tells apart what has one name. */
static void put_number(struct cairn_report *report, const struct cairn_row *row)
{
    const struct cairn_thread *threads;
    const struct cairn_process *processes;

    cairn_model_threads(report->tally->model, &threads);
    cairn_model_processes(report->tally->model, &processes);
    if (row->thread != UINT32_MAX)
        cairn_page_printf(&report->page, "%8" PRIu64 "  ", threads[row->thread].tid);
    else if (row->process != UINT32_MAX)
        cairn_page_printf(&report->page, "%8" PRIu64 "  ", processes[row->process].pid);
}

/* What a process is there for, in front of its command line. */
static void put_role(struct cairn_report *report, const struct cairn_row *row)
{
    unsigned room = report->page.width - report->page.column;
    struct cairn_buf label;

    if (row->process == UINT32_MAX || row->thread != UINT32_MAX)
        return;
    cairn_buf_init(&label, (size_t)1 << 20);
    cairn_roles_label(&report->tally->roles, row->process, &label);
    cairn_page_fit(&report->page, cairn_buf_span(&label), room < ROLE_COLUMNS ? room : ROLE_COLUMNS,
                   CAIRN_CUT_END);
    cairn_page_str(&report->page, "  ");
    cairn_page_drop(&report->page, &label);
}

void cairn_report_groups(struct cairn_report *report, const struct cairn_rows *rows, size_t usual)
{
    struct cairn_page *page = &report->page;
    unsigned bar_columns = page->width >= NARROW_COLUMNS ? GROUP_BAR_COLUMNS : 0;
    size_t *list, count = choose_rows(report, rows, usual, false, &list);

    for (size_t i = 0; i < count; i++) {
        const struct cairn_row *row = &rows->items[list[i]];
        uint64_t state_ns[CAIRN_STATE_COUNT];

        put_share(page, row->self_share, row->self_low, row->self_high);
        put_time(report, row->self.value_ns);
        if (row->thread != UINT32_MAX || row->process != UINT32_MAX) {
            sum_states(report->tally, row, state_ns);
            if (bar_columns > 0)
                cairn_report_bar(page, state_ns, bar_columns);
            put_number(report, row);
            put_role(report, row);
        }
        cairn_page_fit(page, row->qualname.size_bytes ? row->qualname : row->name,
                       page->width - page->column, CAIRN_CUT_END);
        cairn_page_end(page);
    }
    put_rest(page, rows, count);
    free(list);
}

/* A rate at which the same run gives `factor` times the samples, among those that are round. */
static const char *faster_rate(uint64_t interval_ns, double factor)
{
    static const struct {
        uint64_t hz;
        const char *text;
    } rates[] = {{2000, "2khz"}, {5000, "5khz"}, {10000, "10khz"}, {20000, "20khz"}};
    double hz = interval_ns ? 1e9 / (double)interval_ns * factor : 0;

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        if (hz <= (double)rates[i].hz)
            return rates[i].text;
    return "max";
}

void cairn_report_nothing(struct cairn_report *report)
{
    const char *why = "Nothing was sampled: it ended before anybody could look.";

    if (cairn_model_quality(report->tally->model)->samples > 0)
        why = "No sample is left: none fits the thread, process, region, focus, ignore and time "
              "asked "
              "for.";
    cairn_page_end(&report->page);
    cairn_page_prose(&report->page, 0, cairn_span_of(why));
}

void cairn_report_too_few(struct cairn_report *report, const struct cairn_rows *rows)
{
    const struct cairn_facts *facts = &report->facts;
    double factor =
        rows->base.ticks ? (double)rows->samples_wanted / (double)rows->base.ticks : 1e9;
    struct cairn_buf text;

    cairn_buf_init(&text, 4096);
    cairn_text_count(&text, rows->base.ticks);
    cairn_buf_printf(&text, " sample%s: too few to rank anything. ",
                     rows->base.ticks == 1 ? "" : "s");
    if (rows->samples_wanted > rows->base.ticks) {
        cairn_buf_add_str(&text, "About ");
        cairn_text_count(&text, rows->samples_wanted);
        cairn_buf_add_str(&text, " would do. ");
    }
    if (facts->interval_ns == 0)
        cairn_buf_add_str(&text, "Give the program more to do.");
    else if (facts->attached)
        cairn_buf_printf(&text, "Attach for longer, or sample faster: cairn attach -r %s ...",
                         faster_rate(facts->interval_ns, factor));
    else
        cairn_buf_printf(&text,
                         "Give the program more to do, or sample faster: cairn run -r %s ...",
                         faster_rate(facts->interval_ns, factor));
    cairn_page_prose(&report->page, 0, cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
}
