#include "html_data.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"
#include "facts.h"
#include "html_cells.h"
#include "html_columns.h"
#include "html_counts.h"
#include "html_inside.h"
#include "html_keys.h"
#include "html_parts.h"
#include "html_slices.h"
#include "html_source.h"
#include "html_tracks.h"
#include "html_tree.h"
#include "intern.h"
#include "json_out.h"
#include "report_text.h"
#include "table.h"
#include "tallies.h"

#define STRINGS_MAX_BYTES ((size_t)4 << 30)
#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define DRAIN_ITEMS 4096

/* More cells, and threads are added up within their process: a page has to be opened as well. */
#define CELLS_MAX CAIRN_HTML_CELLS_MAX

/* What the page calls what the model has. */
struct page_ids {
    struct cairn_html_tree tree;
    uint32_t *thread_of, *process_of;
};

struct writer {
    const struct cairn_model *model;
    const struct cairn_html_options *options;
    struct cairn_html_sink *sink;
    struct cairn_json json;
    struct cairn_html_columns columns;
    struct cairn_intern strings; /* as the page shows them, redacted */
    struct cairn_buf text;
    bool gil_known;
    bool has_tasks; /* the page has their stacks */
};

static void begin_array(struct writer *w, const char *key)
{
    cairn_json_key(&w->json, cairn_span_of(key));
    cairn_json_array(&w->json);
}

static void begin_column(struct writer *w, const char *key)
{
    cairn_json_key(&w->json, cairn_span_of(key));
    cairn_html_columns_begin(&w->columns);
}

static void begin_object(struct writer *w, const char *key)
{
    cairn_json_key(&w->json, cairn_span_of(key));
    cairn_json_object(&w->json);
}

/* Called for each item of something long. */
static int after_item(struct writer *w, size_t index)
{
    return index % DRAIN_ITEMS == DRAIN_ITEMS - 1 ? w->sink->drain(w->sink) : 0;
}

/* The text as the page may hold it, until the next call. */
static struct cairn_span shown(struct writer *w, struct cairn_span text)
{
    cairn_buf_clear(&w->text);
    cairn_redact_text(&w->options->redact, text, &w->text);
    if (w->text.code == -CAIRN_ENOMEM)
        w->sink->out->buf.code = w->text.code;
    return cairn_buf_span(&w->text);
}

static int put_string(struct writer *w, struct cairn_span text)
{
    uint32_t id;

    CAIRN_TRY(w->text.code == -CAIRN_ENOMEM ? w->text.code : 0);
    CAIRN_TRY(cairn_intern_add(&w->strings, text, &id));
    cairn_json_u64(&w->json, id);
    return 0;
}

/* What of the stacks that are drawn is no fact. */
static const char *inference(const struct cairn_facts *facts)
{
    if (facts->callless)
        return "The file knows lines, and nothing of who called whom: each function stands by "
               "itself, with the time of its lines, which holds what they called.";
    if (facts->inferred)
        return "Inferred: the file knows who called whom, and no stacks. Own times are as it has "
               "them; stacks and totals suppose that a function took as long whoever called its "
               "caller.";
    return "";
}

