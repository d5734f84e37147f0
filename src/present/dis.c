#include "dis.h"

#include <inttypes.h>
#include <string.h>

#include "escape.h"
#include "json_out.h"
#include "page.h"
#include "report_json.h"
#include "text.h"

#define TITLE_MAX_BYTES ((size_t)1 << 17)
#define COUNTED_COLUMNS 13 /* for how often */
#define MOST_CHANGING 8    /* lines in a sentence */
#define GIVEN_INDENT 8     /* of what stands below an instruction */

static const struct cairn_function *function_of(const struct cairn_tally *tally,
                                                const struct cairn_listing *listing)
{
    const struct cairn_function *functions;

    cairn_model_functions(tally->model, &functions);
    return &functions[listing->function];
}

/* --- forms --- */

#define UNKNOWN (-1)
#define FEW_TRIES 2 /* below, it may not have been run often enough */

struct form {               /* in which an instruction is run; "NAME;misses=N" or ";tries=N" */
    struct cairn_span name; /* empty: the general one, or not known */
    int misses, tries;      /* how often it did not fit; how often none was found */
};

/* The number behind the word, at the end of the text. */
static int number_behind(struct cairn_span text, const char *word)
{
    size_t length = strlen(word);
    int number = 0;

    if (text.size_bytes <= length || text.size_bytes > length + 4 ||
        memcmp(text.data, word, length) != 0)
        return UNKNOWN;
    for (size_t i = length; i < text.size_bytes; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return UNKNOWN;
        number = 10 * number + (text.data[i] - '0');
    }
    return number;
}

static struct form form_of(const struct cairn_counted_opcode *opcode)
{
    struct cairn_span text = opcode->form;
    const uint8_t *end = text.size_bytes > 0 ? memchr(text.data, ';', text.size_bytes) : NULL;
    struct form form = {text, UNKNOWN, UNKNOWN};

    if (end == NULL)
        return form;
    form.name.size_bytes = (size_t)(end - text.data);
    text = (struct cairn_span){end + 1, text.size_bytes - form.name.size_bytes - 1};
    form.misses = number_behind(text, "misses=");
    form.tries = number_behind(text, "tries=");
    return form;
}

static bool changes(const struct form *form)
{
    return form->misses > 0 || form->tries >= FEW_TRIES;
}

/* --- for a person --- */

static void put_title(struct cairn_page *page, const struct cairn_function *function,
                      const struct cairn_listing *listing)
{
    struct cairn_buf text;

    cairn_buf_init(&text, TITLE_MAX_BYTES);
    cairn_buf_add(&text, function->qualname.data, function->qualname.size_bytes);
    cairn_buf_add_str(&text, ", ");
    cairn_buf_add(&text, function->file.data, function->file.size_bytes);
    cairn_buf_printf(&text, ":%" PRIu32, function->first_line);
    cairn_page_style(page, CAIRN_STYLE_STRONG);
    cairn_page_fit(page, cairn_buf_span(&text), page->width, CAIRN_CUT_START);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_drop(page, &text);
    cairn_page_end(page);
    cairn_page_printf(page, "%" PRIu64 " instructions were executed in it", listing->hits);
    if (listing->sampled.ticks > 0) {
        cairn_page_printf(page, ", %" PRIu64 " sample%s met it itself", listing->sampled.ticks,
                          listing->sampled.ticks == 1 ? "" : "s");
    }
    cairn_page_end(page);
    if (listing->let_go) {
        cairn_page_str(page, "let go for --max-overhead: counts are those until then");
        cairn_page_end(page);
    }
}

static void put_columns(struct cairn_page *page, const struct cairn_listing *listing)
{
    cairn_page_printf(page, "%s  line%*s  offset stack", listing->sampled.ticks > 0 ? "% time" : "",
                      COUNTED_COLUMNS, "executed");
    cairn_page_end(page);
}

/* The lines of which some instruction was given this and that, or found no form, or had one that
 * did not fit. */
static void put_changing(struct cairn_page *page, const struct cairn_listing *listing)
{
    uint32_t last = 0;
    size_t count = 0;

    for (size_t i = 0; i < listing->items.count; i++) {
        const struct cairn_listed *item = &listing->items.items[i];
        const struct form form = form_of(&item->opcode);

        if ((!changes(&form) && !cairn_listed_polymorphic(item)) || item->opcode.line == 0 ||
            item->opcode.line == last)
            continue;
        last = item->opcode.line;
        if (count++ == 0)
            cairn_page_str(page, "polymorphic, or without a form that fits, at line");
        if (count <= MOST_CHANGING)
            cairn_page_printf(page, " %" PRIu32, last);
    }
    if (count > MOST_CHANGING)
        cairn_page_printf(page, " and %zu more", count - MOST_CHANGING);
    if (count > 0)
        cairn_page_end(page);
}

