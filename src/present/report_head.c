/* The head of the text report: sentences, the run's figures, phases and states. */
#include "report_parts.h"

#include <inttypes.h>
#include <string.h>

#include "escape.h"
#include "text.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define NAME_COLUMNS 40
#define IMPORT_SHARE_TOLD 0.3 /* from here on imports are the first thing to say */
#define BAR_COLUMNS 32
#define IDLE_WORTH 1000 /* a smaller part of the whole is not worth a line */
#define BAR_COLUMNS_MIN 12

void cairn_report_share(struct cairn_buf *out, uint64_t part, uint64_t whole)
{
    double share = whole ? 100 * (double)part / (double)whole : 0;

    if (part > 0 && share < 0.05)
        cairn_buf_add_str(out, "<0.1 %");
    else
        cairn_buf_printf(out, share > 0 && share < 9.95 ? "%.1f %%" : "%.0f %%", share);
}

static void add_name(struct cairn_buf *out, struct cairn_span name)
{
    struct cairn_buf cut;
    struct cairn_page page;

    cairn_buf_init(&cut, TEXT_MAX_BYTES);
    cairn_page_init(&page, &cut, NAME_COLUMNS, false);
    cairn_page_fit(&page, name, NAME_COLUMNS, CAIRN_CUT_START);
    cairn_buf_add(out, cut.data, cut.size_bytes);
    if (cut.code < 0)
        out->code = cut.code;
    cairn_buf_release(&cut);
}

static void add_end(struct cairn_buf *out, const struct cairn_facts *facts)
{
    const char *name;

    if (facts->signal_number != CAIRN_FACT_NONE) {
        name = cairn_facts_signal(facts->signal_number);
        cairn_buf_printf(out, ", killed by signal %" PRIu64, facts->signal_number);
        if (name)
            cairn_buf_printf(out, " (%s)", name);
    } else if (facts->exit_status != CAIRN_FACT_NONE) {
        cairn_buf_printf(out, ", exit %" PRIu64, facts->exit_status);
    }
}

static void add_program(struct cairn_buf *out, const struct cairn_report *report, bool first)
{
    const struct cairn_facts *facts = &report->facts;
    const char *task = report->tally->filter.task;

    cairn_buf_add_str(out, task ? "Tasks " : first ? "Your program" : "your program");
    if (task)
        add_name(out, cairn_span_of(task));
    if (facts->program.size_bytes > 0) {
        cairn_buf_add_str(out, " (");
        add_name(out, facts->program);
        cairn_buf_u8(out, ')');
    }
}

/* ", 92 % running, 8 % blocked": what is worth a word, and known. Of tasks it is known that their
 * thread ran them, and not what it did meanwhile. */
static void add_states(struct cairn_buf *out, const struct cairn_facts *facts, bool tasks)
{
    const struct {
        enum cairn_state state;
        const char *words;
    } told[] = {
        {tasks ? CAIRN_STATE_UNKNOWN : CAIRN_STATE_RUNNING, "running"},
        {CAIRN_STATE_GIL_WAIT, "waiting for the GIL"},
        {CAIRN_STATE_RUNNABLE, "waiting for a processor"},
        {CAIRN_STATE_BLOCKED, tasks ? "waiting" : "blocked"},
        {CAIRN_STATE_STOPPED, "stopped"},
    };
    uint64_t sum_ns = facts->program_state_sum_ns;

    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        uint64_t ns = facts->program_state_ns[told[i].state];

        if (ns < sum_ns / 20)
            continue;
        cairn_buf_add_str(out, ", ");
        cairn_report_share(out, ns, sum_ns);
        cairn_buf_printf(out, " %s", told[i].words);
    }
}

/* " (nn.py:25)" */
static void add_place(struct cairn_buf *out, const struct cairn_row *row)
{
    const uint8_t *slash;
    struct cairn_span file = row->file;

    if (file.size_bytes == 0 && row->module.size_bytes > 0 && strcmp(row->kind, "label") == 0) {
        cairn_buf_add_str(out, " (");
        add_name(out, row->module);
        cairn_buf_u8(out, ')');
    }
    if (file.size_bytes == 0)
        return;
    slash = memrchr(file.data, '/', file.size_bytes);
    if (slash) {
        file.size_bytes -= (size_t)(slash + 1 - file.data);
        file.data = slash + 1;
    }
    cairn_buf_add_str(out, " (");
    add_name(out, file);
    if (row->line > 0)
        cairn_buf_printf(out, ":%" PRIu32, row->line);
    cairn_buf_u8(out, ')');
}

