/* The processes of the text report, by what they are there for. */
#include <inttypes.h>
#include <stdlib.h>

#include "alloc.h"
#include "err.h"
#include "report_parts.h"
#include "text.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define USUAL_ROLES 8
#define ROLE_COLUMNS 24
#define SPREAD_COLUMNS 28 /* "99.1 ms / 99.1 ms / 99.1 ms " */
#define TABLE_COLUMNS 80  /* with less, times stand below each other */
#define INDENT "  "

/* "trainer", "worker 0–7"; where some have no samples: "worker 0–7 (5)". */
static void add_label(struct cairn_buf *out, const struct cairn_roles *roles,
                      const struct cairn_role_row *row)
{
    const struct cairn_role *role = &roles->items[row->role];

    cairn_buf_add(out, role->name.data, role->name.size_bytes);
    if (role->count == 1)
        return;
    cairn_buf_printf(out, " %" PRIu32, row->first);
    if (row->last != row->first)
        cairn_buf_printf(out, "\xe2\x80\x93%" PRIu32, row->last);
    if (row->processes != (size_t)row->last - row->first + 1)
        cairn_buf_printf(out, " (%zu)", row->processes);
}

/* "980 ms / 1.02 s / 1.2 s", or one time for one process. */
static void put_spread(struct cairn_report *report, const struct cairn_role_row *row,
                       const struct cairn_spread *spread)
{
    struct cairn_page *page = &report->page;
    uint64_t each_ns = report->facts.each_ns;
    struct cairn_buf text;

    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_text_amount(&text, spread->min_ns, each_ns);
    if (row->processes > 1) {
        cairn_buf_add_str(&text, " / ");
        cairn_text_amount(&text, spread->median_ns, each_ns);
        cairn_buf_add_str(&text, " / ");
        cairn_text_amount(&text, spread->max_ns, each_ns);
    }
    cairn_page_str(page, cairn_buf_cstr(&text));
    cairn_page_drop(page, &text);
}

static void put_function(struct cairn_report *report, const struct cairn_role_row *row)
{
    const struct cairn_function *functions, *function;
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    cairn_page_str(page, INDENT INDENT);
    cairn_page_style(page, CAIRN_STYLE_FAINT);
    if (row->function == UINT32_MAX) {
        cairn_page_str(page, "waits for work");
    } else {
        cairn_model_functions(report->tally->model, &functions);
        function = &functions[row->function];
        cairn_buf_init(&text, TEXT_MAX_BYTES);
        cairn_report_share(&text, row->function_ns, row->base_ns);
        cairn_page_printf(page, "%s ", cairn_buf_cstr(&text));
        cairn_page_drop(page, &text);
        cairn_buf_add(&text, function->qualname.data, function->qualname.size_bytes);
        if (function->module.size_bytes) {
            cairn_buf_add_str(&text, " (");
            cairn_buf_add(&text, function->module.data, function->module.size_bytes);
            cairn_buf_u8(&text, ')');
        }
        cairn_page_fit(page, cairn_buf_span(&text), page->width - page->column, CAIRN_CUT_END);
        cairn_page_drop(page, &text);
    }
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
}

static void put_role(struct cairn_report *report, const struct cairn_role_row *row)
{
    struct cairn_page *page = &report->page;
    bool narrow = page->width < TABLE_COLUMNS;
    struct cairn_buf label;

    cairn_buf_init(&label, TEXT_MAX_BYTES);
    add_label(&label, &report->tally->roles, row);
    cairn_page_str(page, INDENT);
    cairn_page_fit(page, cairn_buf_span(&label), narrow ? page->width - 2 : ROLE_COLUMNS - 3,
                   CAIRN_CUT_END);
    cairn_page_drop(page, &label);
    if (narrow) {
        cairn_page_end(page);
        cairn_page_str(page, INDENT INDENT "wall ");
    } else {
        cairn_page_to(page, ROLE_COLUMNS);
    }
    put_spread(report, row, &row->wall);
    if (narrow) {
        cairn_page_end(page);
        cairn_page_str(page, INDENT INDENT "cpu  ");
    } else {
        cairn_page_to(page, ROLE_COLUMNS + SPREAD_COLUMNS);
    }
    put_spread(report, row, &row->cpu);
    cairn_page_end(page);
    put_function(report, row);
}

static int by_base(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a < b) - (a > b);
}

/* Those with most are shown, in order of birth: *ret_least is what the last of them has, and
 * *ret_ties how many of those that have just as much. */
static int choose(const struct cairn_role_rows *rows, size_t limit, uint64_t *ret_least,
                  size_t *ret_ties)
{
    uint64_t *bases_ns = cairn_malloc((rows->count + 1) * sizeof(*bases_ns));
    size_t shown = rows->count < limit ? rows->count : limit;

    if (!bases_ns)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < rows->count; i++)
        bases_ns[i] = rows->items[i].base_ns;
    qsort(bases_ns, rows->count, sizeof(*bases_ns), by_base);
    *ret_least = shown ? bases_ns[shown - 1] : 0;
    *ret_ties = 0;
    for (size_t i = shown; i > 0 && bases_ns[i - 1] == *ret_least; i--)
        ++*ret_ties;
    free(bases_ns);
    return 0;
}

static void put_heading(struct cairn_page *page)
{
    cairn_page_end(page);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_str(page, "processes");
    cairn_page_style(page, CAIRN_STYLE_FAINT);
    if (page->width < TABLE_COLUMNS) {
        cairn_page_str(page, ", min/median/max");
    } else {
        cairn_page_to(page, ROLE_COLUMNS);
        cairn_page_str(page, "wall min/median/max");
        cairn_page_to(page, ROLE_COLUMNS + SPREAD_COLUMNS);
        cairn_page_str(page, "cpu min/median/max");
    }
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
}

int cairn_report_roles(struct cairn_report *report)
{
    const struct cairn_rows_options options = {.with_idle = report->options->with_idle};
    size_t limit = report->options->limit ? report->options->limit : USUAL_ROLES;
    struct cairn_page *page = &report->page;
    struct cairn_role_rows rows;
    size_t ties = 0, shown = 0;
    uint64_t least_ns = 0;
    int code;

    CAIRN_TRY(cairn_role_rows_make(report->tally, &options, &rows));
    code = choose(&rows, limit, &least_ns, &ties);
    put_heading(page);
    for (size_t i = 0; i < rows.count && code == 0; i++) {
        const struct cairn_role_row *row = &rows.items[i];

        if (row->base_ns < least_ns || (row->base_ns == least_ns && !ties))
            continue;
        ties -= row->base_ns == least_ns;
        put_role(report, row);
        shown++;
    }
    if (code == 0 && shown < rows.count) {
        cairn_page_style(page, CAIRN_STYLE_FAINT);
        cairn_page_printf(page, "  and %zu more: --limit %zu", rows.count - shown, rows.count);
        cairn_page_style(page, CAIRN_STYLE_PLAIN);
        cairn_page_end(page);
    }
    cairn_role_rows_release(&rows);
    return code;
}
