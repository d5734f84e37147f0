#include "dot.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define NAME_CHARACTERS 4096 /* characters: graphviz reads no longer strings than 16 KiB */
#define TIMES_SIGN "\xc3\x97"
#define NO_NUMBER UINT32_MAX
#define NOT_REACHED LONG_MAX

struct call {                /* calls from one function to another */
    uint32_t caller, callee; /* numbers of nodes */
    bool kept;
    const struct cairn_prof_numbers *numbers;
};

struct node {
    uint32_t key;
    bool kept;
    long far;          /* calls from a root, or to a leaf; NOT_REACHED */
    double weight;     /* what it is coloured by */
    size_t first_call; /* of those it makes; the next node's is the end */
};

struct dot {
    const struct cairn_prof *prof;
    const struct cairn_dot_options *options;
    const struct cairn_dot_theme *theme;
    struct cairn_outlet *out;
    struct cairn_buf text;
    double whole_self_s, whole_total_s;
    uint32_t *numbers; /* of each key; those of nodes are given out as functions are met */
    CAIRN_VEC(struct node) nodes; /* one more, for its first_call, behind them */
    CAIRN_VEC(struct call) calls; /* by caller, then callee */
};

static double share(double part_s, double whole_s)
{
    double share = whole_s != 0 ? part_s / whole_s : 1;

    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static const struct cairn_prof_numbers *numbers_of(const struct dot *dot, const struct node *node)
{
    static const struct cairn_prof_numbers none;
    uint32_t row;

    return cairn_prof_find(dot->prof, node->key, &row) ? &dot->prof->rows.items[row].numbers
                                                       : &none;
}

/* --- what there is --- */

static int number_of(struct dot *dot, uint32_t key, uint32_t *ret_number)
{
    if (dot->numbers[key] == NO_NUMBER) {
        CAIRN_TRY(cairn_vec_reserve(&dot->nodes, dot->nodes.count + 2, dot->prof->keys.count + 2));
        dot->numbers[key] = (uint32_t)dot->nodes.count;
        dot->nodes.items[dot->nodes.count++] = (struct node){.key = key};
    }
    *ret_number = dot->numbers[key];
    return 0;
}

static int compare_calls(const void *a, const void *b)
{
    const struct call *left = a, *right = b;

    if (left->caller != right->caller)
        return left->caller < right->caller ? -1 : 1;
    return (left->callee > right->callee) - (left->callee < right->callee);
}

/* Numbers the functions, sums up, and gathers the calls by their callers. */
static int gather(struct dot *dot)
{
    const struct cairn_prof *prof = dot->prof;
    size_t at = 0;

    CAIRN_TRY(cairn_vec_reserve(&dot->nodes, 1, prof->keys.count + 2));
    for (size_t i = 0; i < prof->rows.count; i++) {
        const struct cairn_prof_row *row = &prof->rows.items[i];
        struct call call = {.kept = true};

        dot->whole_self_s += row->numbers.self_s;
        CAIRN_TRY(number_of(dot, row->key, &call.callee));
        for (uint32_t c = row->first; c != CAIRN_PROF_NONE; c = prof->callers.items[c].next) {
            CAIRN_TRY(number_of(dot, prof->callers.items[c].key, &call.caller));
            call.numbers = &prof->callers.items[c].numbers;
            CAIRN_TRY(cairn_vec_reserve(&dot->calls, dot->calls.count + 1, prof->callers.count));
            dot->calls.items[dot->calls.count++] = call;
        }
    }
    dot->whole_total_s = dot->whole_self_s;
    for (size_t i = 0; i < prof->rows.count; i++)
        dot->whole_total_s = fmax(dot->whole_total_s, prof->rows.items[i].numbers.total_s);
    if (dot->calls.count > 0)
        qsort(dot->calls.items, dot->calls.count, sizeof(*dot->calls.items), compare_calls);
    for (size_t i = 0; i <= dot->nodes.count; i++) {
        while (at < dot->calls.count && dot->calls.items[at].caller < i)
            at++;
        dot->nodes.items[i].first_call = at;
    }
    return 0;
}

/* --- names --- */

/* Takes away what stands between two brackets with none in between, until none is left. */
static void strip_pairs(char *text, char open, char close)
{
    for (char *end; (end = strchr(text, close)) != NULL;) {
        char *start = end;

        while (start > text && *start != open)
            start--;
        if (*start !=
            open) { /* nothing opened it: it stays, and all before it has been looked at */
            text = end + 1;
            continue;
        }
        memmove(start, end + 1, strlen(end + 1) + 1);
    }
}

static void strip(struct cairn_buf *text)
{
    static const char word[] = "const";
    size_t length;
    char *name = (char *)(uintptr_t)cairn_buf_cstr(text), *end;

    if (text->code < 0)
        return;
    strip_pairs(name, '(', ')');
    length = strlen(name);
    end = length > sizeof(word) - 1 ? name + length - (sizeof(word) - 1) : name;
    if (end > name && strcmp(end, word) == 0 && isspace((unsigned char)end[-1])) {
        while (end > name && isspace((unsigned char)end[-1]))
            end--;
        *end = '\0';
    }
    strip_pairs(name, '<', '>');
    text->size_bytes = strlen(name);
}

/* "module:line:function", in `text`: the file's name without folder and ending. */
static int make_name(struct dot *dot, uint32_t key)
{
    struct cairn_span file = cairn_prof_file(dot->prof, key);
    const uint8_t *slash = file.size_bytes ? memrchr(file.data, '/', file.size_bytes) : NULL;
    const uint8_t *start = slash ? slash + 1 : file.data, *end = file.data + file.size_bytes;
    const uint8_t *first = start, *point = NULL;

    while (first < end && *first == '.')
        first++; /* points in front begin no ending */
    if (first < end)
        point = memrchr(first, '.', (size_t)(end - first));
    cairn_buf_clear(&dot->text);
    cairn_escape_terminal(&dot->text,
                          (struct cairn_span){start, (size_t)((point ? point : end) - start)});
    cairn_buf_printf(&dot->text, ":%" PRId64 ":", dot->prof->keys.items[key].line);
    cairn_escape_terminal(&dot->text, cairn_prof_name(dot->prof, key));
    return dot->text.code;
}

/* --- what is left of it --- */

static bool is_of_paths(const struct dot *dot, uint32_t key)
{
    struct cairn_span file = cairn_prof_file(dot->prof, key);

    for (size_t i = 0; i < dot->options->path_count; i++) {
        size_t size_bytes = strlen(dot->options->paths[i]);

        if (file.size_bytes >= size_bytes &&
            memcmp(file.data, dot->options->paths[i], size_bytes) == 0)
            return true;
    }
    return dot->options->path_count == 0 || file.size_bytes == 0;
}

static void prune_small(struct dot *dot)
{
    for (size_t i = 0; i < dot->nodes.count; i++) {
        struct node *node = &dot->nodes.items[i];

        node->weight = share(numbers_of(dot, node)->total_s, dot->whole_total_s);
        node->kept = node->weight >= dot->options->node_least && is_of_paths(dot, node->key);
    }
    for (size_t i = 0; i < dot->calls.count; i++) {
        struct call *call = &dot->calls.items[i];

        call->kept = share(call->numbers->total_s, dot->whole_total_s) >= dot->options->edge_least;
    }
}

static void weigh_by_self(struct dot *dot)
{
    double most = 0;

    for (size_t i = 0; i < dot->nodes.count; i++)
        if (dot->nodes.items[i].kept)
            most =
                fmax(most, share(numbers_of(dot, &dot->nodes.items[i])->self_s, dot->whole_self_s));
    for (size_t i = 0; i < dot->nodes.count && most > 0; i++)
        dot->nodes.items[i].weight =
            share(numbers_of(dot, &dot->nodes.items[i])->self_s, dot->whole_self_s) / most;
}

/* Whether the name that was made last is as `glob` says. */
static bool is_named(struct dot *dot, const char *glob)
{
    return fnmatch(glob, cairn_buf_cstr(&dot->text), FNM_NOESCAPE) == 0;
}

/* Marks what is called as `glob` says; false: nothing is. */
static int mark_named(struct dot *dot, const char *glob, bool *ret_any)
{
    *ret_any = false;
    for (size_t i = 0; i < dot->nodes.count; i++) {
        struct node *node = &dot->nodes.items[i];

        node->far = NOT_REACHED;
        if (!node->kept)
            continue;
        CAIRN_TRY(make_name(dot, node->key));
        if (is_named(dot, glob))
            node->far = 0;
        *ret_any |= node->far == 0;
    }
    return 0;
}

/* One more call away from what is so far; false: there is nothing more. */
static bool reach(struct dot *dot, long far, bool up)
{
    bool more = false;

    for (size_t i = 0; i < dot->calls.count; i++) {
        const struct call *call = &dot->calls.items[i];
        const struct node *from = &dot->nodes.items[up ? call->callee : call->caller];
        struct node *to = &dot->nodes.items[up ? call->caller : call->callee];

        if (call->kept && to->kept && from->far == far && to->far == NOT_REACHED) {
            to->far = far + 1;
            more = true;
        }
    }
    return more;
}

/* Leaves what can be reached from what is called so: down from a root, up from a leaf. */
static int prune_far(struct dot *dot, const char *glob, bool up, struct cairn_err *err)
{
    bool any;

    CAIRN_TRY(mark_named(dot, glob, &any));
    if (!any) {
        cairn_err_set(err, -CAIRN_ENOTFOUND, 0, "gprof2dot", "%s node %.200s not found",
                      up ? "leaf" : "root", glob);
        cairn_err_add(err, "It may be too small to be there: try -e0 -n0.");
        return -CAIRN_ENOTFOUND;
    }
    for (long far = 0; far != dot->options->depth && reach(dot, far, up); far++)
        ;
    for (size_t i = 0; i < dot->nodes.count; i++)
        dot->nodes.items[i].kept &= dot->nodes.items[i].far != NOT_REACHED;
    return 0;
}

/* --- what is written --- */

/* `text` within the quotes of DOT. */
static void put_quoted(struct cairn_buf *out, struct cairn_span text)
{
    for (size_t i = 0; i < text.size_bytes; i++) {
        if (text.data[i] == '\\' || text.data[i] == '"')
            cairn_buf_u8(out, '\\');
        cairn_buf_u8(out, text.data[i]);
    }
}

static int put_name(struct dot *dot, uint32_t key)
{
    size_t characters = 0, size_bytes = 0;
    struct cairn_span name;

    CAIRN_TRY(make_name(dot, key));
    if (dot->options->strip)
        strip(&dot->text);
    name = cairn_buf_span(&dot->text);
    for (; size_bytes < name.size_bytes; size_bytes++) {
        characters += (name.data[size_bytes] & 0xc0) != 0x80;
        if (characters == NAME_CHARACTERS)
            break;
    }
    put_quoted(&dot->out->buf, (struct cairn_span){name.data, size_bytes});
    return size_bytes < name.size_bytes ? cairn_buf_add_str(&dot->out->buf, "…") : 0;
}

static void put_measure(struct dot *dot, const struct cairn_prof_numbers *numbers,
                        enum cairn_dot_measure measure)
{
    struct cairn_buf *out = &dot->out->buf;

    switch (measure) {
    case CAIRN_DOT_TOTAL_SHARE:
        cairn_buf_printf(out, "\\n%.2f%%", share(numbers->total_s, dot->whole_total_s) * 100);
        break;
    case CAIRN_DOT_SELF_SHARE:
        cairn_buf_printf(out, "\\n(%.2f%%)", share(numbers->self_s, dot->whole_self_s) * 100);
        break;
    case CAIRN_DOT_TOTAL_TIME:
        cairn_buf_printf(out, "\\n%.7g", numbers->total_s);
        break;
    default:
        cairn_buf_printf(out, "\\n(%.7g)", numbers->self_s);
        break;
    }
}

/* Without quotes where DOT needs none. */
static int put_tooltip(struct dot *dot, uint32_t key)
{
    struct cairn_span text;
    bool plain;

    cairn_buf_clear(&dot->text);
    cairn_escape_terminal(&dot->text, cairn_prof_file(dot->prof, key));
    CAIRN_TRY(dot->text.code);
    text = cairn_buf_span(&dot->text);
    plain = text.size_bytes > 0 && (text.size_bytes < 2 || memcmp(text.data, "0x", 2) != 0);
    for (size_t i = 0; i < text.size_bytes; i++)
        plain = plain && isalnum(text.data[i]);
    cairn_buf_add_str(&dot->out->buf, plain ? "" : "\"");
    put_quoted(&dot->out->buf, text);
    return cairn_buf_add_str(&dot->out->buf, plain ? "" : "\"");
}

static int put_node(struct dot *dot, uint32_t number)
{
    static const enum cairn_dot_measure usual[] = {CAIRN_DOT_TOTAL_SHARE, CAIRN_DOT_SELF_SHARE};
    const struct cairn_dot_options *options = dot->options;
    const struct node *node = &dot->nodes.items[number];
    const struct cairn_prof_numbers *numbers = numbers_of(dot, node);
    const enum cairn_dot_measure *labels = options->label_count > 0 ? options->labels : usual;
    size_t label_count = options->label_count > 0 ? options->label_count : 2;
    struct cairn_buf *out = &dot->out->buf;

    cairn_buf_printf(out, "\t%" PRIu32 " [color=", number);
    cairn_dot_colour(out, dot->theme, node->weight, options->skew);
    cairn_buf_add_str(out, ", fontcolor=");
    cairn_dot_text_colour(out, dot->theme, node->weight, options->skew);
    cairn_buf_printf(out, ", fontsize=\"%.2f\", label=\"",
                     cairn_dot_font_size(dot->theme, node->weight));
    CAIRN_TRY(put_name(dot, node->key));
    for (size_t i = 0; i < label_count; i++)
        put_measure(dot, numbers, labels[i]);
    cairn_buf_printf(out, "\\n%" PRId64 TIMES_SIGN "\", tooltip=", numbers->calls);
    CAIRN_TRY(put_tooltip(dot, node->key));
    return cairn_buf_add_str(out, "];\n");
}

static void put_call(struct dot *dot, const struct call *call)
{
    double weight = share(call->numbers->total_s, dot->whole_total_s);
    double width = cairn_dot_line_width(dot->theme, weight);
    struct cairn_buf *out = &dot->out->buf;

    cairn_buf_printf(out, "\t%" PRIu32 " -> %" PRIu32 " [arrowsize=\"%.2f\", color=", call->caller,
                     call->callee, 0.5 * sqrt(width));
    cairn_dot_colour(out, dot->theme, weight, dot->options->skew);
    cairn_buf_add_str(out, ", fontcolor=");
    cairn_dot_colour(out, dot->theme, weight, dot->options->skew);
    cairn_buf_printf(out,
                     ", fontsize=\"%.2f\", label=\"%.2f%%\\n%" PRId64 TIMES_SIGN
                     "\", labeldistance=\"%.2f\", penwidth=\"%.2f\"];\n",
                     cairn_dot_font_size(dot->theme, weight), weight * 100,
                     call->numbers->primitive, width, width);
}

static int put_graph(struct dot *dot)
{
    cairn_buf_printf(&dot->out->buf,
                     "digraph {\n\ttooltip=\" \"\n"
                     "\tgraph [fontname=Arial, nodesep=0.125, ranksep=0.25];\n"
                     "\tnode [fontcolor=%s, fontname=Arial, height=0, shape=box, style=%s, "
                     "width=0];\n"
                     "\tedge [fontname=Arial];\n",
                     cairn_dot_font_colour(dot->theme), cairn_dot_box_style(dot->theme));
    for (uint32_t number = 0; number < dot->nodes.count; number++) {
        const struct node *node = &dot->nodes.items[number];

        if (!node->kept)
            continue;
        CAIRN_TRY(put_node(dot, number));
        for (size_t i = node->first_call; i < node[1].first_call; i++)
            if (dot->calls.items[i].kept && dot->nodes.items[dot->calls.items[i].callee].kept)
                put_call(dot, &dot->calls.items[i]);
        CAIRN_TRY(cairn_outlet_drain(dot->out));
    }
    return cairn_buf_add_str(&dot->out->buf, "}\n");
}

static int put_names(struct dot *dot)
{
    for (size_t i = 0; i < dot->nodes.count; i++) {
        if (!dot->nodes.items[i].kept)
            continue;
        CAIRN_TRY(make_name(dot, dot->nodes.items[i].key));
        if (!is_named(dot, dot->options->list))
            continue;
        cairn_buf_add(&dot->out->buf, dot->text.data, dot->text.size_bytes);
        cairn_buf_u8(&dot->out->buf, '\n');
        CAIRN_TRY(cairn_outlet_drain(dot->out));
    }
    return dot->out->buf.code;
}

static int write_dot(struct dot *dot, struct cairn_err *err)
{
    const struct cairn_dot_options *options = dot->options;

    dot->numbers = cairn_malloc((dot->prof->keys.count + 1) * sizeof(*dot->numbers));
    if (!dot->numbers)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < dot->prof->keys.count; i++)
        dot->numbers[i] = NO_NUMBER;
    CAIRN_TRY(gather(dot));
    prune_small(dot);
    if (options->by_self)
        weigh_by_self(dot);
    if (options->root)
        CAIRN_TRY(prune_far(dot, options->root, false, err));
    if (options->list)
        return put_names(dot);
    if (options->leaf)
        CAIRN_TRY(prune_far(dot, options->leaf, true, err));
    return put_graph(dot);
}

int cairn_dot_write(const struct cairn_prof *prof, const struct cairn_dot_options *options,
                    struct cairn_outlet *out, struct cairn_err *err)
{
    struct dot dot = {.prof = prof,
                      .options = options,
                      .theme = options->theme ? options->theme : cairn_dot_theme("color"),
                      .out = out};
    int code;

    cairn_buf_init(&dot.text, TEXT_MAX_BYTES);
    code = write_dot(&dot, err);
    free(dot.numbers);
    cairn_vec_release(&dot.nodes);
    cairn_vec_release(&dot.calls);
    cairn_buf_release(&dot.text);
    return code;
}
