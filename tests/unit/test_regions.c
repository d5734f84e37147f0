/* Regions and marks: what a process that was killed wrote down is what is read, and what is garbled
 * is nothing worse than less. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "announce.h"
#include "callspool.h"
#include "decode.h"
#include "finder.h"
#include "reader.h"
#include "regions.h"
#include "rng.h"
#include "spoolfile.h"
#include "ticks.h"

#define ROUNDS 1000 /* some pages */
#define GARBLED 300
#define PATIENCE_S 20

static struct cairn_regions regions;
static struct cairn_finder finder;

static uint64_t name_of(const char *text)
{
    return cairn_regions_name(&regions, (struct cairn_span){(const uint8_t *)text, strlen(text)});
}

/* Two that take turns, as tasks do: the first to begin is the first to end. */
static void take_turns(uint64_t name)
{
    struct cairn_region one = cairn_regions_begin(&regions, name);
    struct cairn_region other = cairn_regions_begin(&regions, name);

    cairn_regions_end(&regions, &one);
    cairn_regions_end(&regions, &other);
}

static void *work(void *unused)
{
    uint64_t name = name_of("work");

    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        take_turns(name);
    return NULL;
}

static void put_mark(void)
{
    double half = 0.5;
    uint64_t bits;

    memcpy(&bits, &half, sizeof(bits));
    const struct cairn_region_value values[] = {
        {name_of("number"), (uint64_t)-17, CAIRN_REGION_INTEGER},
        {name_of("loss"), bits, CAIRN_REGION_NUMBER},
        {name_of("kind"), name_of("train"), CAIRN_REGION_TEXT},
    };

    cairn_regions_mark(&regions, name_of("frame"), values, 3);
}

