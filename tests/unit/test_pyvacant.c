/* The places of threads that are over: who comes next and lies there is known from the same copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pyread_parts.h"
#include "pyvacant.h"

#define STATE UINT64_C(0x5000)
#define CHUNK UINT64_C(0x10000)
#define C_STACK UINT64_C(0x70000)
#define SELF UINT64_C(0x70f00) /* who lies there next has the same C stack, so the same number */
#define HEADER_BYTES 32
#define SECOND_NS UINT64_C(1000000000)

enum { IDENT = 0, NATIVE_ID = 8, CFRAME = 16 }; /* places in the header */

static int set_up(void **state)
{
    static struct cairn_pyread read;

    memset(&read, 0, sizeof(read));
    memset(&read.runtime.layout, 0xff, sizeof(read.runtime.layout)); /* no field, but for … */
    read.runtime.layout.thread_ident = IDENT;
    read.runtime.layout.thread_native_id = NATIVE_ID;
    read.runtime.layout.thread_cframe = CFRAME;
    read.ctx.header_bytes = HEADER_BYTES;
    read.ctx.now_ns = SECOND_NS;
    *state = &read;
    return 0;
}

static int tear_down(void **state)
{
    cairn_pyvacant_release(*state);
    return 0;
}

static void put_header(struct cairn_pykept *kept, uint64_t native_id, uint64_t cframe)
{
    memcpy(kept->header + IDENT, &(uint64_t){SELF}, 8);
    memcpy(kept->header + NATIVE_ID, &native_id, 8);
    memcpy(kept->header + CFRAME, &cframe, 8);
}

static struct cairn_pykept *make(uint64_t tstate, uint64_t native_id)
{
    struct cairn_pykept *kept = calloc(1, sizeof(*kept));

    assert_non_null(kept);
    kept->thread.tstate = tstate;
    kept->thread.pthread_id = native_id ? SELF : 0;
    kept->own_native_id = native_id;
    put_header(kept, native_id, 0);
    return kept;
}

/* A thread that was read, and is over: its chunk went with it. */
static struct cairn_pykept *leave(struct cairn_pyread *read, uint64_t tstate, uint64_t c_stack)
{
    struct cairn_pykept *kept = make(tstate, 7);

    kept->ticks = 3;
    kept->first_chunk = (struct cairn_pychunk){.address = CHUNK, .size_bytes = 4096};
    assert_int_equal(cairn_pyplaces_add(&kept->others, c_stack, 64, true, 3), 0);
    cairn_pyvacant_keep(read, kept);
    return kept;
}

/* A round copied the places, where the thread `native_id` was. */
static void copy(struct cairn_pykept *kept, uint64_t native_id, uint64_t cframe)
{
    static const uint8_t chunk[4096];

    put_header(kept, native_id, cframe);
    kept->header_ok = true;
    kept->first_native_id = native_id;
    kept->chunks.items[0].piece = (struct cairn_pypiece){CHUNK, sizeof(chunk), chunk};
}

static enum cairn_pyvacant_found come(struct cairn_pyread *read, uint64_t tstate,
                                      uint64_t native_id, struct cairn_pykept **ret_kept)
{
    *ret_kept = make(tstate, native_id);
    return cairn_pyvacant_take(read, *ret_kept);
}

static void test_who_was_there_when_it_was_copied(void **state)
{
    struct cairn_pyread *read = *state;
    struct cairn_pykept *kept;

    copy(leave(read, STATE, C_STACK), 8, C_STACK + 8);
    assert_int_equal(come(read, STATE, 8, &kept), CAIRN_PYVACANT_THERE);
    assert_int_equal(read->vacant_count, 0);
    assert_true(kept->header_ok);
    assert_int_equal(kept->chunks.count, 1);
    assert_int_equal(kept->chunks.items[0].address, CHUNK);
    assert_non_null(kept->chunks.items[0].piece.data);
    assert_true(cairn_pyplaces_has(&kept->others, C_STACK + 8));
    cairn_pykept_free(kept);
}

static void test_who_came_after_the_copy(void **state)
{
    struct cairn_pyread *read = *state;
    struct cairn_pykept *before, *kept;

    copy(leave(read, STATE, C_STACK), 7, 0); /* what is left of the one before */
    assert_int_equal(come(read, STATE, 8, &kept), CAIRN_PYVACANT_LATER);
    assert_int_equal(kept->chunks.count, 1);
    cairn_pykept_free(kept);

    before = leave(read, STATE, C_STACK); /* it came while that was copied once more */
    copy(before, 8, 0);
    before->first_native_id = 7;
    assert_int_equal(come(read, STATE, 8, &kept), CAIRN_PYVACANT_LATER);
    cairn_pykept_free(kept);

    copy(leave(read, STATE, C_STACK), 0, 0);
    assert_int_equal(come(read, STATE, 0, &kept), CAIRN_PYVACANT_LATER); /* it does not run yet */
    cairn_pykept_free(kept);
}

static void test_what_was_not_copied_is_to_be_read(void **state)
{
    struct cairn_pyread *read = *state;
    struct cairn_pykept *kept;

    leave(read, STATE, C_STACK);
    assert_int_equal(come(read, STATE + 512, 8, &kept), CAIRN_PYVACANT_NONE); /* elsewhere */
    assert_int_equal(kept->chunks.count, 0);
    cairn_pykept_free(kept);
    assert_int_equal(come(read, STATE, 8, &kept), CAIRN_PYVACANT_NONE);
    assert_int_equal(kept->chunks.count, 1); /* but where it will lie is known */
    assert_int_equal(kept->first_chunk.address, CHUNK);
    cairn_pykept_free(kept);
}

static void test_c_stacks_go_round_in_another_order(void **state)
{
    struct cairn_pyread *read = *state;
    struct cairn_pykept *first, *kept;

    first = leave(read, STATE, C_STACK);
    leave(read, STATE + 512, 2 * C_STACK);
    copy(first, 8, 2 * C_STACK + 8);
    assert_int_equal(come(read, STATE, 8, &kept), CAIRN_PYVACANT_THERE);
    assert_true(cairn_pyplaces_has(&kept->others, 2 * C_STACK));
    assert_true(cairn_pyplaces_has(&read->vacant[0].kept->others, C_STACK));
    cairn_pykept_free(kept);
}

static void test_they_are_few_and_not_for_long(void **state)
{
    struct cairn_pyread *read = *state;

    for (uint64_t i = 0; i <= CAIRN_PYVACANT_MAX; i++)
        leave(read, STATE + i * 512, C_STACK);
    assert_int_equal(read->vacant_count, CAIRN_PYVACANT_MAX);
    assert_int_equal(read->vacant[0].kept->thread.tstate, STATE + 512);
    read->ctx.now_ns += SECOND_NS;
    cairn_pyvacant_age(read);
    assert_int_equal(read->vacant_count, 0);
}

static void test_where_nobody_can_be_told_from_who_was_there(void **state)
{
    struct cairn_pyread *read = *state;

    read->runtime.layout.thread_native_id = CAIRN_PYLAYOUT_NONE;
    leave(read, STATE, C_STACK);
    assert_int_equal(read->vacant_count, 0);
    read->runtime.layout.thread_native_id = NATIVE_ID;
    cairn_pyvacant_keep(read, make(STATE, 7)); /* never seen with a stack */
    assert_int_equal(read->vacant_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_who_was_there_when_it_was_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_came_after_the_copy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_not_copied_is_to_be_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_c_stacks_go_round_in_another_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_they_are_few_and_not_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where_nobody_can_be_told_from_who_was_there, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
