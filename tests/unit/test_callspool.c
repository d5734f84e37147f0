/* What is read of a spool: all of it after a SIGKILL, and nothing worse than less when it is
 * garbled. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "callspool.h"
#include "decode.h"
#include "exact.h"
#include "exact_parts.h"
#include "reader.h"
#include "rng.h"
#include "lines.h"
#include "spoolfile.h"
#include "ticks.h"

#define MOST ((size_t)64 << 20)
#define FEW_NODES 40 /* so that some calls are folded */
#define KEYS 8
#define ROUNDS 100
#define GARBLED 1500
#define LINES_FRAME ((uintptr_t)0x1000)

static char keys[KEYS];

static void *learn(void *context, const void *key, void *callee)
{
    (void)context, (void)callee;
    return (void *)(uintptr_t)key;
}

static void forget(void *context, void *learnt)
{
    (void)context, (void)learnt;
}

static void describe(void *context, void *learnt, struct cairn_exact_words *ret_words)
{
    static const uint8_t names[] = "abcdefgh";

    (void)context;
    ret_words->name = (struct cairn_span){&names[(char *)learnt - keys], 1};
    ret_words->file = (struct cairn_span){names, sizeof(names) - 1};
    ret_words->first_line = 7;
}

/* Calls of all kinds, some of which are open at the end. */
static void work(struct cairn_exact *exact)
{
    for (uintptr_t i = 0; i < ROUNDS; i++) {
        cairn_exact_enter(exact, &keys[i % KEYS], 1000 + 8 * i, i == 0 ? 0 : 992 + 8 * i, NULL);
        cairn_exact_enter(exact, &keys[0], 5001, 0, NULL);
        cairn_exact_leave(exact, 5001);
        cairn_exact_resume(exact, &keys[1], 6000, 0, NULL);
        cairn_exact_suspend(exact, 6000);
    }
}

