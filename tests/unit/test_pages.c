/* The reader on recorded memory: two moments of one process, and all that lies between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc.h"
#include "err.h"
#include "pages.h"
#include "pyread_parts.h"

static const struct {
    const char *version, *layout;
} cases[] = {
    {"3.8", "table+probe"}, {"3.9", "table+probe"}, {"3.10", "table+probe"}, {"3.11", "table"},
    {"3.12", "table"},      {"3.13", "offsets"},    {"3.14", "offsets"},     {"3.15", "offsets"},
};

#define VERSION_COUNT (sizeof(cases) / sizeof(cases[0]))
#define FIRST_WITH_NUMBERS 3 /* of the kernel's, in their thread states */
#define DEEP_FRAMES 201

static const char *const stack_a[] = {"<module>", "main", "outer_a", "items", "leaf_a", "halt"};
static const char *const stack_b_start[] = {"<module>", "main"};
static const char *const stack_b_end[] = {"outer_b", "leaf_b", "halt"};

struct world {
    struct pages pages;
    struct cairn_remote remote;
    struct cairn_pyread *read;
    struct cairn_err err;
};

static void load_pages(struct pages *pages, const char *version)
{
    char path[64];

    snprintf(path, sizeof(path), "tests/corpus/pywalk/%s.pages", version);
    pages_init(pages);
    assert_int_equal(pages_load(pages, path), 0);
    assert_int_equal(pages->moment_count, 2);
}

static void open_world(struct world *world, const char *version)
{
    *world = (struct world){0};
    load_pages(&world->pages, version);
    pages_remote(&world->pages, &world->remote);
    assert_int_equal(cairn_pyread_open_at(&world->remote, world->pages.runtime,
                                          world->pages.hexversion, &world->read, &world->err),
                     0);
}

static void close_world(struct world *world)
{
    cairn_pyread_free(world->read);
    pages_release(&world->pages);
}

static size_t moment_of(void *ctx, uint64_t address)
{
    (void)address;
    return *(const size_t *)ctx;
}

static const struct cairn_pythread *only_thread(const struct cairn_pyread *read)
{
    size_t count;
    struct cairn_pythread *const *threads = cairn_pyread_threads(read, &count);

    assert_int_equal(count, 1);
    return threads[0];
}

/* In a mix a code object may lie in a line that was not recorded: it is unknown then, not wrong. */
static bool is_named(const struct cairn_pyframe *frame, const char *name)
{
    return !frame->code || (frame->code->name.size_bytes == strlen(name) &&
                            memcmp(frame->code->name.data, name, strlen(name)) == 0);
}

static size_t unknown_frames(const struct cairn_pythread *thread)
{
    size_t count = 0;

    for (uint32_t i = 0; i < thread->depth; i++)
        count += !thread->frames[i].code;
    return count;
}

/* How many frames from the root on are those of the first moment's stack, or the second's. */
static size_t frames_of_a(const struct cairn_pythread *thread)
{
    size_t i = 0;

    while (i < thread->depth && i < 6 && is_named(&thread->frames[i], stack_a[i]))
        i++;
    return i;
}

static const char *name_in_b(size_t index)
{
    if (index < 2)
        return stack_b_start[index];
    if (index < 2 + DEEP_FRAMES)
        return "deep";
    return index < 5 + DEEP_FRAMES ? stack_b_end[index - 2 - DEEP_FRAMES] : "";
}

static size_t frames_of_b(const struct cairn_pythread *thread)
{
    size_t i = 0;

    while (i < thread->depth && is_named(&thread->frames[i], name_in_b(i)))
        i++;
    return i;
}

static void check_a(const struct cairn_pythread *thread)
{
    assert_int_equal(thread->status, CAIRN_PYSTACK_OK);
    assert_int_equal(thread->depth, 6);
    assert_int_equal(frames_of_a(thread), 6);
    assert_int_equal(unknown_frames(thread), 0);
}

