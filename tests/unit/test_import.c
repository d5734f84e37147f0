#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "exactrows.h"
#include "guested.h"
#include "jsonin.h"
#include "table.h"

#define BYTES(text) ((struct cairn_span){(const uint8_t *)(text), sizeof(text) - 1})
#define US 1000u
#define MS 1000000u

struct loaded {
    struct cairn_model *model;
    struct cairn_tally tally;
    struct cairn_rows rows;
};

static struct loaded load_each(struct cairn_span bytes, uint64_t each_ns)
{
    struct cairn_rows_options options = {.with_idle = true};
    struct cairn_filter filter;
    struct cairn_err err = {0};
    struct loaded loaded;

    if (guested_load(NULL, bytes, each_ns, &loaded.model, &err) < 0)
        fail_msg("%s", err.text);
    cairn_filter_init(&filter);
    assert_int_equal(cairn_tally_make(loaded.model, &filter, &loaded.tally, NULL), 0);
    assert_int_equal(cairn_rows_make(&loaded.tally, &options, &loaded.rows, NULL), 0);
    return loaded;
}

static struct loaded load(struct cairn_span bytes)
{
    return load_each(bytes, 0);
}

static void release(struct loaded *loaded)
{
    cairn_rows_release(&loaded->rows);
    cairn_tally_release(&loaded->tally);
    cairn_model_free(loaded->model);
}

static const struct cairn_row *find(const struct loaded *loaded, const char *name)
{
    for (size_t i = 0; i < loaded->rows.count; i++)
        if (cairn_span_is(loaded->rows.items[i].qualname, name))
            return &loaded->rows.items[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static void assert_env(const struct loaded *loaded, const char *key, const char *value)
{
    struct cairn_span text = cairn_model_env(loaded->model, key);

    if (!cairn_span_is(text, value))
        fail_msg("%s is %.*s", key, (int)text.size_bytes, (const char *)text.data);
}

static void assert_refused(struct cairn_span bytes, int code, const char *said)
{
    struct cairn_model *model;
    struct cairn_err err = {0};

    assert_int_equal(guested_load(NULL, bytes, 0, &model, &err), code);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, said))
        fail_msg("%s", err.text);
}

static void test_collapsed(void **state)
{
    struct loaded loaded =
        load(BYTES("main (/a/b.py:3);f (g) (<x>:7) 1500\n\nmain (/a/b.py:9) 1\n"));
    const struct cairn_frame *frames;
    bool seen[10] = {false};

    (void)state;
    assert_int_equal(loaded.tally.total.value_ns, 1501 * US);
    assert_int_equal(find(&loaded, "main")->self.value_ns, US);
    assert_int_equal(find(&loaded, "main")->total.value_ns, 1501 * US);
    assert_true(cairn_span_is(find(&loaded, "f (g)")->file, "<x>"));
    for (size_t i = cairn_model_frames(loaded.model, &frames); i-- > 0;)
        if (frames[i].line < 10)
            seen[frames[i].line] = true;
    assert_true(seen[3] && seen[7] && seen[9]);
    assert_false(loaded.tally.counted);
    assert_true(find(&loaded, "main")->self_low != find(&loaded, "main")->self_low); /* no number */
    assert_true(loaded.rows.rankable);
    assert_env(&loaded, "import.format", "collapsed");
    release(&loaded);
}

static void test_a_stack_of_no_frames_keeps_its_number(void **state)
{
    struct loaded loaded = load(BYTES(" 54\na;b 6\n"));

    (void)state;
    assert_int_equal(loaded.tally.total.value_ns, 60 * US);
    assert_int_equal(find(&loaded, "[unknown]")->self.value_ns, 54 * US);
    assert_int_equal(find(&loaded, "a")->total.value_ns, 6 * US);
    release(&loaded);
    assert_refused(BYTES(" 54\n 6\n"), -CAIRN_EFOREIGN, "collapsed, pprof"); /* numbers alone */
}

