/* prof_reader.h: what the parts of the reader of .prof files share. */
#ifndef CAIRN_PROF_READER_H
#define CAIRN_PROF_READER_H

#include <stdbool.h>

#include "cursor.h"
#include "prof.h"

#define CAIRN_MARSHAL_REF 0x80 /* in a type: the object gets the next number */
#define CAIRN_MARSHAL_NO_SLOT SIZE_MAX

enum cairn_marshal_kind {
    CAIRN_MARSHAL_OTHER, /* not read to its end, or nothing a profile is made of */
    CAIRN_MARSHAL_INT,
    CAIRN_MARSHAL_FLOAT,
    CAIRN_MARSHAL_TEXT,
    CAIRN_MARSHAL_TRUE,
    CAIRN_MARSHAL_KEY,
    CAIRN_MARSHAL_NUMBERS,
};

struct cairn_marshal_value {
    enum cairn_marshal_kind kind;
    union {
        int64_t whole;
        double real;
        uint32_t id; /* of a text; of a key, or CAIRN_PROF_NONE for the mark of samples */
        struct cairn_prof_numbers numbers; /* of a caller */
    };
};

struct cairn_marshal {
    struct cairn_cursor cur;
    struct cairn_prof *prof;
    CAIRN_VEC(struct cairn_marshal_value) refs;
};

/* UTF-8 in which lone surrogates may stand: names of files that are no UTF-8 have them. */
bool cairn_marshal_is_text(struct cairn_span text);

/* The type of the next object, without its flag, and the slot that the flag has given it. */
int cairn_marshal_type(struct cairn_marshal *marshal, uint8_t *ret_type, size_t *ret_slot);

/* The object whose type was read, when it is a text, a number, True or a reference. */
int cairn_marshal_plain(struct cairn_marshal *marshal, uint8_t type, size_t slot,
                        struct cairn_marshal_value *ret_value);

/* How many items the tuple has whose type was read. */
int cairn_marshal_size(struct cairn_marshal *marshal, uint8_t type, uint32_t *ret_size);

/* A code object, whose type was read: of it nothing is kept but a text that names it,
 * `<code object NAME, file "FILE", line N>`. */
int cairn_marshal_code(struct cairn_marshal *marshal, size_t slot,
                       struct cairn_marshal_value *ret_value);

#endif
