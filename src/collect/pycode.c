#include "pycode.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "clock.h"
#include "err.h"
#include "format.h"
#include "pyarrival.h"
#include "pyfresh.h"
#include "pylook.h"
#include "pypassed.h"

#define STRINGS_MAX_BYTES ((size_t)512 << 20)
#define UNITS_MAX_BYTES ((size_t)512 << 20)
#define CODES_MAX ((size_t)1 << 22)
#define NAMELESS_MAX 1024
#define BATCH CAIRN_PYLOOK_BATCH
#define ALIKE_MAX 8           /* entries of like content that are tried */
#define OVER_NS 1000000000ull /* a stack that was read is not kept for so long */

int cairn_pycodes_init(struct cairn_pycodes *codes, struct cairn_remote *remote,
                       const struct cairn_pylayout *layout, const struct cairn_pytable *table,
                       struct cairn_pyread_stats *stats)
{
    *codes =
        (struct cairn_pycodes){.remote = remote, .layout = layout, .table = table, .stats = stats};
    cairn_map_init(&codes->by_address, CODES_MAX);
    cairn_map_init(&codes->by_content, CODES_MAX);
    cairn_map_init(&codes->holds, CODES_MAX);
    cairn_map_init(&codes->counts, CODES_MAX);
    cairn_map_init(&codes->doubts, CODES_MAX);
    cairn_map_init(&codes->entered, CODES_MAX);
    cairn_map_init(&codes->called, CODES_MAX);
    cairn_map_init(&codes->seen, CODES_MAX);
    cairn_map_init(&codes->nameless, NAMELESS_MAX);
    cairn_arena_init(&codes->arena, UNITS_MAX_BYTES);
    return cairn_intern_init(&codes->strings, STRINGS_MAX_BYTES);
}

void cairn_pycodes_release(struct cairn_pycodes *codes)
{
    cairn_map_release(&codes->by_address);
    cairn_map_release(&codes->by_content);
    cairn_map_release(&codes->holds);
    cairn_map_release(&codes->counts);
    cairn_map_release(&codes->doubts);
    cairn_map_release(&codes->entered);
    cairn_map_release(&codes->called);
    cairn_map_release(&codes->seen);
    cairn_map_release(&codes->nameless);
    cairn_intern_release(&codes->strings);
    cairn_arena_release(&codes->arena);
    cairn_vec_release(&codes->entries);
    cairn_vec_release(&codes->wanted);
}

struct cairn_pycode_entry *cairn_pycodes_find(const struct cairn_pycodes *codes, uint64_t address)
{
    uint64_t index;

    if (!cairn_map_get(&codes->by_address, address, 0, &index))
        return NULL;
    return codes->entries.items[index];
}

int cairn_pycodes_want(struct cairn_pycodes *codes, uint64_t address)
{
    for (size_t i = 0; i < codes->wanted.count; i++) {
        if (codes->wanted.items[i] == address)
            return 0;
    }
    CAIRN_TRY(cairn_vec_reserve(&codes->wanted, codes->wanted.count + 1, CODES_MAX));
    codes->wanted.items[codes->wanted.count++] = address;
    return 0;
}

/* A version without qualified names has no address of one. */
static bool has_names(const struct cairn_pylayout *l, const struct cairn_pyarrival *from)
{
    return from->strs[CAIRN_PYPART_NAME].ok && from->strs[CAIRN_PYPART_FILE].ok &&
           (from->strs[CAIRN_PYPART_QUALNAME].ok || !cairn_pylayout_has(l->code_qualname));
}

static uint8_t lines_of(int minor)
{
    if (minor >= 11)
        return CAIRN_LINES_LOCATION;
    return minor == 10 ? CAIRN_LINES_PEP626 : CAIRN_LINES_LNOTAB;
}

static uint64_t content_of(const struct cairn_pycode_entry *entry)
{
    /* Interned texts are equal when they lie at the same place. */
    return (uintptr_t)entry->code.name.data ^
           (uint64_t)(uintptr_t)entry->code.linetable.data << 20 ^
           (uint64_t)entry->code.first_line << 40;
}

