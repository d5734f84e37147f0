/* The engine against calls that are told one by one, under a clock that is turned by hand, and
 * against sums kept by another method: a book of levels for each callee and pair. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "exact.h"
#include "exactsums.h"
#include "rng.h"

#define MOST ((size_t)64 << 20)
#define NODES ((size_t)1 << 20)
#define DEPTH ((size_t)1 << 20)
#define KEYS 8

struct book { /* of one test */
    int64_t now;
    int learnt, forgotten;
    bool refuses;
    struct cairn_exact *again; /* the clock itself makes a call, when this is set */
};

static char keys[KEYS]; /* what is called: their addresses */

static int64_t turn(void *context)
{
    struct book *book = context;

    if (book->again != NULL)
        cairn_exact_enter(book->again, &keys[7], 7000, 0, NULL);
    return book->now;
}

static void *learn(void *context, const void *key, void *callee)
{
    struct book *book = context;

    (void)callee;
    book->learnt++;
    return book->refuses ? NULL : (void *)(uintptr_t)key;
}

static void forget(void *context, void *learnt)
{
    struct book *book = context;

    assert_non_null(learnt);
    book->forgotten++;
}

static void begin(struct cairn_exact *exact, struct book *book, size_t max_bytes, size_t max_nodes)
{
    const struct cairn_exact_host host = {
        .context = book, .now = turn, .learn = learn, .forget = forget};

    cairn_exact_init(exact, &host, max_bytes, max_nodes, DEPTH);
}

static struct cairn_exact_sum sum_of(const struct cairn_exact_sums *sums, int key)
{
    for (size_t i = 0; i < sums->rows.count; i++)
        if (sums->rows.items[i].key == &keys[key])
            return sums->rows.items[i].sum;
    return (struct cairn_exact_sum){0};
}

static struct cairn_exact_sum pair_of(const struct cairn_exact_sums *sums, int caller, int key)
{
    for (size_t i = 0; i < sums->rows.count; i++) {
        if (sums->rows.items[i].key != &keys[caller])
            continue;
        for (size_t at = sums->rows.items[i].first_callee; at != CAIRN_EXACT_NONE;
             at = sums->callees.items[at].next)
            if (sums->rows.items[sums->callees.items[at].row].key == &keys[key])
                return sums->callees.items[at].sum;
    }
    return (struct cairn_exact_sum){0};
}

static void expect(struct cairn_exact_sum sum, int64_t calls, int64_t primitive, int64_t self,
                   int64_t total)
{
    assert_int_equal(sum.calls, calls);
    assert_int_equal(sum.primitive_calls, primitive);
    assert_int_equal(sum.self, self);
    assert_int_equal(sum.total, total);
}

static void test_recursion_counts_its_time_once(void **state)
{
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_sums sums;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    /* 0 calls 1, which calls itself twice over, each level 10 long before and 1 after. */
    cairn_exact_enter(&exact, &keys[0], 100, 0, NULL);
    for (uintptr_t level = 0; level < 3; level++) {
        book.now += 10;
        cairn_exact_enter(&exact, &keys[1], 200 + 2 * level, level ? 198 + 2 * level : 100, NULL);
    }
    for (uintptr_t level = 3; level-- > 0;) {
        book.now += 1;
        cairn_exact_leave(&exact, 200 + 2 * level);
    }
    cairn_exact_leave(&exact, 100);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 10, 33);
    expect(sum_of(&sums, 1), 3, 1, 23, 23);
    expect(pair_of(&sums, 0, 1), 1, 1, 11, 23);
    expect(pair_of(&sums, 1, 1), 2, 1, 12, 12);
    expect(pair_of(&sums, 1, 0), 0, 0, 0, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
    assert_int_equal(book.learnt, 2);
    assert_int_equal(book.forgotten, 2);
}