static void put_form(struct cairn_page *page, const struct form *form)
{
    struct cairn_buf text;

    cairn_buf_init(&text, TITLE_MAX_BYTES);
    cairn_buf_add(&text, form->name.data, form->name.size_bytes);
    if (form->misses > 0)
        cairn_buf_printf(&text, ", %d miss%s", form->misses, form->misses == 1 ? "" : "es");
    if (form->tries >= FEW_TRIES)
        cairn_buf_printf(&text, "not specialised in %d tries", form->tries);
    if (text.size_bytes > 0) {
        cairn_page_str(page, "  ");
        cairn_page_fit(page, cairn_buf_span(&text),
                       page->width > page->column ? page->width - page->column : 0, CAIRN_CUT_END);
    }
    cairn_page_drop(page, &text);
}

/* What it was given, behind it where that is one kind of thing, else below it. */
static void put_given(struct cairn_page *page, const struct cairn_listing *listing,
                      const struct cairn_listed *item)
{
    struct cairn_buf text;

    if (item->given_count == 0)
        return;
    cairn_buf_init(&text, TITLE_MAX_BYTES);
    if (cairn_listed_polymorphic(item)) {
        cairn_page_style(page, CAIRN_STYLE_PLAIN);
        cairn_page_end(page);
        cairn_page_printf(page, "%*spolymorphic: ", GIVEN_INDENT, "");
    } else {
        cairn_buf_add_str(&text, "  of ");
    }
    for (size_t i = 0; i < item->given_count; i++) {
        const struct cairn_counted_given *given = &listing->given.items[item->given_from + i];

        cairn_buf_add_str(&text, i == 0 ? "" : "; ");
        if (given->kind.size_bytes > 0)
            cairn_buf_add(&text, given->kind.data, given->kind.size_bytes);
        else
            cairn_buf_add_str(&text, "others");
        if (cairn_listed_polymorphic(item))
            cairn_buf_printf(&text, " %" PRIu64, given->hits);
    }
    if (cairn_listed_polymorphic(item) && item->looked < item->opcode.hits)
        cairn_buf_printf(&text, ", of %" PRIu64 " looked at", item->looked);
    cairn_page_fit(page, cairn_buf_span(&text),
                   page->width > page->column ? page->width - page->column : 0, CAIRN_CUT_END);
    cairn_page_drop(page, &text);
}

static void put_item(struct cairn_page *page, const struct cairn_listing *listing,
                     const struct cairn_listed *item, uint32_t line_before)
{
    const struct cairn_counted_opcode *opcode = &item->opcode;
    const struct form form = form_of(opcode);

    if (listing->sampled.ticks > 0 && item->sampled.ticks > 0)
        cairn_page_printf(page, "%6.1f",
                          100.0 * (double)item->sampled.ticks / (double)listing->sampled.ticks);
    else if (listing->sampled.ticks > 0)
        cairn_page_str(page, "      ");
    if (opcode->line > 0 && opcode->line != line_before)
        cairn_page_printf(page, "%6" PRIu32, opcode->line);
    else
        cairn_page_str(page, "      ");
    if (opcode->hits == 0)
        cairn_page_style(page, CAIRN_STYLE_FAINT);
    cairn_page_printf(page, "%*" PRIu64 " %s %5" PRIu32 " ", COUNTED_COLUMNS, opcode->hits,
                      opcode->target ? ">>" : "  ", opcode->offset);
    if (opcode->depth > 0)
        cairn_page_printf(page, "%5" PRIu32 "  ", opcode->depth - 1);
    else
        cairn_page_str(page, "  n/a  ");
    cairn_page_fit(page, opcode->text, page->width > page->column ? page->width - page->column : 0,
                   CAIRN_CUT_END);
    put_form(page, &form);
    put_given(page, listing, item);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_end(page);
}

