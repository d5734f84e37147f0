#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <zlib.h>

#include "alloc.h"
#include "dump.h"
#include "export.h"
#include "perfetto.pb-c.h"
#include "pprof.pb-c.h"
#include "profile.h"

struct fixture {
    struct cairn_model *model;
    struct cairn_tally tally;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct cairn_filter filter;

    fixture->model = profile_load();
    cairn_filter_init(&filter);
    assert_int_equal(cairn_tally_make(fixture->model, &filter, &fixture->tally, NULL), 0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    cairn_tally_release(&fixture->tally);
    cairn_model_free(fixture->model);
    free(fixture);
    return 0;
}

static const struct cairn_exporter *exporter_of(const char *format)
{
    const struct cairn_exporter *exporter = cairn_exporters;

    while (exporter->name != NULL && strcmp(exporter->name, format) != 0)
        exporter++;
    assert_non_null(exporter->name);
    return exporter;
}

static void export_as(const struct cairn_tally *tally, const char *format,
                      const struct cairn_export_options *options, struct cairn_outlet *out)
{
    cairn_outlet_init(out, -1, "memory");
    assert_int_equal(cairn_export(exporter_of(format), tally, options, out, NULL), 0);
}

/* Sums the numbers behind the last blank of each line; counts the lines. */
static uint64_t sum_of_lines(const char *text, size_t *ret_lines)
{
    uint64_t sum = 0;

    for (*ret_lines = 0; *text; (*ret_lines)++) {
        const char *end = strchr(text, '\n'), *blank = end;

        assert_non_null(end);
        while (*blank != ' ')
            assert_true(--blank > text);
        for (const char *digit = blank + 1; digit < end; digit++)
            assert_true(isdigit((unsigned char)*digit));
        sum += strtoull(blank + 1, NULL, 10);
        text = end + 1;
    }
    return sum;
}

static void test_collapsed_sums_are_exact(void **state)
{
    const struct cairn_tally *tally = &((struct fixture *)*state)->tally;

    for (unsigned i = 0; i < 24; i++) {
        struct cairn_export_options options = {
            .lines = (enum cairn_export_lines)(i % 4),
            .threads = i & 4,
            .processes = i & 8,
            .samples = i >= 16,
        };
        struct cairn_outlet out;
        size_t lines;
        uint64_t sum;

        export_as(tally, "collapsed", &options, &out);
        sum = sum_of_lines(cairn_buf_cstr(&out.buf), &lines);
        assert_true(lines > 10);
        if (options.samples)
            assert_int_equal(sum, tally->total.ticks);
        else
            assert_int_equal(sum, (tally->total.value_ns + 500) / 1000);
        cairn_outlet_release(&out);
    }
}

static void test_collapsed_frames_read_as_promised(void **state)
{
    const struct cairn_tally *tally = &((struct fixture *)*state)->tally;
    struct cairn_export_options options = {.threads = true, .processes = true};
    static const char *const wanted[] = {
        "process:100;thread:MainThread;<module> (/home/you/shop/shop.py:40);main "
        "(/home/you/shop/shop.py:33);Cart.total (tests/golden/cart.py:14) ",
        ";hard\\x3b\\x1b[31m\\x0a<b>&\"'\xef\xbf\xbd\xe7\xa9\xba\xe2\x80\xae "
        "(/home/you/shop/hard\\x3b\\x0a<name>.py:2) ",
        ";fib (/home/you/shop/fib.py:3);fib (/home/you/shop/fib.py:3);fib "
        "(/home/you/shop/fib.py:2) ",
        "main (/home/you/shop/shop.py:33);[torn] ",
        "process:100;thread:w\xc3\xb6rker\\x3b"
        "1;Thread._bootstrap (",
    };
    struct cairn_outlet out;
    const char *text;

    export_as(tally, "collapsed", &options, &out);
    text = cairn_buf_cstr(&out.buf);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!strstr(text, wanted[i]))
            fail_msg("no stack holds %s", wanted[i]);
    cairn_outlet_release(&out);

    options = (struct cairn_export_options){.lines = CAIRN_EXPORT_LINES_FIRST};
    export_as(tally, "collapsed", &options, &out);
    assert_non_null(strstr(cairn_buf_cstr(&out.buf), "Cart.total (tests/golden/cart.py:12) "));
    cairn_outlet_release(&out);

    options.lines = CAIRN_EXPORT_LINES_NONE;
    export_as(tally, "collapsed", &options, &out);
    assert_non_null(strstr(cairn_buf_cstr(&out.buf), "Cart.total (tests/golden/cart.py) "));
    cairn_outlet_release(&out);
}

