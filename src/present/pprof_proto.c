/* A profile, of which the filters have left a part, in pprof's own format (pprof_text.h), as a row
 * of small messages: export_pprof.c has why. */
#include <string.h>

#include "escape.h"
#include "gzip_out.h"
#include "pprof.pb-c.h"
#include "pprof_labels.h"
#include "pprof_numbers.h"
#include "pprof_units.h"
#include "text.h"

#define STRINGS_MAX_BYTES ((size_t)4 << 30)
#define MESSAGE_MAX_BYTES ((size_t)1 << 30)
#define DEPTH_MAX ((size_t)1 << 28)

struct proto {
    struct cairn_pprof_report *report;
    struct cairn_pprof_numbers numbers;
    struct cairn_pprof_showing showing;
    struct cairn_gzip gzip;
    struct cairn_intern strings;
    struct cairn_intern keys; /* of functions that are written, by their numbers */
    size_t strings_written;
    struct cairn_buf message, text;
    CAIRN_VEC(uint64_t) path;
};

/* Writes a profile that holds no more than a few entries. */
static int put(struct proto *p, const Pprof__Profile *profile)
{
    size_t size_bytes = pprof__profile__get_packed_size(profile);

    cairn_buf_clear(&p->message);
    CAIRN_TRY(cairn_buf_reserve(&p->message, size_bytes + 1));
    pprof__profile__pack(profile, p->message.data);
    return cairn_gzip_add(&p->gzip, p->message.data, size_bytes);
}

/* The index of a text in the string table, which is written as it grows. */
static int text(struct proto *p, struct cairn_span raw, int64_t *ret_index)
{
    uint32_t id;

    cairn_buf_clear(&p->text);
    cairn_escape_utf8(&p->text, raw);
    CAIRN_TRY(p->text.code);
    CAIRN_TRY(cairn_intern_add(&p->strings, cairn_buf_span(&p->text), &id));
    *ret_index = id;
    while (p->strings_written < cairn_intern_count(&p->strings)) {
        struct cairn_span next = cairn_intern_get(&p->strings, (uint32_t)p->strings_written++);
        char *entry = next.size_bytes ? (char *)(uintptr_t)next.data : (char *)(uintptr_t) "";
        Pprof__Profile profile = PPROF__PROFILE__INIT;

        profile.n_string_table = 1;
        profile.string_table = &entry;
        CAIRN_TRY(put(p, &profile));
    }
    return 0;
}

static int put_comments(struct proto *p, struct cairn_span all)
{
    struct cairn_span line;

    while (cairn_text_line(&all, &line)) {
        Pprof__Profile profile = PPROF__PROFILE__INIT;
        int64_t index;

        CAIRN_TRY(text(p, line, &index));
        profile.n_comment = 1;
        profile.comment = &index;
        CAIRN_TRY(put(p, &profile));
    }
    return 0;
}

static int put_head(struct proto *p)
{
    const struct cairn_pprof *pprof = p->report->pprof;
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    Pprof__ValueType type = PPROF__VALUE_TYPE__INIT, *types = &type;

    CAIRN_TRY(text(p, (struct cairn_span){NULL, 0}, &(int64_t){0}));
    profile.n_sample_type = 1;
    profile.sample_type = &types;
    for (size_t i = 0; i < pprof->kind_count; i++) {
        CAIRN_TRY(text(p, cairn_span_of(pprof->kinds[i].type), &type.type));
        CAIRN_TRY(text(p, cairn_span_of(pprof->kinds[i].unit), &type.unit));
        CAIRN_TRY(put(p, &profile));
    }
    profile.n_sample_type = 0;
    CAIRN_TRY(
        text(p, cairn_span_of(pprof->kinds[pprof->kind_usual].type), &profile.default_sample_type));
    profile.time_nanos = pprof->time_ns;
    profile.duration_nanos = pprof->duration_ns;
    CAIRN_TRY(put(p, &profile));
    CAIRN_TRY(put_comments(p, cairn_intern_get(&pprof->texts, pprof->comments)));
    return put_comments(p, cairn_span_of(p->report->look->comment));
}

static int put_functions(struct proto *p)
{
    const struct cairn_pprof *pprof = p->report->pprof;
    Pprof__Function entry = PPROF__FUNCTION__INIT, *entries = &entry;
    Pprof__Profile profile = PPROF__PROFILE__INIT;

    profile.n_function = 1;
    profile.function = &entries;
    for (size_t i = 0; i < p->numbers.functions.count; i++) {
        const struct cairn_pprof_frame *frame = &pprof->frames.items[p->numbers.functions.items[i]];

        entry.id = i + 1;
        CAIRN_TRY(text(p, cairn_intern_get(&pprof->texts, frame->name), &entry.name));
        CAIRN_TRY(text(p, cairn_intern_get(&pprof->texts, frame->file), &entry.filename));
        entry.start_line = frame->first_line;
        CAIRN_TRY(put(p, &profile));
    }
    return 0;
}

