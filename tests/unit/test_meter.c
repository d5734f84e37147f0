/* The books of counting: what costs most beyond its share is let go, nothing else is, and what was
 * spent stays below the share. Under clocks that are turned by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exact.h"
#include "exact_parts.h"
#include "exactsums.h"

#define MOST ((size_t)64 << 20)
#define KEYS 8
#define CALL_NS 50
#define COUNTED_NS 10 /* of a call whose time is not taken */
#define PLAIN_NS 5    /* of one where no other is timed */
#define NATIVE_NS 70
#define SHARE 0.05

struct world {
    struct cairn_exact exact;
    int64_t now;         /* what the program itself did, ns */
    double spent;        /* what events cost in truth */
    double factor;       /* so many times what the books say */
    unsigned gone[KEYS]; /* CAIRN_LET_GO_* */
    int stops, plain;    /* plain: calls are counted and nothing else */
};

static char keys[KEYS];

static int64_t turn(void *context)
{
    return ((struct world *)context)->now;
}

static void *learn(void *context, const void *key, void *callee)
{
    (void)context, (void)callee;
    return (void *)(uintptr_t)key;
}

static void forget(void *context, void *learnt)
{
    (void)context, (void)learnt;
}

static uint64_t cpu(void *context)
{
    const struct world *world = context;

    return (uint64_t)world->now + (uint64_t)world->spent;
}

static void let_go(void *context, void *learnt, unsigned what)
{
    ((struct world *)context)->gone[(char *)learnt - keys] |= what;
}

static void stop(void *context)
{
    ((struct world *)context)->stops++;
}

static void turn_plain(void *context)
{
    ((struct world *)context)->plain++;
}

static void begin(struct world *world, double passed, bool passes_stay)
{
    const struct cairn_exact_host host = {
        .context = world, .now = turn, .learn = learn, .forget = forget};
    const struct cairn_meter_host meter = {.let_go = let_go,
                                           .stop = stop,
                                           .cpu_ns = cpu,
                                           .tick_ns = 1,
                                           .share = SHARE,
                                           .call = CALL_NS,
                                           .native = NATIVE_NS,
                                           .resume = CALL_NS,
                                           .passed = passed,
                                           .counted = COUNTED_NS,
                                           .passes_stay = passes_stay};

    *world = (struct world){.factor = 1};
    cairn_exact_init(&world->exact, &host, MOST, 1 << 20, 1 << 20);
    cairn_meter_begin(&world->exact, &meter);
}

/* What a host does: events of what was let go do not come, or are passed over. */
static void call(struct world *world, int key, uintptr_t frame, uintptr_t caller, int64_t own)
{
    bool counted = (world->gone[key] & (CAIRN_LET_GO_SELF | CAIRN_LET_GO_TIMES)) == 0;

    if (world->stops > 0) {
        world->now += own;
        return;
    }
    if (world->plain > 0) {
        counted = (world->gone[key] & CAIRN_LET_GO_SELF) == 0;
        if (counted)
            cairn_exact_count_pair(&world->exact, &keys[key], NULL, NULL, NULL);
        else
            cairn_meter_pass(&world->exact);
        world->now += own;
        world->spent += counted ? PLAIN_NS : 1;
        return;
    }
    if (world->gone[key] == CAIRN_LET_GO_TIMES) {
        cairn_exact_count(&world->exact, &keys[key], caller, NULL);
        world->spent += COUNTED_NS;
    } else if (counted)
        cairn_exact_enter(&world->exact, &keys[key], frame, caller, NULL);
    else if (world->exact.meter.host.passes_stay && world->stops == 0)
        cairn_meter_pass(&world->exact);
    world->now += own;
    if (counted && world->stops == 0)
        cairn_exact_leave(&world->exact, frame);
    world->spent += counted && world->stops == 0 ? CALL_NS : 0;
}

static void call_native(struct world *world, int key, int by, uintptr_t frame, int64_t own)
{
    bool counted = world->gone[by] == 0;

    if (counted)
        cairn_exact_enter(&world->exact, &keys[key], frame | 1, frame, NULL);
    world->now += own;
    if (counted)
        cairn_exact_leave(&world->exact, frame | 1);
    world->spent += counted ? NATIVE_NS : 0;
}

static struct cairn_exact_sum sum_of(struct world *world, int key)
{
    struct cairn_exact_sum sum = {0};
    struct cairn_exact_sums sums = {0};

    assert_int_equal(cairn_exact_sums_make(&world->exact, &sums), 0);
    for (size_t i = 0; i < sums.rows.count; i++)
        if (sums.rows.items[i].key == &keys[key])
            sum = sums.rows.items[i].sum;
    cairn_exact_sums_release(&sums);
    return sum;
}

static void expect_within(const struct world *world)
{
    double cost = cairn_meter_cost_ns(&world->exact.meter);

    assert_true(cost <= SHARE * (double)world->now + 2 * CAIRN_METER_FLOOR_NS);
    assert_true(cost >= world->spent * 0.999 && cost <= world->spent * 1.001 + CALL_NS);
}