static void inflate_all(const struct cairn_buf *packed, struct cairn_buf *plain)
{
    z_stream stream = {.next_in = packed->data, .avail_in = (uInt)packed->size_bytes};
    int answer;

    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    do {
        assert_int_equal(cairn_buf_reserve(plain, 65536), 0);
        stream.next_out = plain->data + plain->size_bytes;
        stream.avail_out = 65536;
        answer = inflate(&stream, Z_NO_FLUSH);
        plain->size_bytes += 65536 - stream.avail_out;
    } while (answer == Z_OK);
    assert_int_equal(answer, Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    inflateEnd(&stream);
}

static const char *pprof_text(const Pprof__Profile *profile, int64_t index)
{
    assert_true(index >= 0 && (size_t)index < profile->n_string_table);
    return profile->string_table[index];
}

/* The names of a sample's functions, root first, joined by ';'. */
static void pprof_stack(const Pprof__Profile *profile, const Pprof__Sample *sample,
                        struct cairn_buf *out)
{
    cairn_buf_clear(out);
    for (size_t i = sample->n_location_id; i-- > 0;) {
        const Pprof__Location *location = NULL;
        const Pprof__Function *function = NULL;

        for (size_t j = 0; j < profile->n_location; j++)
            if (profile->location[j]->id == sample->location_id[i])
                location = profile->location[j];
        assert_non_null(location);
        assert_int_equal(location->n_line, 1);
        for (size_t j = 0; j < profile->n_function; j++)
            if (profile->function[j]->id == location->line[0]->function_id)
                function = profile->function[j];
        assert_non_null(function);
        cairn_buf_add_str(out, pprof_text(profile, function->name));
        cairn_buf_u8(out, ';');
    }
}

static void test_pprof_comes_back_through_protobuf(void **state)
{
    const struct cairn_tally *tally = &((struct fixture *)*state)->tally;
    struct cairn_export_options options = {0};
    struct cairn_outlet out;
    struct cairn_buf plain, stack;
    Pprof__Profile *profile;
    uint64_t samples = 0, wall_ns = 0, cpu_ns = 0;
    bool recursion = false;

    export_as(tally, "pprof", &options, &out);
    cairn_buf_init(&plain, 1 << 24);
    cairn_buf_init(&stack, 1 << 20);
    inflate_all(&out.buf, &plain);
    profile = pprof__profile__unpack(NULL, plain.size_bytes, plain.data);
    assert_non_null(profile);
    assert_string_equal(profile->string_table[0], "");
    assert_int_equal(profile->n_sample_type, 5);
    assert_string_equal(pprof_text(profile, profile->sample_type[1]->type), "wall");
    assert_string_equal(pprof_text(profile, profile->sample_type[1]->unit), "nanoseconds");
    assert_string_equal(pprof_text(profile, profile->default_sample_type), "wall");
    for (size_t i = 0; i < profile->n_sample; i++) {
        const Pprof__Sample *sample = profile->sample[i];

        assert_int_equal(sample->n_value, 5);
        assert_int_equal(sample->n_label, 5);
        samples += (uint64_t)sample->value[0];
        wall_ns += (uint64_t)sample->value[1];
        cpu_ns += (uint64_t)sample->value[2];
        pprof_stack(profile, sample, &stack);
        if (strstr(cairn_buf_cstr(&stack), "pack;"))
            assert_string_equal(pprof_text(profile, sample->label[0]->str), "w\xc3\xb6rker;1");
        recursion |= strstr(cairn_buf_cstr(&stack), "main;fib;fib;fib;") != NULL;
    }
    assert_true(recursion);
    assert_int_equal(samples, tally->total.ticks);
    assert_int_equal(wall_ns, tally->total.value_ns);
    assert_int_equal(cpu_ns, tally->state_ns[CAIRN_STATE_RUNNING]);
    pprof__profile__free_unpacked(profile, NULL);
    cairn_buf_release(&plain);
    cairn_buf_release(&stack);
    cairn_outlet_release(&out);
}

/* What the samples of a trace sum to, and whether each number in them was told before. */
struct perfetto_sums {
    uint64_t primary, follower;
    size_t samples, stacks, frames, names, tasks;
};

static void perfetto_sample(const Perfetto__StackSample *sample, struct perfetto_sums *sums)
{
    assert_in_range(sample->task_context_iid, 1, 1 << 20);
    assert_true(sample->has_callstack_iid && sample->has_primary_weight);
    assert_int_equal(sample->n_follower_weights, 1);
    sums->primary += sample->primary_weight;
    sums->follower += sample->follower_weights[0];
    sums->samples++;
}

/* Numbers of names, frames and threads are given out in order, or once. */
static void perfetto_tables(const Perfetto__InternedData *data, struct perfetto_sums *sums)
{
    for (size_t i = 0; i < data->n_function_names; i++)
        assert_int_equal(data->function_names[i]->iid, ++sums->names);
    for (size_t i = 0; i < data->n_frames; i++) {
        assert_int_equal(data->frames[i]->iid, ++sums->frames);
        assert_in_range(data->frames[i]->function_name_id, 1, sums->names);
    }
    for (size_t i = 0; i < data->n_callstacks; i++, sums->stacks++)
        for (size_t at = 0; at < data->callstacks[i]->n_frame_ids; at++)
            assert_in_range(data->callstacks[i]->frame_ids[at], 1, sums->frames);
    sums->tasks += data->n_stack_sample_task_contexts;
}

static struct perfetto_sums perfetto_sums(const struct cairn_tally *tally,
                                          const struct cairn_export_options *options)
{
    struct perfetto_sums sums = {0};
    struct cairn_outlet out;
    Perfetto__Trace *trace;

    export_as(tally, "perfetto", options, &out);
    trace = perfetto__trace__unpack(NULL, out.buf.size_bytes, out.buf.data);
    assert_non_null(trace);
    for (size_t i = 0; i < trace->n_packet; i++) {
        const Perfetto__TracePacket *packet = trace->packet[i];

        if (packet->interned_data)
            perfetto_tables(packet->interned_data, &sums);
        if (packet->stack_sample)
            perfetto_sample(packet->stack_sample, &sums);
    }
    perfetto__trace__free_unpacked(trace, NULL);
    cairn_outlet_release(&out);
    return sums;
}

static void test_perfetto_stack_samples_sum_to_the_tally(void **state)
{
    const struct cairn_tally *tally = &((struct fixture *)*state)->tally;
    const struct cairn_thread *threads;

    for (int lines = CAIRN_EXPORT_LINES_EXECUTING; lines <= CAIRN_EXPORT_LINES_NONE; lines++) {
        struct cairn_export_options options = {.lines = (enum cairn_export_lines)lines};
        struct perfetto_sums sums = perfetto_sums(tally, &options);

        assert_int_equal(sums.primary, tally->total.value_ns);
        assert_int_equal(sums.follower, tally->total.ticks);
        assert_true(sums.stacks > 10);
        if (lines == CAIRN_EXPORT_LINES_FIRST)
            assert_true(sums.samples > sums.stacks); /* one is met twice, and told once */
        assert_true(sums.frames >= sums.names);
        assert_in_range(sums.tasks, 2, cairn_model_threads(tally->model, &threads));
        options.samples = true;
        sums = perfetto_sums(tally, &options);
        assert_int_equal(sums.primary, tally->total.ticks);
        assert_int_equal(sums.follower, tally->total.value_ns);
    }
}

static void test_speedscope_sums_to_the_tally(void **state)
{
    const struct cairn_tally *tally = &((struct fixture *)*state)->tally;
    struct cairn_export_options options = {0};
    struct cairn_outlet out;
    json_t *document, *profile, *item;
    uint64_t sum_ns = 0;
    size_t i, j, frame_count;

    export_as(tally, "speedscope", &options, &out);
    document = json_loadb((const char *)out.buf.data, out.buf.size_bytes, 0, NULL);
    assert_non_null(document);
    frame_count = json_array_size(json_object_get(json_object_get(document, "shared"), "frames"));
    assert_int_equal(json_array_size(json_object_get(document, "profiles")), 3);
    json_array_foreach(json_object_get(document, "profiles"), i, profile)
    {
        uint64_t of_thread_ns = 0;

        assert_int_equal(json_array_size(json_object_get(profile, "samples")),
                         json_array_size(json_object_get(profile, "weights")));
        json_array_foreach(json_object_get(profile, "weights"), j, item) of_thread_ns +=
            (uint64_t)json_integer_value(item);
        json_array_foreach(json_object_get(profile, "samples"), j, item)
        {
            size_t k;
            json_t *frame;

            json_array_foreach(item, k, frame)
                assert_true((size_t)json_integer_value(frame) < frame_count);
        }
        assert_int_equal(of_thread_ns, json_integer_value(json_object_get(profile, "endValue")));
        sum_ns += of_thread_ns;
    }
    assert_int_equal(sum_ns, tally->total.value_ns);
    json_decref(document);
    cairn_outlet_release(&out);
}

/* Names of the profile hold quotes, separators, escape codes and bytes that are no UTF-8. */
static void test_json_is_json_whatever_names_hold(void **state)
{
    static const char *const formats[] = {"chrome", "firefox", "cpuprofile", "speedscope"};
    static const char name[] = "hard;\x1b[31m\n<b>&\"'\xef\xbf\xbd\xe7\xa9\xba\xe2\x80\xae";
    const struct cairn_tally *tally = &((struct fixture *)*state)->tally;
    struct cairn_export_options options = {0};

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        json_t *document, *again = json_string(name);
        struct cairn_outlet out;
        char *wanted = json_dumps(again, JSON_ENCODE_ANY), *whole;

        export_as(tally, formats[i], &options, &out);
        /* Its own reader refuses control characters and what is no UTF-8. */
        document = json_loadb((const char *)out.buf.data, out.buf.size_bytes, 0, NULL);
        assert_non_null(document);
        whole = json_dumps(document, 0);
        if (!strstr(whole, wanted))
            fail_msg("%s does not hold %s", formats[i], wanted);
        free(whole);
        free(wanted);
        json_decref(again);
        json_decref(document);
        cairn_outlet_release(&out);
    }
}

