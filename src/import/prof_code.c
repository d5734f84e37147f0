/* prof_code.c: gets past a code object, whose parts are objects of any kind, one behind the other.
 *
 * It begins with five numbers, or six until 3.10; then come eight objects, the first line, and two
 * objects more, or one until 3.10.
 */
#include <inttypes.h>
#include <string.h>

#include "prof_reader.h"

#define DEPTH_MAX 2000 /* Python's own */
#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define CODE_OBJECTS 8

struct level { /* a container that is open */
    enum { ITEMS, DICT, CODE, CODE_END } kind;
    uint64_t left; /* items; not of a dict, which has an end of its own */
    bool old;      /* of code: as until 3.10 */
};

struct skip {
    struct cairn_marshal *marshal;
    CAIRN_VEC(struct level) levels;
    uint32_t file, name, line; /* of the outermost code */
};

static int push(struct skip *skip, int kind, uint64_t left, bool old)
{
    CAIRN_TRY(cairn_vec_reserve(&skip->levels, skip->levels.count + 1, DEPTH_MAX));
    skip->levels.items[skip->levels.count].kind = kind;
    skip->levels.items[skip->levels.count].left = left;
    skip->levels.items[skip->levels.count++].old = old;
    return 0;
}

static int skip_bytes(struct skip *skip, uint64_t size_bytes)
{
    struct cairn_span bytes;

    return cairn_cursor_take(&skip->marshal->cur, size_bytes, &bytes);
}

/* Whether the bytecode begins here: a bytes object that fits, or a reference to one. A number that
 * begins like one would be too long a size. */
static bool is_bytecode(const struct cairn_cursor *cur)
{
    struct cairn_cursor ahead = *cur;
    uint32_t size_bytes;
    uint8_t type;

    if (cairn_cursor_u8(&ahead, &type) < 0 || cairn_cursor_u32(&ahead, &size_bytes) < 0)
        return false;
    type &= (uint8_t)~CAIRN_MARSHAL_REF;
    return type == 'r' || (type == 's' && size_bytes <= cairn_cursor_left_bytes(&ahead));
}

static int push_code(struct skip *skip)
{
    bool old;

    CAIRN_TRY(skip_bytes(skip, 5 * sizeof(uint32_t)));
    old = !is_bytecode(&skip->marshal->cur);
    if (old)
        CAIRN_TRY(skip_bytes(skip, sizeof(uint32_t)));
    return push(skip, CODE, CODE_OBJECTS, old);
}

static int skip_sized(struct skip *skip, bool digits)
{
    uint32_t size;

    CAIRN_TRY(cairn_cursor_u32(&skip->marshal->cur, &size));
    if (digits)
        return skip_bytes(skip, (uint64_t)(size >> 31 ? 0 - size : size) * sizeof(uint16_t));
    return skip_bytes(skip, size);
}

/* A container, by the type that was read; its items follow. */
static int push_items(struct skip *skip, uint8_t type)
{
    uint32_t count = 3; /* of a slice, ':' */

    if (type == '(' || type == ')')
        CAIRN_TRY(cairn_marshal_size(skip->marshal, type, &count));
    else if (type != ':')
        CAIRN_TRY(cairn_cursor_u32(&skip->marshal->cur, &count));
    return push(skip, ITEMS, count, false);
}

/* One object, or the beginning of one. */
static int skip_object(struct skip *skip, uint8_t type, size_t slot,
                       struct cairn_marshal_value *value)
{
    uint32_t number;

