/* Tracks that are over go, but not before what they are the parents of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "writer_tracks.h"

#define THREADS ((uint32_t)(3 * CAIRN_TRACK_BLOCK))

static struct cairn_writer_strings strings;
static struct cairn_writer_tracks tracks;

static int setup(void **state)
{
    (void)state;
    cairn_writer_strings_init(&strings);
    cairn_writer_tracks_init(&tracks, &strings);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cairn_writer_tracks_release(&tracks);
    cairn_writer_strings_release(&strings);
    return 0;
}

static void put(uint32_t id, uint32_t parent)
{
    const struct cairn_track_def def = {.number = id, .parent = parent};

    assert_int_equal(cairn_writer_tracks_put(&tracks, id, &def), 0);
}

static void test_what_is_over_goes_when_all_is_in_the_file(void **state)
{
    (void)state;
    put(1, 0);
    for (uint32_t id = 2; id < THREADS; id++) {
        put(id, 1);
        cairn_writer_tracks_end(&tracks, id);
        cairn_writer_tracks_end(&tracks, id); /* twice is once */
        assert_int_equal(cairn_writer_tracks_get(&tracks, id)->number, id);
    }
    assert_int_equal(tracks.blocks.count, 3);
    cairn_writer_tracks_drop(&tracks);
    cairn_writer_tracks_drop(&tracks);
    assert_int_equal(tracks.blocks.count, 1);
    assert_null(cairn_writer_tracks_get(&tracks, THREADS - 1));
    assert_null(cairn_writer_tracks_stamp(&tracks, THREADS - 1));
    assert_int_equal(*cairn_writer_tracks_stamp(&tracks, 1), 0);
    assert_int_equal(cairn_writer_tracks_get(&tracks, 1)->number, 1);
    put(THREADS, 1);
    assert_int_equal(cairn_writer_tracks_get(&tracks, THREADS)->parent, 1);
}

/* A thread that lives names its process, whenever that is said to be over. */
static void test_parents_stay_as_long_as_what_names_them(void **state)
{
    const uint32_t process = CAIRN_TRACK_BLOCK, thread = THREADS - 1;

    (void)state;
    for (uint32_t id = 1; id < THREADS; id++) {
        put(id, id == thread ? process : 0);
        if (id != thread)
            cairn_writer_tracks_end(&tracks, id);
    }
    cairn_writer_tracks_drop(&tracks);
    assert_int_equal(tracks.blocks.count, 3); /* id 0 is never over */
    assert_int_equal(cairn_writer_tracks_get(&tracks, process)->number, process);
    put(thread, process); /* a better name became known */
    cairn_writer_tracks_end(&tracks, thread);
    assert_int_equal(tracks.blocks.count, 3);
    cairn_writer_tracks_drop(&tracks);
    assert_int_equal(tracks.blocks.count, 1);
    assert_null(cairn_writer_tracks_get(&tracks, process));
    assert_null(cairn_writer_tracks_get(&tracks, thread));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_over_goes_when_all_is_in_the_file, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_parents_stay_as_long_as_what_names_them, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