static void test_counts_are_samples_when_their_rate_is_told(void **state)
{
    struct loaded loaded = load_each(BYTES("a;b 90\na 10\n"), 10 * MS);

    (void)state;
    assert_true(loaded.tally.counted);
    assert_int_equal(loaded.tally.total.ticks, 100);
    assert_int_equal(loaded.tally.total.value_ns, 1000 * MS);
    assert_true(find(&loaded, "b")->self_low > 0.8 && find(&loaded, "b")->self_low < 0.9);
    release(&loaded);
}

static void test_threads_and_processes_in_front(void **state)
{
    struct loaded loaded =
        load(BYTES("process:7;thread:w;f (a.py) 2\nprocess:8;thread:w;f (a.py) 3\n"
                   "P9;T0:11;a.py:f:4 5\ntid:12;a.py:g:4 6\n"));
    const struct cairn_thread *threads;
    const struct cairn_process *processes;

    (void)state;
    assert_int_equal(cairn_model_threads(loaded.model, &threads), 4);
    assert_int_equal(cairn_model_processes(loaded.model, &processes), 4);
    assert_int_equal(find(&loaded, "f")->self.value_ns, 10 * US);
    assert_int_equal(find(&loaded, "g")->self.value_ns, 6 * US);
    release(&loaded);
}

static void test_labels_stay_labels(void **state)
{
    struct loaded loaded = load_each(BYTES("main (a.py:1);[torn] 3\n[not python] 2\n"), MS);

    (void)state;
    assert_int_equal(loaded.tally.torn, 3);
    assert_int_equal(cairn_model_quality(loaded.model)->samples, 5);
    release(&loaded);
}

static void test_speedscope_sampled_and_evented(void **state)
{
    struct loaded loaded = load(
        BYTES("{\"profiles\":[{\"weights\":[2,0.5],\"type\":\"sampled\",\"samples\":[[0,1],[0]],"
              "\"startValue\":0,\"unit\":\"milliseconds\",\"name\":\"m (pid 7, tid 8)\"},"
              "{\"type\":\"evented\",\"name\":\"e\",\"unit\":\"nanoseconds\",\"startValue\":0,"
              "\"events\":["
              "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"frame\":1,\"at\":100,\"type\":\"O\"},"
              "{\"type\":\"C\",\"frame\":1,\"at\":400},{\"type\":\"C\",\"frame\":0,\"at\":500}]}],"
              "\"shared\":{\"frames\":[{\"name\":\"a\",\"file\":\"a.py\",\"line\":1},{\"name\":"
              "\"b\"}]}}"));
    const struct cairn_thread *threads;

    (void)state;
    assert_int_equal(loaded.tally.total.value_ns, 2500 * US + 500);
    assert_int_equal(find(&loaded, "a")->self.value_ns, 500 * US + 200);
    assert_int_equal(find(&loaded, "b")->self.value_ns, 2000 * US + 300);
    assert_int_equal(cairn_model_threads(loaded.model, &threads), 2);
    assert_int_equal(threads[0].tid + threads[1].tid, 8);
    release(&loaded);
}

/* main (0.25 s of its own) calls work (1.5 s), which calls itself and len (0.25 s). */
static void test_who_called_whom_is_no_stack(void **state)
{
    static const char path[] = "tests/corpus/in_prof/whole";
    uint8_t bytes[4096];
    FILE *file = fopen(path, "rb");
    struct loaded loaded;
    size_t size_bytes;

    (void)state;
    assert_non_null(file);
    size_bytes = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    loaded = load((struct cairn_span){bytes, size_bytes});
    assert_env(&loaded, "import.stacks", "inferred");
    assert_false(loaded.tally.counted);
    assert_int_equal(loaded.tally.total.value_ns, 2000 * MS);
    assert_int_equal(find(&loaded, "main")->self.value_ns, 250 * MS);
    assert_int_equal(find(&loaded, "work")->self.value_ns, 1500 * MS);
    assert_int_equal(find(&loaded, "<built-in len>")->self.value_ns, 250 * MS);
    assert_int_equal(find(&loaded, "main")->total.value_ns, 2000 * MS);
    assert_int_equal(find(&loaded, "work")->total.value_ns, 1750 * MS);
    release(&loaded);
}

