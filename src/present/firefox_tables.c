#include "firefox_tables.h"

#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "map.h"

#define TEXTS_MAX_BYTES ((size_t)4 << 30)
#define ROWS_MAX ((size_t)1 << 30)

/* By enum cairn_origin; the grey one is what readers fall back to. */
static const struct {
    const char *name, *colour;
} categories[] = {
    [CAIRN_ORIGIN_USER] = {"Your code", "yellow"},
    [CAIRN_ORIGIN_LIBRARY] = {"Libraries", "orange"},
    [CAIRN_ORIGIN_STDLIB] = {"Standard library", "blue"},
    [CAIRN_ORIGIN_IMPORT] = {"Import", "green"},
    [CAIRN_ORIGIN_NONE] = {"Other", "grey"},
};

static int add_source(struct cairn_firefox_tables *t, struct cairn_map *index,
                      struct cairn_span file, uint32_t *ret_source)
{
    uint32_t text;
    uint64_t source = t->sources.count;

    *ret_source = UINT32_MAX;
    if (file.size_bytes == 0)
        return 0;
    CAIRN_TRY(cairn_intern_add(&t->texts, file, &text));
    if (!cairn_map_get(index, text, 0, &source)) {
        CAIRN_TRY(cairn_vec_reserve(&t->sources, t->sources.count + 1, ROWS_MAX));
        CAIRN_TRY(cairn_map_put(index, text, 0, source));
        t->sources.items[t->sources.count++] = text;
    }
    *ret_source = (uint32_t)source;
    return 0;
}

static int add_function(struct cairn_firefox_tables *t, struct cairn_map *index,
                        struct cairn_map *source_index, uint32_t number, uint32_t *ret_row)
{
    const struct cairn_function *functions, *function;
    struct cairn_firefox_function row = {.function = number};
    uint64_t at = t->functions.count;

    if (!cairn_map_get(index, number, 0, &at)) {
        cairn_model_functions(t->tally->model, &functions);
        function = &functions[number];
        CAIRN_TRY(cairn_intern_add(&t->texts, function->qualname, &row.name));
        CAIRN_TRY(
            add_source(t, source_index,
                       function->kind == CAIRN_FUNCTION_NATIVE ? function->module : function->file,
                       &row.file));
        CAIRN_TRY(cairn_vec_reserve(&t->functions, t->functions.count + 1, ROWS_MAX));
        CAIRN_TRY(cairn_map_put(index, number, 0, at));
        t->functions.items[t->functions.count++] = row;
    }
    *ret_row = (uint32_t)at;
    return 0;
}

static int make_rows(struct cairn_firefox_tables *t, struct cairn_map *function_index,
                     struct cairn_map *source_index, struct cairn_map *frame_index)
{
    for (size_t i = 1; i < t->tree.nodes.count; i++) {
        const struct cairn_calltree_node *call = &t->tree.nodes.items[i];
        struct cairn_firefox_frame frame = {.line = call->line};
        uint64_t at = t->frames.count;

        CAIRN_TRY(add_function(t, function_index, source_index, call->function, &frame.function));
        if (!cairn_map_get(frame_index, frame.function, frame.line, &at)) {
            CAIRN_TRY(cairn_vec_reserve(&t->frames, t->frames.count + 1, ROWS_MAX));
            CAIRN_TRY(cairn_map_put(frame_index, frame.function, frame.line, at));
            t->frames.items[t->frames.count++] = frame;
        }
        t->frame_of[i] = (uint32_t)at;
    }
    return 0;
}

int cairn_firefox_tables_make(const struct cairn_tally *tally, enum cairn_export_lines lines,
                              struct cairn_firefox_tables *ret_tables)
{
    struct cairn_firefox_tables *t = ret_tables;
    struct cairn_map functions, sources, frames;
    int code;