static void add_where(struct cairn_buf *out, struct cairn_report *report)
{
    const struct cairn_facts *facts = &report->facts;
    uint64_t busy_ns = facts->busy.value_ns;
    uint64_t program_ns = facts->busy_phase[CAIRN_PHASE_PROGRAM].value_ns;
    uint64_t import_ns = facts->busy_phase[CAIRN_PHASE_IMPORT].value_ns;
    bool tell_import = import_ns > 0 && (double)import_ns >= IMPORT_SHARE_TOLD * (double)busy_ns;

    if (tell_import) {
        bool one = facts->import.size_bytes > 0 && facts->import_ns * 2 >= import_ns;

        cairn_report_share(out, one ? facts->import_ns : import_ns, busy_ns);
        cairn_buf_add_str(out, one ? " is `import " : " is imports");
        if (one) {
            add_name(out, facts->import);
            cairn_buf_u8(out, '`');
        }
        cairn_buf_add_str(out, "; ");
    }
    add_program(out, report, !tell_import);
    cairn_buf_add_str(out, facts->each_ns > 0 ? " has " : " took ");
    cairn_text_amount(out, program_ns, facts->each_ns);
    if (facts->thread_count > 1 && facts->each_ns == 0)
        cairn_buf_add_str(out, " of thread time");
    if (program_ns > 0)
        add_states(out, facts, report->tally->filter.task != NULL);
    if (report->top && program_ns > 0) {
        cairn_buf_add_str(out, "; ");
        cairn_report_share(out, report->top->self.value_ns, report->top_base_ns);
        cairn_buf_add_str(out,
                          report->options->with_idle ? " of it, idle or not, is " : " of it is ");
        add_name(out, report->top->qualname);
        add_place(out, report->top);
        if (report->top_python) {
            cairn_buf_add_str(out, ", ");
            cairn_report_share(out, report->top_python->self.value_ns, report->top_base_ns);
            cairn_buf_u8(out, ' ');
            add_name(out, report->top_python->qualname);
            add_place(out, report->top_python);
        }
    }
    cairn_buf_u8(out, '.');
}

/* Sentences about something else than time that passed. */
static void add_metric(struct cairn_buf *out, struct cairn_report *report)
{
    const struct cairn_tally *tally = report->tally;
    uint64_t each_ns = report->facts.each_ns;

    if (!tally->known) {
        cairn_buf_printf(out, "%s: n/a", cairn_metric_name(tally->filter.metric));
        if (tally->why)
            cairn_buf_printf(out, ", %s", tally->why);
        cairn_buf_u8(out, '.');
        return;
    }
    cairn_text_amount(out, report->facts.busy.value_ns, each_ns);
    cairn_buf_printf(out, " of %s%s, ", cairn_metric_name(tally->filter.metric),
                     each_ns > 0 ? "" : " time");
    cairn_text_amount(out, report->facts.busy_phase[CAIRN_PHASE_PROGRAM].value_ns, each_ns);
    cairn_buf_add_str(out, " of it in ");
    add_program(out, report, false);
    cairn_buf_u8(out, '.');
}

/* Nobody takes for a fact what Cairn did not see itself. */
static void add_guest(struct cairn_buf *out, const struct cairn_facts *facts)
{
    if (facts->guest.size_bytes == 0)
        return;
    cairn_buf_add_str(out, "From a file of another tool (");
    add_name(out, facts->guest);
    cairn_buf_add_str(out,
                      facts->callless ? "), which knows lines, and nothing of who called whom. "
                      : facts->inferred
                          ? "), which knows who called whom: stacks and their totals are inferred. "
                          : "). ");
}