static bool same_content(const struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                         const struct cairn_pycode_entry *a, const struct cairn_pycode_entry *b)
{
    struct cairn_span text = from->strs[CAIRN_PYPART_LINE].text;

    if (a->code.name.data != b->code.name.data || a->code.qualname.data != b->code.qualname.data ||
        a->code.file.data != b->code.file.data ||
        a->code.linetable.data != b->code.linetable.data ||
        a->code.first_line != b->code.first_line || !a->units ||
        a->unit_count != text.size_bytes / 2)
        return false;
    return !cairn_pylayout_has(codes->layout->code_bytes) ||
           (a->text.size_bytes == text.size_bytes &&
            memcmp(a->text.data, text.data, text.size_bytes) == 0);
}

/* Whether the code object of an entry is over, and has been for longer than any stack that was read
 * is kept. Who lets go of an address tells nobody, so it is asked. */
static bool is_over(struct cairn_pycodes *codes, struct cairn_pycode_entry *entry)
{
    struct cairn_pyarrival probe = {.address = entry->code.address};
    uint64_t print[CAIRN_PYCODE_PARTS];

    if (codes->looked_ns - entry->looked_ns <= OVER_NS)
        return false;
    if (cairn_pycodes_find(codes, entry->code.address) != entry)
        return true;
    if (cairn_remote_get(codes->remote, probe.address, probe.bytes,
                         cairn_pyarrival_bytes(codes->layout)) == 0) {
        cairn_pyarrival_fingerprint(codes->layout, &probe, print);
        if (cairn_pyarrival_is_counted(codes->layout, &probe) &&
            cairn_pyarrival_is_code_type(codes,
                                         cairn_pyarrival_u64(&probe, codes->layout->object_type)) &&
            memcmp(print, entry->parts, sizeof(print)) == 0) {
            entry->looked_ns = codes->looked_ns;
            return false;
        }
    }
    cairn_map_remove(&codes->by_address, entry->code.address, 0);
    return true;
}

/* The entry of a code object of the same content that was there before, at this address or, where
 * that object is over, at another one: a new object stands for it. NULL: none. */
static struct cairn_pycode_entry *find_alike(struct cairn_pycodes *codes,
                                             const struct cairn_pyarrival *from,
                                             const struct cairn_pycode_entry *entry)
{
    struct cairn_pycode_entry *old;
    uint64_t next;

    if (!entry->named || !from->strs[CAIRN_PYPART_LINE].ok ||
        !cairn_map_get(&codes->by_content, content_of(entry), 0, &next))
        return NULL;
    for (int i = 0; next && i < ALIKE_MAX; i++, next = old->alike) {
        old = codes->entries.items[next - 1];
        if (same_content(codes, from, old, entry) &&
            (old->code.address == from->address || is_over(codes, old)))
            return old;
    }
    return NULL;
}

static int take_texts(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                      uint64_t now_ns, struct cairn_pycode_entry *entry)
{
    *entry = (struct cairn_pycode_entry){
        .code = {.address = from->address, .linetable_kind = lines_of(codes->table->minor)},
        .checked_ns = now_ns,
        .looked_ns = codes->looked_ns,
        .named = has_names(codes->layout, from),
    };
    cairn_pyarrival_fingerprint(codes->layout, from, entry->parts);
    entry->code.first_line = (uint32_t)entry->parts[CAIRN_PYPART_LINE];
    if (!entry->named)
        return 0;
    CAIRN_TRY(cairn_pyarrival_intern(codes, &from->strs[CAIRN_PYPART_NAME], &entry->code.name));
    if (entry->parts[CAIRN_PYPART_QUALNAME])
        CAIRN_TRY(cairn_pyarrival_intern(codes, &from->strs[CAIRN_PYPART_QUALNAME],
                                         &entry->code.qualname));
    CAIRN_TRY(cairn_pyarrival_intern(codes, &from->strs[CAIRN_PYPART_FILE], &entry->code.file));
    if (from->strs[CAIRN_PYPART_LINETABLE].ok)
        CAIRN_TRY(cairn_pyarrival_intern(codes, &from->strs[CAIRN_PYPART_LINETABLE],
                                         &entry->code.linetable));
    return 0;
}