/* They have callers and no time, which stays with those; whether they are timed may change. */
static void count_alone(size_t max_nodes)
{
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_sums sums;

    begin(&exact, &book, MOST, max_nodes);
    cairn_exact_enter(&exact, &keys[0], 100, 0, NULL);
    cairn_exact_enter(&exact, &keys[1], 200, 100, NULL);
    book.now += 5;
    cairn_exact_leave(&exact, 200);
    for (int i = 0; i < 7; i++) {
        cairn_exact_count(&exact, &keys[1], 100, NULL);
        book.now += 10;
    }
    cairn_exact_enter(&exact, &keys[2], 200, 100, NULL);
    cairn_exact_count(&exact, &keys[1], 200, NULL);
    book.now += 3;
    cairn_exact_count(&exact, &keys[3], 100, NULL); /* nobody saw 2 end */
    cairn_exact_leave(&exact, 100);
    cairn_exact_count(&exact, &keys[3], 0, NULL);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 75 - 5 + 0, 78);
    expect(sum_of(&sums, 1), 9, 9, 5, 5);
    expect(sum_of(&sums, 2), 1, 1, 3, 3);
    expect(sum_of(&sums, 3), 2, 2, 0, 0);
    expect(pair_of(&sums, 0, 1), 8, 8, 5, 5);
    expect(pair_of(&sums, 2, 1), 1, 1, 0, 0);
    expect(pair_of(&sums, 0, 3), 1, 1, 0, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
    assert_int_equal(book.learnt, 4);
}

static void test_calls_that_are_counted_alone(void **state)
{
    (void)state;
    count_alone(NODES);
    count_alone(0); /* all of them folded */
}

static void test_pairs_that_are_counted_alone(void **state)
{
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_sums sums;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    for (int i = 0; i < 6; i++)
        cairn_exact_count_pair(&exact, &keys[1], &keys[i % 3 == 0 ? 0 : 2], NULL, NULL);
    cairn_exact_count_pair(&exact, &keys[0], NULL, NULL, NULL);
    cairn_exact_enter(&exact, &keys[1], 200, 0, NULL);
    book.now += 5;
    cairn_exact_leave(&exact, 200);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 0, 0);
    expect(sum_of(&sums, 1), 7, 7, 5, 5);
    expect(sum_of(&sums, 2), 0, 0, 0, 0);
    expect(pair_of(&sums, 0, 1), 2, 2, 0, 0);
    expect(pair_of(&sums, 2, 1), 4, 4, 0, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
    assert_int_equal(book.learnt, 3);
}

static void test_what_never_began_is_taken_back(void **state)
{
    for (size_t nodes = 0; nodes <= NODES; nodes += NODES) { /* 0: all of it folded */
        struct book book = {0};
        struct cairn_exact exact;
        struct cairn_exact_sums sums;

        (void)state;
        begin(&exact, &book, MOST, nodes);
        cairn_exact_enter(&exact, &keys[0], 100, 0, NULL);
        cairn_exact_enter(&exact, &keys[1], 200, 100, NULL);
        book.now += 5;
        cairn_exact_take_back(&exact, 200);
        cairn_exact_count(&exact, &keys[2], 100, NULL);
        cairn_exact_count(&exact, &keys[2], 100, NULL);
        cairn_exact_uncount(&exact, &keys[2], 100, NULL);
        cairn_exact_take_back(&exact, 200); /* it is not there */
        cairn_exact_leave(&exact, 100);
        assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
        expect(sum_of(&sums, 0), 1, 1, 5, 5);
        expect(sum_of(&sums, 1), 0, 0, 0, 0);
        expect(sum_of(&sums, 2), 1, 1, 0, 0);
        expect(pair_of(&sums, 0, 2), 1, 1, 0, 0);
        cairn_exact_sums_release(&sums);
        cairn_exact_release(&exact);
    }
}

static void test_callers_are_not_told_apart_where_nobody_asks(void **state)
{
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_sums sums;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    exact.flat = true;
    cairn_exact_enter(&exact, &keys[0], 100, 0, NULL);
    cairn_exact_enter(&exact, &keys[1], 200, 100, NULL);
    book.now += 5;
    cairn_exact_stop(&exact);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 0, 5);
    expect(sum_of(&sums, 1), 1, 1, 5, 5);
    assert_int_equal(sums.callees.count, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
}

static void test_who_was_never_seen_leaves_nothing(void **state)
{
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_tally tally;
    struct cairn_exact_sums sums;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    cairn_exact_leave(&exact, 100);
    cairn_exact_enter(&exact, &keys[0], 200, 100, NULL);
    cairn_exact_leave(&exact, 201);
    cairn_exact_leave(&exact, 200);
    cairn_exact_leave(&exact, 200);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 0, 0);
    cairn_exact_tally(&exact, &tally);
    assert_int_equal(tally.strays, 3);
    assert_int_equal(tally.healed, 0);
    assert_int_equal(tally.lost, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
}