static const struct cairn_exact_line *line_of(const struct loaded *loaded,
                                              const struct cairn_exact_table *table,
                                              const char *name)
{
    const struct cairn_function *functions;

    cairn_model_functions(loaded->model, &functions);
    for (size_t i = 0; i < table->lines.count; i++)
        if (cairn_span_is(functions[table->lines.items[i].function].qualname, name))
            return &table->lines.items[i];
    fail_msg("there is no %s", name);
    return NULL;
}

/* Its numbers stand beside the stacks that were inferred, and are none of theirs. */
static void test_what_was_counted_is_kept_as_it_is(void **state)
{
    static const char path[] = "tests/corpus/in_prof/whole";
    const struct cairn_exact_caller *caller;
    const struct cairn_exact_line *line;
    struct cairn_exact_table table;
    uint8_t bytes[4096];
    FILE *file = fopen(path, "rb");
    struct loaded loaded;
    size_t size_bytes;

    (void)state;
    assert_non_null(file);
    size_bytes = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    loaded = load((struct cairn_span){bytes, size_bytes});
    assert_true(cairn_exact_table_has(&loaded.tally));
    assert_int_equal(cairn_exact_table_make(&loaded.tally, CAIRN_SORT_SELF, &table), 0);
    assert_int_equal(table.lines.count, 3);
    line = line_of(&loaded, &table, "work");
    assert_int_equal(line->calls, 8);
    assert_int_equal(line->primitive_calls, 3);
    assert_true(line->self_s == 1.5 && line->total_s == 1.75);
    assert_int_equal(line->caller_count, 2);
    caller = &table.callers.items[line->first_caller];
    assert_int_equal(caller->function, line->function); /* most calls: its own */
    assert_int_equal(caller->calls, 5);
    assert_int_equal(caller->primitive_calls, 0);
    assert_int_equal(caller->self_ns, 1000 * MS);
    assert_int_equal(caller->total_ns, 1000 * MS);
    assert_int_equal(caller[1].calls, 3);
    assert_int_equal(caller[1].self_ns, 500 * MS);
    assert_string_equal(line_of(&loaded, &table, "<built-in len>")->kind, "c");
    cairn_exact_table_release(&table);
    loaded.tally.filter.focus =
        (struct cairn_patterns){(const char *const[]){"work"}, 1}; /* it knows no stacks */
    assert_false(cairn_exact_table_has(&loaded.tally));
    release(&loaded);
}

static void test_what_is_refused_is_told(void **state)
{
    (void)state;
    assert_refused(BYTES("hello world\n"), -CAIRN_EFOREIGN, "collapsed, pprof");
    assert_refused(BYTES("\0\0\0\0"), -CAIRN_EFOREIGN, "no recording");
    assert_refused(BYTES("a 1\na 1\na 1\na 1\na 1\na 1\na 1\na 1\nhello\n"), -CAIRN_EDAMAGED,
                   "line 9");
    assert_refused(BYTES("{\"profiles\":[{}],\"shared\":{\"frames\":[]}}"), -CAIRN_EDAMAGED,
                   "no unit");
    assert_refused(BYTES("{\"profiles\":[],\"shared\":{\"frames\":[]}"), -CAIRN_EDAMAGED, "byte");
    assert_refused(BYTES("\x1f\x8b\x08\0\0\0\0\0\0\0"), -CAIRN_EDAMAGED, "gzip");
    assert_refused(BYTES("a 999999999999999999\n"), -CAIRN_EDAMAGED, "line 1");
}

static int read_json(struct cairn_span bytes, bool lenient)
{
    struct cairn_jsonin json;
    struct cairn_feed feed;
    int code;

    assert_int_equal(cairn_feed_open_span(&feed, bytes), 0);
    cairn_jsonin_init(&json, &feed);
    json.lenient = lenient;
    code = cairn_jsonin_skip(&json);
    if (code == 0)
        code = cairn_jsonin_end(&json);
    cairn_jsonin_release(&json);
    cairn_feed_release(&feed);
    return code;
}