static void write_down(const char *folder)
{
    struct cairn_region whole, inherited;
    pthread_t thread;
    int status;
    pid_t pid;

    if (cairn_regions_open(&regions, folder) < 0)
        _exit(1);
    whole = cairn_regions_begin(&regions, name_of("whole"));
    (void)work(NULL);
    if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(2);
    put_mark();
    inherited = cairn_regions_begin(&regions, name_of("parent"));
    pid = fork();
    if (pid == 0) {
        cairn_regions_end(&regions, &inherited); /* that is its parent's to say */
        take_turns(name_of("child"));
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        _exit(3);
    cairn_regions_end(&regions, &inherited);
    cairn_regions_mark(&regions, name_of("last"), NULL, 0);
    (void)whole; /* is open when it ends */
    (void)kill(getpid(), SIGKILL);
}

static void make_folder(char folder[32])
{
    memcpy(folder, "/tmp/cairn-unit-XXXXXX", sizeof("/tmp/cairn-unit-XXXXXX"));
    assert_non_null(mkdtemp(folder));
}

static void leave_spools(char folder[32])
{
    int status;
    pid_t pid;

    make_folder(folder);
    pid = fork();
    if (pid == 0)
        write_down(folder);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

/* --- what is read --- */

struct found {
    int code;
    struct cairn_callspool_result result;
    uint64_t spans, open, moments, with_values, tracks; /* tracks: changes of it */
    uint64_t last_begin_ns, last_end_ns, turned;        /* pairs that end as they begin */
    uint64_t whole_ns, most_ns;                         /* of the open one; of the others */
};

static void add_rows(struct cairn_span section, struct found *found)
{
    const uint64_t *times, *durs, *states, *ons, *tracks;
    struct cairn_table table;

    cairn_table_init(&table);
    assert_int_equal(cairn_decode_table(section, &table), 0);
    assert_int_equal(table.kind, CAIRN_ROW_MARK);
    times = cairn_table_find(&table, "time");
    durs = cairn_table_find(&table, "dur");
    states = cairn_table_find(&table, "state");
    ons = cairn_table_find(&table, "on");
    tracks = cairn_table_find(&table, "track");
    assert_true(times && durs && states && ons && tracks && cairn_table_find(&table, "stack"));
    for (size_t i = 0; i < table.row_count; i++) {
        bool same = i > 0 && tracks[i] == tracks[i - 1];

        found->tracks += !same;
        if (same)
            assert_true(times[i] >= times[i - 1]);
        found->spans += states[i] == CAIRN_MARK_OVER;
        found->open += states[i] == CAIRN_MARK_OPEN;
        found->moments += states[i] == CAIRN_MARK_MOMENT;
        found->with_values += ons[i] != 0;
        if (states[i] == CAIRN_MARK_OPEN)
            found->whole_ns = durs[i];
        else
            found->most_ns += durs[i];
        found->turned += same && states[i] == CAIRN_MARK_OVER && states[i - 1] == CAIRN_MARK_OVER &&
                         times[i] <= times[i - 1] + durs[i - 1] &&
                         times[i] + durs[i] >= times[i - 1] + durs[i - 1];
    }
    cairn_table_release(&table);
}

static void read_spools(const char *folder, struct found *found, bool judged)
{
    const struct cairn_sink_options options = {.path = NULL};
    struct cairn_err err = {0};
    struct cairn_reader *reader;
    struct cairn_section section;
    struct cairn_sink *sink;
    struct cairn_span sections;
    struct cairn_cursor cursor;
    struct cairn_buf buf;
    uint64_t skipped = 0;

    *found = (struct found){.code = 0};
    assert_int_equal(cairn_sink_open(&options, &sink, &err), 0);
    found->code = cairn_callspool_write(folder, sink, 2, &found->result, &err);
    assert_int_equal(cairn_reader_open_fd(cairn_sink_fd(sink), &reader, &err), 0);
    cairn_buf_init(&buf, CAIRN_CHUNK_MAX_BYTES);
    for (size_t i = 0; judged && i < cairn_reader_chunk_count(reader); i++) {
        assert_int_equal(cairn_reader_load(reader, i, &buf, &sections, &err), 0);
        cairn_cursor_init(&cursor, sections);
        while (cairn_section_next(&cursor, &section, &skipped) == 0)
            if (section.kind == CAIRN_SECTION_ROWS)
                add_rows(section.bytes, found);
    }
    cairn_buf_release(&buf);
    cairn_reader_free(reader);
    assert_int_equal(cairn_sink_close(sink, &err), 0);
}

static void test_what_was_written_down_is_read(void **state)
{
    struct found found;
    char folder[32];

    (void)state;
    leave_spools(folder);
    assert_true(cairn_spoolfile_any(folder));
    read_spools(folder, &found, true);
    assert_int_equal(found.code, 0);
    assert_int_equal(found.result.regions.processes, 2);
    assert_int_equal(found.result.regions.lost, 0);
    assert_int_equal(found.result.regions.regions, 4 * ROUNDS + 1 + 2 + 1);
    assert_int_equal(found.result.regions.marks, 2);
    assert_int_equal(found.spans, 4 * ROUNDS + 1 + 2);
    assert_int_equal(found.open, 1);
    assert_int_equal(found.moments, 2);
    assert_int_equal(found.with_values, 1);
    assert_true(found.turned >= 2 * ROUNDS + 1); /* each pair; and those that touch by chance */
    assert_true(found.whole_ns > 0);
    cairn_spoolfile_remove_all(folder);
    assert_int_equal(access(folder, F_OK), -1);
}

static void test_a_child_does_not_end_what_its_parent_began(void **state)
{
    struct cairn_region open;
    struct found found;
    char folder[32];
    int status;
    pid_t pid;

    (void)state;
    make_folder(folder);
    memset(&regions, 0, sizeof(regions));
    assert_int_equal(cairn_regions_open(&regions, folder), 0);
    open = cairn_regions_begin(&regions, name_of("open"));
    pid = fork();
    if (pid == 0) {
        cairn_regions_end(&regions, &open);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    read_spools(folder, &found, true);
    assert_int_equal(found.open, 1);
    assert_int_equal(found.spans, 0);
    cairn_spoolfile_remove_all(folder);
}

static void test_long_regions_keep_their_length(void **state)
{
    static const int64_t lengths[] = {0, 1, (int64_t)1 << 33, (int64_t)1 << 40, (int64_t)1 << 55};

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct cairn_region_event event = {.what = (uint64_t)7 << CAIRN_REGION_NAME_SHIFT |
                                                   CAIRN_REGION_OPEN};
        struct cairn_region region = {.event = &event};
        struct cairn_regions none = {.file = 0};
        uint64_t told, length;
        unsigned scale;

        region.start = cairn_ticks_now() - lengths[i];
        cairn_regions_end(&none, &region);
        told = event.what & CAIRN_REGION_OPEN;
        assert_true(told != CAIRN_REGION_OPEN);
        assert_int_equal(event.what >> CAIRN_REGION_NAME_SHIFT, 7);
        scale = (unsigned)(told >> CAIRN_REGION_SCALE_SHIFT);
        length = (told & CAIRN_REGION_DURATION_MAX) << scale * CAIRN_REGION_SCALE_BITS;
        assert_true(length + ((uint64_t)1 << scale * CAIRN_REGION_SCALE_BITS) >=
                    (uint64_t)lengths[i]);
        assert_true(length <= (uint64_t)(cairn_ticks_now() - region.start));
    }
}

static int open_spool(const char *folder)
{
    struct dirent **names;
    char path[300];
    int count = scandir(folder, &names, NULL, alphasort), fd = -1;

    for (int i = 0; i < count; i++) {
        if (fd < 0 && strstr(names[i]->d_name, ".regions") != NULL) {
            (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
            fd = open(path, O_RDWR | O_CLOEXEC);
        }
        free(names[i]);
    }
    free(names);
    assert_true(fd >= 0);
    return fd;
}

static void test_garbled_files_are_less_and_nothing_worse(void **state)
{
    struct cairn_spool_head head;
    struct found found;
    char folder[32];
    int fd;

    (void)state;
    leave_spools(folder);
    fd = open_spool(folder);
    assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
    for (uint64_t i = 0; i < GARBLED; i++) {
        off_t at = (off_t)(cairn_rng_at(1, i) % head.used_bytes & ~(uint64_t)7);
        uint64_t value = cairn_rng_at(2, i), magic = CAIRN_SPOOL_MAGIC;

        if (i % 4 != 0) /* often the address of something that is there */
            value = head.base + (value % head.used_bytes & ~(uint64_t)7);
        assert_int_equal(pwrite(fd, &value, sizeof(value), at), sizeof(value));
        assert_int_equal(pwrite(fd, &magic, sizeof(magic), 0), sizeof(magic));
        read_spools(folder, &found, false);
        assert_int_equal(found.code, 0);
    }
    close(fd);
    cairn_spoolfile_remove_all(folder);
}

static void test_what_has_no_room_is_counted(void **state)
{
    char folder[32];

    (void)state;
    make_folder(folder);
    memset(&regions, 0, sizeof(regions));
    assert_int_equal(cairn_regions_open(&regions, folder), 0);
    regions.full = true;
    assert_null(cairn_regions_begin(&regions, 1).event);
    cairn_regions_mark(&regions, 1, NULL, 0);
    cairn_regions_mark(&regions, 0, NULL, 0);
    assert_int_equal(regions.spool.head->lost, 3);
    cairn_spoolfile_remove_all(folder);
}

static void test_a_file_that_cannot_grow_for_a_moment_is_tried_again(void **state)
{
    struct cairn_region region;
    struct rlimit most, none;
    char folder[32];
    time_t begun = time(NULL);
    uint64_t name;

    (void)state;
    make_folder(folder);
    memset(&regions, 0, sizeof(regions));
    assert_int_equal(cairn_regions_open(&regions, folder), 0);
    name = name_of("name");
    assert_int_not_equal(name, 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
    none = (struct rlimit){0, most.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    region = cairn_regions_begin(&regions, name);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
    assert_null(region.event);
    assert_false(regions.full);
    assert_int_equal(regions.spool.head->lost, 1);
    while (region.event == NULL && time(NULL) - begun < PATIENCE_S)
        region = cairn_regions_begin(&regions, name);
    assert_non_null(region.event);
    cairn_spoolfile_remove_all(folder);
}

static void test_another_recorder_gets_another_file(void **state)
{
    char first[32], second[32];
    struct cairn_region open;
    struct found found;
    uint32_t file;

    (void)state;
    make_folder(first);
    make_folder(second);
    memset(&regions, 0, sizeof(regions));
    assert_int_equal(cairn_regions_open(&regions, first), 0);
    file = cairn_regions_file(&regions);
    open = cairn_regions_begin(&regions, name_of("first"));
    assert_int_equal(cairn_regions_open(&regions, second), 0);
    assert_int_not_equal(cairn_regions_file(&regions), file);
    cairn_regions_end(&regions, &open);
    take_turns(name_of("second"));
    read_spools(first, &found, true);
    assert_int_equal(found.open, 1);
    assert_int_equal(found.spans, 0);
    read_spools(second, &found, true);
    assert_int_equal(found.open, 0);
    assert_int_equal(found.spans, 2);
    cairn_spoolfile_remove_all(first);
    cairn_spoolfile_remove_all(second);
}

/* --- who records --- */

static void write_wanted(const char *folder)
{
    char path[64];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/wanted", folder);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void test_an_announcement_holds_as_long_as_its_lock(void **state)
{
    char folder[32], found[CAIRN_SPOOL_PATH_BYTES];
    int lock, status;
    pid_t child;

    (void)state;
    make_folder(folder);
    assert_false(cairn_announce_find(false, found));
    assert_true(cairn_announce_make(getpid(), folder) < 0); /* there is nothing to lock */
    write_wanted(folder);
    lock = cairn_announce_make(getpid(), folder);
    assert_true(lock >= 0);
    assert_true(cairn_announce_find(false, found));
    assert_string_equal(found, folder);
    child = fork();
    if (child == 0) /* children find it by who their parent is */
        _exit(cairn_announce_find(true, found) && !cairn_announce_find(false, found) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_false(cairn_announce_find(false, found)); /* others may have put something there */
    assert_int_equal(chmod(folder, 0700), 0);
    assert_true(cairn_announce_find(false, found));
    assert_true(cairn_announce_make(getpid(), folder) < 0); /* somebody records already */
    close(lock);
    assert_false(cairn_announce_find(false, found));
    lock = cairn_announce_make(getpid(), folder); /* what was left behind makes room */
    assert_true(lock >= 0);
    cairn_announce_remove(getpid(), folder);
    assert_false(cairn_announce_find(false, found));
    close(lock);
    cairn_spoolfile_remove_all(folder);
}

static int announce(char folder[32], pid_t pid)
{
    int lock;

    make_folder(folder);
    write_wanted(folder);
    lock = cairn_announce_make(pid, folder);
    assert_true(lock >= 0);
    return lock;
}

/* As after some time. */
static bool finds_later(struct cairn_finder *of)
{
    of->looked -= 2 * (int64_t)CAIRN_FINDER_TICKS;
    return cairn_finder_look(of);
}

static void test_after_one_recorder_the_next_is_found(void **state)
{
    char first[32], second[32], third[32];
    int lock = announce(first, getpid());

    (void)state;
    memset(&finder, 0, sizeof(finder));
    assert_true(cairn_finder_is_on(&finder));
    assert_string_equal(finder.regions.spool.folder, first);
    assert_true(finds_later(&finder));
    assert_int_equal(cairn_regions_file(&finder.regions), finder.regions.file);
    close(lock); /* it was killed: link and folder are there still */
    assert_true(cairn_finder_is_on(&finder));
    assert_false(finds_later(&finder));
    lock = announce(second, getpid());
    assert_false(cairn_finder_is_on(&finder)); /* it is not due */
    assert_true(finds_later(&finder));
    assert_string_equal(finder.regions.spool.folder, second);
    cairn_announce_remove(getpid(), second);
    close(lock);
    lock = announce(third, getpid());
    assert_true(finds_later(&finder)); /* one came as the other went */
    assert_string_equal(finder.regions.spool.folder, third);
    finder.looked = cairn_ticks_now() + CAIRN_FINDER_TICKS; /* the counter was set back */
    assert_true(cairn_finder_is_due(&finder, cairn_ticks_now()));
    cairn_announce_remove(getpid(), third);
    close(lock);
    cairn_spoolfile_remove_all(first);
    cairn_spoolfile_remove_all(second);
    cairn_spoolfile_remove_all(third);
}

/* What a child of a recorded process finds; each number it may end with is a failure of its own. */
static int find_as_a_child(int begun, int announced)
{
    struct rlimit most, none;
    char byte = 0;

    if (cairn_finder_is_on(&finder))
        return 1;
    if (write(begun, &byte, 1) != 1 || read(announced, &byte, 1) != 1 || byte != 1)
        return 2;
    for (int i = 0; i < 8 && !finds_later(&finder); i++)
        ;
    if (!cairn_finder_is_on(&finder))
        return 3;
    memset(&finder, 0, sizeof(finder));
    if (getrlimit(RLIMIT_FSIZE, &most) < 0)
        return 4;
    none = (struct rlimit){4096, most.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &none) < 0 || cairn_finder_is_on(&finder))
        return 5;
    if (setrlimit(RLIMIT_FSIZE, &most) < 0 || !finds_later(&finder))
        return 6;
    return 0;
}

static void test_a_recorder_of_ancestors_is_found_later(void **state)
{
    int begun[2], announced[2], lock, status;
    char folder[32], byte = 0;
    pid_t child;

    (void)state;
    memset(&finder, 0, sizeof(finder));
    assert_int_equal(pipe(begun), 0);
    assert_int_equal(pipe(announced), 0);
    child = fork();
    if (child == 0)
        _exit(find_as_a_child(begun[1], announced[0]));
    close(begun[1]);
    assert_int_equal(read(begun[0], &byte, 1), 1);
    lock = announce(folder, getpid());
    byte = 1;
    assert_int_equal(write(announced[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    cairn_announce_remove(getpid(), folder);
    close(lock);
    close(begun[0]);
    close(announced[0]);
    close(announced[1]);
    cairn_spoolfile_remove_all(folder);
}

static void test_a_forked_child_looks_at_once(void **state)
{
    char folder[32];
    int lock, status;
    pid_t child;

    (void)state;
    memset(&finder, 0, sizeof(finder));
    assert_false(cairn_finder_is_on(&finder));
    lock = announce(folder, getpid());
    child = fork();
    if (child == 0)
        _exit(cairn_finder_is_on(&finder) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_false(cairn_finder_is_on(&finder)); /* it is not due */
    cairn_announce_remove(getpid(), folder);
    close(lock);
    cairn_spoolfile_remove_all(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_written_down_is_read),
        cmocka_unit_test(test_a_child_does_not_end_what_its_parent_began),
        cmocka_unit_test(test_long_regions_keep_their_length),
        cmocka_unit_test(test_garbled_files_are_less_and_nothing_worse),
        cmocka_unit_test(test_what_has_no_room_is_counted),
        cmocka_unit_test(test_a_file_that_cannot_grow_for_a_moment_is_tried_again),
        cmocka_unit_test(test_another_recorder_gets_another_file),
        cmocka_unit_test(test_an_announcement_holds_as_long_as_its_lock),
        cmocka_unit_test(test_after_one_recorder_the_next_is_found),
        cmocka_unit_test(test_a_recorder_of_ancestors_is_found_later),
        cmocka_unit_test(test_a_forked_child_looks_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
