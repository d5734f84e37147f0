/* Whether somebody writes a recording is told by who holds it, and by nothing that stays behind. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io.h"
#include "scratch.h"
#include "sink.h"
#include "writing.h"

static int setup(void **state)
{
    struct scratch *scratch = calloc(1, sizeof(*scratch));

    scratch_make(scratch);
    alarm(50); /* no test here may hang */
    *state = scratch;
    return 0;
}

static int teardown(void **state)
{
    alarm(0);
    scratch_remove(*state);
    free(*state);
    return 0;
}

static struct cairn_writing look(const char *path)
{
    struct cairn_writing writing = {.held = false};

    cairn_writing_look(path, &writing);
    return writing;
}

static struct cairn_sink *open_sink(const char *path, uint64_t rotate_bytes)
{
    struct cairn_sink_options options = {.path = path, .rotate_bytes = rotate_bytes};
    struct cairn_sink *sink;

    assert_int_equal(cairn_sink_open(&options, &sink, NULL), 0);
    return sink;
}

static void append(struct cairn_sink *sink)
{
    static const uint8_t unknown[] = {0x7f << 1 & 0xff, 0};

    assert_int_equal(cairn_sink_append(sink, CAIRN_CHUNK_DATA, 1, 1, 2, 0,
                                       (struct cairn_span){unknown, sizeof(unknown)}, NULL),
                     0);
}

static void test_it_is_held_from_the_first_byte_to_the_last(void **state)
{
    const struct scratch *scratch = *state;
    struct cairn_writing nothing = look(scratch->path), before, after;
    struct cairn_sink *sink;

    assert_true(!nothing.held && nothing.files == 0);
    sink = open_sink(scratch->path, 0);
    before = look(scratch->path);
    assert_true(before.held && before.files == 1);
    append(sink);
    after = look(scratch->path);
    assert_true(after.held && !cairn_writing_same(&before, &after) && after.bytes > before.bytes);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
    assert_false(look(scratch->path).held);
}

/* Looking opens and closes the file: that takes no lock away, and leaves none. */
static void test_looking_changes_nothing(void **state)
{
    const struct scratch *scratch = *state;
    struct cairn_sink *sink = open_sink(scratch->path, 0);

    for (int i = 0; i < 3; i++) {
        struct cairn_writing one = look(scratch->path), other = look(scratch->path);

        assert_true(one.held && other.held && cairn_writing_same(&one, &other));
    }
    append(sink);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
}

static void test_the_file_that_rotation_goes_on_in_is_held(void **state)
{
    const struct scratch *scratch = *state;
    struct cairn_sink *sink = open_sink(scratch->path, 1);

    append(sink);
    append(sink);
    assert_int_equal(cairn_sink_turn(sink, NULL), 0);
    append(sink);
    assert_true(look(scratch->path).held && look(scratch->path).files == 2);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
    assert_false(look(scratch->path).held);
}

static void test_who_is_killed_holds_nothing(void **state)
{
    const struct scratch *scratch = *state;
    int ready[2], status;
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        append(open_sink(scratch->path, 0));
        (void)!write(ready[1], "", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_true(look(scratch->path).held);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(look(scratch->path).held);
    close(ready[0]);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_held_from_the_first_byte_to_the_last, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_looking_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_file_that_rotation_goes_on_in_is_held, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_who_is_killed_holds_nothing, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