static void test_what_is_small_and_hot_is_let_go(void **state)
{
    struct world world;
    int big = 0;

    (void)state;
    begin(&world, CALL_NS, false);
    cairn_exact_enter(&world.exact, &keys[0], 100, 0, NULL);
    for (int i = 0; i < 1000000; i++) {
        call(&world, 1, 200, 100, 20);
        if (i % 1000 == 0) {
            call(&world, 2, 200, 100, 100000);
            big++;
        }
    }
    cairn_exact_stop(&world.exact);
    assert_true(world.gone[1] & CAIRN_LET_GO_SELF); /* even counting it is too dear */
    assert_int_equal(world.gone[0] | world.gone[2], 0);
    assert_int_equal(world.exact.meter.let_go, 1);
    assert_true(world.exact.partial);
    assert_int_equal(sum_of(&world, 2).calls, big); /* that stays exact */
    assert_int_equal(sum_of(&world, 2).total, (int64_t)big * 100000);
    assert_in_range(sum_of(&world, 1).calls, 1024, 20000);
    assert_int_equal(sum_of(&world, 0).total, world.now);
    expect_within(&world);
    cairn_exact_release(&world.exact);
}

/* With its times it costs 8 % of the whole, without them 1.7 %. */
static void test_what_may_be_counted_is_counted_on(void **state)
{
    struct world world;
    int calls = 0;

    (void)state;
    begin(&world, CALL_NS, false);
    cairn_exact_enter(&world.exact, &keys[0], 100, 0, NULL);
    for (; calls < 1000000; calls++) {
        call(&world, 1, 200, 100, 20);
        world.now += 570;
    }
    cairn_exact_stop(&world.exact);
    assert_int_equal(world.gone[1], CAIRN_LET_GO_TIMES);
    assert_int_equal(world.gone[0], 0);
    assert_int_equal(world.exact.meter.let_go, 0);
    assert_int_equal(world.exact.meter.untimed, 1);
    assert_int_equal(sum_of(&world, 1).calls, calls);                     /* each of them */
    assert_in_range(sum_of(&world, 1).total, 20 * 1024, calls / 10 * 20); /* of the timed ones */
    assert_int_equal(sum_of(&world, 0).calls, 1);
    assert_int_equal(sum_of(&world, 0).total, world.now);
    expect_within(&world);
    cairn_exact_release(&world.exact);
}

/* What was counted alone gets too dear in another phase. */
static void test_what_is_counted_alone_may_yet_be_let_go(void **state)
{
    struct world world;
    int calls = 0;

    (void)state;
    begin(&world, CALL_NS, false);
    for (; calls < 200000; calls++)
        call(&world, 1, 200, 0, 600);
    assert_int_equal(world.gone[1], CAIRN_LET_GO_TIMES);
    assert_int_equal(sum_of(&world, 1).calls, calls);
    for (int i = 0; i < 20000000 && world.gone[1] == CAIRN_LET_GO_TIMES; i++)
        call(&world, 1, 200, 0, 10);
    assert_int_equal(world.gone[1], CAIRN_LET_GO_TIMES | CAIRN_LET_GO_SELF);
    assert_int_equal(world.exact.meter.let_go, 1);
    assert_int_equal(world.exact.meter.untimed, 0);
    expect_within(&world);
    cairn_exact_release(&world.exact);
}

static void test_what_is_cheap_enough_is_left_alone(void **state)
{
    struct world world;

    (void)state;
    begin(&world, CALL_NS, false);
    for (int i = 0; i < 100000; i++) /* 2.5 % */
        call(&world, i % 3, 200, 0, 2000);
    assert_int_equal(world.exact.meter.let_go, 0);
    assert_false(world.exact.partial);
    assert_int_equal(sum_of(&world, 0).calls, 33334);
    expect_within(&world);
    cairn_exact_release(&world.exact);
}

static void test_what_is_called_of_c_goes_by_its_caller(void **state)
{
    struct world world;
    int loops = 0;

    (void)state;
    begin(&world, CALL_NS, false);
    for (; loops < 2000; loops++) {
        cairn_exact_enter(&world.exact, &keys[0], 100, 0, NULL);
        for (int i = 0; i < 100; i++)
            call_native(&world, 5, 0, 100, 50);
        world.now += 20000;
        cairn_exact_leave(&world.exact, 100);
        world.spent += CALL_NS;
        if (loops % 10 == 0) {
            cairn_exact_enter(&world.exact, &keys[1], 100, 0, NULL);
            call_native(&world, 5, 1, 100, 100000);
            cairn_exact_leave(&world.exact, 100);
            world.spent += CALL_NS;
        }
    }
    assert_int_equal(world.gone[0], CAIRN_LET_GO_NATIVES);
    assert_int_equal(world.gone[1], 0);
    assert_int_equal(sum_of(&world, 0).calls, loops);
    expect_within(&world);
    cairn_exact_release(&world.exact);
}