static void check_b(const struct cairn_pythread *thread)
{
    assert_int_equal(thread->status, CAIRN_PYSTACK_OK);
    assert_int_equal(thread->depth, 5 + DEEP_FRAMES);
    assert_int_equal(frames_of_b(thread), 5 + DEEP_FRAMES);
    assert_int_equal(unknown_frames(thread), 0);
}

static void test_both_moments_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        struct world world;
        size_t moment = 0;

        open_world(&world, cases[i].version);
        world.pages.choose = moment_of;
        world.pages.choose_ctx = &moment;
        assert_int_equal(
            strncmp(cairn_pyread_version(world.read), cases[i].version, strlen(cases[i].version)),
            0);
        assert_string_equal(cairn_pyread_layout(world.read), cases[i].layout);
        assert_int_equal(cairn_pyread_tick(world.read, &world.err), 0);
        check_a(only_thread(world.read));
        assert_int_equal(only_thread(world.read)->kept, 0);
        assert_false(only_thread(world.read)->unchanged);

        assert_int_equal(cairn_pyread_tick(world.read, &world.err), 0);
        assert_int_equal(only_thread(world.read)->kept, 6);
        assert_true(only_thread(world.read)->unchanged);

        moment = 1;
        assert_int_equal(cairn_pyread_tick(world.read, &world.err), 0);
        check_b(only_thread(world.read));
        /* <module> stands where it stood; main went on to another line. */
        assert_int_equal(only_thread(world.read)->kept, 1);
        assert_int_equal(cairn_pyread_stats(world.read)->torn, 0);
        close_world(&world);
    }
}

static void test_instructions_lie_in_their_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        struct world world;
        const struct cairn_pythread *thread;

        open_world(&world, cases[i].version);
        assert_int_equal(cairn_pyread_tick(world.read, &world.err), 0);
        thread = only_thread(world.read);
        for (uint32_t frame = 0; frame < thread->depth; frame++) {
            assert_true(thread->frames[frame].offset >= 0);
            assert_int_equal(thread->frames[frame].offset % 2, 0);
            assert_true(thread->frames[frame].code->linetable.size_bytes > 0);
        }
        assert_int_equal(thread->frames[5].code->first_line, 11);
        close_world(&world);
    }
}

/* Bytes below `limit` are of one moment, those above of the other. */
struct mix {
    uint64_t limit;
    size_t below;
    bool whole_first; /* nothing is mixed yet */
};

static size_t moment_in_mix(void *ctx, uint64_t address)
{
    const struct mix *mix = ctx;

    if (mix->whole_first)
        return mix->below;
    return address < mix->limit ? mix->below : 1 - mix->below;
}

/* How often the bytes at `address` were asked for. */
struct counting {
    struct cairn_remote behind;
    uint64_t address, times;
};

static int counting_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                         size_t *ret_parts)
{
    struct counting *counting = ctx;

    for (size_t i = 0; i < count; i++)
        counting->times += counting->address - parts[i].address < parts[i].size_bytes;
    return cairn_remote_read(&counting->behind, parts, count, ret_parts);
}

/* The reader was at one moment; now part of the memory is of the other: whatever it hands out is
 * from the root on one of the two stacks, never a stack that was not. Each time it looks again is
 * counted, and that is twice at most, but for when it was put off while it copied. */
static void check_mix(struct pages *pages, struct mix *mix)
{
    struct counting counting = {.times = 0};
    struct cairn_remote remote = {.read = counting_read, .ctx = &counting};
    struct cairn_pyread *read;
    struct cairn_err err = {0};
    const struct cairn_pythread *thread;
    uint64_t reread;
    size_t of_a, of_b;

    mix->whole_first = true;
    pages->choose = moment_in_mix;
    pages->choose_ctx = mix;
    pages_remote(pages, &counting.behind);
    assert_int_equal(cairn_pyread_open_at(&remote, pages->runtime, pages->hexversion, &read, &err),
                     0);
    assert_int_equal(cairn_pyread_tick(read, &err), 0);
    mix->whole_first = false;
    counting.address = only_thread(read)->tstate + read->runtime.layout.thread_interp;
    counting.times = 0;
    reread = cairn_pyread_stats(read)->reread;
    assert_int_equal(cairn_pyread_tick(read, &err), 0);
    thread = only_thread(read);
    assert_in_range(((const struct cairn_pykept *)thread)->tries, 1, 3);
    assert_int_equal(counting.times, 1 + cairn_pyread_stats(read)->reread - reread);
    of_a = frames_of_a(thread);
    of_b = frames_of_b(thread);
    assert_true(of_a == thread->depth || of_b == thread->depth);
    cairn_pyread_free(read);
}

