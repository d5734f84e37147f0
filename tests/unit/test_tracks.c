/* What threads are called of which nobody can say it any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "sink.h"
#include "tracks.h"
#include "writer_parts.h"

static pid_t number_of_nobody(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

static void check_name(const struct cairn_writer *writer, uint32_t track, const char *name)
{
    uint32_t id = cairn_writer_tracks_get(&writer->tracks, track)->name;
    struct cairn_span span = cairn_writer_strings_get(&writer->strings, id);

    assert_int_equal(span.size_bytes, strlen(name));
    assert_memory_equal(span.data, name, span.size_bytes);
}

/* As of a program that is met before its exec, when the kernel has called it cairn. */
static void test_who_is_over_is_called_as_its_process_is_now(void **state)
{
    struct cairn_writer_options options = {.id = 1, .role = "collector", .pid = 1, .start_ns = 1};
    struct cairn_sink_options sink_options = {.path = NULL};
    struct cairn_worker gone = {.tid = number_of_nobody()}, *workers = &gone;
    struct cairn_subject *subject;
    struct cairn_writer *writer;
    struct cairn_sink *sink;

    (void)state;
    assert_int_equal(cairn_sink_open(&sink_options, &sink, NULL), 0);
    assert_int_equal(cairn_writer_open(sink, &options, &writer), 0);
    prctl(PR_SET_NAME, "before");
    assert_int_equal(cairn_subject_new(getpid(), cairn_clock_mono_ns(), &subject), 0);
    assert_int_equal(cairn_tracks_process(writer, 0, 0, subject), 0);
    check_name(writer, subject->track, "before");
    prctl(PR_SET_NAME, "after");
    assert_int_equal(cairn_tracks_process(writer, 0, 0, subject), 0);
    check_name(writer, subject->track, "after");
    subject->workers.items = &workers;
    subject->workers.count = 1;
    assert_int_equal(cairn_tracks_add_workers(writer, subject), 0);
    check_name(writer, gone.track, "after");
    subject->workers.items = NULL;
    subject->workers.count = 0;
    cairn_subject_free(subject);
    cairn_writer_free(writer);
    assert_int_equal(cairn_sink_close(sink, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_over_is_called_as_its_process_is_now),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
