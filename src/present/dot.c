#include "dot_priv.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "escape.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define NOT_REACHED LONG_MAX

double cairn_dot_share(double part_s, double whole_s)
{
    double part = whole_s != 0 ? part_s / whole_s : 1;

    return part < 0 ? 0 : part > 1 ? 1 : part;
}

const struct cairn_prof_numbers *cairn_dot_numbers(const struct cairn_dot *dot,
                                                   const struct cairn_dot_node *node)
{
    static const struct cairn_prof_numbers none;
    uint32_t row;

    return cairn_prof_find(dot->prof, node->key, &row) ? &dot->prof->rows.items[row].numbers
                                                       : &none;
}

/* --- what there is --- */

static int number_of(struct cairn_dot *dot, uint32_t key, uint32_t *ret_number)
{
    if (dot->numbers[key] == CAIRN_DOT_NO_NUMBER) {
        CAIRN_TRY(cairn_vec_reserve(&dot->nodes, dot->nodes.count + 2, dot->prof->keys.count + 2));
        dot->numbers[key] = (uint32_t)dot->nodes.count;
        dot->nodes.items[dot->nodes.count++] = (struct cairn_dot_node){.key = key};
    }
    *ret_number = dot->numbers[key];
    return 0;
}

static int compare_calls(const void *a, const void *b)
{
    const struct cairn_dot_call *left = a, *right = b;

    if (left->caller != right->caller)
        return left->caller < right->caller ? -1 : 1;
    return (left->callee > right->callee) - (left->callee < right->callee);
}

/* Numbers the functions, sums up, and gathers the calls by their callers. */
static int gather(struct cairn_dot *dot)
{
    const struct cairn_prof *prof = dot->prof;
    size_t at = 0;

    CAIRN_TRY(cairn_vec_reserve(&dot->nodes, 1, prof->keys.count + 2));
    for (size_t i = 0; i < prof->rows.count; i++) {
        const struct cairn_prof_row *row = &prof->rows.items[i];
        struct cairn_dot_call call = {.kept = true};

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

/* "module:line:function", in `text`: the file's name without folder and ending. */
int cairn_dot_name(struct cairn_dot *dot, uint32_t key)
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

static bool is_of_paths(const struct cairn_dot *dot, uint32_t key)
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

static void prune_small(struct cairn_dot *dot)
{
    for (size_t i = 0; i < dot->nodes.count; i++) {
        struct cairn_dot_node *node = &dot->nodes.items[i];

        node->weight = cairn_dot_share(cairn_dot_numbers(dot, node)->total_s, dot->whole_total_s);
        node->kept = node->weight >= dot->options->node_least && is_of_paths(dot, node->key);
    }
    for (size_t i = 0; i < dot->calls.count; i++) {
        struct cairn_dot_call *call = &dot->calls.items[i];

        call->kept =
            cairn_dot_share(call->numbers->total_s, dot->whole_total_s) >= dot->options->edge_least;
    }
}

static void weigh_by_self(struct cairn_dot *dot)
{
    double most = 0;

    for (size_t i = 0; i < dot->nodes.count; i++)
        if (dot->nodes.items[i].kept)
            most = fmax(most, cairn_dot_share(cairn_dot_numbers(dot, &dot->nodes.items[i])->self_s,
                                              dot->whole_self_s));
    for (size_t i = 0; i < dot->nodes.count && most > 0; i++)
        dot->nodes.items[i].weight =
            cairn_dot_share(cairn_dot_numbers(dot, &dot->nodes.items[i])->self_s,
                            dot->whole_self_s) /
            most;
}

/* Whether the name that was made last is as `glob` says. */
bool cairn_dot_is_named(struct cairn_dot *dot, const char *glob)
{
    return fnmatch(glob, cairn_buf_cstr(&dot->text), FNM_NOESCAPE) == 0;
}

/* Marks what is called as `glob` says; false: nothing is. */
static int mark_named(struct cairn_dot *dot, const char *glob, bool *ret_any)
{
    *ret_any = false;
    for (size_t i = 0; i < dot->nodes.count; i++) {
        struct cairn_dot_node *node = &dot->nodes.items[i];

        node->far = NOT_REACHED;
        if (!node->kept)
            continue;
        CAIRN_TRY(cairn_dot_name(dot, node->key));
        if (cairn_dot_is_named(dot, glob))
            node->far = 0;
        *ret_any |= node->far == 0;
    }
    return 0;
}

/* One more call away from what is so far; false: there is nothing more. */
static bool reach(struct cairn_dot *dot, long far, bool up)
{
    bool more = false;

    for (size_t i = 0; i < dot->calls.count; i++) {
        const struct cairn_dot_call *call = &dot->calls.items[i];
        const struct cairn_dot_node *from = &dot->nodes.items[up ? call->callee : call->caller];
        struct cairn_dot_node *to = &dot->nodes.items[up ? call->caller : call->callee];

        if (call->kept && to->kept && from->far == far && to->far == NOT_REACHED) {
            to->far = far + 1;
            more = true;
        }
    }
    return more;
}

/* Leaves what can be reached from what is called so: down from a root, up from a leaf. */
static int prune_far(struct cairn_dot *dot, const char *glob, bool up, struct cairn_err *err)
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

/* --- all of it --- */

static int make(struct cairn_dot *dot, struct cairn_err *err)
{
    const struct cairn_dot_options *options = dot->options;

    dot->numbers = cairn_malloc((dot->prof->keys.count + 1) * sizeof(*dot->numbers));
    if (!dot->numbers)
        return -CAIRN_ENOMEM;
    for (size_t i = 0; i < dot->prof->keys.count; i++)
        dot->numbers[i] = CAIRN_DOT_NO_NUMBER;
    CAIRN_TRY(gather(dot));
    prune_small(dot);
    if (options->by_self)
        weigh_by_self(dot);
    if (options->root)
        CAIRN_TRY(prune_far(dot, options->root, false, err));
    if (options->leaf && !options->list)
        CAIRN_TRY(prune_far(dot, options->leaf, true, err));
    return 0;
}

int cairn_dot_make(const struct cairn_prof *prof, const struct cairn_dot_options *options,
                   struct cairn_dot *ret_dot, struct cairn_err *err)
{
    int code;

    *ret_dot = (struct cairn_dot){
        .prof = prof,
        .options = options,
        .theme = options->theme ? options->theme : cairn_dot_theme("color"),
    };
    cairn_buf_init(&ret_dot->text, TEXT_MAX_BYTES);
    cairn_buf_init(&ret_dot->wrapped, TEXT_MAX_BYTES);
    code = make(ret_dot, err);
    if (code < 0)
        cairn_dot_release(ret_dot);
    return code;
}

void cairn_dot_release(struct cairn_dot *dot)
{
    free(dot->numbers);
    cairn_vec_release(&dot->nodes);
    cairn_vec_release(&dot->calls);
    cairn_buf_release(&dot->text);
    cairn_buf_release(&dot->wrapped);
}