static void test_a_flame_graph_holds_no_foreign_markup(void **state)
{
    const struct cairn_tally *tally = &((struct fixture *)*state)->tally;
    struct cairn_export_options options = {0};
    struct cairn_outlet out;
    const char *text;

    export_as(tally, "flamegraph", &options, &out);
    text = cairn_buf_cstr(&out.buf);
    assert_null(strstr(text, "<b>"));
    assert_non_null(strstr(text, "hard;\\x1b[31m\\x0a&lt;b&gt;&amp;&quot;&#39;"));
    assert_non_null(strstr(text, "Cart.total"));
    assert_null(strstr(text, "href"));
    for (const char *at = text; (at = strstr(at, "http")) != NULL; at++)
        assert_memory_equal(at, "http://www.w3.org/", 18);
    cairn_outlet_release(&out);
}

static void test_a_metric_that_is_not_there_is_not_exported(void **state)
{
    struct fixture *fixture = *state;
    struct cairn_export_options options = {0};
    struct cairn_filter filter;
    struct cairn_tally tally;
    struct cairn_outlet out;
    struct cairn_err err = {0};

    cairn_filter_init(&filter);
    filter.metric = CAIRN_METRIC_GIL;
    assert_int_equal(cairn_tally_make(fixture->model, &filter, &tally, NULL), 0);
    cairn_outlet_init(&out, -1, "memory");
    assert_int_equal(cairn_export(exporter_of("pprof"), &tally, &options, &out, &err),
                     -CAIRN_EUSAGE);
    assert_non_null(strstr(err.text, "gil"));
    assert_int_equal(out.buf.size_bytes, 0);
    cairn_outlet_release(&out);
    cairn_tally_release(&tally);
}