static void test_a_stack_heals_by_who_leaves_and_by_who_calls(void **state)
{
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_tally tally;
    struct cairn_exact_sums sums;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    cairn_exact_enter(&exact, &keys[0], 100, 0, NULL);
    cairn_exact_enter(&exact, &keys[1], 200, 100, NULL); /* nobody tells when it is over */
    book.now += 3;
    cairn_exact_enter(&exact, &keys[2], 300, 100, NULL); /* its caller stands below */
    book.now += 4;
    cairn_exact_enter(&exact, &keys[3], 301, 300, NULL); /* a callee without a frame */
    book.now += 5;
    cairn_exact_leave(&exact, 100);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 0, 12);
    expect(sum_of(&sums, 1), 1, 1, 3, 3);
    expect(sum_of(&sums, 2), 1, 1, 4, 9);
    expect(sum_of(&sums, 3), 1, 1, 5, 5);
    expect(pair_of(&sums, 0, 2), 1, 1, 4, 9);
    expect(pair_of(&sums, 1, 2), 0, 0, 0, 0);
    cairn_exact_tally(&exact, &tally);
    assert_int_equal(tally.healed, 3);
    assert_int_equal(tally.strays, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
}

/* Frames that can be asked: 2 + 2 * i runs keys[what[i]], called by the frame callers[i]. */
static uintptr_t callers[16];
static int what[16];

static const void *outer(uintptr_t frame, uintptr_t *ret_caller)
{
    assert_true(frame >= 2 && frame % 2 == 0 && frame < 34);
    *ret_caller = callers[frame / 2 - 1];
    return &keys[what[frame / 2 - 1]];
}

static uintptr_t call(struct cairn_exact *exact, size_t at, int key, uintptr_t caller)
{
    uintptr_t frame = 2 + 2 * at;

    callers[at] = caller;
    what[at] = key;
    cairn_exact_enter(exact, &keys[key], frame, caller, NULL);
    return frame;
}

static void test_who_was_switched_away_from_comes_back(void **state)
{
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_tally tally;
    struct cairn_exact_sums sums;
    uintptr_t hub, first, inner, second;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    exact.host.outer = outer;
    hub = call(&exact, 0, 0, 0);
    cairn_exact_enter(&exact, &keys[1], hub | 1, hub, NULL); /* switches to what nobody called */
    first = call(&exact, 1, 2, 0);
    inner = call(&exact, 2, 3, first);
    book.now += 10;
    cairn_exact_enter(&exact, &keys[1], inner | 1, inner, NULL); /* switches back */
    cairn_exact_leave(&exact, hub | 1);
    book.now += 100;
    cairn_exact_enter(&exact, &keys[1], hub | 1, hub, NULL); /* to another one of the same code */
    second = call(&exact, 3, 2, 0);
    book.now += 5;
    cairn_exact_leave(&exact, second);
    cairn_exact_leave(&exact, hub | 1);
    cairn_exact_enter(&exact, &keys[1], hub | 1, hub, NULL); /* and to the first again */
    cairn_exact_leave(&exact, inner | 1);
    cairn_exact_leave(&exact, call(&exact, 4, 4, inner));
    book.now += 1;
    cairn_exact_leave(&exact, inner);
    cairn_exact_leave(&exact, first);
    cairn_exact_leave(&exact, hub | 1);
    cairn_exact_leave(&exact, hub);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 100, 116);
    expect(sum_of(&sums, 1), 4, 4, 0, 16);
    expect(sum_of(&sums, 2), 2, 2, 5, 16);
    expect(sum_of(&sums, 3), 1, 1, 11, 11);
    expect(pair_of(&sums, 0, 1), 3, 3, 0, 16);
    expect(pair_of(&sums, 1, 2), 0, 0, 0, 0);
    expect(pair_of(&sums, 2, 3), 1, 1, 11, 11);
    expect(pair_of(&sums, 3, 1), 1, 1, 0, 0);
    expect(pair_of(&sums, 3, 4), 1, 1, 0, 0);
    cairn_exact_tally(&exact, &tally);
    assert_int_equal(tally.strays, 0);
    assert_int_equal(tally.lost, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
    assert_int_equal(exact.budget.used_bytes, 0);
}

