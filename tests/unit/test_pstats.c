/* What Python's own pstats is not asked about (tests/compat/test_pstats.py): memory that is short,
 * sums that do not fit, and words for sorting one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "pstats.h"

#define ROWS 40

static struct cairn_span span(const char *text)
{
    return (struct cairn_span){(const uint8_t *)text, strlen(text)};
}

/* Functions in two folders, so that stripping joins pairs of them; each calls the next. */
static int fill(struct cairn_prof *prof)
{
    CAIRN_TRY(cairn_prof_init(prof));
    for (int i = 0; i < ROWS; i++) {
        struct cairn_prof_numbers numbers = {i + 1, i, i / 2.0, i, false, false};
        uint32_t key, caller, row;
        char name[16];

        snprintf(name, sizeof(name), "f%d", i / 2);
        CAIRN_TRY(cairn_prof_key(prof, span(i % 2 ? "/a/x.py" : "/b/x.py"), 7, span(name), &key));
        CAIRN_TRY(cairn_prof_key(prof, span("/a/main.py"), i, span("main"), &caller));
        CAIRN_TRY(cairn_prof_put(prof, key, &numbers, &row));
        CAIRN_TRY(cairn_prof_put_caller(prof, row, caller, &numbers));
    }
    return 0;
}

static int make(struct cairn_pstats *stats)
{
    struct cairn_prof prof;
    int code = fill(&prof);

    *stats = (struct cairn_pstats){0};
    if (code == 0)
        code = cairn_pstats_init(stats, &prof, "head");
    cairn_prof_release(&prof);
    return code;
}

static int use(struct cairn_pstats *stats, const struct cairn_pstats *more)
{
    static const struct cairn_span keys[] = {{(const uint8_t *)"nfl", 3},
                                             {(const uint8_t *)"time", 4}};
    struct cairn_pstats_limit limit = {.kind = CAIRN_LIMIT_MATCH, .pattern = span("f1")};
    const struct cairn_pstats_callee *callees;
    struct cairn_pstats_list list;
    int code;

    CAIRN_TRY(cairn_pstats_add(stats, more));
    CAIRN_TRY(cairn_pstats_strip(stats));
    CAIRN_TRY(cairn_pstats_sort(stats, keys, 2));
    CAIRN_TRY(cairn_pstats_find_callees(stats));
    assert_int_equal(stats->prof.rows.count, ROWS / 2);
    for (uint32_t key = 0; key < stats->prof.keys.count; key++) {
        uint32_t row;
        bool called = cairn_prof_find(&stats->prof, key, &row);

        assert_int_equal(cairn_pstats_callees(stats, key, &callees), called ? 0 : 1);
    }
    code = cairn_pstats_select(stats, &limit, 1, &list);
    if (code == 0) {
        assert_int_equal(list.rows.count, 11); /* f1, f10 to f19 */
        assert_int_equal(list.name_width, strlen("x.py:7(f10)"));
    }
    cairn_pstats_list_release(&list);
    return code;
}

static void test_short_of_memory(void **state)
{
    struct cairn_pstats more;
    long n = 0;

    (void)state;
    assert_int_equal(make(&more), 0);
    do {
        struct cairn_pstats stats;
        int code;

        cairn_alloc_fail_after(n++);
        code = make(&stats);
        if (code == 0)
            code = use(&stats, &more);
        assert_int_equal(code, cairn_alloc_has_failed() ? -CAIRN_ENOMEM : 0);
        cairn_pstats_release(&stats);
    } while (cairn_alloc_has_failed());
    cairn_alloc_fail_after(-1);
    cairn_pstats_release(&more);
    assert_true(n > 40);
}

static void test_sums_that_do_not_fit(void **state)
{
    struct cairn_prof_numbers half = {INT64_MAX / 2 + 1, 0, 0, 0, false, false};
    struct cairn_pstats stats, more;
    struct cairn_prof prof;
    uint32_t key, row;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cairn_prof_init(&prof), 0);
        assert_int_equal(cairn_prof_key(&prof, span("x"), 1, span("f"), &key), 0);
        assert_int_equal(cairn_prof_put(&prof, key, &half, &row), 0);
        assert_int_equal(cairn_pstats_init(i ? &more : &stats, &prof, ""), 0);
    }
    assert_int_equal(cairn_pstats_add(&stats, &more), -CAIRN_ELIMIT);
    cairn_pstats_release(&stats);
    cairn_pstats_release(&more);
}

static void test_words_that_sort(void **state)
{
    static const struct {
        const char *word, *text; /* NULL: it is refused */
    } cases[] = {
        {"calls", "call count"},
        {"ca", "call count"},
        {"c", NULL},
        {"cu", "cumulative time"},
        {"cum", NULL},
        {"cumu", "cumulative time"},
        {"cumt", "cumulative time"},
        {"n", NULL},
        {"na", "function name"},
        {"nc", "call count"},
        {"nf", "name/file/line"},
        {"p", "primitive call count"},
        {"s", "standard name"},
        {"t", NULL},
        {"ti", "internal time"},
        {"to", "internal time"},
        {"f", "file name"},
        {"m", "file name"},
        {"l", "line number"},
        {"", NULL},
        {"timer", NULL},
        {"nsamples", NULL},
    };
    struct cairn_pstats stats;

    (void)state;
    assert_int_equal(make(&stats), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cairn_span word = span(cases[i].word);
        int code = cairn_pstats_sort(&stats, &word, 1);

        if (code != (cases[i].text ? 0 : -CAIRN_EUSAGE) ||
            (cases[i].text && strcmp(cairn_buf_cstr(&stats.sorted_by), cases[i].text) != 0))
            fail_msg("%s: %d %s", cases[i].word, code, cairn_buf_cstr(&stats.sorted_by));
    }
    stats.prof.sampled = true;
    assert_int_equal(cairn_pstats_sort(&stats, &(struct cairn_span){(void *)"nsamples", 8}, 1), 0);
    cairn_pstats_release(&stats);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_of_memory),
        cmocka_unit_test(test_sums_that_do_not_fit),
        cmocka_unit_test(test_words_that_sort),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
