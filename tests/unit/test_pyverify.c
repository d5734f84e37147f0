/* A table that is off by a member somewhere: refused, or nothing wrong comes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"
#include "format.h"
#include "pages.h"
#include "pylayout.h"
#include "pyread.h"

#define BEGINNINGS 4
#define THREAD_NAME "p\xc3\xa4ge \xe2\x9c\x93"
#define FILE_NAME "pages.py"

static const struct {
    const char *name;
    uint32_t first_line;
} stack[] = {{"<module>", 1}, {"main", 42},   {"outer_a", 25},
             {"items", 20},   {"leaf_a", 15}, {"halt", 11}};

#define STACK_COUNT (sizeof(stack) / sizeof(stack[0]))

static const struct field {
    const char *name;
    size_t place;
    uint32_t width;
} fields[] = {
#define X(group, field, width) {#field, offsetof(struct cairn_pylayout, field), width},
#include "pylayout.def"
#undef X
};

static bool ends_in(struct cairn_span text, const char *end)
{
    size_t size = strlen(end);

    return text.size_bytes >= size && memcmp(text.data + text.size_bytes - size, end, size) == 0;
}

/* `offsets`: where the frames stand in their code; filled when it is not known yet. */
static bool is_right(const struct cairn_pyframe *frame, size_t index, int32_t *offsets)
{
    const struct cairn_pycode *code = frame->code;

    if (!offsets[index])
        offsets[index] = frame->offset;

    if (!code)
        return true; /* [unknown] claims nothing */
    return code->name.size_bytes == strlen(stack[index].name) &&
           ends_in(code->name, stack[index].name) && ends_in(code->file, FILE_NAME) &&
           code->first_line == stack[index].first_line && frame->offset == offsets[index];
}

static void load(struct pages *pages, int minor)
{
    char path[64];

    snprintf(path, sizeof(path), "tests/corpus/pywalk/3.%d.pages", minor);
    pages_init(pages);
    assert_int_equal(pages_load(pages, path), 0);
}

static uint64_t get(struct pages *pages, uint64_t address)
{
    struct cairn_remote remote;
    uint64_t value;

    pages_remote(pages, &remote);
    assert_int_equal(cairn_remote_get(&remote, address, &value, sizeof(value)), 0);
    return value;
}

struct word {
    uint64_t address, value;
};

static void put(struct pages *pages, struct word word)
{
    uint8_t *line = pages_line(pages, 0, word.address / PAGES_LINE_BYTES * PAGES_LINE_BYTES);

    assert_non_null(line);
    memcpy(line + word.address % PAGES_LINE_BYTES, &word.value, sizeof(word.value));
}

/* Where 3.11 and 3.12 keep what is current. */
static uint64_t place_of_current(struct pages *pages, const struct cairn_pylayout *l)
{
    uint64_t interp = get(pages, pages->runtime + l->runtime_interpreters_head);
    uint64_t thread = get(pages, interp + l->interp_threads_head);

    return get(pages, thread + l->thread_cframe) + l->cframe_current_frame;
}

/* The process may be stopped where C has called the interpreter and this has written nothing yet,
 * or not all that it writes first; what lies there is of another call, or of none. Returns what
 * was there before. */
static struct word begin_call(struct pages *pages, const struct cairn_pylayout *l, int which)
{
    const uint64_t place = place_of_current(pages, l);
    const uint64_t code_place = get(pages, place) + l->frame_code;
    const uint64_t code = get(pages, code_place);
    const struct word words[BEGINNINGS] = {{code_place, get(pages, code + l->code_name)},
                                           {code_place, 0x10001},
                                           {place, 0},
                                           {place, code}};
    const struct word was = {words[which].address, get(pages, words[which].address)};

    put(pages, words[which]);
    return was;
}

/* What a moment may be made to be besides, at places where it is read what threads do. */
enum doing { QUIET, COLLECTS, WITHOUT_GIL, RAISES, HANDLES, DOING_COUNT };

#define GONE 0x777777777000 /* an exception that was there a moment ago */

static uint64_t place_of_doing(struct pages *pages, const struct cairn_pylayout *l, enum doing what)
{
    uint64_t interp = get(pages, pages->runtime + l->runtime_interpreters_head);
    uint64_t thread = get(pages, interp + l->interp_threads_head);
    uint64_t gc =
        cairn_pylayout_has(l->interp_gc) ? interp + l->interp_gc : pages->runtime + l->runtime_gc;
    uint64_t gil = cairn_pylayout_has(l->runtime_gil) ? pages->runtime + l->runtime_gil
                                                      : get(pages, interp + l->interp_gil);

    switch (what) {
    case COLLECTS:
        return gc + l->gc_collecting;
    case WITHOUT_GIL:
        return gil + l->gil_locked;
    case RAISES:
        return thread + l->thread_exception;
    default:
        return thread + l->thread_exc_state + l->excitem_value;
    }
}