static int add_entry(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                     const struct cairn_pycode_entry *made)
{
    struct cairn_pycode_entry *entry = cairn_arena_alloc(&codes->arena, sizeof(*entry));
    size_t count = codes->entries.count;
    uint64_t alike = 0;

    if (!entry)
        return -CAIRN_ENOMEM;
    cairn_map_get(&codes->by_content, content_of(made), 0, &alike);
    *entry = *made;
    entry->code.number = (uint32_t)count;
    entry->alike = (uint32_t)alike;
    CAIRN_TRY(cairn_pyarrival_instructions(codes, from, entry));
    CAIRN_TRY(cairn_vec_reserve(&codes->entries, count + 1, CODES_MAX));
    CAIRN_TRY(cairn_map_put(&codes->by_address, from->address, 0, count));
    CAIRN_TRY(cairn_map_put(&codes->by_content, content_of(entry), 0, count + 1));
    codes->entries.items[codes->entries.count++] = entry;
    return 0;
}

/* The code object that an entry stood for has come again. */
static int come_again(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                      const struct cairn_pycode_entry *made, struct cairn_pycode_entry *entry)
{
    const struct cairn_pylayout *l = codes->layout;

    memcpy(entry->parts, made->parts, sizeof(entry->parts));
    entry->code.address = from->address;
    entry->checked_ns = made->checked_ns;
    entry->looked_ns = made->looked_ns;
    entry->gone_ns = 0;
    entry->moved_ns = codes->looked_ns;
    if (cairn_pylayout_has(l->code_instructions))
        entry->start = from->address + l->code_instructions;
    if (cairn_pylayout_has(l->code_names))
        entry->names_at = cairn_pyarrival_u64(from, l->code_names);
    return cairn_map_put(&codes->by_address, from->address, 0, entry->code.number);
}

static int make_entry(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                      uint64_t now_ns)
{
    struct cairn_pycode_entry *known = cairn_pycodes_find(codes, from->address), made, *old;

    CAIRN_TRY(take_texts(codes, from, now_ns, &made));
    if (known)
        known->moved_ns = made.moved_ns = codes->looked_ns;
    old = find_alike(codes, from, &made);
    if (old)
        CAIRN_TRY(come_again(codes, from, &made, old));
    else
        CAIRN_TRY(add_entry(codes, from, &made));
    codes->came_ns = now_ns;
    codes->unsure++;
    codes->stats->codes++;
    codes->stats->code_reloads += known != NULL;
    if (known)
        codes->taken_over_ns = now_ns;
    return 0;
}

/* There is no code object any more. Frames that were read before that was seen ran it, so it is
 * known until the tick is over; but where code takes over addresses, they may have run what came
 * after it and is gone as well. */
static void let_go(struct cairn_pycodes *codes, struct cairn_pycode_entry *entry, uint64_t now_ns)
{
    if (!entry || entry->gone_ns == now_ns)
        return;
    entry->moved_ns = codes->looked_ns;
    if (entry->gone_ns || cairn_pycodes_takes_over(codes, now_ns)) {
        cairn_map_remove(&codes->by_address, entry->code.address, 0);
        return;
    }
    entry->gone_ns = now_ns;
    entry->checked_ns = 0;
}

/* Whether what lies there is the code of the entry, or what is left of it: nothing has come to that
 * address since. */
static bool is_still(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                     const struct cairn_pylook *look, struct cairn_pycode_entry *entry,
                     uint64_t now_ns)
{
    if (!entry || (entry->passed && (entry->named || from->ok)))
        return false;
    if (!(entry->named ? cairn_pylook_holds(codes->layout, from, entry, look)
                       : !from->ok && cairn_pylook_has_print(codes->layout, from, entry)))
        return false;
    if (!from->ok)
        entry->moved_ns = codes->looked_ns;
    entry->looked_ns = codes->looked_ns;
    entry->checked_ns = from->ok ? now_ns : 0;
    entry->gone_ns = 0;
    codes->unsure += cairn_pycodes_moves(codes, entry);
    return true;
}

/* What is left there is of the entry's code, by its addresses: texts that were freed with it may be
 * others' by now. Where addresses are taken over, it can as well be of other code. */
static bool is_left_of(const struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                       const struct cairn_pycode_entry *entry, uint64_t now_ns)
{
    return entry && (!entry->gone_ns || entry->gone_ns == now_ns) &&
           !cairn_pycodes_takes_over(codes, now_ns) &&
           cairn_pylook_has_print(codes->layout, from, entry);
}

/* Other code than was known there is gone, and that was seen late: it says nothing of what the
 * frames ran. */
