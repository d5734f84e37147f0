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
#include "linecounts.h"
#include "spoolfile.h"
#include "ticks.h"
#include "timeline.h"

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

/* --- timelines --- */

#define EVENTS (3 * ROUNDS) /* of work() */

/* A folder with the spool of a process that was killed, and with the times of as many calls as so
 * many pages hold; 0: without. */
static void leave(char folder[32], size_t max_nodes, size_t pages, bool ring)
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
        static struct cairn_timeline timeline;

        cairn_exact_init(&exact, &host, MOST, max_nodes, MOST);
        if (cairn_spool_open(&spool, &cairn_spool_calls, folder) < 0)
            _exit(1);
        cairn_exact_spool(&exact, &spool, describe);
        if (pages > 0) {
            if (cairn_timeline_open(&timeline, &spool, pages * sizeof(struct cairn_event_page),
                                    ring) < 0)
                _exit(2);
            cairn_exact_keep_times(&exact, &timeline);
        }
        work(&exact);
        (void)kill(getpid(), SIGKILL);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void leave_spool(char folder[32])
{
    leave(folder, FEW_NODES, 0, false);
}

static void leave_some_times(char folder[32])
{
    leave(folder, MOST, 2, true);
}

/* --- lines --- */

#define UNITS 6
static const uint8_t what[UNITS] = {CAIRN_UNIT_LEADS,
                                    CAIRN_UNIT_LEADS | CAIRN_UNIT_WATCHES,
                                    CAIRN_UNIT_SPOT,
                                    CAIRN_UNIT_LEADS,
                                    0,
                                    0};
static const struct cairn_spot_place spot_place = {.unit = 2, .run = 1, .count = 1};
static const struct cairn_units_plan units_plan = {UNITS, 1, what, &spot_place};
static const char listing[] = "0\t9\t0\t1\t1\t\tRESUME 0\n"
                              "1\t9\t0\t1\t2\tFAST\tLOAD_CONST 1 (0)\n"
                              "2\t10\t0\t0\t1\t\tSTORE_FAST 0 (x)\n"
                              "3\t10\t1\t1\t0\t\tEXTENDED_ARG 1\n"
                              "4\t10\t0\t0\t1\t\tJUMP_BACKWARD 300 (to 2)\n"
                              "no line of a listing\n"
                              "99\t1\t0\t1\t0\t\tBEYOND_THE_END\n"
                              "5000000000\t1\t0\t1\t0\t\tNO_NUMBER";

static void meet(struct cairn_lines_hub *hub, const struct cairn_lines_code *code, uintptr_t key,
                 const char *name)
{
    struct cairn_spots *spots = cairn_lines_spots_now(hub, code);

    if (spots != NULL && !cairn_spots_meet(spots, 0, key))
        cairn_spots_name(hub, spots, 0, key,
                         (struct cairn_span){(const uint8_t *)name, strlen(name)});
}

/* Of every four rounds one raises in the second instruction. The third is given a number each time,
 * and once a round of many kinds, of which the last ones have no place. */