static void add_whole(struct cairn_buf *out, const struct cairn_facts *facts)
{
    bool is_time = facts->no_time.size_bytes == 0;

    if (!is_time) {
        cairn_buf_add_str(out, "It tells no time but ");
        add_name(out, facts->no_time);
        cairn_buf_add_str(out, ": ");
    }
    cairn_text_amount(out, facts->wall_ns, facts->each_ns);
    cairn_buf_add_str(out, !is_time ? " in all" : facts->attached ? " observed" : " wall");
    if (facts->recordings > 1)
        cairn_buf_printf(out, " in %zu recordings", facts->recordings);
}

void cairn_report_head(struct cairn_report *report)
{
    const struct cairn_facts *facts = &report->facts;
    struct cairn_buf text;

    cairn_buf_init(&text, TEXT_MAX_BYTES);
    add_guest(&text, facts);
    add_whole(&text, facts);
    add_end(&text, facts);
    if (facts->thread_count > 1) {
        cairn_buf_printf(&text, ", %zu threads", facts->thread_count);
        if (facts->process_count > 1)
            cairn_buf_printf(&text, " in %zu processes", facts->process_count);
    }
    cairn_buf_add_str(&text, ". ");
    if (report->tally->cell_count == 0 && report->tally->known)
        ; /* what follows says why */
    else if (report->tally->filter.metric != CAIRN_METRIC_WALL)
        add_metric(&text, report);
    else
        add_where(&text, report);
    cairn_page_style(&report->page, CAIRN_STYLE_STRONG);
    cairn_page_prose(&report->page, 0, cairn_buf_span(&text));
    cairn_page_style(&report->page, CAIRN_STYLE_PLAIN);
    cairn_page_drop(&report->page, &text);
}

static void put_time_item(struct cairn_page *page, const char *name, uint64_t ns)
{
    struct cairn_buf text;

    if (ns == CAIRN_FACT_NONE)
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_buf_printf(&text, "%s ", name);
    cairn_text_time(&text, ns);
    cairn_page_item(page, "  ", cairn_buf_span(&text));
    cairn_page_drop(page, &text);
}

static void put_times(struct cairn_report *report)
{
    const struct cairn_facts *facts = &report->facts;
    struct cairn_page *page = &report->page;
    struct cairn_buf text;

    if (facts->no_time.size_bytes > 0)
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_page_label(page, "time");
    put_time_item(page, "real", facts->wall_ns);
    put_time_item(page, "user", facts->user_ns);
    put_time_item(page, "sys", facts->sys_ns);
    if (facts->user_ns != CAIRN_FACT_NONE && facts->cores > 0 && facts->wall_ns > 0) {
        cairn_buf_printf(&text, "user/(real x %g core%s) %.2f", facts->cores,
                         facts->cores == 1 ? "" : "s",
                         (double)facts->user_ns / ((double)facts->wall_ns * facts->cores));
        cairn_page_item(page, "  ", cairn_buf_span(&text));
    }
    if (facts->peak_bytes != CAIRN_FACT_NONE) {
        cairn_page_drop(page, &text);
        cairn_buf_add_str(&text, "peak ");
        cairn_text_size(&text, facts->peak_bytes);
        cairn_page_item(page, "  ", cairn_buf_span(&text));
    }
    cairn_page_end(page);
    cairn_page_drop(page, &text);
}

static void put_phases(struct cairn_report *report)
{
    const struct cairn_facts *facts = &report->facts;
    struct cairn_buf text;

    if (facts->busy.value_ns == 0)
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_page_label(&report->page, "phase");
    for (int phase = 0; phase < CAIRN_PHASE_COUNT; phase++) {
        cairn_buf_printf(&text, "%s ", cairn_phase_name((enum cairn_phase)phase));
        cairn_report_share(&text, facts->busy_phase[phase].value_ns, facts->busy.value_ns);
        cairn_page_item(&report->page, " | ", cairn_buf_span(&text));
        cairn_page_drop(&report->page, &text);
    }
    cairn_page_end(&report->page);
}

