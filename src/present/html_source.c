#include "html_source.h"

#include <stdlib.h>

#include "alloc.h"
#include "escape.h"
#include "highlight.h"
#include "source.h"

#define LINES_MAX 400 /* of a function */
#define LINES_BEHIND 2
#define LINE_MAX_BYTES ((size_t)16 << 20) /* no file that is shown is as large */

/* The last line of each function that is on a stack; 0: none is known. */
static uint32_t *make_lasts(const struct cairn_html_tree *tree)
{
    uint32_t *lasts = cairn_calloc(tree->functions.count + 1, sizeof(*lasts));

    for (size_t i = 0; lasts && i < tree->frames.count; i++) {
        const struct cairn_html_frame *frame = &tree->frames.items[i];

        if (frame->line > lasts[frame->function])
            lasts[frame->function] = frame->line;
    }
    return lasts;
}

/* A line in its pieces, what each is in front of it: "kdef", "p f():". */
static void put_line(struct cairn_json *json, struct cairn_highlight *highlight,
                     struct cairn_span text, struct cairn_buf *buf)
{
    enum cairn_highlight_kind kind;
    struct cairn_span piece;
    size_t at = 0;

    cairn_json_array(json);
    while (cairn_highlight_next(highlight, text, &at, &kind, &piece)) {
        cairn_buf_clear(buf);
        cairn_buf_u8(buf, (uint8_t)kind);
        cairn_buf_add(buf, piece.data, piece.size_bytes);
        cairn_json_text(json, cairn_buf_span(buf));
    }
    cairn_json_close(json);
}

static void put_function(struct cairn_json *json, struct cairn_source *source,
                         const struct cairn_function *function, uint32_t last,
                         struct cairn_buf *buf)
{
    struct cairn_highlight highlight = {0};
    uint32_t first = function->first_line;

    if (last < first || first == 0 ||
        cairn_source_line(source, function->file, function->name, first, last).size_bytes == 0) {
        cairn_json_null(json);
        return;
    }
    if (last - first > LINES_MAX - LINES_BEHIND)
        last = first + LINES_MAX - LINES_BEHIND;
    cairn_json_array(json);
    cairn_json_u64(json, first);
    /* Empty ones at the end are left out: they lie behind the function, or behind the file. */
    for (uint32_t line = first, put = first; line <= last + LINES_BEHIND; line++) {
        struct cairn_span text =
            cairn_source_whole_line(source, function->file, function->name, first, line);

        for (; text.size_bytes > 0 && put < line; put++)
            put_line(json, &highlight, (struct cairn_span){NULL, 0}, buf);
        if (text.size_bytes > 0) {
            put_line(json, &highlight, text, buf);
            put = line + 1;
        }
    }
    cairn_json_close(json);
}

int cairn_html_source(const struct cairn_model *model, const struct cairn_html_tree *tree,
                      struct cairn_json *json, struct cairn_html_sink *sink)
{
    const struct cairn_function *functions;
    uint32_t *lasts = make_lasts(tree);
    struct cairn_source source;
    struct cairn_buf buf;
    int code = lasts ? 0 : -CAIRN_ENOMEM;

    cairn_model_functions(model, &functions);
    cairn_source_init(&source, model);
    cairn_buf_init(&buf, LINE_MAX_BYTES);
    cairn_json_key(json, cairn_span_of("source"));
    cairn_json_array(json);
    for (size_t i = 0; i < tree->functions.count && code == 0; i++) {
        put_function(json, &source, &functions[tree->functions.items[i]], lasts[i], &buf);
        code = buf.code ? buf.code : sink->drain(sink);
    }
    cairn_json_close(json);
    cairn_buf_release(&buf);
    cairn_source_release(&source);
    free(lasts);
    return code;
}