static void pass_by(struct cairn_pycodes *codes, uint64_t address, uint64_t now_ns)
{
    struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, address);

    codes->unsure++;
    if (!entry)
        return;
    entry->moved_ns = codes->looked_ns;
    codes->taken_over_ns = now_ns;
    cairn_map_remove(&codes->by_address, address, 0);
}

/* Reads the fixed parts, and sorts out what needs no more than that. */
static int read_headers(struct cairn_pycodes *codes, struct cairn_pyarrival *batch, size_t count,
                        uint64_t now_ns, struct cairn_pycalled *called)
{
    const struct cairn_pylayout *l = codes->layout;
    struct cairn_pylook looks[BATCH];

    CAIRN_TRY(cairn_pylook_at(codes, batch, count, looks));
    CAIRN_TRY(cairn_pypassed_look(codes, batch, looks, count, called));
    CAIRN_TRY(cairn_pylook_closer(codes, batch, count, looks));
    for (size_t i = 0; i < count; i++) {
        struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, batch[i].address);
        bool code = looks[i].ok[0] && cairn_pyarrival_is_code_type(
                                          codes, cairn_pyarrival_u64(&batch[i], l->object_type));

        batch[i].ok = code && cairn_pyarrival_is_counted(l, &batch[i]);
        batch[i].gone = false;
        if (code && is_still(codes, &batch[i], &looks[i], entry, now_ns))
            batch[i].ok = false;
        else if (!batch[i].ok && (!code || is_left_of(codes, &batch[i], entry, now_ns)))
            let_go(codes, entry, now_ns);
        else if (!batch[i].ok && cairn_pycodes_in_time(codes))
            batch[i].ok = batch[i].gone = true;
        else if (!batch[i].ok)
            pass_by(codes, batch[i].address, now_ns);
    }
    return 0;
}

/* Two prints are one, but for chance. */
static uint64_t mix(const uint64_t print[CAIRN_PYCODE_PARTS])
{
    uint64_t sum = 0;

    for (int part = 0; part < CAIRN_PYCODE_PARTS; part++)
        sum = (sum ^ print[part]) * UINT64_C(0x9e3779b97f4a7c15);
    return sum;
}

/* What is left of a code object still looks like one, but for what it pointed to: it is one only if
 * it is still met, as it was, at another tick. */
static int meet_nameless(struct cairn_pycodes *codes, const struct cairn_pyarrival *from,
                         uint64_t now_ns)
{
    struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, from->address);
    uint64_t met_ns, print[CAIRN_PYCODE_PARTS];
    int code;

    cairn_pyarrival_fingerprint(codes->layout, from, print);
    if (entry && !entry->named && memcmp(print, entry->parts, sizeof(print)) == 0) {
        entry->checked_ns = now_ns;
        entry->looked_ns = codes->looked_ns;
        return 0;
    }
    if (entry) {
        let_go(codes, entry, now_ns);
        return 0;
    }
    if (cairn_map_get(&codes->nameless, from->address, mix(print), &met_ns))
        return met_ns == now_ns ? 0 : make_entry(codes, from, now_ns);
    code = cairn_map_put(&codes->nameless, from->address, mix(print), now_ns);
    if (code == -CAIRN_ELIMIT)
        cairn_map_clear(&codes->nameless);
    return code == -CAIRN_ELIMIT ? 0 : code;
}

static struct cairn_pystr instructions_of(const struct cairn_pylayout *l,
                                          const struct cairn_pyarrival *from)
{
    if (cairn_pylayout_has(l->code_bytes))
        return (struct cairn_pystr){.kind = CAIRN_PYSTR_BYTES,
                                    .address = cairn_pyarrival_u64(from, l->code_bytes)};
    /* ob_size of a code object counts its units. */
    return (struct cairn_pystr){.kind = CAIRN_PYSTR_RAW,
                                .address = from->address + l->code_instructions,
                                .raw_bytes =
                                    (size_t)cairn_pyarrival_u32(from, l->object_count) * 2};
}