static void test_a_mix_of_moments_is_no_stack(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        struct pages pages;

        load_pages(&pages, cases[i].version);
        for (size_t below = 0; below < 2; below++) {
            for (size_t line = 0; line < pages.moments[0].lines.count; line += 3) {
                struct mix mix = {.limit = pages.moments[0].lines.items[line].address,
                                  .below = below};

                check_mix(&pages, &mix);
            }
        }
        pages_release(&pages);
    }
}

static void take_name(void *ctx, uint64_t pthread_id, uint64_t native_id, struct cairn_span name)
{
    (void)native_id;
    char *text = ctx;

    assert_true(pthread_id != 0);
    assert_true(name.size_bytes < 32);
    memcpy(text, name.data, name.size_bytes);
    text[name.size_bytes] = 0;
}

static void test_names_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        struct world world;
        char name[32] = "";

        open_world(&world, cases[i].version);
        assert_int_equal(cairn_pyread_tick(world.read, &world.err), 0);
        assert_int_equal(cairn_pyread_names(world.read, NULL, take_name, name), 1);
        assert_string_equal(name, "p\xc3\xa4ge \xe2\x9c\x93");
        close_world(&world);
    }
}

/* --- Failing reads --- */

struct failing {
    struct cairn_remote behind;
    long reads_left; /* then … */
    int code;
    bool once; /* the reads behind that one succeed */
};

static int failing_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                        size_t *ret_parts)
{
    struct failing *failing = ctx;

    if (failing->reads_left-- > 0 || (failing->once && failing->reads_left < -1))
        return cairn_remote_read(&failing->behind, parts, count, ret_parts);
    *ret_parts = 0;
    if (failing->code == -CAIRN_ESHORT && count > 1) {
        int code = cairn_remote_read(&failing->behind, parts, count / 2, ret_parts);

        return code < 0 ? code : -CAIRN_ESHORT;
    }
    return failing->code;
}

/* Nothing that covers an address can be read, so many times. */
struct refusing {
    struct cairn_remote behind;
    uint64_t address;
    int times;
};

static int refusing_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                         size_t *ret_parts)
{
    struct refusing *refusing = ctx;
    size_t good = 0;

    while (good < count && (refusing->times == 0 ||
                            refusing->address - parts[good].address >= parts[good].size_bytes))
        good++;
    *ret_parts = 0;
    if (good > 0)
        CAIRN_TRY(cairn_remote_read(&refusing->behind, parts, good, ret_parts));
    if (good == count || *ret_parts < good)
        return 0;
    refusing->times--;
    return -CAIRN_EUNREADABLE;
}

/* A thread whose state could not be copied at first was there all the same: it is read. */
static void test_a_state_that_is_unreadable_once_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        struct pages pages;
        struct refusing refusing = {.times = 0};
        struct cairn_remote remote = {.read = refusing_read, .ctx = &refusing};
        struct cairn_pyread *read;
        struct cairn_err err = {0};

        load_pages(&pages, cases[i].version);
        pages_remote(&pages, &refusing.behind);
        assert_int_equal(
            cairn_pyread_open_at(&remote, pages.runtime, pages.hexversion, &read, &err), 0);
        for (int tick = 0; tick < 3; tick++) {
            assert_int_equal(cairn_pyread_tick(read, &err), 0);
            check_a(only_thread(read));
            assert_int_equal(refusing.times, 0);
            refusing.address = only_thread(read)->tstate;
            refusing.times = 1;
        }
        assert_true(cairn_pyread_stats(read)->reread > 0);
        cairn_pyread_free(read);
        pages_release(&pages);
    }
}

