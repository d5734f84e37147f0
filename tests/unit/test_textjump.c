/* Functions are made here, of the bytes that compilers begin them with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "textjump.h"

#ifdef __x86_64__
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096

typedef int of_two(int a, int b);

/* Beginnings of a function that returns a - b, and what is behind: what they pushed or made room
 * for is undone. */
static const uint8_t with_endbr[] = {
    0xf3, 0x0f, 0x1e, 0xfa, 0x55,       /* endbr64; push %rbp */
    0x48, 0x89, 0xe5, 0x89, 0xf8, 0x29, /* mov %rsp,%rbp; mov %edi,%eax; sub %esi,%eax */
    0xf0, 0x5d, 0xc3,                   /* pop %rbp; ret */
};
static const uint8_t with_frame[] = {
    0x55, 0x48, 0x89, 0xe5, 0x31, 0xc0, /* push %rbp; mov %rsp,%rbp; xor %eax,%eax */
    0x89, 0xf8, 0x29, 0xf0, 0x5d, 0xc3, /* … */
};
static const uint8_t with_room[] = {
    0x41, 0x57, 0x48, 0x83, 0xec, 0x28,       /* push %r15; sub $0x28,%rsp */
    0x89, 0xf8, 0x29, 0xf0,                   /* … */
    0x48, 0x83, 0xc4, 0x28, 0x41, 0x5f, 0xc3, /* add $0x28,%rsp; pop %r15; ret */
};
static const uint8_t with_much_room[] = {
    0x48, 0x81, 0xec, 0x08, 0x01, 0x00, 0x00,       /* sub $0x108,%rsp */
    0x89, 0xf8, 0x29, 0xf0,                         /* … */
    0x48, 0x81, 0xc4, 0x08, 0x01, 0x00, 0x00, 0xc3, /* add $0x108,%rsp; ret */
};
static const uint8_t with_loads[] = {
    0x4c, 0x8b, 0x54, 0x24, 0x08, /* mov 0x8(%rsp),%r10 */
    0x89, 0xf8, 0x29, 0xf0, 0xc3, /* … */
};
static const uint8_t with_lea[] = {
    0x85, 0xf6, 0x8d, 0x04, 0x3f, /* test %esi,%esi; lea (%rdi,%rdi,1),%eax */
    0x89, 0xf8, 0x29, 0xf0, 0xc3, /* … */
};
static const uint8_t with_far_lea[] = {
    0x8d, 0x04, 0xbd, 0x10, 0x00, 0x00, 0x00, /* lea 0x10(,%rdi,4),%eax */
    0x89, 0xf8, 0x29, 0xf0, 0xc3,             /* … */
};

struct beginning {
    const uint8_t *bytes;
    size_t count;
};

static const struct beginning known[] = {
    {with_endbr, sizeof(with_endbr)},     {with_frame, sizeof(with_frame)},
    {with_room, sizeof(with_room)},       {with_much_room, sizeof(with_much_room)},
    {with_loads, sizeof(with_loads)},     {with_lea, sizeof(with_lea)},
    {with_far_lea, sizeof(with_far_lea)},
};

/* A page of text with the bytes `offset` behind its start. */
static uint8_t *make_text(const uint8_t *bytes, size_t count, size_t offset)
{
    uint8_t *page =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(page != MAP_FAILED);
    memset(page, 0xcc, PAGE_BYTES); /* int3 */
    memcpy(page + offset, bytes, count);
    assert_int_equal(mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC), 0);
    return page;
}

static struct cairn_textjump at_work;
static int met;

static int shortcut(int a, int b)
{
    met++;
    return a == 0 ? -1000 : ((of_two *)at_work.original)(a, b);
}

/* As /proc/self/maps has it: "r-xp". */
static void assert_protected(const void *address, const char *letters)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long begin, end;
    char line[4608], found[8] = "";

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        char now[8];

        if (sscanf(line, "%lx-%lx %7s", &begin, &end, now) == 3 && (uintptr_t)address >= begin &&
            (uintptr_t)address < end)
            memcpy(found, now, sizeof(found));
    }
    fclose(maps);
    assert_string_equal(found, letters);
}

static void assert_jumps(const struct beginning *beginning)
{
    uint8_t *page = make_text(beginning->bytes, beginning->count, 64), before[PAGE_BYTES];
    of_two *function = (of_two *)(void *)(page + 64);

    memcpy(before, page, PAGE_BYTES);
    assert_null(cairn_textjump_make(&at_work, page + 64, (const void *)shortcut));
    assert_memory_equal(before, page, PAGE_BYTES);
    for (int round = 0; round < 3; round++) { /* it may come and go */
        met = 0;
        assert_int_equal(function(7, 2), 5);
        assert_int_equal(met, 0);
        assert_null(cairn_textjump_put(&at_work));
        assert_null(cairn_textjump_put(&at_work)); /* it is in */
        assert_protected(page, "r-xp");
        assert_protected(at_work.original, "r-xp");
        assert_int_equal(function(0, 2), -1000);
        assert_int_equal(function(7, 2), 5);
        assert_int_equal(function(1 << 20, -3), (1 << 20) + 3);
        assert_int_equal(met, 3);
        assert_null(cairn_textjump_take(&at_work));
        assert_null(cairn_textjump_take(&at_work));
        assert_protected(page, "r-xp");
        assert_memory_equal(before, page, PAGE_BYTES);
    }
    assert_int_equal(((of_two *)at_work.original)(7, 2), 5); /* who is in it still */
    munmap(page, PAGE_BYTES);
}