/* What pointed to the texts may have gone while they were read: then they can be another's. */
static int read_headers_again(struct cairn_pycodes *codes, struct cairn_pyarrival *batch,
                              size_t count, uint64_t now_ns)
{
    const struct cairn_pylayout *l = codes->layout;
    struct cairn_remote_part parts[BATCH];
    struct cairn_pyarrival again[BATCH];
    bool ok[BATCH] = {0};
    size_t some = 0;

    for (size_t i = 0; i < count; i++)
        if (batch[i].ok) {
            parts[some] = (struct cairn_remote_part){batch[i].address, again[some].bytes,
                                                     cairn_pyarrival_bytes(l)};
            some++;
        }
    CAIRN_TRY(cairn_pystr_read_each(codes->remote, parts, some, ok));
    some = 0;
    for (size_t i = 0; i < count; i++) {
        bool there;

        if (!batch[i].ok)
            continue;
        there = ok[some] && cairn_pyarrival_is_counted(l, &again[some]) &&
                cairn_pyarrival_is_same(l, &batch[i], &again[some]);
        some++;
        batch[i].gone |= !there;
        batch[i].ok = there || cairn_pycodes_in_time(codes);
        if (!batch[i].ok)
            pass_by(codes, batch[i].address, now_ns);
    }
    return 0;
}

static int load_batch(struct cairn_pycodes *codes, struct cairn_pyarrival *batch, size_t count,
                      uint64_t now_ns, struct cairn_buf *buf)
{
    const struct cairn_pylayout *l = codes->layout;
    struct cairn_pystr strs[BATCH * 5];
    struct cairn_pycalled called[BATCH];
    size_t some = 0, next = 0;

    CAIRN_TRY(read_headers(codes, batch, count, now_ns, called));
    for (size_t i = 0; i < count; i++) {
        uint64_t print[CAIRN_PYCODE_PARTS];

        if (!batch[i].ok)
            continue;
        cairn_pyarrival_fingerprint(l, &batch[i], print);
        for (int part = CAIRN_PYPART_NAME; part <= CAIRN_PYPART_FILE; part++)
            strs[some++] = (struct cairn_pystr){.kind = CAIRN_PYSTR_CUT, .address = print[part]};
        strs[some++] = (struct cairn_pystr){.kind = CAIRN_PYSTR_BYTES,
                                            .address = print[CAIRN_PYPART_LINETABLE]};
        strs[some++] = instructions_of(l, &batch[i]);
    }
    if (!some)
        return 0;
    CAIRN_TRY(cairn_pystr_read(codes->remote, l, codes->table, strs, some, buf));
    for (size_t i = 0; i < count; i++) {
        if (!batch[i].ok)
            continue;
        memcpy(batch[i].strs, strs + next, sizeof(batch[i].strs));
        next += 5;
    }
    CAIRN_TRY(read_headers_again(codes, batch, count, now_ns));
    for (size_t i = 0; i < count; i++) {
        if (!batch[i].ok)
            continue;
        if (batch[i].gone)
            CAIRN_TRY(cairn_pypassed_add(codes, &batch[i], &called[i], now_ns));
        else if (has_names(l, &batch[i]))
            CAIRN_TRY(make_entry(codes, &batch[i], now_ns));
        else
            CAIRN_TRY(meet_nameless(codes, &batch[i], now_ns));
    }
    return 0;
}

int cairn_pycodes_load(struct cairn_pycodes *codes, uint64_t now_ns)
{
    struct cairn_pyarrival *batch;
    struct cairn_buf buf;
    int code = 0;

    if (!codes->wanted.count)
        return 0;
    codes->loads++;
    codes->looked_ns = cairn_clock_mono_ns();
    /* Mostly one, at many a tick: what is not needed is not cleared. The innermost, which were
     * asked for last, are the first to be over. */
    batch = cairn_calloc(codes->wanted.count < BATCH ? codes->wanted.count : BATCH, sizeof(*batch));
    cairn_buf_init(&buf, BATCH * (size_t)(4 << 20));
    if (!batch)
        code = -CAIRN_ENOMEM;
    for (size_t start = 0; start < codes->wanted.count && code == 0; start += BATCH) {
        size_t count = codes->wanted.count - start;

        if (count > BATCH)
            count = BATCH;
        for (size_t i = 0; i < count; i++)
            batch[i].address = codes->wanted.items[codes->wanted.count - 1 - start - i];
        code = load_batch(codes, batch, count, now_ns, &buf);
    }
    codes->wanted.count = 0;
    cairn_buf_release(&buf);
    free(batch);
    return code;
}