/* What was recorded, and on what: of the environment no more than these. */
static int put_recording(struct writer *w, const struct cairn_tally *tally, struct cairn_err *err)
{
    static const char *const told[] = {"target.python",    "sampler.rate", "host.os",
                                       "host.kernel",      "host.arch",    "host.cpu",
                                       "host.cores_usable"};
    struct cairn_facts facts;
    int code = cairn_facts_make(tally, &facts);

    if (code < 0)
        return cairn_err_set(err, code, 0, "html", "cannot gather the facts of the recording");
    if (facts.program.size_bytes == 0 && !w->options->redact.on)
        facts.program = cairn_model_env(tally->model, "import.file");
    begin_object(w, "recording");
    cairn_json_put_str(&w->json, "mode", facts.attached ? "attach" : "run");
    cairn_buf_clear(&w->text);
    cairn_redact_path(&w->options->redact, facts.program, &w->text);
    cairn_json_put_text(&w->json, "program", cairn_buf_span(&w->text));
    if (w->options->redact.on)
        cairn_json_put_null(&w->json, "command");
    else
        cairn_json_put_text(&w->json, "command", facts.command);
    cairn_json_put_str(&w->json, "inferred", inference(&facts));
    cairn_json_put_u64(&w->json, "each_ns", facts.each_ns);
    cairn_json_put_u64(&w->json, "wall_ns", facts.wall_ns);
    cairn_facts_put(&w->json, "user_ns", facts.user_ns);
    cairn_facts_put(&w->json, "sys_ns", facts.sys_ns);
    cairn_facts_put(&w->json, "peak_bytes", facts.peak_bytes);
    cairn_facts_put(&w->json, "exit", facts.exit_status);
    cairn_facts_put(&w->json, "signal", facts.signal_number);
    begin_object(w, "environment");
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]) && !w->options->redact.on; i++) {
        struct cairn_span value = cairn_model_env(w->model, told[i]);

        if (value.size_bytes > 0)
            cairn_json_put_text(&w->json, told[i], value);
    }
    cairn_json_close(&w->json);
    cairn_json_close(&w->json);
    return 0;
}

static void put_patterns(struct writer *w, const char *key, const struct cairn_patterns *patterns)
{
    if (patterns->count == 0)
        return;
    begin_array(w, key);
    for (size_t i = 0; i < patterns->count; i++)
        cairn_json_text(&w->json, shown(w, cairn_span_of(patterns->items[i])));
    cairn_json_close(&w->json);
}

/* What the page was made of, in the words of the command line; times in ns. */
static void put_chosen(struct writer *w)
{
    const struct cairn_filter *filter = &w->options->filter;
    const struct {
        const char *key, *value;
    } texts[] = {
        {"thread", filter->thread},
        {"process", filter->process},
        {"task", filter->task},
        {"region", filter->region},
    };

    begin_object(w, "chosen");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].value)
            cairn_json_put_text(&w->json, texts[i].key, shown(w, cairn_span_of(texts[i].value)));
    put_patterns(w, "focus", &filter->focus);
    put_patterns(w, "ignore", &filter->ignore);
    for (unsigned i = 0; i < CAIRN_OVERLAY_COUNT; i++)
        if (filter->overlays & 1u << i)
            cairn_json_put_str(&w->json, "while", cairn_overlay_name(i));
    if (filter->region_length != CAIRN_REGION_LENGTH_ANY)
        cairn_json_put_str(&w->json, "region-length",
                           filter->region_length == CAIRN_REGION_LENGTH_SLOW ? "slow" : "middle");
    if (filter->only_my_code)
        cairn_json_put_bool(&w->json, "only-my-code", true);
    if (filter->from_ns > 0)
        cairn_json_put_u64(&w->json, "from", filter->from_ns);
    if (filter->to_ns != UINT64_MAX)
        cairn_json_put_u64(&w->json, "to", filter->to_ns);
    cairn_json_close(&w->json);
}

static void put_quality(struct writer *w)
{
    const struct cairn_quality *quality = cairn_model_quality(w->model);

    begin_object(w, "quality");
    cairn_json_put_u64(&w->json, "ticks", quality->ticks);
    cairn_json_put_u64(&w->json, "samples", quality->samples);
    cairn_json_put_u64(&w->json, "torn", quality->torn);
    cairn_json_put_u64(&w->json, "truncated", quality->truncated);
    cairn_json_put_u64(&w->json, "unreadable", quality->unreadable);
    cairn_json_put_u64(&w->json, "missed", quality->missed);
    cairn_json_put_u64(&w->json, "unknown_refs", quality->unknown_refs);
    cairn_json_put_bool(&w->json, "ended", quality->ended);
    cairn_json_close(&w->json);
}

