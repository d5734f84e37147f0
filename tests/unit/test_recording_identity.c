#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording.h"

#define TEXT_MAX_BYTES ((size_t)1 << 22)

struct scene {
    char folder[32], path[48];
    struct cairn_buf truth, lines;
    struct recording_tally tally;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    snprintf(scene->folder, sizeof(scene->folder), "/tmp/cairn-test-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->path, sizeof(scene->path), "%s/all.cairn", scene->folder);
    cairn_buf_init(&scene->truth, TEXT_MAX_BYTES);
    cairn_buf_init(&scene->lines, TEXT_MAX_BYTES);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", scene->folder);
    assert_int_equal(system(command), 0);
    cairn_buf_release(&scene->truth);
    cairn_buf_release(&scene->lines);
    free(scene);
    return 0;
}

static void read_back(struct scene *scene)
{
    assert_int_equal(recording_dump(scene->path, &scene->lines, &scene->tally), 0);
    recording_sort(&scene->truth);
    recording_sort(&scene->lines);
    assert_string_equal(cairn_buf_cstr(&scene->lines), cairn_buf_cstr(&scene->truth));
    assert_int_equal(scene->tally.unknown, 0);
    assert_int_equal(scene->tally.jumped_bytes, 0);
    assert_true(scene->tally.ended);
}

/* How many lines say this of a row kind on a thread, whoever wrote them. */
static size_t count_rows(struct scene *scene, const char *kind, const char *text)
{
    size_t count = 0;
    char *copy = strdup(cairn_buf_cstr(&scene->lines)), *rest = copy, *line;

    while ((line = strsep(&rest, "\n")) != NULL)
        count += strncmp(line, kind, strlen(kind)) == 0 && strstr(line, text) != NULL;
    free(copy);
    return count;
}

static void test_every_kind_of_row_comes_back_joined(void **state)
{
    static const char *const kinds[] = {"1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "8 ", "9 "};
    struct scene *scene = *state;

    assert_int_equal(recording_write(scene->path, 0, false, &scene->truth), 0);
    read_back(scene);
    assert_int_equal(scene->tally.files, 1);

    /* On the one thread lie rows of the collector and of the agent, GPU spans on their stream. */
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        assert_true(count_rows(scene, kinds[i], "/P500@9000/T500@9000 ") > 0);
    assert_true(count_rows(scene, "7 ", "/P500@9000/G7@0 ") > 0);
    /* The forked child: sampled from outside, counted from inside. */
    assert_true(count_rows(scene, "1 ", "/P600@9900/T600@9900 ") > 0);
    assert_true(count_rows(scene, "2 ", "/P600@9900/T600@9900 ") > 0);
    assert_true(count_rows(scene, "6 ", "/P600@9900/T600@9900 ") > 0);
    assert_int_equal(count_rows(scene, "W ", ""), 3);
    assert_int_equal(count_rows(scene, "T ", "/P600@9900 worker"), 1);
}

static void test_each_file_of_a_set_stands_alone(void **state)
{
    struct scene *scene = *state;

    /* A byte is enough to go on after every chunk: the hardest case. */
    assert_int_equal(recording_write(scene->path, 1, false, &scene->truth), 0);
    read_back(scene);
    assert_true(scene->tally.files > 2 * RECORDING_CHUNK_PAIRS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_kind_of_row_comes_back_joined, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_file_of_a_set_stands_alone, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
