#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rng.h"
#include "totals.h"

#define NODES 300
#define GROUPS 12

struct tree {
    struct cairn_node nodes[NODES];
    struct cairn_weight weights[NODES];
    uint32_t groups[NODES]; /* of the frames; every node has a frame of its own */
};

/* Deep or bushy, with recursion everywhere, some nodes without time. */
static void grow(struct tree *tree, uint64_t seed)
{
    uint64_t k = 0;

    memset(tree, 0, sizeof(*tree));
    for (uint32_t i = 1; i < NODES; i++) {
        uint64_t reach = cairn_rng_at(seed, ++k) % 3 ? i : 2;

        tree->nodes[i].parent = i - 1 - (uint32_t)(cairn_rng_at(seed, ++k) % reach) % i;
        tree->nodes[i].frame = i;
        tree->groups[i] = (uint32_t)(cairn_rng_at(seed, ++k) % GROUPS);
        if (cairn_rng_at(seed, ++k) % 2) {
            tree->weights[i].ticks = cairn_rng_at(seed, ++k) % 100;
            tree->weights[i].value_ns = cairn_rng_at(seed, ++k) % 1000000;
        }
    }
}

/* The same by its definition: every stack is walked, each group it holds counts once. */
static void add_naively(const struct tree *tree, struct cairn_weight self[GROUPS],
                        struct cairn_weight total[GROUPS])
{
    for (uint32_t i = 1; i < NODES; i++) {
        bool met[GROUPS] = {false};

        self[tree->groups[i]].ticks += tree->weights[i].ticks;
        self[tree->groups[i]].value_ns += tree->weights[i].value_ns;
        for (uint32_t up = i; up; up = tree->nodes[up].parent) {
            uint32_t group = tree->groups[up];

            if (!met[group]) {
                total[group].ticks += tree->weights[i].ticks;
                total[group].value_ns += tree->weights[i].value_ns;
            }
            met[group] = true;
        }
    }
}

static void test_totals_are_those_of_a_naive_walk(void **state)
{
    static struct tree tree;
    (void)state;

    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct cairn_weight self[GROUPS] = {{0, 0}}, total[GROUPS] = {{0, 0}};
        struct cairn_totals totals;

        grow(&tree, seed);
        add_naively(&tree, self, total);
        assert_int_equal(
            cairn_totals_make(tree.nodes, NODES, tree.weights, tree.groups, GROUPS, &totals), 0);
        assert_memory_equal(totals.self, self, sizeof(self));
        assert_memory_equal(totals.total, total, sizeof(total));
        cairn_totals_release(&totals);
    }
}

/* A stack as deep as a recursion that forgot to end. */
static void test_depth_costs_no_stack(void **state)
{
    enum { DEPTH = 2000000 };
    struct cairn_node *nodes = calloc(DEPTH, sizeof(*nodes));
    struct cairn_weight *weights = calloc(DEPTH, sizeof(*weights));
    uint32_t *groups = calloc(DEPTH, sizeof(*groups));
    struct cairn_totals totals;
    (void)state;

    for (uint32_t i = 1; i < DEPTH; i++) {
        nodes[i] = (struct cairn_node){i - 1, i};
        groups[i] = i % 2;
    }
    weights[DEPTH - 1] = (struct cairn_weight){1, 7};
    assert_int_equal(cairn_totals_make(nodes, DEPTH, weights, groups, 2, &totals), 0);
    assert_int_equal(totals.total[0].value_ns, 7);
    assert_int_equal(totals.total[1].value_ns, 7);
    assert_int_equal(totals.self[0].value_ns + totals.self[1].value_ns, 7);
    cairn_totals_release(&totals);
    free(nodes);
    free(weights);
    free(groups);
}

static void test_nothing_at_all(void **state)
{
    const struct cairn_node root = {0, 0};
    const struct cairn_weight none = {0, 0};
    const uint32_t group = 0;
    struct cairn_totals totals;
    (void)state;

    assert_int_equal(cairn_totals_make(&root, 1, &none, &group, 1, &totals), 0);
    assert_int_equal(totals.total[0].ticks, 0);
    cairn_totals_release(&totals);
    cairn_totals_release(&totals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals_are_those_of_a_naive_walk),
        cmocka_unit_test(test_depth_costs_no_stack),
        cmocka_unit_test(test_nothing_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