    value->kind = CAIRN_MARSHAL_OTHER;
    switch (type) {
    case 'N': /* None */
    case 'F':
    case 'T':
    case '.': /* Ellipsis */
    case 'S': /* StopIteration */
        return 0;
    case 'g':
        return skip_bytes(skip, 8);
    case 'y': /* complex */
        return skip_bytes(skip, 16);
    case 's':
    case 'l':
        return skip_sized(skip, type == 'l');
    case 'c':
        return push_code(skip);
    case '{':
        return push(skip, DICT, 0, false);
    case '(':
    case ')':
    case '[':
    case '<': /* set */
    case '>': /* frozenset */
    case ':':
        return push_items(skip, type);
    case 'r': /* to whatever was there */
        CAIRN_TRY(cairn_cursor_u32(&skip->marshal->cur, &number));
        if (number >= skip->marshal->refs.count)
            return -CAIRN_EDAMAGED;
        *value = skip->marshal->refs.items[number];
        return 0;
    default:
        return cairn_marshal_plain(skip->marshal, type, slot, value);
    }
}

/* Keeps what names the outermost code: the file, and the name behind it. */
static int take_part(struct skip *skip, const struct level *level,
                     const struct cairn_marshal_value *value)
{
    uint64_t index = CODE_OBJECTS - 1 - level->left, file = level->old ? 6 : 5;

    if (index != file && index != file + 1)
        return 0;
    if (value->kind != CAIRN_MARSHAL_TEXT)
        return -CAIRN_EDAMAGED;
    *(index == file ? &skip->file : &skip->name) = value->id;
    return 0;
}

/* Goes on where the innermost container stands. */
static int step(struct skip *skip)
{
    size_t depth = skip->levels.count;
    struct level *level = &skip->levels.items[depth - 1];
    struct cairn_marshal_value value;
    uint32_t line;
    uint8_t type;
    size_t slot;

    if (level->kind != DICT && level->left == 0) {
        if (level->kind != CODE) {
            skip->levels.count--;
            return 0;
        }
        CAIRN_TRY(cairn_cursor_u32(&skip->marshal->cur, &line));
        skip->line = depth == 1 ? line : skip->line;
        level->kind = CODE_END;
        level->left = level->old ? 1 : 2;
    }
    CAIRN_TRY(cairn_marshal_type(skip->marshal, &type, &slot));
    if (level->kind == DICT && type == '0') {
        skip->levels.count--;
        return 0;
    }
    level->left--;
    CAIRN_TRY(skip_object(skip, type, slot, &value));
    level = &skip->levels.items[depth - 1]; /* it may have moved */
    return depth == 1 && level->kind == CODE ? take_part(skip, level, &value) : 0;
}

static int put_text(const struct skip *skip, struct cairn_marshal_value *ret_value)
{
    struct cairn_intern *strings = &skip->marshal->prof->strings;
    struct cairn_span file = cairn_intern_get(strings, skip->file);
    struct cairn_span name = cairn_intern_get(strings, skip->name);
    struct cairn_buf text;
    int code;

    cairn_buf_init(&text, TEXT_MAX_BYTES);
    cairn_buf_add_str(&text, "<code object ");
    cairn_buf_add(&text, name.data, name.size_bytes);
    cairn_buf_add_str(&text, ", file \"");
    cairn_buf_add(&text, file.data, file.size_bytes);
    cairn_buf_printf(&text, "\", line %" PRIu32 ">", skip->line);
    code = text.code;
    if (code == 0)
        code = cairn_intern_add(strings, cairn_buf_span(&text), &ret_value->id);
    ret_value->kind = CAIRN_MARSHAL_TEXT;
    cairn_buf_release(&text);
    return code;
}

int cairn_marshal_code(struct cairn_marshal *marshal, size_t slot,
                       struct cairn_marshal_value *ret_value)
{
    struct skip skip = {.marshal = marshal};
    int code = push_code(&skip);

    while (code == 0 && skip.levels.count > 0)
        code = step(&skip);
    if (code == 0)
        code = put_text(&skip, ret_value);
    if (code == 0 && slot != CAIRN_MARSHAL_NO_SLOT)
        marshal->refs.items[slot] = *ret_value;
    cairn_vec_release(&skip.levels);
    return code;
}
