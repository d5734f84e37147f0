/* prof_read.c: as much of marshal as a .prof file holds, and nothing that runs.
 *
 * The shape is fixed, {(file, line, name): (primitive, calls, self, total, {caller: numbers})}, so
 * each part has a function of its own and nothing nests deeper than that. An object whose type has
 * the flag gets the next number, and may stand again as a reference to that number.
 */
#include <math.h>
#include <string.h>

#include "prof_reader.h"
#include "text.h"

#define REFS_MAX ((size_t)1 << 24)
#define SAMPLED "__sampled__"

int cairn_marshal_type(struct cairn_marshal *marshal, uint8_t *ret_type, size_t *ret_slot)
{
    uint8_t type;

    CAIRN_TRY(cairn_cursor_u8(&marshal->cur, &type));
    *ret_slot = CAIRN_MARSHAL_NO_SLOT;
    *ret_type = type & (uint8_t)~CAIRN_MARSHAL_REF;
    if (!(type & CAIRN_MARSHAL_REF))
        return 0;
    CAIRN_TRY(cairn_vec_reserve(&marshal->refs, marshal->refs.count + 1, REFS_MAX));
    *ret_slot = marshal->refs.count++;
    return 0;
}

static void keep(struct cairn_marshal *marshal, size_t slot,
                 const struct cairn_marshal_value *value)
{
    if (slot != CAIRN_MARSHAL_NO_SLOT)
        marshal->refs.items[slot] = *value;
}

static int read_reference(struct cairn_marshal *marshal, size_t slot,
                          struct cairn_marshal_value *ret_value)
{
    uint32_t number;

    CAIRN_TRY(cairn_cursor_u32(&marshal->cur, &number));
    if (slot != CAIRN_MARSHAL_NO_SLOT || number >= marshal->refs.count ||
        marshal->refs.items[number].kind == CAIRN_MARSHAL_OTHER)
        return -CAIRN_EDAMAGED;
    *ret_value = marshal->refs.items[number];
    return 0;
}

/* Digits of 15 bits, the least one first; the sign is that of their number. */
static int read_long(struct cairn_marshal *marshal, int64_t *ret_whole)
{
    unsigned __int128 whole = 0;
    uint32_t raw, count;
    bool negative;

    CAIRN_TRY(cairn_cursor_u32(&marshal->cur, &raw));
    negative = raw >> 31;
    count = negative ? 0 - raw : raw;
    if (count > 5)
        return -CAIRN_ELIMIT;
    for (uint32_t i = 0; i < count; i++) {
        uint16_t digit;

        CAIRN_TRY(cairn_cursor_u16(&marshal->cur, &digit));
        if (digit > 0x7fff)
            return -CAIRN_EDAMAGED;
        whole |= (unsigned __int128)digit << (15 * i);
    }
    if (whole > (unsigned __int128)INT64_MAX + negative)
        return -CAIRN_ELIMIT;
    *ret_whole = negative ? (int64_t)(0 - (uint64_t)whole) : (int64_t)whole;
    return 0;
}

bool cairn_marshal_is_text(struct cairn_span text)
{
    for (size_t at = 0; at < text.size_bytes;) {
        const uint8_t *next = text.data + at;
        size_t left = text.size_bytes - at, length;
        uint32_t character;

        length = cairn_text_utf8_next(next, left, &character);
        if (character == 0xfffd && length == 1) {
            if (left < 3 || next[0] != 0xed || (next[1] & 0xe0) != 0xa0 || (next[2] & 0xc0) != 0x80)
                return false;
            length = 3;
        }
        at += length;
    }
    return true;
}

static int read_text(struct cairn_marshal *marshal, bool is_short,
                     struct cairn_marshal_value *ret_value)
{
    struct cairn_span text;
    uint32_t size_bytes;
    uint8_t few;