/* After the first read of a tick, which says that the list of threads begins elsewhere, another
 * thread runs in a state. */
struct succeeding {
    struct cairn_remote behind;
    uint64_t head, number; /* where these lie; 0: nobody came yet */
    uint64_t who;
    int reads; /* of this tick */
};

static void put(const struct cairn_remote_part *part, uint64_t address, uint64_t value)
{
    if (address - part->address < part->size_bytes)
        memcpy((uint8_t *)part->data + (address - part->address), &value, sizeof(value));
}

static int succeeding_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                           size_t *ret_parts)
{
    struct succeeding *succeeding = ctx;
    int code = cairn_remote_read(&succeeding->behind, parts, count, ret_parts);

    for (size_t i = 0; succeeding->number && i < *ret_parts; i++)
        put(&parts[i], succeeding->reads ? succeeding->number : succeeding->head,
            succeeding->reads ? succeeding->who : 0);
    succeeding->reads++;
    return code;
}

/* What was read of the one before is not for who is found in its state when the list is gone
 * through behind it. */
static void test_who_takes_a_state_over_has_no_stack_of_the_one_before(void **state)
{
    (void)state;
    for (size_t i = FIRST_WITH_NUMBERS; i < VERSION_COUNT; i++) {
        struct pages pages;
        struct succeeding succeeding = {.who = 4711};
        struct cairn_remote remote = {.read = succeeding_read, .ctx = &succeeding};
        struct cairn_pyread *read;
        struct cairn_err err = {0};
        const struct cairn_pythread *thread;

        load_pages(&pages, cases[i].version);
        pages_remote(&pages, &succeeding.behind);
        assert_int_equal(
            cairn_pyread_open_at(&remote, pages.runtime, pages.hexversion, &read, &err), 0);
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        thread = only_thread(read);
        check_a(thread);
        succeeding.head = thread->interp + read->runtime.layout.interp_threads_head;
        succeeding.number = thread->tstate + read->runtime.layout.thread_native_id;
        succeeding.reads = 0;
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        assert_int_equal(only_thread(read)->native_id, 4711);
        assert_int_equal(only_thread(read)->status, CAIRN_PYSTACK_NONE);
        assert_int_equal(only_thread(read)->depth, 0);
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        check_a(only_thread(read));
        cairn_pyread_free(read);
        pages_release(&pages);
    }
}

/* Who has no task of his number is asked for another where that was so for two ticks: not where the
 * one had ended, and then the next. */
static void test_each_who_has_no_task_is_looked_at_twice(void **state)
{
    (void)state;
    for (size_t i = FIRST_WITH_NUMBERS; i < VERSION_COUNT; i++) {
        struct pages pages;
        struct succeeding succeeding = {.who = 0};
        struct cairn_remote remote = {.read = succeeding_read, .ctx = &succeeding};
        struct cairn_pyread *read;
        struct cairn_err err = {0};

        load_pages(&pages, cases[i].version);
        pages_remote(&pages, &succeeding.behind);
        assert_int_equal(
            cairn_pyread_open_at(&remote, pages.runtime, pages.hexversion, &read, &err), 0);
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        succeeding.number = only_thread(read)->tstate + read->runtime.layout.thread_native_id;
        for (int tick = 0; tick < 5; tick++) {
            struct cairn_pythread *thread;

            succeeding.who = 4711 + (uint64_t)tick / 2;
            assert_int_equal(cairn_pyread_tick(read, &err), 0);
            thread = (struct cairn_pythread *)only_thread(read);
            assert_int_equal(thread->native_id, succeeding.who);
            assert_int_equal(cairn_pyread_disown(read, thread), 0);
            assert_int_equal(thread->native_id, tick % 2 ? 0 : succeeding.who);
        }
        cairn_pyread_free(read);
        pages_release(&pages);
    }
}

/* The C library's descriptor of the only thread, which no set holds: who runs it, as it says. */
struct describing {
    struct cairn_remote behind;
    uint64_t address; /* 0: not known yet */
    int32_t number;
};

