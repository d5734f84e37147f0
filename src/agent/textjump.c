#include "textjump.h"

#ifdef __x86_64__
#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES ((uintptr_t)4096)
#define JUMP 0xe9 /* and where to, of 32 bits, from behind it */
#define JUMP_BYTES 5
#define LONGEST_BYTES 16 /* of an instruction */
#define REACH ((uintptr_t)0x7fff0000)
#define LOWEST ((uintptr_t)0x10000) /* that any kernel lets a program map */
#define ORIGINAL 16                 /* where in the page, behind the way to the target */
#define LINE_MAX_BYTES 4608
#define AS_TEXT (PROT_READ | PROT_EXEC) /* what /proc/self/maps must say that it is */

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* --- what stands at the entry --- */

/* Of what ModRM begins with; 0: it is relative to where the instruction stands. */
static size_t operand_bytes(const uint8_t *modrm)
{
    unsigned mod = modrm[0] >> 6, rm = modrm[0] & 7;
    size_t bytes = rm == 4 && mod != 3 ? 2 : 1;

    if (mod == 0 && rm == 5)
        return 0;
    if (mod == 0 && bytes == 2 && (modrm[1] & 7) == 5)
        return bytes + 4;
    return bytes + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Of an instruction that does the same wherever it stands; 0: it is none of those known here. */
static size_t instruction_bytes(const uint8_t *at)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, of_rsp = 0xec;
    size_t rex = (at[0] & 0xf0) == 0x40, operand;
    bool wide = rex != 0 && at[0] == 0x48, registers;

    if (memcmp(at, endbr64, sizeof(endbr64)) == 0)
        return sizeof(endbr64);
    at += rex;
    if ((at[0] & 0xf8) == 0x50) /* push */
        return rex + 1;
    operand = operand_bytes(at + 1);
    registers = at[1] >> 6 == 3;
    switch (at[0]) {
    case 0x31: /* xor */
    case 0x33:
    case 0x85: /* test */
    case 0x89: /* mov */
        return registers ? rex + 2 : 0;
    case 0x8b: /* mov to a register */
        return operand == 0 ? 0 : rex + 1 + operand;
    case 0x8d: /* lea */
        return operand == 0 || registers ? 0 : rex + 1 + operand;
    case 0x83: /* sub, 8 bits */
        return wide && at[1] == of_rsp ? rex + 3 : 0;
    case 0x81: /* sub, 32 bits */
        return wide && at[1] == of_rsp ? rex + 6 : 0;
    default:
        return 0;
    }
}

/* Of whole instructions, as many as the jump takes the place of; 0: not all are known. */
static size_t moved_bytes(const uint8_t *entry)
{
    size_t bytes = 0;

    while (bytes < JUMP_BYTES) {
        size_t more = instruction_bytes(entry + bytes);

        if (more == 0)
            return 0;
        bytes += more;
    }
    return bytes;
}

/* --- the process' memory --- */

struct mapping {
    uintptr_t begin, end;
    int protection;
    bool private, stack;
};

static bool next_mapping(FILE *maps, struct mapping *ret_mapping)
{
    char line[LINE_MAX_BYTES], letters[8];
    unsigned long begin, end;

    if (fgets(line, sizeof(line), maps) == NULL ||
        sscanf(line, "%lx-%lx %7s", &begin, &end, letters) != 3 || strlen(letters) != 4)
        return false;
    ret_mapping->begin = begin;
    ret_mapping->end = end;
    ret_mapping->protection = (letters[0] == 'r' ? PROT_READ : 0) |
                              (letters[1] == 'w' ? PROT_WRITE : 0) |
                              (letters[2] == 'x' ? PROT_EXEC : 0);
    ret_mapping->private = letters[3] == 'p';
    ret_mapping->stack = strstr(line, "[stack]") != NULL;
    return true;
}

static uintptr_t between(uintptr_t a, uintptr_t b)
{
    return a > b ? a - b : b - a;
}

/* Where `bytes` at `at` lie, and the nearest page that is free: right below something, so that
 * nothing that grows upwards meets it; 0: there is none. false: they do not lie in one. */
static bool look_around(const void *at, size_t bytes, struct mapping *ret_text, uintptr_t *ret_free)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    uintptr_t place = (uintptr_t)at, before = LOWEST, nearest = 0;
    struct mapping mapping;
    bool found = false;

    while (maps != NULL && next_mapping(maps, &mapping)) {
        uintptr_t free = mapping.begin - PAGE_BYTES;

        if (place >= mapping.begin && place < mapping.end && mapping.end - place >= bytes) {
            *ret_text = mapping;
            found = true;
        }
        if (mapping.begin >= before + PAGE_BYTES && !mapping.stack &&
            between(free, place) < REACH &&
            (nearest == 0 || between(free, place) < between(nearest, place)))
            nearest = free;
        before = mapping.end > before ? mapping.end : before;
    }
    if (maps != NULL)
        (void)fclose(maps);
    *ret_free = nearest;
    return found;
}