    *t = (struct cairn_firefox_tables){.tally = tally};
    code = cairn_calltree_make(tally, lines, false, &t->tree);
    if (code < 0)
        return code;
    CAIRN_TRY(cairn_intern_init(&t->texts, TEXTS_MAX_BYTES));
    for (int i = 0; i < CAIRN_STATE_COUNT; i++)
        CAIRN_TRY(cairn_intern_str(&t->texts, cairn_state_name((enum cairn_state)i),
                                   &t->marker_names[i]));
    CAIRN_TRY(cairn_intern_str(&t->texts, "GC", &t->marker_names[CAIRN_STATE_COUNT]));
    t->frame_of = cairn_calloc(t->tree.nodes.count, sizeof(*t->frame_of));
    if (!t->frame_of)
        return -CAIRN_ENOMEM;
    cairn_map_init(&functions, ROWS_MAX);
    cairn_map_init(&sources, ROWS_MAX);
    cairn_map_init(&frames, ROWS_MAX);
    code = make_rows(t, &functions, &sources, &frames);
    cairn_map_release(&functions);
    cairn_map_release(&sources);
    cairn_map_release(&frames);
    return code;
}

void cairn_firefox_tables_release(struct cairn_firefox_tables *tables)
{
    cairn_calltree_release(&tables->tree);
    cairn_intern_release(&tables->texts);
    cairn_vec_release(&tables->frames);
    cairn_vec_release(&tables->functions);
    cairn_vec_release(&tables->sources);
    free(tables->frame_of);
    tables->frame_of = NULL;
}

void cairn_firefox_put_categories(struct cairn_json *json)
{
    cairn_json_key(json, cairn_span_of("categories"));
    cairn_json_array(json);
    for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
        cairn_json_object(json);
        cairn_json_put_str(json, "name", categories[i].name);
        cairn_json_put_str(json, "color", categories[i].colour);
        cairn_json_key(json, cairn_span_of("subcategories"));
        cairn_json_array(json);
        cairn_json_text(json, cairn_span_of("Other"));
        cairn_json_close(json);
        cairn_json_close(json);
    }
    cairn_json_close(json);
}

/* A column's value in a row. */
typedef void put_value(struct cairn_json *json, const struct cairn_firefox_tables *t, size_t row);

static void put_or_null(struct cairn_json *json, uint64_t value, uint64_t none)
{
    if (value == none)
        cairn_json_null(json);
    else
        cairn_json_u64(json, value);
}

static void put_null(struct cairn_json *json, const struct cairn_firefox_tables *t, size_t row)
{
    (void)t, (void)row;
    cairn_json_null(json);
}

static void put_zero(struct cairn_json *json, const struct cairn_firefox_tables *t, size_t row)
{
    (void)t, (void)row;
    cairn_json_u64(json, 0);
}

static void put_none(struct cairn_json *json, const struct cairn_firefox_tables *t, size_t row)
{
    (void)t, (void)row;
    cairn_json_i64(json, -1);
}

static void put_false(struct cairn_json *json, const struct cairn_firefox_tables *t, size_t row)
{
    (void)t, (void)row;
    cairn_json_bool(json, false);
}

static void put_stack_frame(struct cairn_json *json, const struct cairn_firefox_tables *t,
                            size_t row)
{
    cairn_json_u64(json, t->frame_of[row + 1]);
}

static void put_stack_prefix(struct cairn_json *json, const struct cairn_firefox_tables *t,
                             size_t row)
{
    uint32_t parent = t->tree.nodes.items[row + 1].parent;

    put_or_null(json, (uint64_t)parent - 1, (uint64_t)0 - 1);
}

static void put_frame_function(struct cairn_json *json, const struct cairn_firefox_tables *t,
                               size_t row)
{
    cairn_json_u64(json, t->frames.items[row].function);
}

static void put_frame_line(struct cairn_json *json, const struct cairn_firefox_tables *t,
                           size_t row)
{
    put_or_null(json, t->frames.items[row].line, 0);
}

static const struct cairn_function *function_at(const struct cairn_firefox_tables *t, size_t row)
{
    const struct cairn_function *functions;

    cairn_model_functions(t->tally->model, &functions);
    return &functions[t->functions.items[row].function];
}

static void put_frame_category(struct cairn_json *json, const struct cairn_firefox_tables *t,
                               size_t row)
{
    cairn_json_u64(json, function_at(t, t->frames.items[row].function)->origin);
}