    if (is_short) {
        CAIRN_TRY(cairn_cursor_u8(&marshal->cur, &few));
        size_bytes = few;
    } else {
        CAIRN_TRY(cairn_cursor_u32(&marshal->cur, &size_bytes));
    }
    CAIRN_TRY(cairn_cursor_take(&marshal->cur, size_bytes, &text));
    if (!cairn_marshal_is_text(text))
        return -CAIRN_EDAMAGED;
    ret_value->kind = CAIRN_MARSHAL_TEXT;
    return cairn_intern_add(&marshal->prof->strings, text, &ret_value->id);
}

static int read_float(struct cairn_marshal *marshal, struct cairn_marshal_value *ret_value)
{
    uint64_t bits;

    CAIRN_TRY(cairn_cursor_u64(&marshal->cur, &bits));
    ret_value->kind = CAIRN_MARSHAL_FLOAT;
    memcpy(&ret_value->real, &bits, sizeof(bits));
    return isfinite(ret_value->real) ? 0 : -CAIRN_EDAMAGED;
}

static int read_int(struct cairn_marshal *marshal, struct cairn_marshal_value *ret_value)
{
    uint32_t bits;

    CAIRN_TRY(cairn_cursor_u32(&marshal->cur, &bits));
    ret_value->kind = CAIRN_MARSHAL_INT;
    ret_value->whole = (int32_t)bits;
    return 0;
}

int cairn_marshal_plain(struct cairn_marshal *marshal, uint8_t type, size_t slot,
                        struct cairn_marshal_value *ret_value)
{
    int code;

    switch (type) {
    case 'r':
        return read_reference(marshal, slot, ret_value);
    case 'i':
        code = read_int(marshal, ret_value);
        break;
    case 'l':
        ret_value->kind = CAIRN_MARSHAL_INT;
        code = read_long(marshal, &ret_value->whole);
        break;
    case 'g':
        code = read_float(marshal, ret_value);
        break;
    case 'u': /* any text, */
    case 't': /* interned, */
    case 'a': /* ASCII, */
    case 'A': /* both */
        code = read_text(marshal, false, ret_value);
        break;
    case 'z': /* the same, up to 255 bytes */
    case 'Z':
        code = read_text(marshal, true, ret_value);
        break;
    case 'T':
        ret_value->kind = CAIRN_MARSHAL_TRUE;
        code = slot == CAIRN_MARSHAL_NO_SLOT ? 0 : -CAIRN_EDAMAGED;
        break;
    default:
        code = -CAIRN_EDAMAGED;
    }
    if (code == 0)
        keep(marshal, slot, ret_value);
    return code;
}

static int read_plain(struct cairn_marshal *marshal, struct cairn_marshal_value *ret_value)
{
    uint8_t type;
    size_t slot;

    CAIRN_TRY(cairn_marshal_type(marshal, &type, &slot));
    return cairn_marshal_plain(marshal, type, slot, ret_value);
}

/* The name of a function; of a script, profile puts its code there. */
static int read_name(struct cairn_marshal *marshal, struct cairn_marshal_value *ret_value)
{
    uint8_t type;
    size_t slot;

    CAIRN_TRY(cairn_marshal_type(marshal, &type, &slot));
    if (type == 'c')
        return cairn_marshal_code(marshal, slot, ret_value);
    CAIRN_TRY(cairn_marshal_plain(marshal, type, slot, ret_value));
    return ret_value->kind == CAIRN_MARSHAL_TEXT ? 0 : -CAIRN_EDAMAGED;
}

static int read_kind(struct cairn_marshal *marshal, enum cairn_marshal_kind kind,
                     struct cairn_marshal_value *ret_value)
{
    CAIRN_TRY(read_plain(marshal, ret_value));
    return ret_value->kind == kind ? 0 : -CAIRN_EDAMAGED;
}

static int read_count(struct cairn_marshal *marshal, int64_t *ret_count)
{
    struct cairn_marshal_value value;

    CAIRN_TRY(read_kind(marshal, CAIRN_MARSHAL_INT, &value));
    *ret_count = value.whole;
    return 0;
}

