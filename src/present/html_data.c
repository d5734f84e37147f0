#include "html_data.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"
#include "facts.h"
#include "html_source.h"
#include "html_tree.h"
#include "intern.h"
#include "json_out.h"
#include "report_text.h"
#include "table.h"

#define STRINGS_MAX_BYTES ((size_t)4 << 30)
#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define DRAIN_ITEMS 4096

/* More, and threads are added up within their process: a page has to be opened as well. */
#define CELLS_MAX 400000

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
    struct cairn_intern strings; /* as the page shows them, redacted */
    struct cairn_buf text;
};

static void begin_array(struct writer *w, const char *key)
{
    cairn_json_key(&w->json, cairn_span_of(key));
    cairn_json_array(&w->json);
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

static void put_known(struct writer *w, const char *key, uint64_t value)
{
    if (value == CAIRN_FACT_NONE)
        cairn_json_put_null(&w->json, key);
    else
        cairn_json_put_u64(&w->json, key, value);
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
    begin_object(w, "recording");
    cairn_json_put_str(&w->json, "mode", facts.attached ? "attach" : "run");
    cairn_json_put_text(&w->json, "program", shown(w, facts.program));
    if (w->options->redact.on)
        cairn_json_put_null(&w->json, "command");
    else
        cairn_json_put_text(&w->json, "command", facts.command);
    cairn_json_put_u64(&w->json, "wall_ns", facts.wall_ns);
    put_known(w, "user_ns", facts.user_ns);
    put_known(w, "sys_ns", facts.sys_ns);
    put_known(w, "peak_bytes", facts.peak_bytes);
    put_known(w, "exit", facts.exit_status);
    put_known(w, "signal", facts.signal_number);
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

/* What was left out when the page was made, in the words of the command line. */
static void put_chosen(struct writer *w)
{
    const struct cairn_filter *filter = &w->options->filter;
    const struct {
        const char *key, *value;
    } texts[] = {
        {"thread", filter->thread}, {"process", filter->process}, {"region", filter->region},
        {"focus", filter->focus},   {"ignore", filter->ignore},
    };

    begin_object(w, "chosen");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (texts[i].value)
            cairn_json_put_text(&w->json, texts[i].key, shown(w, cairn_span_of(texts[i].value)));
    for (unsigned i = 0; i < CAIRN_OVERLAY_COUNT; i++)
        if (filter->overlays & 1u << i)
            cairn_json_put_str(&w->json, "while", cairn_overlay_name(i));
    if (filter->region_length != CAIRN_REGION_LENGTH_ANY)
        cairn_json_put_str(&w->json, "region-length",
                           filter->region_length == CAIRN_REGION_LENGTH_SLOW ? "slow" : "middle");
    if (filter->only_my_code)
        cairn_json_put_bool(&w->json, "only-my-code", true);
    if (filter->from_ns > 0)
        cairn_json_put_u64(&w->json, "from_ns", filter->from_ns);
    if (filter->to_ns != UINT64_MAX)
        cairn_json_put_u64(&w->json, "to_ns", filter->to_ns);
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

/* Only those that have samples. */
static int put_tracks(struct writer *w, const struct cairn_tally *tally, const struct page_ids *ids)
{
    uint32_t *thread_of = ids->thread_of, *process_of = ids->process_of;
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    size_t thread_count = cairn_model_threads(w->model, &threads);
    size_t process_count = cairn_model_processes(w->model, &processes);
    uint32_t count = 0;
    struct cairn_buf label;

    for (size_t i = 0; i < tally->cell_count; i++) {
        thread_of[tally->cells[i].thread] = 1;
        process_of[threads[tally->cells[i].thread].process] = 1;
    }
    cairn_buf_init(&label, TEXT_MAX_BYTES);
    begin_array(w, "processes");
    for (size_t i = 0; i < process_count; i++) {
        if (!process_of[i])
            continue;
        process_of[i] = count++;
        cairn_buf_clear(&label);
        cairn_roles_label(&tally->roles, (uint32_t)i, &label);
        if (label.code == -CAIRN_ENOMEM)
            w->sink->out->buf.code = label.code;
        cairn_json_object(&w->json);
        cairn_json_put_u64(&w->json, "pid", processes[i].pid);
        cairn_json_put_text(&w->json, "role", shown(w, cairn_buf_span(&label)));
        cairn_json_close(&w->json);
        CAIRN_TRY(after_item(w, i));
    }
    cairn_json_close(&w->json);
    cairn_buf_release(&label);
    begin_array(w, "threads");
    count = 0;
    for (size_t i = 0; i < thread_count; i++) {
        if (!thread_of[i])
            continue;
        thread_of[i] = count++;
        cairn_json_object(&w->json);
        cairn_json_put_u64(&w->json, "process", process_of[threads[i].process]);
        cairn_json_put_u64(&w->json, "tid", threads[i].tid);
        cairn_json_put_text(&w->json, "name", shown(w, threads[i].name));
        cairn_json_close(&w->json);
        CAIRN_TRY(after_item(w, i));
    }
    cairn_json_close(&w->json);
    return 0;
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
    begin_array(w, "frames"); /* function, line, one after the other */
    for (size_t i = 0; i < tree->frames.count; i++) {
        cairn_json_u64(&w->json, tree->frames.items[i].function);
        cairn_json_u64(&w->json, tree->frames.items[i].line);
        CAIRN_TRY(after_item(w, i));
    }
    cairn_json_close(&w->json);
    begin_array(w, "nodes"); /* parent, frame */
    for (size_t i = 0; i < tree->nodes.count; i++) {
        cairn_json_u64(&w->json, tree->nodes.items[i].parent);
        cairn_json_u64(&w->json, tree->nodes.items[i].frame);
        CAIRN_TRY(after_item(w, i));
    }
    cairn_json_close(&w->json);
    return 0;
}

enum column { COLUMN_THREAD, COLUMN_NODE, COLUMN_PHASE, COLUMN_TIME, COLUMN_IDLE, COLUMN_COUNT };

/* A cell in one column; nodes as what lies between them and those before: cells are in the order
 * of nodes, so this is small. */
static void put_cell(struct writer *w, const struct cairn_cell *cell, enum column column,
                     const struct page_ids *ids, uint32_t *node)
{
    uint32_t here = ids->tree.node_of[cell->node];

    switch (column) {
    case COLUMN_THREAD:
        cairn_json_u64(&w->json, ids->thread_of[cell->thread]);
        break;
    case COLUMN_NODE:
        cairn_json_number(&w->json, (double)here - *node);
        *node = here;
        break;
    case COLUMN_PHASE:
        cairn_json_u64(&w->json, cell->phase);
        break;
    case COLUMN_TIME:
        cairn_json_u64(&w->json, cell->weight.value_ns);
        break;
    default:
        cairn_json_u64(&w->json, cell->idle.value_ns);
    }
}

/* Columns, since those of one kind compress well: thread, node, phase, time, and of it waiting for
 * work. */
static int put_cells(struct writer *w, const struct cairn_tally *tally, const struct page_ids *ids)
{
    begin_array(w, "cells");
    for (int column = 0; column < COLUMN_COUNT; column++) {
        uint32_t node = 0;

        cairn_json_array(&w->json);
        for (size_t i = 0; i < tally->cell_count && tally->known; i++) {
            const struct cairn_cell *cell = &tally->cells[i];

            if (cell->weight.value_ns > 0)
                put_cell(w, cell, (enum column)column, ids, &node);
            CAIRN_TRY(after_item(w, i));
        }
        cairn_json_close(&w->json);
    }
    cairn_json_close(&w->json);
    return 0;
}

/* Lines of text without the label and the blanks in front of them. */
static void put_lines(struct writer *w, const char *key, const struct cairn_buf *text,
                      const char *label)
{
    size_t label_bytes = strlen(label);
    const uint8_t *at = text->data, *end = text->size_bytes ? at + text->size_bytes : at;

    begin_array(w, key);
    while (at < end) {
        const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
        const uint8_t *stop = newline ? newline : end;

        if ((size_t)(stop - at) > label_bytes && memcmp(at, label, label_bytes) == 0)
            at += label_bytes;
        while (at < stop && *at == ' ')
            at++;
        cairn_json_text(&w->json, shown(w, (struct cairn_span){at, (size_t)(stop - at)}));
        at = stop + (newline != NULL);
    }
    cairn_json_close(&w->json);
}

static int put_words(struct writer *w, const struct cairn_tally *tally, struct cairn_err *err)
{
    struct cairn_report_words words;
    int code = cairn_report_words_make(tally, &words, err);

    if (code == 0) {
        put_lines(w, "head", &words.head, "");
        put_lines(w, "trust", &words.quality, "quality");
        put_lines(w, "no_table", &words.no_table, "");
    }
    cairn_report_words_release(&words);
    return code;
}

static int put_metric(struct writer *w, const struct cairn_tally *tally, const struct page_ids *ids,
                      struct cairn_err *err)
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
    begin_array(w, "states"); /* as enum cairn_state */
    for (int state = 0; state < CAIRN_STATE_COUNT; state++)
        cairn_json_u64(&w->json, tally->state_ns[state]);
    cairn_json_close(&w->json);
    CAIRN_TRY(put_cells(w, tally, ids));
    cairn_json_close(&w->json);
    return 0;
}

/* One metric after the other, so that the sums of wall and of one more at most are in memory. */
static int put_metrics(struct writer *w, const struct cairn_tally *wall, const struct page_ids *ids,
                       struct cairn_err *err)
{
    begin_array(w, "metrics");
    CAIRN_TRY(put_metric(w, wall, ids, err));
    for (int metric = CAIRN_METRIC_WALL + 1; metric < CAIRN_METRIC_SAMPLED; metric++) {
        struct cairn_filter filter = wall->filter;
        struct cairn_tally tally;
        int code;

        filter.metric = (enum cairn_metric)metric;
        CAIRN_TRY(cairn_tally_make(w->model, &filter, &tally, err));
        code = put_metric(w, &tally, ids, err);
        cairn_tally_release(&tally);
        CAIRN_TRY(code);
    }
    cairn_json_close(&w->json);
    return 0;
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

static int put_all(struct writer *w, const struct cairn_tally *wall, struct page_ids *ids,
                   struct cairn_err *err)
{
    CAIRN_TRY(cairn_html_tree_make(wall, &ids->tree));
    cairn_json_object(&w->json);
    cairn_json_put_u64(&w->json, "schema", CAIRN_HTML_SCHEMA);
    cairn_json_put_str(&w->json, "version", CAIRN_VERSION);
    cairn_json_put_bool(&w->json, "redacted", w->options->redact.on);
    cairn_json_put_bool(&w->json, "threads_joined", wall->filter.threads_joined);
    cairn_json_put_str(&w->json, "metric", cairn_metric_name(w->options->filter.metric));
    put_chosen(w);
    CAIRN_TRY(put_recording(w, wall, err));
    put_quality(w);
    CAIRN_TRY(put_tracks(w, wall, ids));
    CAIRN_TRY(put_tree(w, &ids->tree));
    if (w->options->source)
        CAIRN_TRY(cairn_html_source(w->model, &ids->tree, &w->json, w->sink));
    else
        cairn_json_put_null(&w->json, "source");
    CAIRN_TRY(put_metrics(w, wall, ids, err));
    CAIRN_TRY(put_strings(w));
    cairn_json_close(&w->json);
    CAIRN_TRY(cairn_json_end(&w->json));
    return w->sink->drain(w->sink);
}

/* The sums of wall time, of each thread where there is room for that. */
static int make_wall(struct writer *w, struct cairn_tally *ret_tally, struct cairn_err *err)
{
    struct cairn_filter filter = w->options->filter;

    filter.metric = CAIRN_METRIC_WALL;
    CAIRN_TRY(cairn_tally_make(w->model, &filter, ret_tally, err));
    if (ret_tally->cell_count <= CELLS_MAX)
        return 0;
    cairn_tally_release(ret_tally);
    filter.threads_joined = true;
    return cairn_tally_make(w->model, &filter, ret_tally, err);
}

static int write_data(struct writer *w, struct cairn_err *err)
{
    const struct cairn_thread *threads;
    const struct cairn_process *processes;
    struct page_ids ids = {0};
    struct cairn_tally wall;
    int code = -CAIRN_ENOMEM;

    CAIRN_TRY(make_wall(w, &wall, err));
    ids.thread_of =
        cairn_calloc(cairn_model_threads(w->model, &threads) + 1, sizeof(*ids.thread_of));
    ids.process_of =
        cairn_calloc(cairn_model_processes(w->model, &processes) + 1, sizeof(*ids.process_of));
    if (ids.thread_of && ids.process_of)
        code = put_all(w, &wall, &ids, err);
    free(ids.thread_of);
    free(ids.process_of);
    cairn_html_tree_release(&ids.tree);
    cairn_tally_release(&wall);
    return code;
}

int cairn_html_data(const struct cairn_model *model, const struct cairn_html_options *options,
                    struct cairn_html_sink *sink, struct cairn_err *err)
{
    struct writer w = {.model = model, .options = options, .sink = sink};
    int code = cairn_intern_init(&w.strings, STRINGS_MAX_BYTES);

    cairn_json_init(&w.json, &sink->out->buf, 0);
    cairn_buf_init(&w.text, TEXT_MAX_BYTES);
    if (code == 0)
        code = write_data(&w, err);
    cairn_intern_release(&w.strings);
    cairn_buf_release(&w.text);
    return code;
}
