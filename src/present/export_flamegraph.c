/* One static SVG: an icicle, root on top, that zooms and can be searched where scripts run. It
 * needs nothing but itself. What is too thin to see becomes a hatched box with number and sum. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"
#include "exporters.h"
#include "flame_css.h"
#include "flame_js.h"
#include "page.h"
#include "report_parts.h"
#include "stacktree.h"
#include "text.h"

#define WIDTH 1200.0
#define PAD 10.0
#define TOP 92.0 /* of the first row */
#define ROW 18.0
#define LETTER 6.7
#define THIN 0.6        /* narrower boxes are put together... */
#define BOXES_MAX 20000 /* ...as are wider ones while there are more than a browser likes */
#define THIN_SHOWN 0.3
#define TEXT_COLUMNS_MIN 3

struct flame {
    const struct cairn_stacktree *tree;
    const struct cairn_export_options *options;
    struct cairn_outlet *out;
    struct cairn_buf text;
    uint64_t *lefts; /* where each node's box begins, in its value */
    bool *drawn;
    uint64_t whole;
    uint64_t each_ns; /* as cairn_facts_each_ns() */
    double thin;      /* boxes below this width are put together */
};

static uint64_t value_of(const struct flame *f, const struct cairn_weight *weight)
{
    return f->options->samples ? weight->ticks : weight->value_ns;
}

static double width_of(const struct flame *f, uint64_t value)
{
    return f->whole ? (double)value / (double)f->whole * (WIDTH - 2 * PAD) : 0;
}

static void add_value(const struct flame *f, struct cairn_buf *out, uint64_t value)
{
    if (f->options->samples) {
        cairn_text_count(out, value);
        cairn_buf_add_str(out, value == 1 ? " sample" : " samples");
    } else {
        cairn_text_amount(out, value, f->each_ns);
    }
}

/* Writes what was put together in `text`. */
static void flush_text(struct flame *f)
{
    cairn_escape_xml(&f->out->buf, cairn_buf_span(&f->text));
    if (f->text.code == -CAIRN_ENOMEM)
        f->out->buf.code = f->text.code;
    cairn_buf_clear(&f->text);
}

/* "1.2 s, 38 %" */
static void put_value(struct flame *f, uint64_t value)
{
    add_value(f, &f->text, value);
    cairn_buf_add_str(&f->text, ", ");
    cairn_report_share(&f->text, value, f->whole);
    flush_text(f);
}

static void put_rect(const struct flame *f, uint64_t left, double width, unsigned depth)
{
    cairn_buf_printf(&f->out->buf,
                     "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" rx=\"2\"/>",
                     PAD + width_of(f, left), TOP + ROW * depth, width, ROW);
}

/* The function's name, cut to what the box has room for. */
static void put_label(struct flame *f, struct cairn_span label, uint64_t left, double width,
                      unsigned depth)
{
    unsigned columns = width > 8 ? (unsigned)((width - 8) / LETTER) : 0;
    const uint8_t *place;
    struct cairn_page page;

    place = label.size_bytes ? memmem(label.data, label.size_bytes, " (", 2) : NULL;
    if (place)
        label.size_bytes = (size_t)(place - label.data);
    cairn_buf_printf(&f->out->buf, "<text x=\"%.2f\" y=\"%.0f\">", PAD + width_of(f, left) + 4,
                     TOP + ROW * depth + 13);
    cairn_page_init(&page, &f->text, columns, false);
    if (columns >= TEXT_COLUMNS_MIN)
        cairn_page_fit(&page, label, columns, CAIRN_CUT_END);
    flush_text(f);
    cairn_buf_add_str(&f->out->buf, "</text>");
}