static int read_seconds(struct cairn_marshal *marshal, double *ret_s)
{
    struct cairn_marshal_value value;

    CAIRN_TRY(read_plain(marshal, &value));
    if (value.kind != CAIRN_MARSHAL_INT && value.kind != CAIRN_MARSHAL_FLOAT)
        return -CAIRN_EDAMAGED;
    *ret_s = value.kind == CAIRN_MARSHAL_INT ? (double)value.whole : value.real;
    return 0;
}

int cairn_marshal_size(struct cairn_marshal *marshal, uint8_t type, uint32_t *ret_size)
{
    uint8_t few;

    if (type == '(')
        return cairn_cursor_u32(&marshal->cur, ret_size);
    if (type != ')')
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_cursor_u8(&marshal->cur, &few));
    *ret_size = few;
    return 0;
}

/* A function; CAIRN_PROF_NONE stands for the key that marks samples. */
static int read_key(struct cairn_marshal *marshal, uint8_t type, size_t slot, uint32_t *ret_key)
{
    struct cairn_marshal_value value, file, name;
    uint32_t size;
    int64_t line;

    if (type == 'r') {
        CAIRN_TRY(read_reference(marshal, slot, &value));
        *ret_key = value.id;
        return value.kind == CAIRN_MARSHAL_KEY ? 0 : -CAIRN_EDAMAGED;
    }
    CAIRN_TRY(cairn_marshal_size(marshal, type, &size));
    CAIRN_TRY(read_kind(marshal, CAIRN_MARSHAL_TEXT, &file));
    *ret_key = CAIRN_PROF_NONE;
    if (size == 3) {
        CAIRN_TRY(read_count(marshal, &line));
        CAIRN_TRY(read_name(marshal, &name));
        CAIRN_TRY(cairn_prof_key(marshal->prof, cairn_intern_get(&marshal->prof->strings, file.id),
                                 line, cairn_intern_get(&marshal->prof->strings, name.id),
                                 ret_key));
    } else {
        struct cairn_span text = cairn_intern_get(&marshal->prof->strings, file.id);

        if (size != 1 || text.size_bytes != strlen(SAMPLED) ||
            memcmp(text.data, SAMPLED, text.size_bytes) != 0)
            return -CAIRN_EDAMAGED;
    }
    keep(marshal, slot, &(struct cairn_marshal_value){.kind = CAIRN_MARSHAL_KEY, .id = *ret_key});
    return 0;
}

/* What one caller has: (calls, primitive, self, total), or the calls alone. */
static int read_caller_numbers(struct cairn_marshal *marshal,
                               struct cairn_prof_numbers *ret_numbers)
{
    struct cairn_prof_numbers numbers = {0};
    struct cairn_cursor before = marshal->cur;
    struct cairn_marshal_value value;
    uint32_t size;
    uint8_t type;
    size_t slot;

    CAIRN_TRY(cairn_cursor_u8(&marshal->cur, &type));
    marshal->cur = before;
    if ((type & ~CAIRN_MARSHAL_REF) != '(' && (type & ~CAIRN_MARSHAL_REF) != ')') {
        CAIRN_TRY(read_plain(marshal, &value));
        if (value.kind == CAIRN_MARSHAL_INT)
            *ret_numbers = (struct cairn_prof_numbers){
                .calls = value.whole, .primitive = value.whole, .plain = true};
        else if (value.kind == CAIRN_MARSHAL_NUMBERS)
            *ret_numbers = value.numbers;
        else
            return -CAIRN_EDAMAGED;
        return 0;
    }
    CAIRN_TRY(cairn_marshal_type(marshal, &type, &slot));
    CAIRN_TRY(cairn_marshal_size(marshal, type, &size));
    if (size != 4)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(read_count(marshal, &numbers.calls));
    CAIRN_TRY(read_count(marshal, &numbers.primitive));
    CAIRN_TRY(read_seconds(marshal, &numbers.self_s));
    CAIRN_TRY(read_seconds(marshal, &numbers.total_s));
    keep(marshal, slot,
         &(struct cairn_marshal_value){.kind = CAIRN_MARSHAL_NUMBERS, .numbers = numbers});
    *ret_numbers = numbers;
    return 0;
}