static void test_a_dump_shows_the_latest_stack(void **state)
{
    struct fixture *fixture = *state;
    struct cairn_outlet out;
    const char *text;

    cairn_outlet_init(&out, -1, "memory");
    assert_int_equal(cairn_dump_text(fixture->model, false, &out, NULL), 0);
    text = cairn_buf_cstr(&out.buf);
    assert_non_null(strstr(text, "process 100  python3 shop.py --fast\n"
                                 "  thread 100  running  MainThread\n"
                                 "    report  /home/you/shop/shop.py:22\n"
                                 "    main  /home/you/shop/shop.py:33\n"));
    assert_non_null(strstr(text, "  thread 101  running  w\xc3\xb6rker;1\n"
                                 "    pack  /home/you/shop/work.py:11\n"));
    cairn_outlet_release(&out);
}

static void test_short_memory_is_an_answer(void **state)
{
    const struct cairn_tally *tally = &((struct fixture *)*state)->tally;
    struct cairn_export_options options = {.threads = true};

    for (const struct cairn_exporter *e = cairn_exporters; e->name; e++) {
        bool failed = true;
        long n = 0;

        for (; failed; n++) {
            struct cairn_outlet out;
            int code;

            cairn_outlet_init(&out, -1, "memory");
            cairn_alloc_fail_after(n);
            code = cairn_export(e, tally, &options, &out, NULL);
            failed = cairn_alloc_has_failed();
            cairn_alloc_fail_after(-1);
            assert_int_equal(code, failed ? -CAIRN_ENOMEM : 0);
            cairn_outlet_release(&out);
        }
        assert_true(n > 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_collapsed_sums_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_collapsed_frames_read_as_promised, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pprof_comes_back_through_protobuf, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_perfetto_stack_samples_sum_to_the_tally, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_speedscope_sums_to_the_tally, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json_is_json_whatever_names_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_flame_graph_holds_no_foreign_markup, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_metric_that_is_not_there_is_not_exported, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_dump_shows_the_latest_stack, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_short_memory_is_an_answer, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
