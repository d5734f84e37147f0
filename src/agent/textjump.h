/* textjump.h: a jump at the entry of a function that is there already, to another one.
 *
 * The five bytes of the jump are written in one piece, so whoever comes to the entry meanwhile
 * runs the function as it was or as it is. Only who stands between two of the instructions that the
 * jump takes the place of would come to a wrong byte: the caller sees to it that no thread can,
 * as a jump is put in; when it is taken out none can be. Nor may the function itself jump there,
 * which those at the start of a function, before it has done anything, do not.
 *
 * x86-64 only; elsewhere nothing is made. A reason is a sentence without an end, of static storage;
 * NULL: it is done. Threads: one at a time. Owner: the caller has the struct; what it made in
 * memory, a page, stays for the life of the process, since a thread may be in it.
 */
#ifndef CAIRN_TEXTJUMP_H
#define CAIRN_TEXTJUMP_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_textjump {
    uint64_t *word;        /* of the function, that the jump lies in */
    uint64_t before, with; /* what stands there without the jump, and with it */
    void *original;        /* called in place of the function, does what that does without it */
    bool is_in;
};

/* Whether there can be one, at `entry`, to `target`: nothing is written there yet. */
const char *cairn_textjump_make(struct cairn_textjump *jump, void *entry, const void *target);

/* Writes it; and what stood there before. Where other bytes are there than those that are known,
 * nothing is written. */
const char *cairn_textjump_put(struct cairn_textjump *jump);
const char *cairn_textjump_take(struct cairn_textjump *jump);

#endif