static int put_locations(struct proto *p)
{
    Pprof__Line line = PPROF__LINE__INIT, *lines = &line;
    Pprof__Location entry = PPROF__LOCATION__INIT, *entries = &entry;
    Pprof__Profile profile = PPROF__PROFILE__INIT;

    profile.n_location = 1;
    profile.location = &entries;
    entry.n_line = 1;
    entry.line = &lines;
    for (size_t i = 0; i < p->numbers.locations.count; i++) {
        entry.id = i + 1;
        line.function_id = p->numbers.function_of[i];
        line.line = p->report->pprof->frames.items[p->numbers.locations.items[i]].line;
        CAIRN_TRY(put(p, &profile));
    }
    return 0;
}

/* The file that ran. */
static int put_binary(struct proto *p)
{
    Pprof__Mapping entry = PPROF__MAPPING__INIT, *entries = &entry;
    Pprof__Profile profile = PPROF__PROFILE__INIT;

    if (p->report->pprof->binary == 0)
        return 0;
    entry.id = 1;
    CAIRN_TRY(text(p, cairn_intern_get(&p->report->pprof->texts, p->report->pprof->binary),
                   &entry.filename));
    profile.n_mapping = 1;
    profile.mapping = &entries;
    return put(p, &profile);
}

static int put_sample(struct proto *p, const struct cairn_pprof_sample *sample)
{
    Pprof__Label labels[CAIRN_PPROF_LABELS], *label_list[CAIRN_PPROF_LABELS];
    struct cairn_pprof_label own[CAIRN_PPROF_LABELS];
    Pprof__Sample entry = PPROF__SAMPLE__INIT, *entries = &entry;
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    int64_t values[CAIRN_PPROF_COLUMNS];
    size_t texts;

    entry.n_label =
        cairn_pprof_labels_of(p->report->pprof, &p->showing, &sample->labels, own, &texts);
    entry.label = label_list;
    for (size_t i = 0; i < entry.n_label; i++) {
        pprof__label__init(&labels[i]);
        label_list[i] = &labels[i];
        CAIRN_TRY(text(p, cairn_span_of(own[i].key), &labels[i].key));
        if (i < texts)
            CAIRN_TRY(text(p, own[i].text, &labels[i].str));
        else
            labels[i].num = (int64_t)own[i].number;
    }
    for (size_t i = 0; i < p->report->pprof->kind_count; i++)
        values[i] = cairn_pprof_ratio(p->report, sample->values[i]);
    CAIRN_TRY(cairn_vec_reserve(&p->path, (size_t)sample->depth + 1, DEPTH_MAX));
    for (uint32_t k = 0; k < sample->depth; k++)
        p->path.items[k] =
            p->numbers.location_of[p->report->pprof->stacks.items[sample->first + k]];
    entry.n_location_id = sample->depth;
    entry.location_id = p->path.items;
    entry.n_value = p->report->pprof->kind_count;
    entry.value = values;
    profile.n_sample = 1;
    profile.sample = &entries;
    return put(p, &profile);
}

static int put_all(struct proto *p)
{
    const struct cairn_pprof_samples *samples = &p->report->pprof->samples;

    CAIRN_TRY(put_head(p));
    CAIRN_TRY(put_binary(p));
    CAIRN_TRY(put_functions(p));
    CAIRN_TRY(put_locations(p));
    for (size_t i = 0; i < samples->count; i++)
        if (cairn_pprof_is_sample(&samples->items[i]))
            CAIRN_TRY(put_sample(p, &samples->items[i]));
    return 0;
}

/* --- what is on top, each function a sample --- */

static int64_t shown_value(const struct cairn_pprof_report *report, int64_t value)
{
    const char *unit;

    return (int64_t)cairn_pprof_scale(value, report->pprof->kind.unit, report->unit, &unit);
}

static int put_top_head(struct proto *p)
{
    static const char *const names[] = {"cum", "flat"};
    Pprof__ValueType type = PPROF__VALUE_TYPE__INIT, *types = &type;
    Pprof__Profile profile = PPROF__PROFILE__INIT;

    CAIRN_TRY(text(p, (struct cairn_span){NULL, 0}, &(int64_t){0}));
    profile.n_sample_type = 1;
    profile.sample_type = &types;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CAIRN_TRY(text(p, cairn_span_of(names[i]), &type.type));
        CAIRN_TRY(text(p, cairn_span_of(p->report->unit), &type.unit));
        CAIRN_TRY(put(p, &profile));
    }
    profile.n_sample_type = 0;
    profile.time_nanos = p->report->pprof->time_ns;
    profile.duration_nanos = p->report->pprof->duration_ns;
    return put(p, &profile);
}