static void put_box(struct flame *f, uint32_t index)
{
    static const char *const classes[] = {
        [CAIRN_ORIGIN_USER] = "user",     [CAIRN_ORIGIN_LIBRARY] = "library",
        [CAIRN_ORIGIN_STDLIB] = "stdlib", [CAIRN_ORIGIN_IMPORT] = "import",
        [CAIRN_ORIGIN_NONE] = "none",
    };
    const struct cairn_stacktree_node *node = &f->tree->nodes[index];
    struct cairn_span label = cairn_intern_get(&f->tree->labels, node->label);
    uint64_t total = value_of(f, &node->total);
    struct cairn_buf *out = &f->out->buf;

    if (index == 0)
        label = cairn_span_of("all");
    cairn_buf_printf(out, "<g class=\"%s\"><title>",
                     index == 0 ? "none" : classes[f->tree->origins.items[node->label]]);
    cairn_escape_xml(out, label);
    cairn_buf_u8(out, '\n');
    put_value(f, total);
    cairn_buf_add_str(out, ", self ");
    add_value(f, out, value_of(f, &node->self));
    cairn_buf_add_str(out, "</title>");
    put_rect(f, f->lefts[index], width_of(f, total), node->depth);
    put_label(f, label, f->lefts[index], width_of(f, total), node->depth);
    cairn_buf_add_str(out, "</g>\n");
}

static void put_thin(struct flame *f, uint64_t left, uint64_t value, uint64_t count, unsigned depth)
{
    double width = width_of(f, value);
    struct cairn_buf *out = &f->out->buf;

    cairn_buf_add_str(out, "<g class=\"thin\"><title>");
    cairn_text_count(out, count);
    cairn_buf_add_str(out, count == 1 ? " frame too thin to show\n" : " frames too thin to show\n");
    put_value(f, value);
    cairn_buf_add_str(out, "</title>");
    put_rect(f, left, width < THIN_SHOWN ? THIN_SHOWN : width, depth);
    cairn_buf_add_str(out, "</g>\n");
}

/* Draws a node and gives its children their places: those to be seen first, then the thin ones in
 * one box, then the node's own time, which is no box. */
static int put_node(struct flame *f, uint32_t index)
{
    const struct cairn_stacktree_node *nodes = f->tree->nodes, *node = &nodes[index];
    uint64_t left = f->lefts[index], thin = 0, thin_count = 0;

    put_box(f, index);
    for (uint32_t child = index + 1; child < node->end; child = nodes[child].end) {
        uint64_t value = value_of(f, &nodes[child].total);

        if (width_of(f, value) < f->thin) {
            thin += value;
            thin_count += nodes[child].end - child;
            continue;
        }
        f->drawn[child] = true;
        f->lefts[child] = left;
        left += value;
    }
    if (thin > 0)
        put_thin(f, left, thin, thin_count, node->depth + 1);
    return cairn_outlet_drain(f->out);
}

static void put_heading(struct flame *f, const struct cairn_tally *tally)
{
    struct cairn_span command = cairn_model_env(tally->model, "run.command");
    struct cairn_buf *out = &f->out->buf;

    if (f->options->title)
        command = cairn_span_of(f->options->title);
    else if (command.size_bytes == 0)
        command = cairn_span_of("flame graph");
    cairn_buf_add_str(out, "<title>");
    cairn_escape_xml(out, command);
    cairn_buf_printf(out, "</title>\n<text id=\"heading\" x=\"%.0f\" y=\"24\">", PAD);
    cairn_page_fit(&(struct cairn_page){.out = &f->text}, command, 90, CAIRN_CUT_END);
    flush_text(f);
    cairn_buf_printf(out, "</text>\n<text class=\"faint\" x=\"%.0f\" y=\"44\">", PAD);
    add_value(f, out, f->whole);
    if (!f->options->samples)
        cairn_buf_printf(out, " of %s time", cairn_metric_name(tally->filter.metric));
    cairn_buf_add_str(out, ", ");
    cairn_text_count(out, tally->total.ticks);
    cairn_buf_add_str(out, " samples. Click or Enter: zoom. Arrows: move. /: search. Esc: back."
                           "</text>\n");
}

static void put_legend(struct flame *f)
{
    static const struct {
        const char *origin, *words;
    } kinds[] = {{"user", "your code"}, {"library", "libraries"},  {"stdlib", "standard library"},
                 {"import", "import"},  {"none", "native, other"}, {"thin", "too thin to show"}};
    double x = PAD;

    cairn_buf_add_str(&f->out->buf, "<g id=\"legend\">");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        cairn_buf_printf(&f->out->buf,
                         "<g class=\"%s\"><rect x=\"%.0f\" y=\"54\" width=\"12\" height=\"12\" "
                         "rx=\"2\"%s/><text class=\"faint\" x=\"%.0f\" y=\"64\">%s</text></g>",
                         kinds[i].origin, x, i == 5 ? " fill=\"url(#hatch)\"" : "", x + 17,
                         kinds[i].words);
        x += 34 + 6.2 * (double)cairn_span_of(kinds[i].words).size_bytes;
    }
    cairn_buf_add_str(&f->out->buf, "</g>\n");
}