static void test_another_phase_is_judged_by_itself(void **state)
{
    struct world world;

    (void)state;
    begin(&world, CALL_NS, false);
    for (int i = 0; i < 200000; i++)
        call(&world, 1, 200, 0, 5000);
    assert_int_equal(world.exact.meter.let_go, 0);
    for (int i = 0; i < 20000000 && world.gone[2] == 0; i++)
        call(&world, 2, 200, 0, 10);
    assert_true(world.gone[2] & CAIRN_LET_GO_SELF);
    assert_int_equal(world.gone[1], 0);
    expect_within(&world);
    cairn_exact_release(&world.exact);
}

/* Where passing costs too much by itself, nothing but an end helps. */
static void test_where_passing_over_costs_too_much_all_ends(void **state)
{
    struct world world;

    (void)state;
    begin(&world, 40, true);
    cairn_exact_enter(&world.exact, &keys[0], 100, 0, NULL);
    for (int i = 0; i < 1000000; i++)
        call(&world, 1, 200, 100, 20);
    assert_int_equal(world.stops, 1);
    assert_false(world.exact.meter.on);
    assert_true(sum_of(&world, 1).calls < 20000);
    assert_int_equal(sum_of(&world, 0).calls, 1); /* it was ended */
    assert_true(cairn_meter_cost_ns(&world.exact.meter) <=
                SHARE * (double)world.now + 3 * CAIRN_METER_FLOOR_NS);
    cairn_exact_release(&world.exact);
}

/* Unless there is a cheaper way to count alone: then each call is told to the end. */
static void test_where_passing_over_costs_too_much_all_may_be_counted(void **state)
{
    struct world world;
    int calls = 0;

    (void)state;
    begin(&world, 40, true);
    world.exact.meter.host.plain = turn_plain;
    world.exact.meter.host.plain_counted = PLAIN_NS;
    world.exact.meter.host.plain_passed = 1;
    cairn_exact_enter(&world.exact, &keys[0], 100, 0, NULL);
    for (; calls < 1000000; calls++)
        call(&world, 1, 200, 100, 200);
    assert_int_equal(world.plain, 1);
    assert_int_equal(world.stops, 0);
    assert_true(world.exact.meter.plain);
    assert_int_equal(world.gone[1] & CAIRN_LET_GO_SELF, 0);
    assert_int_equal(sum_of(&world, 1).calls, calls);
    assert_int_equal(sum_of(&world, 0).calls, 1);
    assert_in_range(sum_of(&world, 1).total, 1, calls / 10 * 200);
    expect_within(&world);
    for (int i = 0; i < 20000000 && world.gone[2] == 0; i++) /* of one even that is too dear */
        call(&world, 2, 200, 100, 50);
    assert_int_equal(world.gone[2], CAIRN_LET_GO_SELF);
    assert_int_equal(world.gone[1] & CAIRN_LET_GO_SELF, 0);
    assert_int_equal(world.stops, 0);
    for (int i = 0; i < 20000000 && world.stops == 0; i++) /* and at last to pass it over */
        call(&world, 2, 200, 100, 5);
    assert_int_equal(world.stops, 1);
    assert_int_equal(world.plain, 1);
    expect_within(&world);
    cairn_exact_release(&world.exact);
}

/* What was let go while it ran, deep on the stack, ends when its caller goes on. */
static void test_what_is_let_go_on_the_stack_is_healed(void **state)
{
    struct world world;
    uintptr_t depth = 0;

    (void)state;
    begin(&world, CALL_NS, false);
    cairn_exact_enter(&world.exact, &keys[0], 100, 0, NULL);
    for (; (world.gone[1] & CAIRN_LET_GO_SELF) == 0;
         depth++) { /* it calls itself, and something each time */
        cairn_exact_enter(&world.exact, &keys[1], 1000 + 2 * depth, depth ? 998 + 2 * depth : 100,
                          NULL);
        call(&world, 1, 5000000, 1000 + 2 * depth, 10);
        assert_true(depth < 1000000);
    }
    /* Nobody sees them return. */
    call(&world, 3, 200, 100, 7);
    assert_int_equal(sum_of(&world, 3).calls, 1);
    cairn_exact_leave(&world.exact, 100);
    assert_int_equal(sum_of(&world, 0).calls, 1);
    assert_int_equal(sum_of(&world, 0).total, world.now);
    assert_int_equal(cairn_exact_here.thread->depth, 0);
    cairn_exact_release(&world.exact);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_small_and_hot_is_let_go),
        cmocka_unit_test(test_what_may_be_counted_is_counted_on),
        cmocka_unit_test(test_what_is_counted_alone_may_yet_be_let_go),
        cmocka_unit_test(test_what_is_cheap_enough_is_left_alone),
        cmocka_unit_test(test_what_is_called_of_c_goes_by_its_caller),
        cmocka_unit_test(test_another_phase_is_judged_by_itself),
        cmocka_unit_test(test_where_passing_over_costs_too_much_all_ends),
        cmocka_unit_test(test_where_passing_over_costs_too_much_all_may_be_counted),
        cmocka_unit_test(test_what_is_let_go_on_the_stack_is_healed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