static int put_top_function(struct proto *p, const struct cairn_pprof_node *node,
                            uint32_t *ret_function)
{
    const uint32_t key[] = {node->name, node->file, node->first_line};
    const struct cairn_intern *texts = &p->report->pprof->texts;
    Pprof__Function entry = PPROF__FUNCTION__INIT, *entries = &entry;
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    size_t before = cairn_intern_count(&p->keys);

    CAIRN_TRY(cairn_intern_add(&p->keys, (struct cairn_span){(const uint8_t *)key, sizeof(key)},
                               ret_function));
    if (cairn_intern_count(&p->keys) == before)
        return 0;
    entry.id = *ret_function;
    CAIRN_TRY(text(p, cairn_intern_get(texts, node->name), &entry.name));
    CAIRN_TRY(text(p, cairn_intern_get(texts, node->file), &entry.filename));
    entry.start_line = node->first_line;
    profile.n_function = 1;
    profile.function = &entries;
    return put(p, &profile);
}

/* A function, with the line where lines are told apart, and what it has. */
static int put_top_node(struct proto *p, const struct cairn_pprof_graph *graph, size_t place)
{
    uint32_t number = graph->order.items[place], function;
    const struct cairn_pprof_node *node = &graph->nodes.items[number];
    int64_t values[] = {shown_value(p->report, cairn_pprof_node_cum(graph, number)),
                        shown_value(p->report, cairn_pprof_node_flat(graph, number))};
    Pprof__Location location = PPROF__LOCATION__INIT, *locations = &location;
    Pprof__Sample sample = PPROF__SAMPLE__INIT, *samples = &sample;
    Pprof__Profile profile = PPROF__PROFILE__INIT;
    Pprof__Line line = PPROF__LINE__INIT, *lines = &line;

    CAIRN_TRY(put_top_function(p, node, &function));
    line.function_id = function;
    line.line = node->line;
    location.id = place + 1;
    location.n_line = 1;
    location.line = &lines;
    profile.n_location = 1;
    profile.location = &locations;
    sample.n_location_id = 1;
    sample.location_id = &location.id;
    sample.n_value = sizeof(values) / sizeof(values[0]);
    sample.value = values;
    profile.n_sample = 1;
    profile.sample = &samples;
    return put(p, &profile);
}

static int put_top(struct proto *p)
{
    struct cairn_pprof_graph graph;
    int code;

    CAIRN_TRY(cairn_pprof_graph_make(p->report->pprof, &p->report->look->graph, &graph));
    cairn_pprof_choose_unit(p->report, &graph);
    code = put_top_head(p);
    for (size_t i = 0; code == 0 && i < graph.order.count; i++)
        code = put_top_node(p, &graph, i);
    cairn_pprof_graph_release(&graph);
    return code;
}

int cairn_pprof_topproto(struct cairn_pprof_report *report)
{
    struct proto p = {.report = report};
    int code = cairn_intern_init(&p.strings, STRINGS_MAX_BYTES);

    cairn_buf_init(&p.message, MESSAGE_MAX_BYTES);
    cairn_buf_init(&p.text, MESSAGE_MAX_BYTES);
    if (code == 0)
        code = cairn_intern_init(&p.keys, STRINGS_MAX_BYTES);
    if (code == 0)
        code = cairn_gzip_open(&p.gzip, Z_DEFAULT_COMPRESSION, report->out);
    if (code == 0)
        code = cairn_gzip_close(&p.gzip, put_top(&p));
    cairn_buf_release(&p.message);
    cairn_buf_release(&p.text);
    cairn_intern_release(&p.keys);
    cairn_intern_release(&p.strings);
    return code;
}

/* --- all of it --- */

int cairn_pprof_proto(struct cairn_pprof_report *report)
{
    struct proto p = {.report = report};
    int code = cairn_intern_init(&p.strings, STRINGS_MAX_BYTES);

    cairn_buf_init(&p.message, MESSAGE_MAX_BYTES);
    cairn_buf_init(&p.text, MESSAGE_MAX_BYTES);
    if (code == 0)
        code = cairn_pprof_showing_make(report, &p.showing);
    if (code == 0)
        code = cairn_pprof_numbers_make(report->pprof, &p.numbers);
    if (code == 0)
        code = cairn_gzip_open(&p.gzip, Z_DEFAULT_COMPRESSION, report->out);
    if (code == 0)
        code = cairn_gzip_close(&p.gzip, put_all(&p));
    cairn_pprof_numbers_release(&p.numbers);
    cairn_vec_release(&p.path);
    cairn_buf_release(&p.message);
    cairn_buf_release(&p.text);
    cairn_intern_release(&p.strings);
    return code;
}