static void put_head(struct flame *f, const struct cairn_tally *tally, unsigned rows)
{
    struct cairn_buf *out = &f->out->buf;
    double height = TOP + ROW * rows + PAD;

    cairn_buf_printf(out,
                     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\">\n",
                     WIDTH, height);
    cairn_buf_printf(out, "<style>\n%s</style>\n", flame_css);
    cairn_buf_add_str(out, "<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" "
                           "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                           "<rect width=\"5\" height=\"5\" fill=\"#8884\"/>"
                           "<line y2=\"5\" stroke=\"#888\" stroke-width=\"2\"/>"
                           "</pattern></defs>\n");
    put_heading(f, tally);
    put_legend(f);
    cairn_buf_printf(
        out,
        "<g id=\"controls\" style=\"display: none\">"
        "<foreignObject y=\"46\" width=\"240\" height=\"26\">"
        "<div xmlns=\"http://www.w3.org/1999/xhtml\" class=\"box\"><input id=\"search\" "
        "placeholder=\"Search (a pattern)\" aria-label=\"Search\"/></div>"
        "</foreignObject><text id=\"found\" x=\"2\" y=\"84\"></text></g>\n"
        "<text id=\"detail\" class=\"faint\" x=\"%.0f\" y=\"84\"></text>\n"
        "<g id=\"frames\" data-top=\"%.0f\">\n",
        PAD, TOP);
}

/* What is at least so wide has callers that are, too: these are the boxes. */
static size_t boxes_of(const struct flame *f, double thin)
{
    size_t count = 0;

    for (size_t i = 0; i < f->tree->count; i++)
        count += width_of(f, value_of(f, &f->tree->nodes[i].total)) >= thin;
    return count;
}

static double choose_thin(const struct flame *f)
{
    double thin = THIN;

    while (boxes_of(f, thin) > BOXES_MAX)
        thin *= 1.5;
    return thin;
}

static unsigned visible_rows(const struct flame *f)
{
    unsigned rows = 1;

    for (size_t i = 0; i < f->tree->count; i++) {
        const struct cairn_stacktree_node *node = &f->tree->nodes[i];

        /* One more for the thin ones below it. */
        if (node->depth + 2 > rows && width_of(f, value_of(f, &node->total)) >= f->thin)
            rows = node->depth + 2;
    }
    return rows;
}

static int put_picture(struct flame *f, const struct cairn_tally *tally)
{
    const struct cairn_stacktree_node *nodes = f->tree->nodes;

    f->thin = choose_thin(f);
    put_head(f, tally, visible_rows(f));
    f->drawn[0] = true;
    for (uint32_t i = 0; i < f->tree->count; i++)
        if (f->drawn[i] && (i == 0 || f->drawn[nodes[i].parent]))
            CAIRN_TRY(put_node(f, i));
    cairn_buf_printf(&f->out->buf, "</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", flame_js);
    return cairn_outlet_drain(f->out);
}

int cairn_export_flamegraph(const struct cairn_tally *tally,
                            const struct cairn_export_options *options, struct cairn_outlet *out)
{
    struct cairn_export_options chosen = *options;
    struct cairn_stacktree tree;
    struct flame f = {
        .tree = &tree,
        .options = &chosen,
        .out = out,
        .each_ns = cairn_facts_each_ns(tally->model),
    };
    int code;

    if (chosen.lines == CAIRN_EXPORT_LINES_DEFAULT)
        chosen.lines = CAIRN_EXPORT_LINES_FIRST;
    cairn_buf_init(&f.text, (size_t)1 << 20);
    code = cairn_stacktree_make(tally, &chosen, &tree);
    if (code == 0) {
        f.whole = value_of(&f, &tree.nodes[0].total);
        f.lefts = cairn_calloc(tree.count, sizeof(*f.lefts));
        f.drawn = cairn_calloc(tree.count, sizeof(*f.drawn));
        code = f.lefts && f.drawn ? put_picture(&f, tally) : -CAIRN_ENOMEM;
    }
    free(f.lefts);
    free(f.drawn);
    cairn_buf_release(&f.text);
    cairn_stacktree_release(&tree);
    return code;
}