void cairn_report_bar(struct cairn_page *page, const uint64_t *state_ns, unsigned columns)
{
    /* Texture as well as hue: full block, dark, medium and light shade, dot, question mark. */
    static const char *const textures[CAIRN_STATE_COUNT] = {
        [CAIRN_STATE_RUNNING] = "\xe2\x96\x88",  [CAIRN_STATE_GIL_WAIT] = "\xe2\x96\x93",
        [CAIRN_STATE_RUNNABLE] = "\xe2\x96\x92", [CAIRN_STATE_BLOCKED] = "\xe2\x96\x91",
        [CAIRN_STATE_STOPPED] = "\xc2\xb7",      [CAIRN_STATE_UNKNOWN] = "?",
    };
    uint64_t sum_ns = 0, before_ns = 0;
    unsigned start = page->column, drawn = 0;

    for (int state = 0; state < CAIRN_STATE_COUNT; state++)
        sum_ns += state_ns[state];
    for (int state = 0; state < CAIRN_STATE_COUNT && sum_ns > 0; state++) {
        unsigned until;

        before_ns += state_ns[state];
        until = (unsigned)((double)before_ns / (double)sum_ns * columns + 0.5);
        cairn_page_style(page, (enum cairn_style)(CAIRN_STYLE_STATES + state));
        cairn_page_repeat(page, textures[state], until - drawn);
        drawn = until;
    }
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_to(page, start + columns + 2);
}

/* "running 58 % | blocked 42 %" */
static void add_legend(struct cairn_buf *out, const uint64_t *state_ns, uint64_t sum_ns)
{
    const char *gap = "";

    for (int state = 0; state < CAIRN_STATE_COUNT; state++) {
        if (state_ns[state] == 0)
            continue;
        cairn_buf_printf(out, "%s%s ", gap, cairn_state_name((enum cairn_state)state));
        cairn_report_share(out, state_ns[state], sum_ns);
        gap = " | ";
    }
}

/* The bar takes what its words leave of the line, or a line of its own. */
static void put_states(struct cairn_report *report)
{
    const uint64_t *state_ns = report->tally->state_ns;
    struct cairn_page *page = &report->page;
    unsigned room = page->width - CAIRN_PAGE_INDENT, legend;
    uint64_t sum_ns = 0;
    struct cairn_buf text;

    for (int state = 0; state < CAIRN_STATE_COUNT; state++)
        sum_ns += state_ns[state];
    if (sum_ns == 0 ||
        (report->facts.guest.size_bytes > 0 && state_ns[CAIRN_STATE_UNKNOWN] == sum_ns))
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    add_legend(&text, state_ns, sum_ns);
    legend = (unsigned)text.size_bytes;
    cairn_page_label(page, "state");
    if (legend + 2 + BAR_COLUMNS_MIN <= room) {
        room -= legend + 2;
        cairn_report_bar(page, state_ns, room < BAR_COLUMNS ? room : BAR_COLUMNS);
        cairn_page_fit(page, cairn_buf_span(&text), legend, CAIRN_CUT_END);
        cairn_page_end(page);
    } else {
        cairn_report_bar(page, state_ns, room < BAR_COLUMNS ? room : BAR_COLUMNS);
        cairn_page_end(page);
        cairn_page_prose(page, CAIRN_PAGE_INDENT, cairn_buf_span(&text));
    }
    cairn_page_drop(page, &text);
}

void cairn_report_run(struct cairn_report *report)
{
    put_times(report);
    if (report->tally->filter.task)
        return; /* the first sentence tells what there is */
    put_phases(report);
    put_states(report);
}

void cairn_report_idle(struct cairn_report *report)
{
    const struct cairn_function *functions, *function;
    struct cairn_buf text;

    if (report->tally->idle.value_ns <= report->tally->total.value_ns / IDLE_WORTH)
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_model_functions(report->tally->model, &functions);
    cairn_page_label(&report->page, "idle");
    cairn_text_amount(&text, report->tally->idle.value_ns, report->facts.each_ns);
    cairn_buf_add_str(&text, " of waiting for work");
    if (report->facts.idle_function != UINT32_MAX) {
        function = &functions[report->facts.idle_function];
        cairn_buf_add_str(&text, ", most in ");
        add_name(&text, function->qualname);
        if (function->module.size_bytes > 0) {
            cairn_buf_add_str(&text, " (");
            add_name(&text, function->module);
            cairn_buf_u8(&text, ')');
        }
    }
    cairn_buf_add_str(&text, report->options->with_idle ? "; ranked as well"
                                                        : "; not in the tables (--idle ranks it)");
    cairn_page_prose(&report->page, CAIRN_PAGE_INDENT, cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
}