static int put_functions(struct writer *w, const struct cairn_html_tree *tree)
{
    const struct cairn_function *functions;

    cairn_model_functions(w->model, &functions);
    begin_array(w, "functions"); /* name, file, module, kind, origin, first line */
    for (size_t i = 0; i < tree->functions.count; i++) {
        const struct cairn_function *function = &functions[tree->functions.items[i]];

        cairn_json_array(&w->json);
        CAIRN_TRY(put_string(w, shown(w, function->qualname)));
        cairn_buf_clear(&w->text);
        cairn_redact_path(&w->options->redact, function->file, &w->text);
        CAIRN_TRY(put_string(w, cairn_buf_span(&w->text)));
        CAIRN_TRY(put_string(w, shown(w, function->module)));
        cairn_json_u64(&w->json, function->kind);
        cairn_json_u64(&w->json, function->origin);
        cairn_json_u64(&w->json, function->first_line);
        cairn_json_close(&w->json);
        CAIRN_TRY(after_item(w, i));
    }
    cairn_json_close(&w->json);
    return 0;
}

static int put_tree(struct writer *w, const struct cairn_html_tree *tree)
{
    CAIRN_TRY(put_functions(w, tree));
    begin_column(w, "frames"); /* function, line, one after the other */
    for (size_t i = 0; i < tree->frames.count; i++) {
        CAIRN_TRY(cairn_html_columns_put(&w->columns, tree->frames.items[i].function));
        CAIRN_TRY(cairn_html_columns_put(&w->columns, tree->frames.items[i].line));
        CAIRN_TRY(after_item(w, i));
    }
    CAIRN_TRY(cairn_html_columns_end(&w->columns));
    begin_column(w, "nodes"); /* parent, frame */
    for (size_t i = 0; i < tree->nodes.count; i++) {
        CAIRN_TRY(cairn_html_columns_put(&w->columns, tree->nodes.items[i].parent));
        CAIRN_TRY(cairn_html_columns_put(&w->columns, tree->nodes.items[i].frame));
        CAIRN_TRY(after_item(w, i));
    }
    return cairn_html_columns_end(&w->columns);
}

/* What was done in regions of each name: the same cells, of that time alone; and what tasks of
 * each ran and waited in. */
static int put_inside(struct writer *w, const struct cairn_tally *sliced,
                      const struct cairn_html_cells *cells, struct cairn_err *err)
{
    struct cairn_html_inside inside;
    struct cairn_tally tally, gil;
    int code;

    CAIRN_TRY(cairn_html_inside_make(sliced, w->has_tasks, &inside));
    begin_array(w, "inside"); /* each a name, its cells, and whether it is a task's */
    while ((code = cairn_html_inside_next(&inside, w->gil_known, &tally, &gil, err)) > 0) {
        cairn_json_array(&w->json);
        code = put_string(w, shown(w, cairn_html_inside_name(&inside)->text));
        if (code == 0)
            code = cairn_html_cells_put(cells, &tally, &gil);
        cairn_json_u64(&w->json, cairn_html_inside_name(&inside)->is_task);
        cairn_json_close(&w->json);
        cairn_tally_release(&gil);
        cairn_tally_release(&tally);
        if (code < 0)
            break;
    }
    cairn_json_close(&w->json);
    cairn_html_inside_release(&inside);
    return code;
}

static int put_times(struct writer *w, const struct cairn_tally *wall, const struct page_ids *ids,
                     struct cairn_err *err)
{
    const struct cairn_html_parts *parts;
    const struct cairn_tally *sliced;
    struct cairn_tally own, gil = {0};
    struct cairn_filter filter;
    uint64_t first_ns, last_ns;
    const struct cairn_html_cells cells = {&ids->tree, ids->thread_of, &w->columns, w->sink};
    struct cairn_facts facts;
    int code = cairn_facts_make(wall, &facts);

