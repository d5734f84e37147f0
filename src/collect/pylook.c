#include "pylook.h"

#include <string.h>

#include "clock.h"
#include "err.h"

#define LOOKS CAIRN_PYLOOK_TEXTS
#define LOOK_BYTES CAIRN_PYLOOK_BYTES

/* The parts whose text is looked at again: where code lies that took over another's address, its
 * name often lies where the other's name was, too. */
static const int looked_at[] = {CAIRN_PYPART_NAME, CAIRN_PYPART_QUALNAME, CAIRN_PYPART_LINETABLE,
                                CAIRN_PYPART_CODE};
_Static_assert(sizeof(looked_at) / sizeof(looked_at[0]) == LOOKS, "a head for each");

/* Whether the head of a str or bytes object still is that of `known`, as far as it was read. */
static bool same_text(const struct cairn_pylayout *l, int part, const uint8_t *head,
                      struct cairn_span known)
{
    bool bytes = part == CAIRN_PYPART_LINETABLE || part == CAIRN_PYPART_CODE;
    uint32_t data = bytes ? l->bytes_data : l->unicode_ascii_data;
    uint32_t length_at = bytes ? l->object_count : l->unicode_length;
    size_t some = known.size_bytes;
    uint64_t length;

    if (data >= LOOK_BYTES || length_at > LOOK_BYTES - sizeof(length))
        return true;
    if (some > LOOK_BYTES - data)
        some = LOOK_BYTES - data;
    for (size_t i = 0; i < known.size_bytes && !bytes; i++)
        if (known.data[i] & 0x80) /* it lies elsewhere, in another form */
            return true;
    memcpy(&length, head + length_at, sizeof(length));
    return length == known.size_bytes && memcmp(head + data, known.data, some) == 0;
}

bool cairn_pylook_has_print(const struct cairn_pylayout *l, const struct cairn_pyarrival *from,
                            const struct cairn_pycode_entry *entry)
{
    uint64_t print[CAIRN_PYCODE_PARTS];

    cairn_pyarrival_fingerprint(l, from, print);
    return memcmp(print, entry->parts, sizeof(print)) == 0;
}

bool cairn_pylook_holds(const struct cairn_pylayout *l, const struct cairn_pyarrival *from,
                        const struct cairn_pycode_entry *entry, const struct cairn_pylook *look)
{
    const struct cairn_span known[LOOKS] = {entry->code.name, entry->code.qualname,
                                            entry->code.linetable, entry->text};

    if (!cairn_pylook_has_print(l, from, entry) || !entry->named)
        return false; /* what could not be read once may be there by now */
    for (int k = 0; k < LOOKS; k++)
        if (look->ok[1 + k] && entry->parts[looked_at[k]] &&
            (looked_at[k] != CAIRN_PYPART_CODE || entry->units) &&
            !same_text(l, looked_at[k], look->heads[k], known[k]))
            return false;
    return true;
}

int cairn_pylook_at(struct cairn_pycodes *codes, struct cairn_pyarrival *batch, size_t count,
                    struct cairn_pylook *looks)
{
    struct cairn_remote_part parts[CAIRN_PYLOOK_BATCH] = {0};
    bool ok[CAIRN_PYLOOK_BATCH] = {0};

    for (size_t i = 0; i < count; i++)
        parts[i] = (struct cairn_remote_part){batch[i].address, batch[i].bytes,
                                              cairn_pyarrival_bytes(codes->layout)};
    CAIRN_TRY(cairn_pystr_read_each(codes->remote, parts, count, ok));
    codes->seen_ns = cairn_clock_mono_ns();
    for (size_t i = 0; i < count; i++)
        looks[i].ok[0] = ok[i];
    return 0;
}

int cairn_pylook_closer(struct cairn_pycodes *codes, const struct cairn_pyarrival *batch,
                        size_t count, struct cairn_pylook *looks)
{
    struct cairn_remote_part parts[CAIRN_PYLOOK_BATCH * LOOKS] = {0};
    bool ok[CAIRN_PYLOOK_BATCH * LOOKS] = {0};
    size_t some = 0;

    for (size_t i = 0; i < count; i++) {
        const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, batch[i].address);

        for (int k = 0; k < LOOKS && entry && entry->named; k++) {
            uint64_t text = entry->parts[looked_at[k]]; /* 0: this version has none */

            parts[some++] = (struct cairn_remote_part){
                text ? text : entry->parts[CAIRN_PYPART_NAME], looks[i].heads[k], LOOK_BYTES};
        }
    }
    CAIRN_TRY(cairn_pystr_read_each(codes->remote, parts, some, ok));
    some = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cairn_pycode_entry *entry = cairn_pycodes_find(codes, batch[i].address);

        if (entry && entry->named) {
            memcpy(looks[i].ok + 1, ok + some, LOOKS * sizeof(*ok));
            some += LOOKS;
        }
    }
    return 0;
}