static void test_what_is_not_over_is_not_in_the_sums(void **state)
{
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_sums sums;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    cairn_exact_enter(&exact, &keys[0], 100, 0, NULL);
    cairn_exact_enter(&exact, &keys[1], 200, 100, NULL);
    book.now += 7;
    cairn_exact_leave(&exact, 200);
    cairn_exact_enter(&exact, &keys[1], 200, 100, NULL);
    book.now += 9;
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 0, 0, 0, 0);
    expect(sum_of(&sums, 1), 1, 1, 7, 7);
    cairn_exact_sums_release(&sums);
    cairn_exact_stop(&exact);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 0, 16);
    expect(sum_of(&sums, 1), 2, 2, 16, 16);
    cairn_exact_sums_release(&sums);
    cairn_exact_clear(&exact);
    assert_int_equal(book.forgotten, book.learnt);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    assert_int_equal(sums.rows.count, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
}

static void test_calls_made_by_the_clock_are_passed_over(void **state)
{
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_tally tally;
    struct cairn_exact_sums sums;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    book.again = &exact;
    assert_false(cairn_exact_is_busy(&exact));
    cairn_exact_enter(&exact, &keys[0], 100, 0, NULL);
    cairn_exact_leave(&exact, 100);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 0, 0);
    expect(sum_of(&sums, 7), 0, 0, 0, 0);
    cairn_exact_tally(&exact, &tally);
    assert_int_equal(tally.lost, 2);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
}

static void test_a_callee_that_cannot_be_learnt_is_lost(void **state)
{
    struct book book = {.refuses = true};
    struct cairn_exact exact;
    struct cairn_exact_tally tally;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    for (int i = 0; i < 3; i++) {
        cairn_exact_enter(&exact, &keys[0], 100, 0, NULL);
        cairn_exact_leave(&exact, 100);
    }
    cairn_exact_tally(&exact, &tally);
    assert_int_equal(tally.lost, 3);
    assert_int_equal(tally.strays, 3);
    cairn_exact_release(&exact);
    assert_int_equal(book.forgotten, 0);
}

/* --- random calls, beside sums kept in another way --- */

struct reference {
    struct cairn_exact_sum rows[KEYS], pairs[KEYS][KEYS];
    int row_level[KEYS], pair_level[KEYS][KEYS];
    struct {
        int key;
        int64_t start, inside;
    } stack[200];
    int depth;
};

static void tally_call(struct cairn_exact_sum *sum, int level, int64_t total, int64_t self)
{
    sum->calls++;
    sum->self += self;
    sum->primitive_calls += level == 0;
    sum->total += level == 0 ? total : 0;
}

static void reference_leave(struct reference *model, int64_t now)
{
    int top = --model->depth, key = model->stack[top].key;
    int64_t total = now - model->stack[top].start, self = total - model->stack[top].inside;

    tally_call(&model->rows[key], --model->row_level[key], total, self);
    if (top == 0)
        return;
    model->stack[top - 1].inside += total;
    key = model->stack[top].key;
    tally_call(&model->pairs[model->stack[top - 1].key][key],
               --model->pair_level[model->stack[top - 1].key][key], total, self);
}

static void reference_enter(struct reference *model, int key, int64_t now)
{
    model->row_level[key]++;
    if (model->depth > 0)
        model->pair_level[model->stack[model->depth - 1].key][key]++;
    model->stack[model->depth].key = key;
    model->stack[model->depth].start = now;
    model->stack[model->depth++].inside = 0;
}

static void play(size_t max_nodes, uint64_t seed, struct cairn_exact_tally *ret_tally)
{
    struct reference *model = calloc(1, sizeof(*model));
    uint64_t draws = 0;
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_sums sums;

    assert_non_null(model);
    begin(&exact, &book, MOST, max_nodes);
    for (int i = 0; i < 20000 || model->depth > 0; i++) {
        uintptr_t frame = 1000 + 2 * (uintptr_t)model->depth;
        int key = (int)(cairn_rng_at(seed, draws++) % KEYS);

        book.now += (int64_t)(cairn_rng_at(seed, draws++) % 100);
        if (i < 20000 && model->depth < 60 && cairn_rng_at(seed, draws++) % 100 < 52) {
            cairn_exact_enter(&exact, &keys[key], frame, model->depth ? frame - 2 : 0, NULL);
            reference_enter(model, key, book.now);
        } else if (model->depth > 0) {
            cairn_exact_leave(&exact, frame - 2);
            reference_leave(model, book.now);
        }
    }
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    for (int key = 0; key < KEYS; key++) {
        const struct cairn_exact_sum *is = &model->rows[key];

        expect(sum_of(&sums, key), is->calls, is->primitive_calls, is->self, is->total);
        for (int callee = 0; callee < KEYS; callee++) {
            is = &model->pairs[key][callee];
            expect(pair_of(&sums, key, callee), is->calls, is->primitive_calls, is->self,
                   is->total);
        }
    }
    cairn_exact_tally(&exact, ret_tally);
    assert_int_equal(ret_tally->lost, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
    assert_int_equal(exact.budget.used_bytes, 0);
    free(model);
}

static void test_sums_of_random_calls(void **state)
{
    struct cairn_exact_tally tally;

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        play(NODES, seed, &tally);
        assert_int_equal(tally.folded, 0);
    }
}