    if (code < 0)
        return cairn_err_set(err, code, 0, "html", "cannot gather the facts of the recording");
    CAIRN_TRY(cairn_html_slices_make(wall, w->options, facts.timeless || wall->filter.task,
                                     w->gil_known, &own, &sliced, err));
    parts = w->options->parts ? *w->options->parts : NULL;
    filter = sliced->filter;
    filter.metric = CAIRN_METRIC_GIL;
    code = w->gil_known ? cairn_tally_make(w->model, &filter, &gil, err) : 0;
    if (code == 0) {
        cairn_model_span(w->model, &first_ns, &last_ns);
        begin_object(w, "slices");
        cairn_json_put_u64(&w->json, "count",
                           parts               ? CAIRN_HTML_PARTS
                           : filter.slices > 1 ? filter.slices
                                               : 1);
        cairn_json_put_u64(&w->json, "first_ns", sliced->first_ns - first_ns);
        cairn_json_put_u64(&w->json, "width_ns",
                           parts ? cairn_html_parts_width_ns(parts) : sliced->slice_ns);
        cairn_json_close(&w->json);
        if (parts)
            cairn_html_parts_say(parts, ids->thread_of, &w->json);
        cairn_json_key(&w->json, cairn_span_of("cells"));
        code = cairn_html_cells_put(&cells, sliced, &gil);
        cairn_tally_release(&gil);
        if (code == 0)
            code = put_inside(w, sliced, &cells, err);
    }
    cairn_tally_release(&own);
    return code;
}

static struct cairn_span next_line(struct cairn_span *text)
{
    const uint8_t *newline = memchr(text->data, '\n', text->size_bytes);
    size_t size_bytes = newline ? (size_t)(newline - text->data) : text->size_bytes;
    struct cairn_span line = {text->data, size_bytes};

    size_bytes += newline != NULL;
    text->data += size_bytes;
    text->size_bytes -= size_bytes;
    return line;
}

static void put_line(struct writer *w, struct cairn_span line)
{
    while (line.size_bytes > 0 && line.data[0] == ' ') {
        line.data++;
        line.size_bytes--;
    }
    cairn_json_text(&w->json, shown(w, line));
}

/* Lines of text without the blanks in front of them. */
static void put_lines(struct writer *w, const char *key, const struct cairn_buf *text)
{
    struct cairn_span left = cairn_buf_span(text);

    begin_array(w, key);
    while (left.size_bytes > 0)
        put_line(w, next_line(&left));
    cairn_json_close(&w->json);
}

/* Blocks of lines, each an array: its label, its lines. A label begins a line, else are blanks. */
static void put_blocks(struct writer *w, const char *key, const struct cairn_buf *text)
{
    struct cairn_span left = cairn_buf_span(text), line;
    bool begun = false;

    begin_array(w, key);
    while (left.size_bytes > 0) {
        line = next_line(&left);
        if (!begun || (line.size_bytes > 0 && line.data[0] != ' ')) {
            const uint8_t *blank = memchr(line.data, ' ', line.size_bytes);
            size_t label = blank ? (size_t)(blank - line.data) : line.size_bytes;

            if (begun)
                cairn_json_close(&w->json);
            cairn_json_array(&w->json);
            cairn_json_text(&w->json, (struct cairn_span){line.data, label});
            line = (struct cairn_span){line.data + label, line.size_bytes - label};
            begun = true;
        }
        put_line(w, line);
    }
    if (begun)
        cairn_json_close(&w->json);
    cairn_json_close(&w->json);
}

static int put_words(struct writer *w, const struct cairn_tally *tally, struct cairn_err *err)
{
    struct cairn_report_words words;
    int code = cairn_report_words_make(tally, &words, err);

    if (code == 0) {
        put_lines(w, "head", &words.head);
        put_blocks(w, "beside", &words.beside);
        put_blocks(w, "trust", &words.quality);
        put_lines(w, "no_table", &words.no_table);
    }
    cairn_report_words_release(&words);
    return code;
}