int cairn_dis_text(const struct cairn_tally *tally, const struct cairn_listing *listing,
                   unsigned width, bool colour, struct cairn_outlet *out)
{
    struct cairn_page page;
    uint32_t line = 0;

    cairn_page_init(&page, &out->buf, width, colour);
    put_title(&page, function_of(tally, listing), listing);
    put_changing(&page, listing);
    put_columns(&page, listing);
    for (size_t i = 0; i < listing->items.count; i++) {
        put_item(&page, listing, &listing->items.items[i], line);
        line = listing->items.items[i].opcode.line;
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    return out->buf.code;
}

/* --- JSON --- */

static struct cairn_span cut(struct cairn_span text, size_t from, size_t to)
{
    return (struct cairn_span){text.data + from, to - from};
}

static void put_known(struct cairn_json *json, const char *key, int number)
{
    cairn_json_put_known(json, key, number != UNKNOWN, (uint64_t)number);
}

static void put_json_form(struct cairn_json *json, const struct form *form)
{
    if (form->name.size_bytes > 0)
        cairn_json_put_text(json, "specialized", form->name);
    else
        cairn_json_put_null(json, "specialized");
    put_known(json, "misses", form->misses);
    put_known(json, "failed_tries", form->tries);
}

static void put_json_given(struct cairn_json *json, const struct cairn_listing *listing,
                           const struct cairn_listed *item)
{
    if (item->given_count == 0) {
        cairn_json_put_null(json, "given");
        cairn_json_put_null(json, "looked_at");
        cairn_json_put_null(json, "polymorphic");
        return;
    }
    cairn_json_key(json, cairn_span_of("given"));
    cairn_json_array(json);
    for (size_t i = 0; i < item->given_count; i++) {
        const struct cairn_counted_given *given = &listing->given.items[item->given_from + i];

        cairn_json_object(json);
        if (given->kind.size_bytes > 0)
            cairn_json_put_text(json, "what", given->kind);
        else
            cairn_json_put_null(json, "what");
        cairn_json_put_u64(json, "count", given->hits);
        cairn_json_close(json);
    }
    cairn_json_close(json);
    cairn_json_put_u64(json, "looked_at", item->looked);
    cairn_json_put_bool(json, "polymorphic", cairn_listed_polymorphic(item));
}

static void put_json_item(struct cairn_json *json, const struct cairn_tally *tally,
                          const struct cairn_listing *listing, const struct cairn_listed *item)
{
    const struct cairn_counted_opcode *opcode = &item->opcode;
    const uint8_t *blank = memchr(opcode->text.data, ' ', opcode->text.size_bytes);
    size_t name_bytes = blank ? (size_t)(blank - opcode->text.data) : opcode->text.size_bytes;
    const struct form form = form_of(opcode);

    cairn_json_object(json);
    cairn_json_put_u64(json, "offset", opcode->offset);
    cairn_json_put_text(json, "opname", cut(opcode->text, 0, name_bytes));
    if (blank != NULL)
        cairn_json_put_text(json, "argument",
                            cut(opcode->text, name_bytes + 1, opcode->text.size_bytes));
    else
        cairn_json_put_null(json, "argument");
    cairn_json_put_known(json, "line", opcode->line > 0, opcode->line);
    cairn_json_put_bool(json, "target", opcode->target);
    cairn_json_put_known(json, "stack", opcode->depth > 0, opcode->depth - 1);
    cairn_json_put_u64(json, "count", opcode->hits);
    put_json_form(json, &form);
    put_json_given(json, listing, item);
    cairn_json_put_known(json, "samples", tally->counted, item->sampled.ticks);
    cairn_json_close(json);
}

int cairn_dis_json(const struct cairn_tally *tally, const struct cairn_listing *listing,
                   struct cairn_outlet *out)
{
    const struct cairn_function *function = function_of(tally, listing);
    struct cairn_json json;

    cairn_json_init(&json, &out->buf, 1);
    cairn_json_object(&json);
    cairn_json_put_u64(&json, "schema", CAIRN_JSON_SCHEMA);
    cairn_json_put_text(&json, "function", function->qualname);
    cairn_json_put_text(&json, "file", function->file);
    cairn_json_put_u64(&json, "first_line", function->first_line);
    cairn_json_put_bool(&json, "exact", !listing->let_go);
    cairn_json_key(&json, cairn_span_of("instructions"));
    cairn_json_array(&json);
    for (size_t i = 0; i < listing->items.count; i++) {
        put_json_item(&json, tally, listing, &listing->items.items[i]);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    cairn_json_close(&json);
    cairn_json_close(&json);
    CAIRN_TRY(cairn_json_end(&json));
    return out->buf.code;
}
