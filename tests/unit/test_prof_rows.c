/* A tally as a table of functions and callers, held against sums made the slow way. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prof_rows.h"
#include "profile.h"
#include "tallied.h"

struct fixture {
    struct cairn_model *model;
    struct cairn_tally tally;
    struct cairn_prof prof;
    const struct cairn_node *nodes;
    const struct cairn_frame *frames;
    const struct cairn_function *functions;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->model = profile_load();
    fixture->tally = tally_of(fixture->model, NULL);
    cairn_model_nodes(fixture->model, &fixture->nodes);
    cairn_model_frames(fixture->model, &fixture->frames);
    cairn_model_functions(fixture->model, &fixture->functions);
    assert_int_equal(cairn_prof_init(&fixture->prof), 0);
    assert_int_equal(cairn_prof_rows(&fixture->tally, &fixture->prof), 0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    cairn_prof_release(&fixture->prof);
    cairn_tally_release(&fixture->tally);
    cairn_model_free(fixture->model);
    free(fixture);
    return 0;
}

static bool is_text(struct cairn_span text, struct cairn_span other, size_t size_bytes)
{
    return text.size_bytes >= size_bytes && memcmp(text.data, other.data, size_bytes) == 0;
}

/* Whether a key of the table is that function. A name that is no UTF-8 is another one there, up to
 * where it is none; a native function's has its file behind it. */
static bool is_key(const struct fixture *fixture, uint32_t key, uint32_t function)
{
    const struct cairn_function *f = &fixture->functions[function];
    struct cairn_span name = cairn_prof_name(&fixture->prof, key);
    struct cairn_span file = cairn_prof_file(&fixture->prof, key);
    const uint8_t *bad = memchr(f->name.data, 0xff, f->name.size_bytes);
    bool python = f->kind == CAIRN_FUNCTION_PYTHON;

    if (fixture->prof.keys.items[key].line != (python ? f->first_line : 0))
        return false;
    if (python ? !is_text(file, f->file, f->file.size_bytes) : file.data[0] != '~')
        return false;
    if (bad != NULL)
        return is_text(name, f->name, (size_t)(bad - f->name.data));
    return is_text(name, f->name, f->name.size_bytes) &&
           (f->kind == CAIRN_FUNCTION_NATIVE || name.size_bytes == f->name.size_bytes);
}

/* How many frames of a stack are the function `key` with the caller `caller`,
 * or with any one. `ret_leaf`: the last one is among them. */
static size_t count_frames(const struct fixture *fixture, uint32_t node, uint32_t key,
                           uint32_t caller, bool *ret_leaf)
{
    uint32_t leaf = node;
    size_t count = 0;

    *ret_leaf = false;
    for (; node != 0; node = fixture->nodes[node].parent) {
        uint32_t parent = fixture->nodes[node].parent;

        if (!is_key(fixture, key, fixture->frames[fixture->nodes[node].frame].function))
            continue;
        if (caller != CAIRN_PROF_NONE &&
            (parent == 0 ||
             !is_key(fixture, caller, fixture->frames[fixture->nodes[parent].frame].function)))
            continue;
        count++;
        *ret_leaf |= node == leaf;
    }
    return count;
}

static void assert_numbers(const struct fixture *fixture, uint32_t key, uint32_t caller,
                           const struct cairn_prof_numbers *numbers)
{
    uint64_t self_ns = 0, total_ns = 0, ticks = 0;

    for (size_t i = 0; i < fixture->tally.cell_count; i++) {
        const struct cairn_cell *cell = &fixture->tally.cells[i];
        bool leaf;

        if (count_frames(fixture, cell->node, key, caller, &leaf) == 0)
            continue;
        total_ns += cell->weight.value_ns;
        ticks += cell->weight.ticks;
        self_ns += leaf ? cell->weight.value_ns : 0;
    }
    assert_int_equal(numbers->calls, ticks);
    assert_int_equal(numbers->primitive, ticks);
    assert_true(fabs(numbers->total_s - (double)total_ns / 1e9) < 1e-9);
    assert_true(fabs(numbers->self_s - (double)self_ns / 1e9) < 1e-9);
    assert_false(numbers->plain);
}

static void test_every_row_and_caller_is_its_sum(void **state)
{
    const struct fixture *fixture = *state;
    const struct cairn_prof *prof = &fixture->prof;
    double self_s = 0;

    assert_true(prof->sampled);
    assert_true(prof->rows.count > 5);
    assert_true(prof->callers.count > 5);
    for (size_t i = 0; i < prof->rows.count; i++) {
        const struct cairn_prof_row *row = &prof->rows.items[i];

        assert_numbers(fixture, row->key, CAIRN_PROF_NONE, &row->numbers);
        self_s += row->numbers.self_s;
        for (uint32_t c = row->first; c != CAIRN_PROF_NONE; c = prof->callers.items[c].next)
            assert_numbers(fixture, row->key, prof->callers.items[c].key,
                           &prof->callers.items[c].numbers);
        if (i > 0)
            assert_true(cairn_prof_compare(prof, prof->rows.items[i - 1].key, row->key) < 0);
    }
    assert_true(fabs(self_s - (double)fixture->tally.total.value_ns / 1e9) < 1e-6);
}

static void test_it_is_read_back_as_it_was(void **state)
{
    const struct fixture *fixture = *state;
    struct cairn_prof again;
    struct cairn_buf out;

    cairn_buf_init(&out, 1 << 24);
    assert_int_equal(cairn_prof_write(&fixture->prof, &out), 0);
    assert_int_equal(cairn_prof_init(&again), 0);
    assert_int_equal(cairn_prof_read(&again, cairn_buf_span(&out), NULL), 0);
    assert_false(again.sampled); /* plain rows only, which every pstats reads */
    assert_int_equal(again.rows.count, fixture->prof.rows.count);
    assert_int_equal(again.callers.count, fixture->prof.callers.count);
    for (size_t i = 0; i < again.rows.count; i++)
        assert_memory_equal(&again.rows.items[i].numbers, &fixture->prof.rows.items[i].numbers,
                            offsetof(struct cairn_prof_numbers, plain));
    cairn_prof_release(&again);
    cairn_buf_release(&out);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_row_and_caller_is_its_sum, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_is_read_back_as_it_was, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