static int put_metric(struct writer *w, const struct cairn_tally *tally, struct cairn_err *err)
{
    cairn_json_object(&w->json);
    cairn_json_put_str(&w->json, "name", cairn_metric_name(tally->filter.metric));
    cairn_json_put_bool(&w->json, "known", tally->known);
    if (tally->why)
        cairn_json_put_str(&w->json, "why", tally->why);
    else
        cairn_json_put_null(&w->json, "why");
    CAIRN_TRY(put_words(w, tally, err));
    cairn_json_put_u64(&w->json, "total_ns", tally->total.value_ns);
    cairn_json_put_u64(&w->json, "idle_ns", tally->idle.value_ns);
    cairn_json_put_number(&w->json, "draws", tally->counted ? tally->draws[0][0] : 0);
    cairn_json_close(&w->json);
    return 0;
}

/* One metric after the other, so that the cells of wall and of one more at most are in memory. */
static int put_metrics(struct writer *w, struct cairn_tallies *tallies,
                       const struct cairn_tally *wall, const struct cairn_tally *calls,
                       struct cairn_err *err)
{
    begin_array(w, "metrics");
    CAIRN_TRY(put_metric(w, wall, err));
    for (int metric = CAIRN_METRIC_WALL + 1; metric < CAIRN_METRIC_SAMPLED; metric++) {
        struct cairn_tally tally;
        int code;

        CAIRN_TRY(cairn_tallies_take(tallies, (enum cairn_metric)metric, &tally, err));
        if (metric == CAIRN_METRIC_GIL)
            w->gil_known = tally.known;
        code = put_metric(w, &tally, err);
        cairn_tally_release(&tally);
        CAIRN_TRY(code);
    }
    if (calls)
        CAIRN_TRY(put_metric(w, calls, err));
    cairn_json_close(&w->json);
    return 0;
}

static int put_counts(struct writer *w, const struct cairn_tally *wall,
                      const struct cairn_tally *calls, const struct page_ids *ids)
{
    struct cairn_html_counts counts = {
        .wall = wall,
        .calls = calls,
        .tree = &ids->tree,
        .thread_of = ids->thread_of,
        .process_of = ids->process_of,
        .options = w->options,
        .json = &w->json,
        .sink = w->sink,
    };

    return cairn_html_counts_put(&counts);
}

static int put_strings(struct writer *w)
{
    begin_array(w, "strings");
    for (size_t i = 0; i < cairn_intern_count(&w->strings); i++) {
        cairn_json_text(&w->json, cairn_intern_get(&w->strings, (uint32_t)i));
        CAIRN_TRY(after_item(w, i));
    }
    cairn_json_close(&w->json);
    return 0;
}

/* Where calls were counted they are what is shown first, as a report shows them first. */
static enum cairn_metric first_metric(const struct writer *w, const struct cairn_tally *calls)
{
    enum cairn_metric metric = w->options->filter.metric;

    return metric == CAIRN_METRIC_WALL && calls && calls->known ? CAIRN_METRIC_COUNTED : metric;
}

static int put_all(struct writer *w, struct cairn_tallies **tallies,
                   const struct cairn_html_tallies *of, struct page_ids *ids, struct cairn_err *err)
{
    const struct cairn_tally *wall = of->wall, *calls = of->calls;

    CAIRN_TRY(cairn_html_tree_make(of, &ids->tree));
    cairn_json_object(&w->json);
    cairn_json_put_u64(&w->json, "schema", CAIRN_HTML_SCHEMA);
    cairn_json_put_str(&w->json, "version", CAIRN_VERSION);
    cairn_json_put_bool(&w->json, "redacted", w->options->redact.on);
    cairn_json_put_bool(&w->json, "threads_joined", wall->filter.threads_joined);
    cairn_json_put_str(&w->json, "metric", cairn_metric_name(first_metric(w, calls)));
    put_chosen(w);
    cairn_html_keys_put(&w->json);
    CAIRN_TRY(put_recording(w, wall, err));
    put_quality(w);
    CAIRN_TRY(
        cairn_html_tracks_put(of, w->options, ids->thread_of, ids->process_of, &w->json, w->sink));
    CAIRN_TRY(put_tree(w, &ids->tree));
    if (w->options->source)
        CAIRN_TRY(cairn_html_source(w->model, &ids->tree, &w->json, w->sink));
    else
        cairn_json_put_null(&w->json, "source");
    CAIRN_TRY(put_metrics(w, *tallies, wall, calls, err));
    cairn_tallies_free(*tallies);
    *tallies = NULL;
    CAIRN_TRY(put_times(w, wall, ids, err));
    CAIRN_TRY(put_counts(w, wall, calls, ids));
    CAIRN_TRY(put_strings(w));
    cairn_json_close(&w->json);
    CAIRN_TRY(cairn_json_end(&w->json));
    return w->sink->drain(w->sink);
}