static void make_do(struct pages *pages, const struct cairn_pylayout *l, enum doing what)
{
    const uint64_t values[DOING_COUNT] = {[COLLECTS] = 1, [RAISES] = GONE, [HANDLES] = GONE};

    if (what != QUIET)
        put(pages, (struct word){place_of_doing(pages, l, what), values[what]});
}

static const struct {
    uint8_t overlay, unknown;
} overlays[] = {
    {CAIRN_OVERLAY_GIL_HELD, CAIRN_OVERLAY_GIL_UNKNOWN},
    {CAIRN_OVERLAY_GC, CAIRN_OVERLAY_GC_UNKNOWN},
    {CAIRN_OVERLAY_EXCEPTION, CAIRN_OVERLAY_EXCEPTION_UNKNOWN},
};

/* What is known to hold, or not to, is what does. */
static bool is_true(uint8_t told, uint8_t truth)
{
    for (size_t i = 0; i < sizeof(overlays) / sizeof(overlays[0]); i++)
        if (!(told & overlays[i].unknown) && (told ^ truth) & overlays[i].overlay)
            return false;
    return true;
}

#define ALL_UNKNOWN                                                                                \
    (CAIRN_OVERLAY_GIL_UNKNOWN | CAIRN_OVERLAY_GC_UNKNOWN | CAIRN_OVERLAY_EXCEPTION_UNKNOWN)

static void take_name(void *ctx, uint64_t pthread_id, uint64_t native_id, struct cairn_span name)
{
    (void)pthread_id;
    (void)native_id;
    assert_true(name.size_bytes < 32);
    memcpy(ctx, name.data, name.size_bytes);
}

/* What the reader says that the thread does, and whether it names it rightly, or not at all. */
static uint8_t done_by(struct pages *pages, const struct cairn_pytable *table, const char *what)
{
    struct cairn_remote remote;
    struct cairn_pyread *read;
    struct cairn_err err = {0};
    uint8_t done = ALL_UNKNOWN;
    size_t count;

    pages_remote(pages, &remote);
    if (cairn_pyread_open_table(&remote, pages->runtime, pages->hexversion, table, &read, &err) < 0)
        return done;
    if (cairn_pyread_tick(read, &err) == 0 && cairn_pyread_tick(read, &err) == 0) {
        struct cairn_pythread *const *threads = cairn_pyread_threads(read, &count);
        char name[32] = "";

        done = count == 1 ? cairn_pyread_overlays(read, threads[0]) : ALL_UNKNOWN;
        cairn_pyread_names(read, NULL, take_name, name);
        if (name[0] && strcmp(name, THREAD_NAME) != 0)
            fail_msg("%s: it is called %s", what, name);
        if (cairn_pyread_lacks_threading(read))
            fail_msg("%s: threading is not there", what);
    }
    cairn_pyread_free(read);
    return done;
}

/* What the reader makes of the first moment by this layout. True: it was read. `begun`: what of a
 * call that begins it meets when it comes, and not later; negative: none. */
static bool read_by(struct pages *pages, const struct cairn_pytable *table, int begun,
                    int32_t *offsets, const char *what)
{
    const struct cairn_pylayout *right = cairn_pytable_find(table->minor)->layout;
    struct cairn_remote remote;
    struct cairn_pyread *read;
    struct cairn_err err = {0};
    bool whole = false;
    struct word was = {0};
    size_t count;
    int code;

    pages_remote(pages, &remote);
    if (begun >= 0)
        was = begin_call(pages, right, begun);
    code = cairn_pyread_open_table(&remote, pages->runtime, pages->hexversion, table, &read, &err);
    if (begun >= 0)
        put(pages, was);
    if (code < 0)
        return false;
    for (int tick = 0; tick < 3 && cairn_pyread_tick(read, &err) == 0; tick++) {
        struct cairn_pythread *const *threads = cairn_pyread_threads(read, &count);

        for (size_t i = 0; i < count; i++) {
            whole = threads[i]->status == CAIRN_PYSTACK_OK && threads[i]->depth == STACK_COUNT;
            if (threads[i]->depth > STACK_COUNT)
                fail_msg("%s: %u frames", what, threads[i]->depth);
            for (uint32_t frame = 0; frame < threads[i]->depth; frame++) {
                if (!is_right(&threads[i]->frames[frame], frame, offsets))
                    fail_msg("%s: frame %u is wrong", what, frame);
            }
        }
    }
    cairn_pyread_free(read);
    return whole;
}