#define NUMBER_PLACE 720

static int describing_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                           size_t *ret_parts)
{
    struct describing *describing = ctx;

    for (*ret_parts = 0; *ret_parts < count; (*ret_parts)++) {
        const struct cairn_remote_part *part = &parts[*ret_parts];
        uint64_t offset = part->address - describing->address;
        uint8_t descriptor[1024] = {0};

        memcpy(descriptor + NUMBER_PLACE, &describing->number, sizeof(describing->number));
        if (!describing->address || offset >= sizeof(descriptor) ||
            part->size_bytes > sizeof(descriptor) - offset)
            CAIRN_TRY(
                cairn_remote_get(&describing->behind, part->address, part->data, part->size_bytes));
        else
            memcpy(part->data, descriptor + offset, part->size_bytes);
    }
    return 0;
}

/* A thread that takes over the state and the descriptor of one that had just ended when its number
 * was looked for has its number, and its stack, at the next tick. */
static void test_who_comes_after_one_without_a_number_has_his_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < FIRST_WITH_NUMBERS; i++) {
        struct pages pages;
        struct describing describing = {.number = getpid()};
        struct cairn_remote remote = {.read = describing_read, .ctx = &describing};
        struct cairn_pyread *read;
        struct cairn_err err = {0};
        struct cairn_pythread *thread;

        load_pages(&pages, cases[i].version);
        pages_remote(&pages, &describing.behind);
        assert_int_equal(
            cairn_pyread_open_at(&remote, pages.runtime, pages.hexversion, &read, &err), 0);
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        check_a(only_thread(read));
        read->tids.pid = getpid();
        describing.address = only_thread(read)->pthread_id;
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        assert_int_equal(only_thread(read)->native_id, getpid());
        assert_int_equal(read->tids.place, NUMBER_PLACE);
        check_a(only_thread(read));

        describing.number = 0; /* over */
        thread = (struct cairn_pythread *)only_thread(read);
        assert_int_equal(cairn_pyread_disown(read, thread), 0);
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        assert_int_equal(only_thread(read)->native_id, 0);
        describing.number = getpid(); /* another's, as far as the reader can know */
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        assert_int_equal(only_thread(read)->native_id, getpid());
        check_a(only_thread(read));
        cairn_pyread_free(read);
        pages_release(&pages);
    }
}

static const int fail_codes[] = {-CAIRN_EGONE, -CAIRN_EPERM, -CAIRN_EUNREADABLE, -CAIRN_ESHORT};

#define FAIL_CODE_COUNT (sizeof(fail_codes) / sizeof(fail_codes[0]))

/* Reads what lies behind `failing`: 0 or what it was told, and how the reader ended up. */
static int tick_failing(const struct pages *pages, struct failing *failing,
                        struct cairn_pyread **ret_read)
{
    struct cairn_remote remote = {.read = failing_read, .ctx = failing};
    struct cairn_err err = {0};
    int code = cairn_pyread_open_at(&remote, pages->runtime, pages->hexversion, ret_read, &err);

    if (code < 0) {
        *ret_read = NULL;
        return code;
    }
    for (int tick = 0; tick < 2 && code == 0; tick++)
        code = cairn_pyread_tick(*ret_read, &err);
    assert_true(code == 0 || code == failing->code || code == -CAIRN_EGONE);
    return code;
}

/* Every read in turn fails, it alone or all behind it as well, in each way there is to fail: an
 * answer, no crash, nothing leaks. Who is still read then sees what there is. */
static void check_failing_reads(const char *version, int fail_code, bool once)
{
    struct pages pages;
    long count = 0;
    bool failed = true;

    load_pages(&pages, version);
    for (; failed && count < 1000; count++) {
        struct failing failing = {.reads_left = count, .code = fail_code, .once = once};
        struct cairn_err err = {0};
        struct cairn_pyread *read;
        int code;

        pages_remote(&pages, &failing.behind);
        code = tick_failing(&pages, &failing, &read);
        failed = failing.reads_left < 0;
        if (once && failed && code == 0) {
            assert_int_equal(cairn_pyread_tick(read, &err), 0);
            check_a(only_thread(read));
        }
        cairn_pyread_free(read);
    }
    assert_true(count > 10);
    assert_false(failed);
    pages_release(&pages);
}