/* The sums of all metrics, of each thread where there is room for that. */
static int make_sums(struct writer *w, struct cairn_tallies **ret_tallies,
                     struct cairn_tally *ret_wall, struct cairn_err *err)
{
    struct cairn_filter filter = w->options->filter;
    const struct cairn_call_sum *calls;
    int code;

    filter.metric = CAIRN_METRIC_WALL;
    code = cairn_tallies_make(w->model, &filter, CELLS_MAX, ret_tallies, ret_wall, err);
    if (code == 0 && cairn_model_calls(w->model, &calls) > CELLS_MAX) {
        cairn_tallies_free(*ret_tallies);
        cairn_tally_release(ret_wall);
        code = -CAIRN_ELIMIT;
    }
    if (code != -CAIRN_ELIMIT)
        return code;
    filter.threads_joined = true;
    return cairn_tallies_make(w->model, &filter, SIZE_MAX, ret_tallies, ret_wall, err);
}

static int write_data(struct writer *w, struct cairn_err *err)
{
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    struct page_ids ids = {0};
    struct cairn_tallies *tallies;
    struct cairn_tally wall, calls = {0}, tasks = {0};
    bool counted;
    int code;

    CAIRN_TRY(make_sums(w, &tallies, &wall, err));
    counted = !wall.filter.task && (cairn_model_counter(w->model, "exact_processes") > 0 ||
                                    w->options->filter.metric == CAIRN_METRIC_COUNTED);
    code = counted ? cairn_html_counts_tally(&wall, &calls, err) : 0;
    if (code == 0)
        code = cairn_html_inside_tasks(&wall, &tasks, err);
    w->has_tasks = tasks.cell_count > 0;
    ids.thread_of =
        cairn_calloc(cairn_model_threads(w->model, &threads) + 1, sizeof(*ids.thread_of));
    ids.process_of =
        cairn_calloc(cairn_model_processes(w->model, &processes) + 1, sizeof(*ids.process_of));
    if (code == 0)
        code = ids.thread_of && ids.process_of
                   ? put_all(w, &tallies,
                             &(struct cairn_html_tallies){&wall, counted ? &calls : NULL, &tasks},
                             &ids, err)
                   : -CAIRN_ENOMEM;
    free(ids.thread_of);
    free(ids.process_of);
    cairn_html_tree_release(&ids.tree);
    cairn_tally_release(&tasks);
    cairn_tally_release(&calls);
    cairn_tallies_free(tallies);
    cairn_tally_release(&wall);
    return code;
}

int cairn_html_data(const struct cairn_model *model, const struct cairn_html_options *options,
                    struct cairn_html_sink *sink, struct cairn_err *err)
{
    struct writer w = {.model = model, .options = options, .sink = sink};
    int code = cairn_intern_init(&w.strings, STRINGS_MAX_BYTES);

    cairn_json_init(&w.json, &sink->out->buf, 0);
    cairn_html_columns_init(&w.columns, &w.json, options->columns);
    cairn_buf_init(&w.text, TEXT_MAX_BYTES);
    if (code == 0)
        code = write_data(&w, err);
    cairn_html_columns_release(&w.columns);
    cairn_intern_release(&w.strings);
    cairn_buf_release(&w.text);
    return code;
}