/* The next key of a dict, false behind its last. */
static int read_next_key(struct cairn_marshal *marshal, uint32_t *ret_key)
{
    uint8_t type;
    size_t slot;

    CAIRN_TRY(cairn_marshal_type(marshal, &type, &slot));
    if (type == '0')
        return slot == CAIRN_MARSHAL_NO_SLOT ? 0 : -CAIRN_EDAMAGED;
    CAIRN_TRY(read_key(marshal, type, slot, ret_key));
    return 1;
}

static int read_dict(struct cairn_marshal *marshal)
{
    uint8_t type;
    size_t slot;

    CAIRN_TRY(cairn_marshal_type(marshal, &type, &slot));
    return type == '{' ? 0 : -CAIRN_EDAMAGED;
}

/* Callers stand at the end of a row, which is made before they are read. */
static int read_row(struct cairn_marshal *marshal, uint32_t key)
{
    struct cairn_prof_numbers numbers = {0};
    uint32_t size, row, caller;
    uint8_t type;
    size_t slot;
    int more;

    CAIRN_TRY(cairn_marshal_type(marshal, &type, &slot));
    CAIRN_TRY(cairn_marshal_size(marshal, type, &size));
    if (size != 5)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(read_count(marshal, &numbers.primitive));
    CAIRN_TRY(read_count(marshal, &numbers.calls));
    CAIRN_TRY(read_seconds(marshal, &numbers.self_s));
    CAIRN_TRY(read_seconds(marshal, &numbers.total_s));
    CAIRN_TRY(cairn_prof_put(marshal->prof, key, &numbers, &row));
    CAIRN_TRY(read_dict(marshal));
    while ((more = read_next_key(marshal, &caller)) > 0) {
        if (caller == CAIRN_PROF_NONE)
            return -CAIRN_EDAMAGED;
        CAIRN_TRY(read_caller_numbers(marshal, &numbers));
        CAIRN_TRY(cairn_prof_put_caller(marshal->prof, row, caller, &numbers));
    }
    return more;
}

static int read_rows(struct cairn_marshal *marshal)
{
    struct cairn_marshal_value value;
    uint32_t key;
    int more;

    CAIRN_TRY(read_dict(marshal));
    while ((more = read_next_key(marshal, &key)) > 0) {
        if (key == CAIRN_PROF_NONE) {
            CAIRN_TRY(read_kind(marshal, CAIRN_MARSHAL_TRUE, &value));
            marshal->prof->sampled = true;
        } else {
            CAIRN_TRY(read_row(marshal, key));
        }
    }
    return more;
}

/* JSON begins with the same brace: behind it are blanks, or what marshal makes no key of. */
static bool is_json(struct cairn_span bytes)
{
    return bytes.size_bytes > 1 && bytes.data[0] == '{' && memchr("\" \t\r\n}", bytes.data[1], 6);
}

int cairn_prof_read(struct cairn_prof *prof, struct cairn_span bytes, struct cairn_err *err)
{
    struct cairn_marshal marshal = {.prof = prof};
    int code;

    cairn_cursor_init(&marshal.cur, bytes);
    if (bytes.size_bytes == 0 || (bytes.data[0] & (uint8_t)~CAIRN_MARSHAL_REF) != '{')
        return cairn_err_set(err, -CAIRN_EFOREIGN, 0, "prof",
                             "this is not what cProfile writes: %s",
                             bytes.size_bytes == 0 ? "it is empty" : "no dict begins there");
    if (is_json(bytes))
        return cairn_err_set(err, -CAIRN_EFOREIGN, 0, "prof",
                             "this is not what cProfile writes: it is JSON");
    code = read_rows(&marshal);
    if (code == -CAIRN_EEND)
        code = -CAIRN_EDAMAGED; /* the dict has an end of its own */
    cairn_vec_release(&marshal.refs);
    return code < 0 ? cairn_cursor_fail(&marshal.cur, code, "reading a profile", err) : 0;
}
