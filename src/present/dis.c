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

static const struct cairn_function *function_of(const struct cairn_tally *tally,
                                                const struct cairn_listing *listing)
{
    const struct cairn_function *functions;

    cairn_model_functions(tally->model, &functions);
    return &functions[listing->function];
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
    cairn_page_printf(page, "%s  line%*s  offset stack", listing->sampled.ticks > 0 ? "% time" : "",
                      COUNTED_COLUMNS, "executed");
    cairn_page_end(page);
}

static void put_item(struct cairn_page *page, const struct cairn_listing *listing,
                     const struct cairn_listed *item, uint32_t line_before)
{
    const struct cairn_counted_opcode *opcode = &item->opcode;

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
    if (opcode->form.size_bytes > 0) {
        cairn_page_str(page, "  ");
        cairn_page_fit(page, opcode->form,
                       page->width > page->column ? page->width - page->column : 0, CAIRN_CUT_END);
    }
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

static void put_json_item(struct cairn_json *json, const struct cairn_tally *tally,
                          const struct cairn_listed *item)
{
    const struct cairn_counted_opcode *opcode = &item->opcode;
    const uint8_t *blank = memchr(opcode->text.data, ' ', opcode->text.size_bytes);
    size_t name_bytes = blank ? (size_t)(blank - opcode->text.data) : opcode->text.size_bytes;

    cairn_json_object(json);
    cairn_json_put_u64(json, "offset", opcode->offset);
    cairn_json_put_text(json, "opname", cut(opcode->text, 0, name_bytes));
    if (blank != NULL)
        cairn_json_put_text(json, "argument",
                            cut(opcode->text, name_bytes + 1, opcode->text.size_bytes));
    else
        cairn_json_put_null(json, "argument");
    if (opcode->line > 0)
        cairn_json_put_u64(json, "line", opcode->line);
    else
        cairn_json_put_null(json, "line");
    cairn_json_put_bool(json, "target", opcode->target);
    if (opcode->depth > 0)
        cairn_json_put_u64(json, "stack", opcode->depth - 1);
    else
        cairn_json_put_null(json, "stack");
    cairn_json_put_u64(json, "count", opcode->hits);
    if (opcode->form.size_bytes > 0)
        cairn_json_put_text(json, "specialized", opcode->form);
    else
        cairn_json_put_null(json, "specialized");
    if (tally->counted)
        cairn_json_put_u64(json, "samples", item->sampled.ticks);
    else
        cairn_json_put_null(json, "samples");
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
    cairn_json_key(&json, cairn_span_of("instructions"));
    cairn_json_array(&json);
    for (size_t i = 0; i < listing->items.count; i++) {
        put_json_item(&json, tally, &listing->items.items[i]);
        CAIRN_TRY(cairn_outlet_drain(out));
    }
    cairn_json_close(&json);
    cairn_json_close(&json);
    CAIRN_TRY(cairn_json_end(&json));
    return out->buf.code;
}
