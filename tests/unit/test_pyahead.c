#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "pyahead.h"

#define PAGE ((size_t)4096)
#define PAGES 64
#define BASE (UINT64_C(16) * PAGE)
#define FRAME_BYTES 120

/* Pages of a process; those below `there` are not mapped, and it ends with its last one. */
struct process {
    uint8_t memory[PAGES * PAGE];
    size_t there;
};

static int process_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                        size_t *ret_parts)
{
    const struct process *process = ctx;

    for (*ret_parts = 0; *ret_parts < count; ++*ret_parts) {
        const struct cairn_remote_part *part = &parts[*ret_parts];

        if (part->address < BASE + process->there * PAGE ||
            part->address + part->size_bytes > BASE + sizeof(process->memory))
            return *ret_parts ? -CAIRN_ESHORT : -CAIRN_EUNREADABLE;
        memcpy(part->data, process->memory + (part->address - BASE), part->size_bytes);
    }
    return 0;
}

static struct process process;
static struct cairn_pyahead ahead;
static struct cairn_remote remote;

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(process.memory) / 8; i++)
        memcpy(process.memory + 8 * i, &i, 8);
    process.there = 0;
    memset(&ahead, 0, sizeof(ahead));
    remote = (struct cairn_remote){.read = process_read, .ctx = &process};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cairn_pyahead_release(&ahead);
    return 0;
}

/* Looks at a frame: it is the one that stands there. */
static void look(size_t at)
{
    const uint8_t *data = NULL;

    assert_int_equal(cairn_pyahead_get(&ahead, &remote, BASE + at, FRAME_BYTES, &data), 0);
    assert_memory_equal(data, process.memory + at, FRAME_BYTES);
}

/* A stack whose frames lie side by side, from the end of page `top` - 1 down to page `bottom`. */
static uint64_t calls_of_a_stack(size_t top, size_t bottom)
{
    uint64_t calls = remote.calls;

    for (size_t at = top * PAGE - 416; at >= bottom * PAGE; at -= 416)
        look(at);
    return remote.calls - calls;
}

static void test_a_stack_that_was_never_seen_takes_few_reads(void **state)
{
    (void)state;
    assert_in_range(calls_of_a_stack(40, 14), 1, 6); /* 257 frames */
    assert_in_range(remote.bytes, 26 * PAGE, 2 * 26 * PAGE + PAGE);
    cairn_pyahead_clear(&ahead);
    assert_int_equal(calls_of_a_stack(63, 37), 1); /* as far as the last one */
    cairn_pyahead_clear(&ahead);
    assert_int_equal(calls_of_a_stack(30, 2), 1);
}

static void test_a_stack_that_goes_up(void **state)
{
    uint64_t calls;

    (void)state;
    for (int i = 0; i < 2; i++) {
        calls = remote.calls;
        for (size_t at = 0; at < 20 * PAGE; at += 416)
            look(at);
        calls = remote.calls - calls;
        cairn_pyahead_clear(&ahead);
    }
    assert_int_equal(calls, 1);
}

static void test_frames_far_apart_cost_a_page_each(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20; i++)
        look((i * 37 % 60) * PAGE + 8 * i);
    assert_int_equal(remote.calls, 20);
    assert_int_equal(remote.bytes, 20 * PAGE);
    look(37 * PAGE + 16); /* lies in a page that is here */
    assert_int_equal(remote.calls, 20);
}

static void test_a_guess_that_leads_nowhere_costs_nothing_that_is_there(void **state)
{
    const uint8_t *data;

    (void)state;
    (void)calls_of_a_stack(40, 20);
    cairn_pyahead_clear(&ahead);
    process.there = 5;
    assert_in_range(calls_of_a_stack(11, 5), 1, 2); /* the guess goes on to what is not there */
    assert_int_equal(cairn_pyahead_get(&ahead, &remote, BASE + 4 * PAGE, FRAME_BYTES, &data),
                     -CAIRN_EUNREADABLE);
    look(5 * PAGE);
}

static void test_a_frame_at_the_end_of_a_page(void **state)
{
    const uint8_t *data;

    (void)state;
    look(3 * PAGE - 64);
    assert_int_equal(remote.calls, 1);
    look(2 * PAGE + 8);
    assert_int_equal(remote.calls, 1);
    assert_int_equal(
        cairn_pyahead_get(&ahead, &remote, BASE + PAGES * PAGE - 64, FRAME_BYTES, &data),
        -CAIRN_EUNREADABLE); /* nothing is behind the last page */
    look(PAGES * PAGE - FRAME_BYTES);
    assert_int_equal(cairn_pyahead_get(&ahead, &remote, UINT64_MAX - 63, FRAME_BYTES, &data),
                     -CAIRN_EUNREADABLE);
}

static void test_copies_are_of_the_moment_since_the_last_clear(void **state)
{
    (void)state;
    look(9 * PAGE);
    cairn_pyahead_clear(&ahead);
    process.memory[9 * PAGE] ^= 0xff;
    look(9 * PAGE);
    assert_int_equal(remote.calls, 2);
}

static void test_more_than_is_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < 40; i++) {
        (void)calls_of_a_stack(60, 30);
        look((i % 20) * PAGE); /* a row of its own between two long ones */
    }
    look(8 * PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_stack_that_was_never_seen_takes_few_reads, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_stack_that_goes_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_frames_far_apart_cost_a_page_each, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_guess_that_leads_nowhere_costs_nothing_that_is_there,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_frame_at_the_end_of_a_page, setup, teardown),
        cmocka_unit_test_setup_teardown(test_copies_are_of_the_moment_since_the_last_clear, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_more_than_is_kept, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
