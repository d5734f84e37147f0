/* The tail of the text report: how far its numbers can be trusted, and what to type next. */
#include "report_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engines.h"
#include "overhead.h"
#include "escape.h"
#include "pairs.h"
#include "text.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)

static void put_count(struct cairn_page *page, uint64_t count, const char *what)
{
    struct cairn_buf text;

    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_text_count(&text, count);
    cairn_buf_printf(&text, " %s", what);
    cairn_page_item(page, ", ", cairn_buf_span(&text));
    cairn_page_drop(page, &text);
}

/* What not every recording has; said only where there is some. */
static void put_losses(struct cairn_page *page, const struct cairn_quality *quality)
{
    const struct {
        uint64_t count;
        const char *what;
    } losses[] = {
        {quality->reread, "reread"},
        {quality->nameless, "with code that was over before its name was read ([unknown])"},
        {quality->unseen, quality->unseen == 1 ? "process unseen" : "processes unseen"},
        {quality->records_lost, "records of forks and exits lost"},
        {quality->untold_cpu_ns / 1000000, "ms of CPU time in no row"},
        {quality->damaged_chunks, "damaged chunks"},
        {quality->jumped_chunks, "chunks lost"},
        {quality->jumped_bytes, "bytes jumped"},
        {quality->skipped_chunks, "chunks of a newer kind skipped"},
        {quality->skipped_sections, "sections of a newer kind skipped"},
        {quality->unknown_refs, "references into what was lost"},
        {quality->plain_names, "names: plain"},
    };

    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
        if (losses[i].count > 0)
            put_count(page, losses[i].count, losses[i].what);
}

/* What engines in the program could not count. */
static void put_counted(struct cairn_report *report)
{
    const struct cairn_model *model = report->tally->model;

    if (cairn_model_counter(model, "exact_processes") > 0) {
        put_count(&report->page, cairn_model_counter(model, "events"), "calls and resumes counted");
        put_count(&report->page, cairn_model_counter(model, "events_lost"), "lost");
    }
    if (cairn_model_counter(model, "timeline_processes") > 0) {
        put_count(&report->page, cairn_model_counter(model, "timeline_calls"), "in the timeline");
        put_count(&report->page, cairn_model_counter(model, "timeline_lost"), "not kept");
        put_count(&report->page, cairn_model_counter(model, "timeline_gone"),
                  "made room for later ones");
    }
    if (cairn_model_counter(model, "lines_processes") > 0) {
        uint64_t lines = cairn_model_counter(model, "lines_events");
        uint64_t instructions = cairn_model_counter(model, "instructions");

        if (lines > 0 || instructions == 0)
            put_count(&report->page, lines, "lines counted");
        if (instructions > 0)
            put_count(&report->page, instructions, "instructions counted");
        put_count(&report->page, cairn_model_counter(model, "lines_lost"), "lost");
    }
}

static void put_piece(struct cairn_report *report, struct cairn_buf *text)
{
    cairn_page_item(&report->page, ", ", cairn_buf_span(text));
    cairn_page_drop(&report->page, text);
}

/* What is left of the time is a tenth of it, which an estimate that is a few percent off can
 * double.
 */
#define MOST_TOLD 10.0