static void test_sums_stay_exact_when_the_tree_is_full(void **state)
{
    static const size_t limits[] = {0, 1, 7, 100, 3000};
    struct cairn_exact_tally tally;

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        play(limits[i], 10 + i, &tally);
        assert_true(tally.folded > 0);
    }
}

/* --- memory --- */

static void test_a_small_budget_loses_calls_and_says_so(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < 400 << 10; bytes += 4096) {
        struct book book = {0};
        struct cairn_exact exact;
        struct cairn_exact_tally tally;
        struct cairn_exact_sums sums;
        int64_t counted = 0;

        begin(&exact, &book, bytes, NODES);
        errno = 33;
        for (uintptr_t i = 0; i < 3000; i++)
            cairn_exact_enter(&exact, &keys[i % KEYS], 1000 + 2 * i, 0, NULL);
        assert_int_equal(errno, 33);
        cairn_exact_stop(&exact);
        assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
        for (int key = 0; key < KEYS; key++)
            counted += sum_of(&sums, key).calls;
        cairn_exact_tally(&exact, &tally);
        assert_int_equal(counted + (int64_t)tally.lost, 3000);
        if (bytes == 0)
            assert_int_equal(counted, 0);
        cairn_exact_sums_release(&sums);
        cairn_exact_release(&exact);
        assert_int_equal(exact.budget.used_bytes, 0);
    }
}

/* --- threads and forks --- */

struct worker {
    struct cairn_exact *exact;
    pthread_mutex_t *lock; /* as the GIL */
    int key, calls;
};

static void *work(void *arg)
{
    const struct worker *worker = arg;

    for (int i = 0; i < worker->calls; i++) {
        pthread_mutex_lock(worker->lock);
        cairn_exact_enter(worker->exact, &keys[worker->key], 100, 0, NULL);
        pthread_mutex_unlock(worker->lock);
        pthread_mutex_lock(worker->lock);
        cairn_exact_leave(worker->exact, 100);
        pthread_mutex_unlock(worker->lock);
    }
    return NULL;
}

static void test_threads_do_not_mix(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_tally tally;
    struct cairn_exact_sums sums;
    struct worker workers[2];
    pthread_t threads[2];

    (void)state;
    begin(&exact, &book, MOST, NODES);
    for (int i = 0; i < 2; i++) {
        workers[i] = (struct worker){&exact, &lock, i, 20000};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sum_of(&sums, i).calls, 20000);
        assert_int_equal(sum_of(&sums, i).primitive_calls, 20000);
    }
    assert_int_equal(sums.callees.count, 0);
    cairn_exact_tally(&exact, &tally);
    assert_int_equal(tally.healed + tally.strays + tally.lost, 0);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
}

static void test_threads_that_come_and_go_share_their_memory(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_sums sums;
    struct worker worker = {&exact, &lock, 0, 3};
    size_t used_bytes = 0;
    pthread_t thread;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(pthread_create(&thread, NULL, work, &worker), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        if (i == 0)
            used_bytes = exact.budget.used_bytes;
    }
    assert_int_equal(exact.budget.used_bytes, used_bytes);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    assert_int_equal(sum_of(&sums, 0).calls, 3000);
    assert_int_equal(book.learnt, 1);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
}

/* The main thread keeps the record of a profile that is gone; its place may be another's. */
static void test_a_profile_after_another_starts_anew(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct book book = {0};
        struct cairn_exact exact;
        struct cairn_exact_sums sums;
        struct worker worker = {&exact, &lock, 1, 2};
        pthread_t thread;

        begin(&exact, &book, MOST, NODES);
        assert_int_equal(pthread_create(&thread, NULL, work, &worker), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        worker.key = 0;
        work(&worker);
        assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
        assert_int_equal(sum_of(&sums, 0).calls, 2);
        assert_int_equal(sum_of(&sums, 1).calls, 2);
        cairn_exact_sums_release(&sums);
        cairn_exact_release(&exact);
    }
}