static void test_a_jump_comes_and_goes_at_what_compilers_begin_with(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_jumps(&known[i]);
}

static void assert_refused(const uint8_t *bytes, size_t count, size_t offset, const char *reason)
{
    uint8_t *page = make_text(bytes, count, offset), before[PAGE_BYTES];
    struct cairn_textjump jump;
    const char *why;

    memcpy(before, page, PAGE_BYTES);
    why = cairn_textjump_make(&jump, page + offset, (const void *)shortcut);
    assert_non_null(why);
    assert_non_null(strstr(why, reason));
    assert_memory_equal(before, page, PAGE_BYTES);
    munmap(page, PAGE_BYTES);
}

static void test_what_is_not_known_is_refused(void **state)
{
    static const uint8_t others[][8] = {
        {0xe9, 0, 0, 0, 0},                   /* jmp: somebody was here before */
        {0xcc, 0x55, 0x48, 0x89, 0xe5},       /* int3: a debugger was */
        {0x55, 0xe8, 0, 0, 0, 0},             /* push; call */
        {0x55, 0x48, 0x8b, 0x05, 0, 0, 0, 0}, /* push; mov 0(%rip),%rax */
        {0x48, 0x8d, 0x05, 0, 0, 0, 0},       /* lea 0(%rip),%rax */
        {0x48, 0x83, 0xc4, 0x28, 0x55},       /* add $0x28,%rsp */
        {0x83, 0xec, 0x28, 0x55, 0x55},       /* sub $0x28,%esp */
        {0x48, 0x89, 0x1c, 0x24, 0x55},       /* mov %rbx,(%rsp) */
        {0xf3, 0x0f, 0x1e, 0xfa, 0xc3},       /* endbr64; ret: too short */
        {0x31, 0xc0, 0xc3, 0xcc, 0xcc},       /* xor; ret: likewise */
        {0x31, 0xc0, 0x74, 0xfc, 0x55},       /* xor; je to the start */
        {0x66, 0x90, 0x66, 0x90, 0x90},       /* nops with a prefix */
        {0x8d, 0xc0, 0x55, 0x55, 0x55},       /* lea of a register: none */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_refused(others[i], sizeof(others[i]), 64, "as those that are known");
}

static void test_a_jump_lies_in_one_word(void **state)
{
    (void)state;
    for (size_t offset = 68; offset < 72; offset++)
        assert_refused(with_endbr, sizeof(with_endbr), offset, "in one piece");
    for (size_t offset = 64; offset < 68; offset++) {
        uint8_t *page = make_text(with_frame, sizeof(with_frame), offset);
        of_two *function = (of_two *)(void *)(page + offset);

        assert_null(cairn_textjump_make(&at_work, page + offset, (const void *)shortcut));
        assert_null(cairn_textjump_put(&at_work));
        assert_int_equal(function(0, 2), -1000);
        assert_int_equal(function(9, 2), 7);
        assert_null(cairn_textjump_take(&at_work));
        assert_int_equal(function(0, 2), -2);
        munmap(page, PAGE_BYTES);
    }
}

static void test_memory_that_is_no_text_is_refused(void **state)
{
    uint8_t *page = make_text(with_endbr, sizeof(with_endbr), 64);
    struct cairn_textjump jump;

    (void)state;
    assert_int_equal(mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE), 0);
    assert_non_null(strstr(cairn_textjump_make(&jump, page + 64, (const void *)shortcut),
                           "not mapped as text"));
    munmap(page, PAGE_BYTES);
    assert_non_null(
        strstr(cairn_textjump_make(&jump, page + 64, (const void *)shortcut), "/proc/self/maps"));
}

static void test_what_somebody_else_wrote_stays(void **state)
{
    uint8_t *page = make_text(with_endbr, sizeof(with_endbr), 64), changed[PAGE_BYTES];

    (void)state;
    assert_null(cairn_textjump_make(&at_work, page + 64, (const void *)shortcut));
    assert_int_equal(mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE), 0);
    page[64] = 0xcc;
    memcpy(changed, page, PAGE_BYTES);
    assert_int_equal(mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC), 0);
    assert_non_null(strstr(cairn_textjump_put(&at_work), "was changed"));
    assert_false(at_work.is_in);
    assert_memory_equal(changed, page, PAGE_BYTES);
    munmap(page, PAGE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_jump_comes_and_goes_at_what_compilers_begin_with),
        cmocka_unit_test(test_what_is_not_known_is_refused),
        cmocka_unit_test(test_a_jump_lies_in_one_word),
        cmocka_unit_test(test_memory_that_is_no_text_is_refused),
        cmocka_unit_test(test_what_somebody_else_wrote_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
static void test_nothing_is_made(void **state)
{
    struct cairn_textjump jump;

    (void)state;
    assert_non_null(cairn_textjump_make(&jump, &jump, &jump));
    assert_non_null(cairn_textjump_put(&jump));
    assert_non_null(cairn_textjump_take(&jump));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_is_made)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
