#include "page.h"

#include <string.h>

#include "err.h"
#include "escape.h"
#include "text.h"

#define SCRATCH_MAX_BYTES ((size_t)1 << 20)
#define ELLIPSIS "\xe2\x80\xa6"

void cairn_page_init(struct cairn_page *page, struct cairn_buf *out, unsigned width, bool colour)
{
    *page = (struct cairn_page){
        .out = out,
        .width = width < CAIRN_PAGE_WIDTH_MIN ? CAIRN_PAGE_WIDTH_MIN : width,
        .colour = colour,
    };
}

static void apply_style(struct cairn_page *page, enum cairn_style style)
{
    /* States: hue beside texture, in a palette that colour-blind readers tell apart. */
    static const char *const codes[] = {"0",    "0;1",  "0;2",  "0;33", "0;34",
                                        "0;33", "0;35", "0;36", "0;31", "0;2"};

    if (page->colour && page->applied != style)
        cairn_buf_printf(page->out, "\x1b[%sm", codes[style]);
    page->applied = style;
}

static void put(struct cairn_page *page, struct cairn_span text)
{
    if (text.size_bytes == 0)
        return;
    for (; page->blanks > 0; page->blanks--)
        cairn_buf_u8(page->out, ' ');
    apply_style(page, page->wanted);
    cairn_buf_add(page->out, text.data, text.size_bytes);
    page->column += (unsigned)cairn_text_columns(text);
}

void cairn_page_str(struct cairn_page *page, const char *str)
{
    struct cairn_span text = cairn_span_of(str);
    size_t end = text.size_bytes;

    while (end > 0 && str[end - 1] == ' ')
        end--;
    put(page, (struct cairn_span){text.data, end});
    page->blanks += (unsigned)(text.size_bytes - end);
    page->column += (unsigned)(text.size_bytes - end);
}

void cairn_page_printf(struct cairn_page *page, const char *fmt, ...)
{
    struct cairn_buf text;
    va_list args;

    cairn_buf_init(&text, SCRATCH_MAX_BYTES);
    va_start(args, fmt);
    cairn_buf_vprintf(&text, fmt, args);
    va_end(args);
    cairn_page_str(page, cairn_buf_cstr(&text));
    cairn_page_drop(page, &text);
}

void cairn_page_repeat(struct cairn_page *page, const char *str, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        cairn_page_str(page, str);
}

/* The longest head of `text` within `columns`. */
static size_t head_within(struct cairn_span text, unsigned columns)
{
    size_t at = 0;
    unsigned used = 0;

    while (at < text.size_bytes) {
        uint32_t character;
        size_t length = cairn_text_utf8_next(text.data + at, text.size_bytes - at, &character);

        used += (unsigned)cairn_text_width(character);
        if (used > columns)
            break;
        at += length;
    }
    return at;
}

/* Where the longest tail of `text` within `columns` begins. */
static size_t tail_within(struct cairn_span text, unsigned columns)
{
    unsigned all = (unsigned)cairn_text_columns(text);
    size_t at = 0;

    while (at < text.size_bytes && all > columns) {
        uint32_t character;

        at += cairn_text_utf8_next(text.data + at, text.size_bytes - at, &character);
        all -= (unsigned)cairn_text_width(character);
    }
    return at;
}

void cairn_page_fit(struct cairn_page *page, struct cairn_span text, unsigned columns,
                    enum cairn_cut cut)
{
    struct cairn_buf escaped;
    struct cairn_span all;

    if (columns == 0)
        return;
    cairn_buf_init(&escaped, SCRATCH_MAX_BYTES);
    cairn_escape_terminal(&escaped, text);
    all = cairn_buf_span(&escaped);
    if (cairn_text_columns(all) <= columns) {
        put(page, all);
    } else if (cut == CAIRN_CUT_END) {
        put(page, (struct cairn_span){all.data, head_within(all, columns - 1)});
        cairn_page_str(page, ELLIPSIS);
    } else {
        size_t at = tail_within(all, columns - 1);

        cairn_page_str(page, ELLIPSIS);
        put(page, (struct cairn_span){all.data + at, all.size_bytes - at});
    }
    cairn_page_drop(page, &escaped);
}

void cairn_page_to(struct cairn_page *page, unsigned column)
{
    unsigned blanks = 1;

    if (column > page->column)
        blanks = column - page->column;
    else if (page->column == 0 || page->blanks > 0)
        blanks = 0;
    page->blanks += blanks;
    page->column += blanks;
}

void cairn_page_style(struct cairn_page *page, enum cairn_style style)
{
    page->wanted = style;
}

void cairn_page_end(struct cairn_page *page)
{
    apply_style(page, CAIRN_STYLE_PLAIN);
    cairn_buf_u8(page->out, '\n');
    page->column = page->blanks = 0;
}

void cairn_page_label(struct cairn_page *page, const char *label)
{
    cairn_page_style(page, CAIRN_STYLE_FAINT);
    cairn_page_str(page, label);
    cairn_page_style(page, CAIRN_STYLE_PLAIN);
    cairn_page_to(page, CAIRN_PAGE_INDENT);
}

void cairn_page_item(struct cairn_page *page, const char *gap, struct cairn_span text)
{
    unsigned columns =
        (unsigned)(cairn_text_columns(text) + cairn_text_columns(cairn_span_of(gap)));

    if (page->column > CAIRN_PAGE_INDENT && page->column + columns > page->width)
        cairn_page_end(page);
    if (page->column < CAIRN_PAGE_INDENT)
        cairn_page_to(page, CAIRN_PAGE_INDENT);
    else if (page->column > CAIRN_PAGE_INDENT)
        cairn_page_str(page, gap);
    cairn_page_fit(page, text, page->width - page->column, CAIRN_CUT_END);
}

void cairn_page_prose(struct cairn_page *page, unsigned indent, struct cairn_span text)
{
    size_t at = 0;

    while (at < text.size_bytes) {
        const uint8_t *blank = memchr(text.data + at, ' ', text.size_bytes - at);
        size_t length = blank ? (size_t)(blank - text.data) - at : text.size_bytes - at;
        struct cairn_span word = {text.data + at, length};
        unsigned columns = (unsigned)cairn_text_columns(word);

        if (page->column > indent && page->column + 1 + columns > page->width)
            cairn_page_end(page);
        if (page->column > indent)
            cairn_page_str(page, " ");
        else
            cairn_page_to(page, indent);
        cairn_page_fit(page, word, page->width - page->column, CAIRN_CUT_END);
        at += length + 1;
    }
    if (page->column > 0)
        cairn_page_end(page);
}

unsigned cairn_page_columns(struct cairn_page *page, struct cairn_span text)
{
    struct cairn_buf escaped;
    unsigned columns;

    cairn_buf_init(&escaped, SCRATCH_MAX_BYTES);
    cairn_escape_terminal(&escaped, text);
    columns = (unsigned)cairn_text_columns(cairn_buf_span(&escaped));
    cairn_page_drop(page, &escaped);
    return columns;
}

void cairn_page_drop(struct cairn_page *page, struct cairn_buf *buf)
{
    if (buf->code == -CAIRN_ENOMEM)
        page->out->code = buf->code;
    cairn_buf_release(buf);
}
