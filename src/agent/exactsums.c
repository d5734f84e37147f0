#include "exactsums.h"

#include "err.h"
#include "exact_parts.h"

#define MOST_ROWS ((size_t)1 << 24)
#define INDEX_BYTES ((size_t)4 << 30)

static size_t index_of(void *value)
{
    return (size_t)((uintptr_t)value - 1);
}

/* The row of a key; CAIRN_EXACT_NONE and *ret_code when there is no room. */
static int row_of(struct cairn_exact_sums *sums, const struct cairn_exact_thread *thread,
                  const void *key, size_t *ret_row)
{
    void *value = cairn_pairs_get(&sums->row_index, (uintptr_t)key, 0);
    const struct cairn_exact_key *known;

    if (value != NULL) {
        *ret_row = index_of(value);
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&sums->rows, sums->rows.count + 1, MOST_ROWS));
    CAIRN_TRY(cairn_pairs_add(&sums->row_index, &sums->budget, (uintptr_t)key, 0,
                              (void *)(uintptr_t)(sums->rows.count + 1)));
    known = cairn_pairs_get(&thread->keys, (uintptr_t)key, 0);
    *ret_row = sums->rows.count;
    sums->rows.items[sums->rows.count++] = (struct cairn_exact_row){
        .key = key, .learnt = known->learnt, .first_callee = CAIRN_EXACT_NONE};
    return 0;
}

static int callee_of(struct cairn_exact_sums *sums, size_t caller, size_t row, size_t *ret_callee)
{
    void *value = cairn_pairs_get(&sums->callee_index, caller, row);
    struct cairn_exact_row *from = &sums->rows.items[caller];

    if (value != NULL) {
        *ret_callee = index_of(value);
        return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&sums->callees, sums->callees.count + 1, MOST_ROWS));
    CAIRN_TRY(cairn_pairs_add(&sums->callee_index, &sums->budget, caller, row,
                              (void *)(uintptr_t)(sums->callees.count + 1)));
    *ret_callee = sums->callees.count;
    sums->callees.items[sums->callees.count] =
        (struct cairn_exact_callee){.row = row, .next = from->first_callee};
    from->first_callee = sums->callees.count++;
    return 0;
}

static void add(struct cairn_exact_sum *sum, const struct cairn_exact_node *node, bool outermost)
{
    sum->calls += node->calls;
    sum->self += node->self;
    if (outermost) {
        sum->primitive_calls += node->calls;
        sum->total += node->total;
    }
}

/* One node of a tree on the way down (`step` 1) or up again (-1): the levels tell whether the same
 * callee, or pair, is on the path already. */
static int visit(struct cairn_exact_sums *sums, const struct cairn_exact_thread *thread,
                 const struct cairn_exact_node *node, bool has_callers, int step)
{
    const struct cairn_exact_node *parent = node->parent;
    size_t row, caller, callee;

    CAIRN_TRY(row_of(sums, thread, cairn_exact_plain(node->key), &row));
    if (step > 0)
        add(&sums->rows.items[row].sum, node, sums->rows.items[row].level == 0);
    sums->rows.items[row].level += (size_t)step;
    if (!has_callers || parent->parent == NULL)
        return 0;
    CAIRN_TRY(row_of(sums, thread, parent->key, &caller));
    CAIRN_TRY(callee_of(sums, caller, row, &callee));
    if (step > 0)
        add(&sums->callees.items[callee].sum, node, sums->callees.items[callee].level == 0);
    sums->callees.items[callee].level += (size_t)step;
    return 0;
}

/* A whole tree, without recursion: it may be as deep as the program's stack ever was. */
static int add_tree(struct cairn_exact_sums *sums, const struct cairn_exact_thread *thread,
                    const struct cairn_exact_node *root, bool has_callers)
{
    const struct cairn_exact_node *node = root->first;

    while (node != NULL) {
        CAIRN_TRY(visit(sums, thread, node, has_callers, 1));
        if (node->first != NULL) {
            node = node->first;
            continue;
        }
        CAIRN_TRY(visit(sums, thread, node, has_callers, -1));
        while (node->next == NULL && node->parent != root) {
            node = node->parent;
            CAIRN_TRY(visit(sums, thread, node, has_callers, -1));
        }
        node = node->next;
    }
    return 0;
}

static int add_folds(struct cairn_exact_sums *sums, const struct cairn_exact_thread *thread)
{
    const struct cairn_exact_fold *fold = thread->first_fold;

    for (; fold != NULL; fold = (const struct cairn_exact_fold *)fold->node.next) {
        const struct cairn_exact_sum sum = {fold->node.calls, fold->outer_calls, fold->outer_total,
                                            fold->node.self};
        size_t row, caller, callee;
        struct cairn_exact_sum *into;

        CAIRN_TRY(row_of(sums, thread, cairn_exact_plain(fold->node.key), &row));
        into = &sums->rows.items[row].sum;
        into->calls += sum.calls;
        into->primitive_calls += sum.primitive_calls;
        into->total += sum.total;
        into->self += sum.self;
        if (fold->caller == NULL)
            continue;
        CAIRN_TRY(row_of(sums, thread, fold->caller, &caller));
        CAIRN_TRY(callee_of(sums, caller, row, &callee));
        into = &sums->callees.items[callee].sum;
        into->calls += sum.calls;
        into->primitive_calls += fold->edge_calls;
        into->total += fold->edge_total;
        into->self += sum.self;
    }
    return 0;
}

int cairn_exact_sums_make(const struct cairn_exact *exact, struct cairn_exact_sums *ret_sums)
{
    *ret_sums = (struct cairn_exact_sums){.budget.max_bytes = INDEX_BYTES};
    for (const struct cairn_exact_thread *thread = exact->threads; thread; thread = thread->next) {
        if (!cairn_exact_is_own(thread))
            continue;
        CAIRN_TRY(add_tree(ret_sums, thread, &thread->roots[0], true));
        CAIRN_TRY(add_tree(ret_sums, thread, &thread->roots[1], false));
        CAIRN_TRY(add_folds(ret_sums, thread));
    }
    return 0;
}

void cairn_exact_sums_release(struct cairn_exact_sums *sums)
{
    cairn_pairs_release(&sums->row_index, &sums->budget);
    cairn_pairs_release(&sums->callee_index, &sums->budget);
    cairn_vec_release(&sums->rows);
    cairn_vec_release(&sums->callees);
}