static void test_json_is_json(void **state)
{
    static const char *const good[] = {
        "1",       " [ ] ",  "{}", "[1,2,[]]", "{\"a\":{\"b\":[null,true]}}", "\"\\u0041\\\"\"",
        "-1.5e+3", "[{},{}]"};
    static const char *const bad[] = {"",           "[",     "{",   "[1,]", "{\"a\"}",
                                      "{\"a\":1,}", "[1 2]", "[1}", "tru",  "\"",
                                      "\"\\x\"",    "{1:2}", "1 1", "]"};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(
            read_json((struct cairn_span){(const uint8_t *)good[i], strlen(good[i])}, false), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (read_json((struct cairn_span){(const uint8_t *)bad[i], strlen(bad[i])}, false) !=
            -CAIRN_EDAMAGED)
            fail_msg("taken for JSON: %s", bad[i]);
    assert_int_equal(read_json(BYTES("[{},[1],"), true), 0);
    assert_int_equal(read_json(BYTES("[{},[1]"), true), 0);
    assert_int_equal(read_json(BYTES("[{},{\"a\":"), true), -CAIRN_EDAMAGED);
}

static void test_json_texts_and_numbers(void **state)
{
    struct cairn_jsonin json;
    struct cairn_span text;
    struct cairn_feed feed;
    int64_t whole;
    double number;

    (void)state;
    assert_int_equal(
        cairn_feed_open_span(&feed, BYTES("[\"\\ud83d\\ude00\\ud800x\\n\",9007199254740993,1e3,"
                                          "null,0.5]")),
        0);
    cairn_jsonin_init(&json, &feed);
    assert_int_equal(cairn_jsonin_enter(&json, '['), 0);
    assert_int_equal(cairn_jsonin_item(&json), 1);
    assert_int_equal(cairn_jsonin_text(&json, &text), 0);
    assert_true(cairn_span_is(text, "\xf0\x9f\x98\x80\xef\xbf\xbdx\n"));
    assert_int_equal(cairn_jsonin_item(&json), 1);
    assert_int_equal(cairn_jsonin_whole(&json, &whole), 0);
    assert_true(whole == 9007199254740993);
    assert_int_equal(cairn_jsonin_item(&json), 1);
    assert_int_equal(cairn_jsonin_whole(&json, &whole), 0);
    assert_int_equal(whole, 1000);
    assert_int_equal(cairn_jsonin_item(&json), 1);
    assert_int_equal(cairn_jsonin_number(&json, &number), 0);
    assert_true(number != number);
    assert_int_equal(cairn_jsonin_item(&json), 1);
    assert_int_equal(cairn_jsonin_whole(&json, &whole), -CAIRN_EDAMAGED);
    cairn_jsonin_release(&json);
    cairn_feed_release(&feed);
}

static void test_short_memory_is_an_answer(void **state)
{
    struct cairn_span bytes = BYTES("main (a.py:1);f (b.py:2) 15\nmain (a.py:1) 3\n");
    long tries = 0;

    (void)state;
    for (;; tries++) {
        struct cairn_model *model = NULL;
        int code;

        cairn_alloc_fail_after(tries);
        code = guested_load(cairn_in_collapsed, bytes, 0, &model, NULL);
        if (code == 0) /* what failed, if it did, was asked for again or not needed */
            cairn_model_free(model);
        else
            assert_int_equal(code, -CAIRN_ENOMEM);
        if (!cairn_alloc_has_failed())
            break;
    }
    cairn_alloc_fail_after(-1);
    assert_true(tries > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_a_stack_of_no_frames_keeps_its_number),
        cmocka_unit_test(test_counts_are_samples_when_their_rate_is_told),
        cmocka_unit_test(test_threads_and_processes_in_front),
        cmocka_unit_test(test_labels_stay_labels),
        cmocka_unit_test(test_speedscope_sampled_and_evented),
        cmocka_unit_test(test_who_called_whom_is_no_stack),
        cmocka_unit_test(test_what_was_counted_is_kept_as_it_is),
        cmocka_unit_test(test_what_is_refused_is_told),
        cmocka_unit_test(test_json_is_json),
        cmocka_unit_test(test_json_texts_and_numbers),
        cmocka_unit_test(test_short_memory_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