static void put_function_name(struct cairn_json *json, const struct cairn_firefox_tables *t,
                              size_t row)
{
    cairn_json_u64(json, t->functions.items[row].name);
}

static void put_function_source(struct cairn_json *json, const struct cairn_firefox_tables *t,
                                size_t row)
{
    put_or_null(json, t->functions.items[row].file, UINT32_MAX);
}

static void put_function_line(struct cairn_json *json, const struct cairn_firefox_tables *t,
                              size_t row)
{
    put_or_null(json, function_at(t, row)->first_line, 0);
}

static void put_source_name(struct cairn_json *json, const struct cairn_firefox_tables *t,
                            size_t row)
{
    cairn_json_u64(json, t->sources.items[row]);
}

static void put_text(struct cairn_json *json, const struct cairn_firefox_tables *t, size_t row)
{
    cairn_json_text(json, cairn_intern_get(&t->texts, (uint32_t)row));
}

static int put_column(struct cairn_json *json, const struct cairn_firefox_tables *t,
                      const char *key, size_t count, put_value *put, struct cairn_outlet *out)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_array(json);
    for (size_t i = 0; i < count; i++) {
        put(json, t, i);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    cairn_json_close(json);
    return 0;
}

struct column {
    const char *key;
    put_value *put;
};

static int put_table(struct cairn_json *json, const struct cairn_firefox_tables *t, const char *key,
                     size_t count, const struct column *columns, struct cairn_outlet *out)
{
    cairn_json_key(json, cairn_span_of(key));
    cairn_json_object(json);
    for (; columns->key; columns++)
        CAIRN_TRY(put_column(json, t, columns->key, count, columns->put, out));
    cairn_json_put_u64(json, "length", count);
    cairn_json_close(json);
    return 0;
}

int cairn_firefox_put_tables(struct cairn_json *json, const struct cairn_firefox_tables *t,
                             struct cairn_outlet *out)
{
    static const struct column sources[] = {
        {"uuid", put_null}, {"filename", put_source_name}, {NULL, NULL}};
    static const struct column stacks[] = {
        {"frame", put_stack_frame}, {"prefix", put_stack_prefix}, {NULL, NULL}};
    static const struct column frames[] = {{"address", put_none},
                                           {"inlineDepth", put_zero},
                                           {"category", put_frame_category},
                                           {"subcategory", put_zero},
                                           {"func", put_frame_function},
                                           {"nativeSymbol", put_null},
                                           {"innerWindowID", put_zero},
                                           {"line", put_frame_line},
                                           {"column", put_null},
                                           {NULL, NULL}};
    static const struct column functions[] = {
        {"name", put_function_name},     {"isJS", put_false},
        {"relevantForJS", put_false},    {"resource", put_none},
        {"source", put_function_source}, {"lineNumber", put_function_line},
        {"columnNumber", put_null},      {NULL, NULL}};
    static const struct column resources[] = {{"lib", put_null},
                                              {"name", put_zero},
                                              {"host", put_null},
                                              {"type", put_zero},
                                              {NULL, NULL}};
    static const struct column symbols[] = {{"libIndex", put_null},
                                            {"address", put_zero},
                                            {"name", put_zero},
                                            {"functionSize", put_null},
                                            {NULL, NULL}};

    cairn_json_key(json, cairn_span_of("shared"));
    cairn_json_object(json);
    CAIRN_TRY(put_column(json, t, "stringArray", cairn_intern_count(&t->texts), put_text, out));
    CAIRN_TRY(put_table(json, t, "sources", t->sources.count, sources, out));
    CAIRN_TRY(put_table(json, t, "stackTable", t->tree.nodes.count - 1, stacks, out));
    CAIRN_TRY(put_table(json, t, "frameTable", t->frames.count, frames, out));
    CAIRN_TRY(put_table(json, t, "funcTable", t->functions.count, functions, out));
    /* No function of a library is told apart by its address: these are there for the readers. */
    CAIRN_TRY(put_table(json, t, "resourceTable", 0, resources, out));
    CAIRN_TRY(put_table(json, t, "nativeSymbols", 0, symbols, out));
    cairn_json_close(json);
    return 0;
}