static void test_every_read_may_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        for (size_t k = 0; k < FAIL_CODE_COUNT; k++) {
            check_failing_reads(cases[i].version, fail_codes[k], false);
            check_failing_reads(cases[i].version, fail_codes[k], true);
        }
    }
}

/* Memory that holds a text is not readable, the rest is. */
struct hiding {
    struct cairn_remote behind;
    const char *text;
};

static int hiding_read(void *ctx, const struct cairn_remote_part *parts, size_t count,
                       size_t *ret_parts)
{
    struct hiding *hiding = ctx;
    int code = cairn_remote_read(&hiding->behind, parts, count, ret_parts);

    for (size_t i = 0; i < *ret_parts; i++) {
        if (!memmem(parts[i].data, parts[i].size_bytes, hiding->text, strlen(hiding->text)))
            continue;
        *ret_parts = i;
        return i ? -CAIRN_ESHORT : -CAIRN_EUNREADABLE;
    }
    return code;
}

/* Code whose names cannot be read is mostly on its way out, and with it the stack it is in; one
 * that is still there at the next tick is shown, without a name. */
static void test_code_without_names_is_doubted_first(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        struct hiding hiding = {.text = "leaf_a"};
        struct cairn_remote remote = {.read = hiding_read, .ctx = &hiding};
        struct cairn_err err = {0};
        struct cairn_pyread *read;
        struct pages pages;

        load_pages(&pages, cases[i].version);
        pages_remote(&pages, &hiding.behind);
        assert_int_equal(
            cairn_pyread_open_at(&remote, pages.runtime, pages.hexversion, &read, &err), 0);
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        assert_int_equal(unknown_frames(only_thread(read)), 0);
        assert_int_equal(frames_of_a(only_thread(read)), only_thread(read)->depth);
        assert_int_equal(cairn_pyread_tick(read, &err), 0);
        assert_int_equal(only_thread(read)->depth, 6);
        assert_int_equal(unknown_frames(only_thread(read)), 1);
        cairn_pyread_free(read);
        pages_release(&pages);
    }
}

static void check_allocations(const char *version)
{
    struct pages pages;
    bool failed = true;

    load_pages(&pages, version);
    for (long n = 0; failed; n++) {
        struct cairn_remote remote;
        struct cairn_pyread *read;
        struct cairn_err err = {0};
        char name[32];
        int code;

        pages_remote(&pages, &remote);
        cairn_alloc_fail_after(n);
        code = cairn_pyread_open_at(&remote, pages.runtime, pages.hexversion, &read, &err);
        if (code == 0) {
            code = cairn_pyread_tick(read, &err);
            if (code == 0)
                code = cairn_pyread_names(read, NULL, take_name, name);
            cairn_pyread_free(read);
        }
        failed = cairn_alloc_has_failed();
        cairn_alloc_fail_after(-1);
        assert_int_equal(code < 0 ? code : 0, failed ? -CAIRN_ENOMEM : 0);
        assert_true(failed || n > 10);
    }
    pages_release(&pages);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        check_allocations(cases[i].version);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_moments_are_read),
        cmocka_unit_test(test_instructions_lie_in_their_lines),
        cmocka_unit_test(test_a_mix_of_moments_is_no_stack),
        cmocka_unit_test(test_names_are_read),
        cmocka_unit_test(test_a_state_that_is_unreadable_once_is_read),
        cmocka_unit_test(test_who_takes_a_state_over_has_no_stack_of_the_one_before),
        cmocka_unit_test(test_each_who_has_no_task_is_looked_at_twice),
        cmocka_unit_test(test_who_comes_after_one_without_a_number_has_his_own),
        cmocka_unit_test(test_every_read_may_fail),
        cmocka_unit_test(test_code_without_names_is_doubted_first),
        cmocka_unit_test(test_every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