/* --- making it --- */

static void write_jump(uint8_t *at, uintptr_t from, uintptr_t to)
{
    int32_t distance = (int32_t)((intptr_t)to - (intptr_t)from - JUMP_BYTES);

    at[0] = JUMP;
    memcpy(at + 1, &distance, sizeof(distance));
}

/* A page that has the way to the target, which may be far, and what the entry was. */
static uint8_t *make_page(uintptr_t place, const uint8_t *entry, size_t moved, const void *target)
{
    static const uint8_t by_the_next[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    uint8_t *page = mmap((void *)place, PAGE_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (page == MAP_FAILED)
        return NULL;
    if ((uintptr_t)page == place) { /* old kernels take it for a wish */
        uint8_t *original = page + ORIGINAL;

        memcpy(page, by_the_next, sizeof(by_the_next));
        memcpy(page + sizeof(by_the_next), &target, sizeof(target));
        memcpy(original, entry, moved);
        write_jump(original + moved, (uintptr_t)(original + moved), (uintptr_t)(entry + moved));
        if (mprotect(page, PAGE_BYTES, AS_TEXT) == 0)
            return page;
    }
    (void)munmap(page, PAGE_BYTES);
    return NULL;
}

const char *cairn_textjump_make(struct cairn_textjump *jump, void *entry, const void *target)
{
    uintptr_t begin = (uintptr_t)entry, offset = begin % sizeof(uint64_t), place;
    struct mapping text;
    uint8_t with[sizeof(uint64_t)], *page;
    size_t moved;

    if (offset + JUMP_BYTES > sizeof(uint64_t))
        return "the function does not begin where a jump can be written in one piece";
    if (!look_around(entry, JUMP_BYTES + LONGEST_BYTES, &text, &place))
        return "/proc/self/maps does not tell of the function's text";
    if (!text.private || text.protection != AS_TEXT)
        return "the function's text is not mapped as text of its own process";
    moved = moved_bytes(entry);
    if (moved == 0)
        return "the function does not begin as those that are known";
    if (place == 0)
        return "there is no room near the function";
    page = make_page(place, entry, moved, target);
    if (page == NULL)
        return "no executable memory can be had near the function";
    jump->word = (uint64_t *)(begin - offset);
    jump->before = __atomic_load_n(jump->word, __ATOMIC_RELAXED);
    memcpy(with, &jump->before, sizeof(with));
    write_jump(with + offset, begin, (uintptr_t)page);
    memcpy(&jump->with, with, sizeof(with));
    jump->original = page + ORIGINAL;
    jump->is_in = false;
    return NULL;
}

/* --- writing it --- */

/* Other processors run what they have read of the text until then. */
static bool have_all_read_again(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) ==
               0 &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
}

/* In the place of `from`, which must be there. */
static const char *write_word(uint64_t *word, uint64_t from, uint64_t to)
{
    void *page = (void *)((uintptr_t)word & ~(PAGE_BYTES - 1));
    bool written;

    /* Others may be running what else lies there. */
    if (mprotect(page, PAGE_BYTES, AS_TEXT | PROT_WRITE) < 0)
        return "the system does not let text be written";
    written =
        __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (mprotect(page, PAGE_BYTES, AS_TEXT) < 0)
        return "the system does not take back that text may be written";
    return written ? NULL : "the function's text was changed meanwhile";
}

const char *cairn_textjump_put(struct cairn_textjump *jump)
{
    const char *why;
    int saved = errno;

    if (jump->is_in)
        return NULL;
    why = have_all_read_again() ? NULL : "the kernel has no membarrier() for changed text";
    if (why == NULL)
        why = write_word(jump->word, jump->before, jump->with);
    jump->is_in = __atomic_load_n(jump->word, __ATOMIC_RELAXED) == jump->with;
    (void)have_all_read_again();
    errno = saved;
    return why;
}

const char *cairn_textjump_take(struct cairn_textjump *jump)
{
    const char *why;
    int saved = errno;

    if (!jump->is_in)
        return NULL;
    why = write_word(jump->word, jump->with, jump->before);
    jump->is_in = __atomic_load_n(jump->word, __ATOMIC_RELAXED) == jump->with;
    (void)have_all_read_again();
    errno = saved;
    return why;
}
#else
#define ELSEWHERE "it is for x86-64"

const char *cairn_textjump_make(struct cairn_textjump *jump, void *entry, const void *target)
{
    (void)jump, (void)entry, (void)target;
    return ELSEWHERE;
}

const char *cairn_textjump_put(struct cairn_textjump *jump)
{
    (void)jump;
    return ELSEWHERE;
}

const char *cairn_textjump_take(struct cairn_textjump *jump)
{
    (void)jump;
    return ELSEWHERE;
}
#endif