/* What it took of the program: "counting time ×1.50 (estimated), 52 ns each". */
static void put_price(struct cairn_report *report, const struct cairn_engine *engine)
{
    const struct cairn_quality *quality = cairn_model_quality(report->tally->model);
    struct cairn_buf text;

    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_buf_printf(&text, "%-9s", engine->name);
    if (strcmp(engine->name, "sampling") == 0)
        cairn_buf_add_str(&text, "beside the program");
    else if (isnan(engine->slowdown))
        cairn_buf_printf(&text, "time n/a (%s)", engine->why ? engine->why : "not measured");
    else if (engine->slowdown > MOST_TOLD)
        cairn_buf_printf(&text, "time above \xc3\x97%.0f (estimated)", MOST_TOLD);
    else
        cairn_buf_printf(&text, "time \xc3\x97%.2f (estimated)", engine->slowdown);
    cairn_page_item(&report->page, "", cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
    /* A recording that was cut off does not tell what it cost. */
    if (strcmp(engine->name, "sampling") == 0 && quality->samples > 0 && quality->own_cpu_ns > 0) {
        cairn_buf_printf(&text, "%.1f us each",
                         (double)quality->own_cpu_ns / (double)quality->samples / 1e3);
        put_piece(report, &text);
    } else if (!isnan(engine->event_ns)) {
        cairn_buf_printf(&text, "%.0f ns each", engine->event_ns);
        put_piece(report, &text);
    }
}

/* "counting time ×1.50 (estimated), 52 ns each, 12 kB on disk, 2,000,000 events, 0 lost, by
 * sys.monitoring, unseen: calls from C to C, and operators": of each engine. */
static void put_engine(struct cairn_report *report, const struct cairn_engine *engine)
{
    struct cairn_buf text;

    put_price(report, engine);
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    if (engine->has_bytes) {
        cairn_text_size(&text, engine->bytes);
        cairn_buf_add_str(&text, " on disk");
        put_piece(report, &text);
    }
    cairn_text_count(&text, engine->events);
    cairn_buf_add_str(&text, engine->events == 1 ? " event" : " events");
    put_piece(report, &text);
    cairn_text_count(&text, engine->lost);
    cairn_buf_add_str(&text, " lost");
    put_piece(report, &text);
    if (engine->source) {
        cairn_buf_printf(&text, "by %s", engine->source);
        put_piece(report, &text);
    }
    if (engine->unseen) {
        cairn_buf_printf(&text, "unseen: %s", engine->unseen);
        put_piece(report, &text);
    }
    cairn_page_end(&report->page);
}

static void put_engines(struct cairn_report *report)
{
    struct cairn_engine engines[CAIRN_ENGINES_MAX];
    size_t count;
    int code = cairn_engines_make(report->tally, engines, &count);

    if (code < 0)
        report->page.out->code = code;
    if (code < 0 || count == 0)
        return;
    cairn_page_label(&report->page, "engines");
    for (size_t i = 0; i < count; i++)
        put_engine(report, &engines[i]);
}

#define MOST_NAMED 8 /* functions in a sentence */

/* Whether it is new; one beyond those that have room is none. */
static bool note(uint32_t function, uint32_t noted[MOST_NAMED], size_t *count)
{
    size_t i = 0;

    while (i < *count && i < MOST_NAMED && noted[i] != function)
        i++;
    if (i < *count)
        return false;
    if (i < MOST_NAMED)
        noted[i] = function;
    (*count)++;
    return true;
}

/* Functions whose lines or instructions were let go; calls have a table of their own. */
static void add_let_go(struct cairn_buf *text, const struct cairn_model *model)
{
    const struct cairn_counted_opcode *opcodes;
    const struct cairn_counted_line *lines;
    const struct cairn_function *functions;
    size_t line_count = cairn_model_counted_lines(model, &lines), named = 0;
    size_t opcode_count = cairn_model_counted_opcodes(model, &opcodes);
    uint32_t noted[MOST_NAMED];

    cairn_model_functions(model, &functions);
    for (size_t i = 0; i < line_count + opcode_count && named <= MOST_NAMED; i++) {
        bool is_line = i < line_count;
        uint32_t function = is_line ? lines[i].function : opcodes[i - line_count].function;

        if (!(is_line ? lines[i].let_go : opcodes[i - line_count].let_go) ||
            !note(function, noted, &named))
            continue;
        if (named > MOST_NAMED) {
            cairn_buf_add_str(text, " and others");
            continue;
        }
        cairn_buf_add_str(text, named == 1 ? "; lines or instructions of " : ", ");
        cairn_escape_terminal(text, functions[function].qualname);
    }
}

/* Whether counting kept to what it may cost. */
static void put_overhead(struct cairn_report *report)
{
    struct cairn_overhead overhead = cairn_overhead_of(report->tally->model);
    struct cairn_buf text;

    if (!overhead.asked)
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_buf_printf(
        &text, "max overhead %g %%: %s, %.1f %% of what the program needed (estimated), ",
        100 * overhead.limit, overhead.kept ? "kept" : "NOT kept", 100 * overhead.reached);
    cairn_text_time(&text, overhead.setup_ns);
    cairn_buf_add_str(&text, " to begin");
    if (overhead.untimed > 0)
        cairn_buf_printf(&text, ", %" PRIu64 " counted without times", overhead.untimed);
    if (overhead.let_go > 0)
        cairn_buf_printf(&text, ", %" PRIu64 " let go", overhead.let_go);
    add_let_go(&text, report->tally->model);
    if (overhead.plain > 0)
        cairn_buf_printf(&text,
                         "; calls of Python alone, without times, from some moment on in %" PRIu64
                         " process%s",
                         overhead.plain, overhead.plain == 1 ? "" : "es");
    if (overhead.ended > 0)
        cairn_buf_printf(&text, "; all counting ended in %" PRIu64 " process%s", overhead.ended,
                         overhead.ended == 1 ? "" : "es");
    if (!overhead.kept)
        cairn_page_style(&report->page, CAIRN_STYLE_WARN);
    cairn_page_prose(&report->page, CAIRN_PAGE_INDENT, cairn_buf_span(&text));
    cairn_page_style(&report->page, CAIRN_STYLE_PLAIN);
    cairn_page_drop(&report->page, &text);
}

/* How many processes ended before what they counted was whole. */
static void put_cut_short(struct cairn_report *report)
{
    const struct cairn_model *model = report->tally->model;
    uint64_t calls = cairn_model_counter(model, "exact_cut_short");
    uint64_t lines = cairn_model_counter(model, "lines_cut_short");
    uint64_t count = calls > lines ? calls : lines;
    struct cairn_buf text;

    if (count == 0)
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_buf_printf(&text,
                     "cut short: %" PRIu64 " process%s ended without a clean stop (a signal, "
                     "os._exit, exec); what was open then lasts until its thread's last call; open "
                     "lines have no time",
                     count, count == 1 ? "" : "es");
    cairn_page_prose(&report->page, CAIRN_PAGE_INDENT, cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
}

/* Until 3.11 the program can take away what counts. */
static void put_displaced(struct cairn_report *report)
{
    const struct cairn_model *model = report->tally->model;
    bool calls = cairn_model_counter(model, "exact_displaced") > 0;

    if (!calls && cairn_model_counter(model, "lines_displaced") == 0)
        return;
    cairn_page_prose(
        &report->page, CAIRN_PAGE_INDENT,
        calls ? cairn_span_of("displaced: the program set a profile function of its own; "
                              "what that thread called from then on is not counted, nor what "
                              "threads did that it then started")
              : cairn_span_of("displaced: the program set a trace function of its own; "
                              "lines of the frame in which it did are missing"));
}

/* Where the layout of Python's structures is from; its own word is not worth a mention. */
static void put_layout(struct cairn_report *report)
{
    struct cairn_span layout = cairn_facts_layout(report->tally->model);
    struct cairn_buf text;

    if (!layout.size_bytes || (layout.size_bytes == 7 && !memcmp(layout.data, "offsets", 7)))
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_buf_add_str(&text, "layout: ");
    cairn_escape_terminal(&text, layout);
    cairn_page_item(&report->page, ", ", cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
}

/* What the recording says to be missing, by the name of the fact that says why. */
static void put_refused(struct cairn_report *report, const char *fact, const char *what)
{
    struct cairn_span why = cairn_model_env(report->tally->model, fact);
    struct cairn_buf text;

    if (!why.size_bytes)
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_buf_add_str(&text, what);
    cairn_escape_terminal(&text, why);
    cairn_page_prose(&report->page, CAIRN_PAGE_INDENT, cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
}

static void put_cost(struct cairn_report *report, const struct cairn_quality *quality)
{
    uint64_t first_ns, last_ns, time_ns = report->facts.wall_ns;
    struct cairn_buf text;

    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_model_span(report->tally->model, &first_ns, &last_ns);
    /* From the first tick to the last, when most were missed, can be next to nothing. */
    if (time_ns < last_ns - first_ns)
        time_ns = last_ns - first_ns;
    cairn_buf_add_str(&text, "own cost ");
    if (quality->own_cpu_ns > 0) {
        cairn_report_share(&text, quality->own_cpu_ns, time_ns);
        cairn_buf_add_str(&text, " of a core");
    } else {
        cairn_buf_add_str(&text, "n/a");
    }
    cairn_page_item(&report->page, ", ", cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
    cairn_text_size(&text, quality->bytes);
    cairn_buf_add_str(&text, " on disk");
    cairn_page_item(&report->page, ", ", cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
}

/* The widest interval that a share of the program can have. */
static void put_precision(struct cairn_report *report)
{
    uint64_t count = report->facts.busy_phase[CAIRN_PHASE_PROGRAM].ticks;
    double draws = report->tally->draws[0][1];
    struct cairn_buf text;

    if (count == 0 || draws < 1)
        return;
    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_text_count(&text, count);
    cairn_buf_printf(&text, " sample%s in the program: \xc2\xb1%.*f points at most",
                     count == 1 ? "" : "s", draws > 9604, fmin(100, 98 / sqrt(draws)));
    cairn_page_item(&report->page, ", ", cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
}

static void put_guest_line(struct cairn_page *page, const char *what, struct cairn_span text)
{
    struct cairn_buf line;

    cairn_buf_init(&line, TEXT_MAX_BYTES);
    cairn_buf_add_str(&line, what);
    cairn_escape_terminal(&line, text);
    cairn_page_prose(page, CAIRN_PAGE_INDENT, cairn_buf_span(&line));
    cairn_page_drop(page, &line);
}

/* What of a file without stacks is known, and what is inferred. */
static const char *told_by_pairs(const struct cairn_model *model)
{
    const struct cairn_call_pair *pairs;
    size_t count = cairn_model_pairs(model, &pairs);
    bool unsure = false;

    for (size_t i = 0; i < count; i++)
        unsure |= pairs[i].unsure || pairs[i].inferred;
    if (count == 0)
        return "inferred: stacks, and with them totals, callers of callers and the flame graph; "
               "known: each function's own time, and its direct callers";
    if (unsure)
        return "inferred: stacks, and with them callers of callers and the flame graph, own times "
               "by caller, and totals of what has ? beside its calls; known: calls and own time of "
               "each function, and its direct callers";
    return "inferred: stacks, and with them callers of callers and the flame graph; known: calls "
           "and times of each function, and so much of them as each of its callers made";
}

/* What a file of another tool tells, and what it does not. */
static void put_guest(struct cairn_report *report, const struct cairn_quality *quality)
{
    const struct cairn_facts *facts = &report->facts;
    const struct cairn_span nothing = {NULL, 0};
    struct cairn_page *page = &report->page;

    if (report->tally->counted) {
        put_count(page, quality->samples, quality->samples == 1 ? "sample" : "samples");
        put_count(page, quality->torn, "torn");
        put_count(page, quality->truncated, "truncated");
        put_losses(page, quality);
        put_precision(report);
    } else {
        cairn_page_item(
            page, ", ",
            cairn_span_of("samples: n/a, the file does not count them; so no intervals"));
        put_losses(page, quality);
    }
    cairn_page_end(page);
    if (facts->each_ns == 0)
        put_guest_line(page, "its numbers: ", facts->values);
    else
        put_guest_line(page,
                       facts->each_ns == 1
                           ? "JSON and exports that have times alone: one is 1 ns; its numbers: "
                           : "JSON and exports that have times alone: one is 1 us; its numbers: ",
                       facts->no_time);
    if (facts->callless)
        put_guest_line(page,
                       "stacks: n/a, each function is shown by itself; known: hits and times "
                       "of its lines",
                       nothing);
    else if (facts->inferred)
        put_guest_line(page, told_by_pairs(report->tally->model), nothing);
    if (facts->timeless)
        put_guest_line(page, "times: n/a, the file does not say when; its stacks lie in a row",
                       nothing);
    if (facts->lost.size_bytes > 0)
        put_guest_line(page, "left out: ", facts->lost);
    if (facts->incomplete.size_bytes > 0) {
        cairn_page_style(page, CAIRN_STYLE_WARN);
        put_guest_line(page, "incomplete: ", facts->incomplete);
        cairn_page_style(page, CAIRN_STYLE_PLAIN);
    }
}

void cairn_report_quality(struct cairn_report *report)
{
    const struct cairn_quality *quality = cairn_model_quality(report->tally->model);
    struct cairn_page *page = &report->page;

    cairn_page_label(page, "quality");
    if (report->facts.guest.size_bytes > 0) {
        put_guest(report, quality);
        return;
    }
    put_count(page, quality->samples, quality->samples == 1 ? "sample" : "samples");
    put_count(page, quality->torn, "torn");
    put_count(page, quality->truncated, "truncated");
    put_count(page, quality->missed, "missed");
    put_count(page, quality->unreadable, "unreadable");
    put_losses(page, quality);
    put_counted(report);
    put_layout(report);
    put_cost(report, quality);
    put_precision(report);
    cairn_page_end(page);
    if (report->tally->filter.task)
        cairn_page_prose(page, CAIRN_PAGE_INDENT,
                         cairn_span_of("tasks: every 10 ms, or more seldom, it was noted which of "
                                       "them ran, and where the others waited; no intervals"));
    if (!quality->ended) {
        cairn_page_style(page, CAIRN_STYLE_WARN);
        cairn_page_prose(page, CAIRN_PAGE_INDENT,
                         cairn_span_of("the recording has no end: it still grows, or was cut off"));
        cairn_page_style(page, CAIRN_STYLE_PLAIN);
    }
    put_engines(report);
    put_overhead(report);
    put_cut_short(report);
    put_displaced(report);
    put_refused(report, "target.refused", "[unknown] is Python that could not be read: ");
    put_refused(report, "counting.refused", "not counted: ");
    put_refused(report, "counting.text_hook", "text hook not used: ");
    if (report->facts.children.size_bytes == 4 &&
        memcmp(report->facts.children.data, "poll", 4) == 0)
        cairn_page_prose(page, CAIRN_PAGE_INDENT,
                         cairn_span_of("children were looked for now and then (no perf events): "
                                       "one that lived briefly may be missing"));
}

static void put_command(struct cairn_report *report, const char *command, struct cairn_span word)
{
    struct cairn_buf text;

    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_buf_add_str(&text, command);
    if (word.size_bytes > 0) {
        cairn_buf_u8(&text, ' ');
        cairn_text_shell_word(&text, word);
    }
    if (report->options->file) {
        cairn_buf_add_str(&text, report->options->file[0] == '-' ? " ./" : " ");
        cairn_text_shell_word(&text, cairn_span_of(report->options->file));
    }
    cairn_page_item(&report->page, "   ", cairn_buf_span(&text));
    cairn_page_drop(&report->page, &text);
}

/* Whether those of the function on top were counted. */
static bool has_instructions(const struct cairn_report *report)
{
    const struct cairn_counted_opcode *opcodes;
    size_t count = cairn_model_counted_opcodes(report->tally->model, &opcodes);

    for (size_t i = 0; report->top && i < count; i++)
        if (opcodes[i].function == report->top->function)
            return true;
    return false;
}

void cairn_report_next(struct cairn_report *report)
{
    const struct cairn_span nothing = {NULL, 0};
    const struct cairn_row *top = report->top_python ? report->top_python : report->top;

    cairn_page_label(&report->page, "next");
    if (top && !report->options->of && top->qualname.data[0] != '<' &&
        strcmp(top->kind, "label") != 0)
        put_command(report, "cairn report --of", top->qualname);
    if (report->options->by != CAIRN_BY_LINE)
        put_command(report, "cairn report --by line", nothing);
    else
        put_command(report, "cairn report", nothing);
    if (has_instructions(report))
        put_command(report, "cairn dis", report->top->qualname);
    if (cairn_model_counter(report->tally->model, "timeline_calls") > 0)
        put_command(report, "cairn export -f perfetto -o timeline.pftrace", nothing);
    put_command(report, "cairn export -f flamegraph -o flame.svg", nothing);
    cairn_page_end(&report->page);
}