static void work_on_units(struct cairn_lines_hub *hub, struct cairn_lines_code *code)
{
    for (uintptr_t i = 0; i < ROUNDS; i++) {
        meet(hub, code, 1, "int");
        meet(hub, code, 2 + i % 8, "some");
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

/* Places at which lines 10 to 12 begin, in one run, and line 13; of line 12 nobody is ever told. */
#define PLACES 4
static const uint32_t plan_numbers[3 * PLACES] = {1, 10, 0, 3, 11, 0, 5, 12, 0, 6, 13, 3};
static const struct cairn_line_plan plan = {plan_numbers, 3 * PLACES, UNITS + 1};

/* Of every four rounds one raises between lines 10 and 11; 11 is told of once. Line 14 has no
 * place.
 */
static void work_on_counts(struct cairn_lines_hub *hub, struct cairn_lines_code *code)
{
    static bool told;

    for (int i = 0; i < ROUNDS; i++) {
        if (!cairn_lines_hit_at(hub, code, 1, 10))
            _exit(5);
        if (i % 4 == 0)
            cairn_lines_gone(hub, code, 2);
        else if (!told)
            told = !cairn_lines_hit_at(hub, code, 3, 11);
        if (!cairn_lines_hit_at(hub, code, 6, 13))
            _exit(6);
        cairn_lines_hit(hub, code, 14);
    }
    if (!told)
        _exit(7);
}

static struct cairn_lines_code *count_by_plan(struct cairn_lines_hub *hub,
                                              const struct cairn_exact_words *words)
{
    if (cairn_lines_count(hub, &keys[2], 10, 5, &plan, words) < 0)
        _exit(8);
    return cairn_lines_find(hub, &keys[2]);
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
    struct cairn_lines_code *counted;
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
    if (cairn_lines_count_units(&hub, &keys[0], &units_plan, &words[0],
                                (struct cairn_span){(const uint8_t *)listing, 20}) < 0)
        _exit(4);
    cairn_lines_list_again(&hub, &keys[0], &words[0],
                           (struct cairn_span){(const uint8_t *)listing, sizeof(listing) - 1});
    counted = count_by_plan(&hub, &words[1]);
    if (!cairn_lines_hit_at(&hub, counted, 3,
                            11)) /* in a run that began before: it counts itself */
        _exit(9);
    work_on_lines(&hub, counters);
    work_on_units(&hub, counters[0]->code);
    work_on_counts(&hub, counted);
    pid = fork();
    if (pid == 0) {
        work_on_lines(&hub, counters);
        work_on_lines(&hub, counters);
        work_on_units(&hub, counters[0]->code);
        work_on_counts(&hub, counted);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        _exit(3);
    work_on_lines(&hub, counters);
    work_on_units(&hub, counters[0]->code);
    work_on_counts(&hub, counted);
    hub.counts_units = false;
    work_on_units(&hub, counters[0]->code);
    work_on_counts(&hub, counted);
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
    uint64_t given_rows, ints, others, given; /* hits of what the third was given */
    bool judged;                              /* before: whether the file is whole */
    uint64_t times, time_ns, total_ns; /* rows of timelines, the sum of them, that of the tree */
};

/* They come in the order in which they began, and each lies within those that are on. */
static void add_times(const struct cairn_table *table, struct found *found)
{
    const uint64_t *times = cairn_table_find(table, "time");
    const uint64_t *durs = cairn_table_find(table, "dur");
    uint64_t ends[EVENTS + 1] = {UINT64_MAX};
    size_t depth = 1;

    assert_non_null(times);
    assert_non_null(durs);
    assert_non_null(cairn_table_find(table, "stack"));
    assert_in_range(table->row_count, 0, EVENTS);
    for (size_t i = 0; i < table->row_count; i++) {
        uint64_t end = times[i] + durs[i];

        if (i > 0)
            assert_true(times[i] >= times[i - 1]);
        while (ends[depth - 1] < end && ends[depth - 1] <= times[i])
            depth--;
        assert_true(end <= ends[depth - 1]);
        ends[depth++] = end;
        found->time_ns += durs[i];
    }
    found->times += table->row_count;
}

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

/* Which strings they are is not looked at: the first of each table is the number, 0 the others. */
static void add_given(const struct cairn_table *table, struct found *found)
{
    const uint64_t *offsets = cairn_table_find(table, "offset");
    const uint64_t *kinds = cairn_table_find(table, "on");
    const uint64_t *hits = cairn_table_find(table, "hits");

    assert_non_null(offsets);
    assert_non_null(kinds);
    assert_non_null(hits);
    for (size_t i = 0; i < table->row_count; i++) {
        assert_true(!found->judged || offsets[i] == 2 * 2);
        found->given += hits[i];
        if (kinds[i] == 0)
            found->others += hits[i];
        else if (kinds[i] == kinds[0])
            found->ints += hits[i];
    }
    found->given_rows += table->row_count;
}

static void add_rows(struct cairn_span section, struct found *found)
{
    struct cairn_table table;
    const uint64_t *calls, *resumes, *hits, *totals;

    cairn_table_init(&table);
    assert_int_equal(cairn_decode_table(section, &table), 0);
    if (table.kind == CAIRN_ROW_OPCODE) {
        add_units(&table, found);
        cairn_table_release(&table);
        return;
    }
    if (table.kind == CAIRN_ROW_GIVEN) {
        add_given(&table, found);
        cairn_table_release(&table);
        return;
    }
    if (table.kind == CAIRN_ROW_EVENT) {
        if (found->judged)
            add_times(&table, found);
        cairn_table_release(&table);
        return;
    }
    assert_true(table.kind == CAIRN_ROW_TREE || table.kind == CAIRN_ROW_LINE);
    calls = cairn_table_find(&table, "calls");
    resumes = cairn_table_find(&table, "resumes");
    hits = cairn_table_find(&table, "hits");
    totals = cairn_table_find(&table, "total");
    for (size_t i = 0; i < table.row_count; i++) {
        found->total_ns += totals != NULL ? totals[i] : 0;
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

    *found = (struct found){.judged = found->judged};
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
    struct found found = {.judged = true};
    char folder[32];

    (void)state;
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
    struct found found = {.judged = true};
    char folder[32];

    (void)state;
    leave_line_spools(folder);
    read_spool(folder, &found);
    assert_int_equal(found.code, 0);
    assert_int_equal(found.result.processes, 0);
    assert_int_equal(found.result.lines.processes, 2);
    assert_int_equal(found.result.lines.cut_short, 1);
    assert_int_equal(found.result.lines.lost, 0);
    /* The child's rounds are two of four; by the plan in each three lines and three quarters. */
    assert_int_equal(found.hits, 4 * ROUNDS * 4 + 3 * (3 * ROUNDS + ROUNDS / 4 * 3) + 1);
    assert_int_equal(found.result.lines.events, found.hits);
    assert_int_equal(found.rows, 2 * (4 + 4));
    /* In the parent twice, in the child once; what is not said to lead follows from what does. */
    assert_int_equal(found.unit_rows, 2 * 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(found.units[i], i == 2 ? 3 * ROUNDS / 4 * 3 : 3 * ROUNDS);
    assert_int_equal(found.result.lines.instructions, 3 * (4 * ROUNDS + ROUNDS / 4 * 3));
    /* Four kinds and the others, in each process. */
    assert_int_equal(found.given_rows, 2 * 5);
    assert_int_equal(found.given, 3 * 2 * ROUNDS);
    assert_int_equal(found.ints, 3 * ROUNDS);
    assert_int_equal(found.others, 3 * (ROUNDS / 8 * 5 + 1));
    cairn_spoolfile_remove_all(folder);
    assert_int_equal(access(folder, F_OK), -1);
}

static void test_a_timeline_holds_every_call(void **state)
{
    struct found found = {.judged = true};
    char folder[32];
    int64_t apart_ns;

    (void)state;
    leave(folder, MOST, 64, false);
    read_spool(folder, &found);
    assert_int_equal(found.code, 0);
    assert_int_equal(found.calls + found.resumes, EVENTS);
    assert_int_equal(found.times, EVENTS);
    /* Rounded to a ns: both ends there, each sum here. */
    apart_ns = (int64_t)(found.time_ns - found.total_ns);
    assert_in_range((uint64_t)(apart_ns + EVENTS), 0, 2 * EVENTS);
    cairn_spoolfile_remove_all(folder);
    assert_int_equal(access(folder, F_OK), -1);
}

static void test_a_timeline_tells_what_it_has_no_room_for(void **state)
{
    char folder[32];

    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        struct found found = {.judged = true};

        leave(folder, MOST, 1, ring != 0);
        read_spool(folder, &found);
        assert_int_equal(found.code, 0);
        assert_int_equal(found.calls + found.resumes, EVENTS);
        assert_int_equal(found.times, ring ? EVENTS - CAIRN_EVENTS_A_PAGE : CAIRN_EVENTS_A_PAGE);
        assert_int_equal(found.result.times.lost, ring ? 0 : EVENTS - CAIRN_EVENTS_A_PAGE);
        assert_int_equal(found.result.times.gone, ring ? CAIRN_EVENTS_A_PAGE : 0);
        cairn_spoolfile_remove_all(folder);
    }
}

static void test_long_calls_keep_their_length(void **state)
{
    static const struct {
        int64_t ticks;
        uint64_t most; /* that rounding may take */
    } cases[] = {{0, 0},
                 {1, 0},
                 {((int64_t)1 << 36) - 1, 0},
                 {(int64_t)1 << 36, 0},
                 {((int64_t)1 << 40) + 12345, 1024},
                 {INT64_MAX - 1, (uint64_t)1 << 30}};
    const uint64_t node = (uint64_t)77 << CAIRN_EVENT_NODE_SHIFT;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_event event;
        uint64_t got;

        cairn_event_begin(&event, node, 1);
        assert_int_equal(event.what & CAIRN_EVENT_OPEN, CAIRN_EVENT_OPEN);
        cairn_event_end(&event, node, 1, cases[i].ticks);
        assert_int_equal(event.what >> CAIRN_EVENT_NODE_SHIFT, 77);
        got = (event.what & CAIRN_EVENT_DURATION_MAX)
              << (event.what >> CAIRN_EVENT_SCALE_SHIFT & 3) * CAIRN_EVENT_SCALE_BITS;
        assert_in_range((uint64_t)cases[i].ticks - got, 0, cases[i].most);
        cairn_event_begin(&event, node, 1);
        cairn_event_end(&event, node, 2, 5); /* its place went to another */
        assert_int_equal(event.what & CAIRN_EVENT_OPEN, CAIRN_EVENT_OPEN);
        cairn_event_end(&event, node + ((uint64_t)1 << CAIRN_EVENT_NODE_SHIFT), 1, 5);
        assert_int_equal(event.what & CAIRN_EVENT_OPEN, CAIRN_EVENT_OPEN);
    }
}

static void path_of_spool(const char *folder, const char *suffix, char path[128])
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL)
        if (strstr(entry->d_name, suffix) != NULL)
            (void)snprintf(path, 128, "%s/%.64s", folder, entry->d_name);
    closedir(dir);
}

static void garble(void (*make)(char folder[32]), const char *suffix)
{
    struct cairn_spool_head head;
    char folder[32], path[128] = "";
    uint64_t kept, value;
    struct found found = {.judged = false};
    int fd;

    make(folder);
    path_of_spool(folder, suffix, path);
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
    garble(leave_spool, ".calls");
    garble(leave_line_spools, ".lines");
    garble(leave_some_times, ".calls");
    garble(leave_some_times, ".events");
}

/* A process that goes on may make a callee known after the place where that stands was copied. */
static void test_what_came_while_the_file_was_copied_is_not_lost(void **state)
{
    struct cairn_spool_head head;
    char folder[32], path[128] = "";
    const struct cairn_exact_key *none = NULL;
    struct found found = {.judged = true};
    off_t at;
    int fd;

    (void)state;
    leave_spool(folder);
    path_of_spool(folder, ".calls", path);
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

static off_t place_of(const struct cairn_spool_head *head, const void *address)
{
    assert_non_null(address);
    return (off_t)((uint64_t)(uintptr_t)address - head->base);
}

/* Says of two of its callees that they were called `first` and `second` times, and of all that it
 * counts that it cost `cost_ns`. Returns what it counts beside them. */
static void lie(const char *path, int64_t first, int64_t second, double cost_ns)
{
    const double costs[] = {cost_ns, cost_ns, cost_ns, cost_ns, cost_ns, cost_ns, cost_ns, cost_ns};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct cairn_exact_thread thread;
    struct cairn_spool_head head;
    struct cairn_exact_node node;
    const off_t calls = offsetof(struct cairn_exact_node, calls);

    assert_int_equal(sizeof(costs), sizeof(head.costs));
    assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
    memcpy(&head.costs, costs, sizeof(costs));
    assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
    assert_int_equal(pread(fd, &thread, sizeof(thread), place_of(&head, head.root)),
                     sizeof(thread));
    assert_int_equal(pread(fd, &node, sizeof(node), place_of(&head, thread.roots[0].first)),
                     sizeof(node));
    assert_int_equal(
        pwrite(fd, &first, sizeof(first), place_of(&head, thread.roots[0].first) + calls),
        sizeof(first));
    assert_int_equal(pwrite(fd, &second, sizeof(second),
                            place_of(&head, node.first ? node.first : node.next) + calls),
                     sizeof(second));
    close(fd);
}

/* However many events two files say they have: no mean cost is more than either says. */
static void test_costs_of_absurd_counts_stay_what_they_are(void **state)
{
    struct found found = {.judged = false};
    char folder[32], other[32], path[128] = "", moved[160];
    uint64_t sum;

    (void)state;
    leave_spool(folder);
    leave_spool(other);
    path_of_spool(other, ".calls", path);
    (void)snprintf(moved, sizeof(moved), "%s/1.1.calls", folder);
    assert_int_equal(rename(path, moved), 0);
    lie(moved, 1, 1, 999999);
    read_spool(folder, &found);
    sum = found.calls + found.resumes;
    /* Now it is 2^64 + 2. The first was on when it ended: one more call. */
    lie(moved, INT64_MAX - 1, INT64_MAX - (int64_t)sum + 7, 999999);
    read_spool(folder, &found);
    assert_int_equal(found.code, 0);
    cairn_spoolfile_remove_all(folder);
    cairn_spoolfile_remove_all(other);
}

/* What the kernel says of a process in a stat file: "x) (y" is its name. */
static uint64_t start_of(char state, int threads)
{
    char path[] = "/tmp/cairn-stat-XXXXXX";
    int fd = mkstemp(path);
    uint64_t start_ns;

    assert_true(fd >= 0);
    assert_true(dprintf(fd, "12 (x) (y) %c 1 2 2 0 -1 4 5 0 0 0 1 2 0 0 20 0 %d 0 700 9 9\n", state,
                        threads) > 0);
    close(fd);
    start_ns = cairn_spool_start_ns(path);
    unlink(path);
    return start_ns;
}

/* The first thread may end before others. */
static void test_a_zombie_with_threads_is_not_over(void **state)
{
    uint64_t start_ns = start_of('S', 1);

    (void)state;
    assert_int_not_equal(start_ns, 0);
    assert_int_equal(start_of('R', 2), start_ns);
    assert_int_equal(start_of('Z', 2), start_ns);
    assert_int_equal(start_of('Z', 1), 0);
    assert_int_equal(start_of('X', 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_process_left_all_it_counted),
        cmocka_unit_test(test_what_came_while_the_file_was_copied_is_not_lost),
        cmocka_unit_test(test_lines_of_a_killed_process_and_its_child_are_there),
        cmocka_unit_test(test_a_timeline_holds_every_call),
        cmocka_unit_test(test_a_timeline_tells_what_it_has_no_room_for),
        cmocka_unit_test(test_long_calls_keep_their_length),
        cmocka_unit_test(test_costs_of_absurd_counts_stay_what_they_are),
        cmocka_unit_test(test_a_garbled_file_is_read_to_an_end),
        cmocka_unit_test(test_a_zombie_with_threads_is_not_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