static void test_profiles_that_take_turns_keep_their_records(void **state)
{
    struct book book = {0};
    struct cairn_exact turns[2];
    struct cairn_exact_sums sums;
    size_t used_bytes[2] = {0};

    (void)state;
    for (int i = 0; i < 2; i++)
        begin(&turns[i], &book, MOST, NODES);
    for (int round = 0; round < 500; round++)
        for (int i = 0; i < 2; i++) {
            cairn_exact_enter(&turns[i], &keys[i], 100, 0, NULL);
            cairn_exact_leave(&turns[i], 100);
            if (round == 0)
                used_bytes[i] = turns[i].budget.used_bytes;
        }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(turns[i].budget.used_bytes, used_bytes[i]);
        assert_int_equal(cairn_exact_sums_make(&turns[i], &sums), 0);
        assert_int_equal(sum_of(&sums, i).calls, 500);
        cairn_exact_sums_release(&sums);
        cairn_exact_release(&turns[i]);
    }
}

static void *wait_inside(void *arg)
{
    struct worker *worker = arg;

    pthread_mutex_lock(worker->lock);
    cairn_exact_enter(worker->exact, &keys[1], 100, 0, NULL);
    worker->calls = 1;
    pthread_mutex_unlock(worker->lock);
    for (;;)
        pause();
    return NULL;
}

static void test_a_child_goes_on_with_its_own_thread_alone(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct book book = {0};
    struct cairn_exact exact;
    struct cairn_exact_sums sums;
    struct worker worker = {&exact, &lock, 1, 0};
    pthread_t thread;
    int status, begun = 0;
    pid_t child;

    (void)state;
    begin(&exact, &book, MOST, NODES);
    cairn_exact_enter(&exact, &keys[0], 300, 0, NULL);
    assert_int_equal(pthread_create(&thread, NULL, wait_inside, &worker), 0);
    while (!begun) {
        pthread_mutex_lock(&lock);
        begun = worker.calls;
        pthread_mutex_unlock(&lock);
    }
    child = fork();
    if (child == 0) {
        alarm(20);
        book.now += 8;
        cairn_exact_leave(&exact, 300);
        cairn_exact_stop(&exact);
        status = cairn_exact_sums_make(&exact, &sums);
        _exit(status == 0 && sum_of(&sums, 0).total == 8 && sums.rows.count == 1 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(pthread_cancel(thread), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    book.now += 2;
    cairn_exact_leave(&exact, 300);
    cairn_exact_stop(&exact);
    assert_int_equal(cairn_exact_sums_make(&exact, &sums), 0);
    expect(sum_of(&sums, 0), 1, 1, 2, 2);
    expect(sum_of(&sums, 1), 1, 1, 2, 2);
    cairn_exact_sums_release(&sums);
    cairn_exact_release(&exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recursion_counts_its_time_once),
        cmocka_unit_test(test_calls_that_are_counted_alone),
        cmocka_unit_test(test_pairs_that_are_counted_alone),
        cmocka_unit_test(test_what_never_began_is_taken_back),
        cmocka_unit_test(test_callers_are_not_told_apart_where_nobody_asks),
        cmocka_unit_test(test_who_was_never_seen_leaves_nothing),
        cmocka_unit_test(test_a_stack_heals_by_who_leaves_and_by_who_calls),
        cmocka_unit_test(test_who_was_switched_away_from_comes_back),
        cmocka_unit_test(test_what_is_not_over_is_not_in_the_sums),
        cmocka_unit_test(test_calls_made_by_the_clock_are_passed_over),
        cmocka_unit_test(test_a_callee_that_cannot_be_learnt_is_lost),
        cmocka_unit_test(test_sums_of_random_calls),
        cmocka_unit_test(test_sums_stay_exact_when_the_tree_is_full),
        cmocka_unit_test(test_a_small_budget_loses_calls_and_says_so),
        cmocka_unit_test(test_threads_do_not_mix),
        cmocka_unit_test(test_threads_that_come_and_go_share_their_memory),
        cmocka_unit_test(test_a_profile_after_another_starts_anew),
        cmocka_unit_test(test_profiles_that_take_turns_keep_their_records),
        cmocka_unit_test(test_a_child_goes_on_with_its_own_thread_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