/* Shifts one member after the other. What the target tells is as it tells. */
static void each_shifted(const struct cairn_pytable *right,
                         void (*shifted)(void *ctx, const struct cairn_pytable *table,
                                         const char *what),
                         void *ctx)
{
    for (size_t field = 0; field < sizeof(fields) / sizeof(fields[0]); field++) {
        for (int by = -8; by <= 8; by += 16) {
            struct cairn_pylayout layout = *right->layout;
            struct cairn_pytable table = *right;
            uint32_t value;
            char what[80];

            memcpy(&value, (const uint8_t *)&layout + fields[field].place, sizeof(value));
            if (!fields[field].width || value == CAIRN_PYLAYOUT_NONE)
                continue;
            value += (uint32_t)by;
            memcpy((uint8_t *)&layout + fields[field].place, &value, sizeof(value));
            table.layout = &layout;
            snprintf(what, sizeof(what), "3.%d: %s%+d", right->minor, fields[field].name, by);
            shifted(ctx, &table, what);
        }
    }
}

struct reading {
    struct pages pages;
    int begun;
    int32_t offsets[STACK_COUNT];
    size_t refused;
    uint8_t truth;
};

static void read_shifted(void *ctx, const struct cairn_pytable *table, const char *what)
{
    struct reading *reading = ctx;

    reading->refused += !read_by(&reading->pages, table, reading->begun, reading->offsets, what);
}

static void do_shifted(void *ctx, const struct cairn_pytable *table, const char *what)
{
    struct reading *reading = ctx;
    uint8_t told = done_by(&reading->pages, table, what);

    if (!is_true(told, reading->truth))
        fail_msg("%s: %#x where %#x holds", what, told, reading->truth);
}

static void shift_all(int minor, int begun)
{
    const struct cairn_pytable *right = cairn_pytable_find(minor);
    struct reading reading = {.begun = begun};

    load(&reading.pages, minor);
    assert_true(read_by(&reading.pages, right, begun, reading.offsets, "as it is"));
    each_shifted(right, read_shifted, &reading);
    /* The others were seen to be the same. */
    assert_true(reading.refused >= (size_t)(minor < 13 ? 100 : 60));
    print_message("# 3.%d: %zu shifted tables refused\n", minor, reading.refused);
    pages_release(&reading.pages);
}

static void test_a_member_out_of_place_is_no_stack(void **state)
{
    (void)state;
    for (int minor = 8; minor <= 15; minor++)
        shift_all(minor, -1);
}

static void test_nor_is_it_where_a_call_begins(void **state)
{
    (void)state;
    for (int minor = 11; minor <= 12; minor++)
        for (int begun = 0; begun < BEGINNINGS; begun++)
            shift_all(minor, begun);
}

/* Nor says one what a thread does, or is called, that it does not, or is not. */
static void test_a_member_out_of_place_tells_nothing_else(void **state)
{
    const uint8_t truths[DOING_COUNT] = {
        [QUIET] = CAIRN_OVERLAY_GIL_HELD,
        [COLLECTS] = CAIRN_OVERLAY_GIL_HELD | CAIRN_OVERLAY_GC,
        [WITHOUT_GIL] = 0,
        [RAISES] = CAIRN_OVERLAY_GIL_HELD | CAIRN_OVERLAY_EXCEPTION,
        [HANDLES] = CAIRN_OVERLAY_GIL_HELD | CAIRN_OVERLAY_EXCEPTION,
    };

    (void)state;
    for (int minor = 8; minor <= 15; minor++) {
        const struct cairn_pytable *right = cairn_pytable_find(minor);

        for (int what = QUIET; what < DOING_COUNT; what++) {
            struct reading reading = {.truth = truths[what]};

            load(&reading.pages, minor);
            make_do(&reading.pages, right->layout, (enum doing)what);
            assert_int_equal(done_by(&reading.pages, right, "as it is"), truths[what]);
            each_shifted(right, do_shifted, &reading);
            pages_release(&reading.pages);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_member_out_of_place_is_no_stack),
        cmocka_unit_test(test_a_member_out_of_place_tells_nothing_else),
        cmocka_unit_test(test_nor_is_it_where_a_call_begins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