/* A folder with the spool of a process that was killed. */
static void leave_spool(char folder[32])
{
    const struct cairn_exact_host host = {.learn = learn, .forget = forget};
    int status;
    pid_t pid;

    memcpy(folder, "/tmp/cairn-unit-XXXXXX", sizeof("/tmp/cairn-unit-XXXXXX"));
    assert_non_null(mkdtemp(folder));
    pid = fork();
    if (pid == 0) {
        static struct cairn_exact exact;
        static struct cairn_spool spool;

        cairn_exact_init(&exact, &host, MOST, FEW_NODES, MOST);
        if (cairn_spool_open(&spool, &cairn_spool_calls, folder) == 0) {
            cairn_exact_spool(&exact, &spool, describe);
            work(&exact);
        }
        (void)kill(getpid(), SIGKILL);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

/* --- lines --- */

#define UNITS 6
static const uint8_t leads[UNITS] = {1, 1, 0, 1, 0, 0};
static const char listing[] = "0\t9\t0\t1\t1\t\tRESUME 0\n"
                              "1\t9\t0\t1\t2\tFAST\tLOAD_CONST 1 (0)\n"
                              "2\t10\t0\t0\t1\t\tSTORE_FAST 0 (x)\n"
                              "3\t10\t1\t1\t0\t\tEXTENDED_ARG 1\n"
                              "4\t10\t0\t0\t1\t\tJUMP_BACKWARD 300 (to 2)\n"
                              "no line of a listing\n"
                              "99\t1\t0\t1\t0\t\tBEYOND_THE_END\n"
                              "5000000000\t1\t0\t1\t0\t\tNO_NUMBER";

/* Of every four rounds one raises in the second instruction. */
static void work_on_units(struct cairn_lines_hub *hub, const struct cairn_lines_code *code)
{
    for (int i = 0; i < ROUNDS; i++) {
        cairn_lines_unit(hub, code, 0);
        cairn_lines_unit(hub, code, 1);
        if (i % 4 == 0)
            cairn_lines_raise(hub, code, 1);
        cairn_lines_unit(hub, code, 3);
    }
}

/* Every function of two lines; the second is open when it ends. */
static void work_on_lines(struct cairn_lines_hub *hub, struct cairn_lines_counter *const *counters)
{
    for (int i = 0; i < ROUNDS; i++)
        for (uint32_t k = 0; k < 2; k++) {
            cairn_lines_enter(hub, counters[k]->code, LINES_FRAME + k);
            cairn_lines_line(hub, counters[k]->code, LINES_FRAME + k, 10);
            cairn_lines_line(hub, counters[k]->code, LINES_FRAME + k, 11);
            if (k == 1)
                cairn_lines_leave(hub, LINES_FRAME + k);
        }
}

static void count_lines_into(const char *folder)
{
    static struct cairn_lines_hub hub;
    static struct cairn_spool spool;
    const struct cairn_exact_words words[2] = {
        {{(const uint8_t *)"one", 3},
         {(const uint8_t *)"A.one", 5},
         {(const uint8_t *)"f.py", 4},
         9},
        {{(const uint8_t *)"two", 3}, {NULL, 0}, {(const uint8_t *)"f.py", 4}, 20}};
    struct cairn_lines_counter *counters[2];
    int status;
    pid_t pid;

    cairn_lines_init(&hub, (size_t)8 << 20);
    if (cairn_spool_open(&spool, &cairn_spool_lines, folder) < 0)
        _exit(1);
    cairn_lines_spool(&hub, &spool);
    for (size_t k = 0; k < 2; k++) {
        counters[k] = cairn_lines_add(&hub, &keys[k], 10, 5);
        if (counters[k] == NULL || cairn_lines_keep(&hub, counters[k], &words[k]) < 0)
            _exit(2);
        cairn_lines_on(counters[k]);
    }
    hub.counts_units = true;
    if (cairn_lines_count_units(&hub, &keys[0], UNITS, leads, &words[0],
                                (struct cairn_span){(const uint8_t *)listing, 20}) < 0)
        _exit(4);
    cairn_lines_list_again(&hub, &keys[0], &words[0],
                           (struct cairn_span){(const uint8_t *)listing, sizeof(listing) - 1});
    work_on_lines(&hub, counters);
    work_on_units(&hub, counters[0]->code);
    pid = fork();
    if (pid == 0) {
        work_on_lines(&hub, counters);
        work_on_lines(&hub, counters);
        work_on_units(&hub, counters[0]->code);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        _exit(3);
    work_on_lines(&hub, counters);
    work_on_units(&hub, counters[0]->code);
    hub.counts_units = false;
    work_on_units(&hub, counters[0]->code);
    (void)kill(getpid(), SIGKILL);
}

/* A folder with the spools of a process that counted lines and was killed, and of its child. */
static void leave_line_spools(char folder[32])
{
    int status;
    pid_t pid;

    memcpy(folder, "/tmp/cairn-unit-XXXXXX", sizeof("/tmp/cairn-unit-XXXXXX"));
    assert_non_null(mkdtemp(folder));
    pid = fork();
    if (pid == 0)
        count_lines_into(folder);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

/* --- what is read --- */

struct found {
    int code;
    struct cairn_callspool_result result;
    uint64_t calls, resumes, hits, rows;
    uint64_t units[UNITS], unit_rows;
};

static void add_units(const struct cairn_table *table, struct found *found)
{
    const uint64_t *offsets = cairn_table_find(table, "offset");
    const uint64_t *hits = cairn_table_find(table, "hits");

    assert_non_null(offsets);
    assert_non_null(hits);
    for (size_t i = 0; i < table->row_count; i++)
        found->units[offsets[i] / 2 < UNITS ? offsets[i] / 2 : 0] += hits[i];
    found->unit_rows += table->row_count;
}

static void add_rows(struct cairn_span section, struct found *found)
{
    struct cairn_table table;
    const uint64_t *calls, *resumes, *hits;

    cairn_table_init(&table);
    assert_int_equal(cairn_decode_table(section, &table), 0);
    if (table.kind == CAIRN_ROW_OPCODE) {
        add_units(&table, found);
        cairn_table_release(&table);
        return;
    }
    assert_true(table.kind == CAIRN_ROW_TREE || table.kind == CAIRN_ROW_LINE);
    calls = cairn_table_find(&table, "calls");
    resumes = cairn_table_find(&table, "resumes");
    hits = cairn_table_find(&table, "hits");
    for (size_t i = 0; i < table.row_count; i++) {
        found->calls += calls != NULL ? calls[i] : 0;
        found->resumes += resumes != NULL ? resumes[i] : 0;
        found->hits += hits != NULL ? hits[i] : 0;
    }
    found->rows += table.row_count;
    cairn_table_release(&table);
}

/* Writes a recording of what is there and adds up its rows. */
static void read_spool(const char *folder, struct found *found)
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
    for (size_t i = 0; i < cairn_reader_chunk_count(reader); i++) {
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

static void test_a_killed_process_left_all_it_counted(void **state)
{
    struct found found;
    char folder[32];

    (void)state;
    cairn_ticks_begin();
    leave_spool(folder);
    read_spool(folder, &found);
    assert_int_equal(found.code, 0);
    assert_int_equal(found.result.processes, 1);
    assert_int_equal(found.result.cut_short, 1);
    assert_int_equal(found.calls, 2 * ROUNDS);
    assert_int_equal(found.resumes, ROUNDS);
    cairn_spoolfile_remove_all(folder);
    assert_int_equal(access(folder, F_OK), -1);
}

static void test_lines_of_a_killed_process_and_its_child_are_there(void **state)
{
    struct found found;
    char folder[32];

    (void)state;
    cairn_ticks_begin();
    leave_line_spools(folder);
    read_spool(folder, &found);
    assert_int_equal(found.code, 0);
    assert_int_equal(found.result.processes, 0);
    assert_int_equal(found.result.lines.processes, 2);
    assert_int_equal(found.result.lines.cut_short, 1);
    assert_int_equal(found.result.lines.lost, 0);
    assert_int_equal(found.hits, 4 * ROUNDS * 4); /* the child's rounds are two of four */
    assert_int_equal(found.result.lines.events, found.hits);
    assert_int_equal(found.rows, 2 * 4);
    /* In the parent twice, in the child once; what is not said to lead follows from what does. */
    assert_int_equal(found.unit_rows, 2 * 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(found.units[i], i == 2 ? 3 * ROUNDS / 4 * 3 : 3 * ROUNDS);
    assert_int_equal(found.result.lines.instructions, 3 * (4 * ROUNDS + ROUNDS / 4 * 3));
    cairn_spoolfile_remove_all(folder);
    assert_int_equal(access(folder, F_OK), -1);
}

static void path_of_spool(const char *folder, char path[128])
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            (void)snprintf(path, 128, "%s/%.64s", folder, entry->d_name);
    closedir(dir);
}

static void garble(void (*leave)(char folder[32]))
{
    struct cairn_spool_head head;
    char folder[32], path[128] = "";
    uint64_t kept, value;
    struct found found;
    int fd;

    cairn_ticks_begin();
    leave(folder);
    path_of_spool(folder, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
    for (uint64_t i = 0; i < GARBLED; i++) {
        /* Any word of it becomes another one, often the address of something that is there. */
        off_t at = (off_t)(cairn_rng_at(1, i) % head.used_bytes & ~(uint64_t)7);

        value = cairn_rng_at(2, i);
        if (i % 4 != 0)
            value = head.base + value % head.used_bytes;
        if (i % 2 != 0)
            value &= ~(uint64_t)7;
        assert_int_equal(pread(fd, &kept, sizeof(kept), at), sizeof(kept));
        assert_int_equal(pwrite(fd, &value, sizeof(value), at), sizeof(value));
        read_spool(folder, &found);
        if (i % 3 != 0) /* what is not put right is one garble more for all that follow */
            assert_int_equal(pwrite(fd, &kept, sizeof(kept), at), sizeof(kept));
        if (i % 64 == 0) {
            uint64_t magic = CAIRN_SPOOL_MAGIC;

            assert_int_equal(pwrite(fd, &magic, sizeof(magic), 0), sizeof(magic));
        }
    }
    close(fd);
    cairn_spoolfile_remove_all(folder);
}

static void test_a_garbled_file_is_read_to_an_end(void **state)
{
    (void)state;
    garble(leave_spool);
    garble(leave_line_spools);
}

/* A process that goes on may make a callee known after the place where that stands was copied. */
static void test_what_came_while_the_file_was_copied_is_not_lost(void **state)
{
    struct cairn_spool_head head;
    char folder[32], path[128] = "";
    const struct cairn_exact_key *none = NULL;
    struct found found;
    off_t at;
    int fd;

    (void)state;
    cairn_ticks_begin();
    leave_spool(folder);
    path_of_spool(folder, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
    at = (off_t)((uint64_t)(uintptr_t)head.root - head.base +
                 offsetof(struct cairn_exact_thread, first_key));
    assert_int_equal(pwrite(fd, &none, sizeof(none), at), sizeof(none));
    read_spool(folder, &found);
    assert_true(found.result.lost > 0);
    assert_int_equal(found.calls, 0);

    head.pid = (uint64_t)getpid(); /* it lives */
    head.start_ns = cairn_spool_start_ns("/proc/self/stat");
    assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
    read_spool(folder, &found);
    assert_int_equal(found.result.lost, 0);
    close(fd);
    cairn_spoolfile_remove_all(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_process_left_all_it_counted),
        cmocka_unit_test(test_what_came_while_the_file_was_copied_is_not_lost),
        cmocka_unit_test(test_lines_of_a_killed_process_and_its_child_are_there),
        cmocka_unit_test(test_a_garbled_file_is_read_to_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
