#include "pickle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX ((size_t)1 << 21)
#define LINE_MAX_BYTES ((size_t)64 << 10)

static int make(struct cairn_pickle *p, struct cairn_pickle_value value, uint32_t *ret_value)
{
    CAIRN_TRY(cairn_vec_reserve(&p->values, p->values.count + 1, VALUES_MAX));
    *ret_value = (uint32_t)p->values.count;
    p->values.items[p->values.count++] = value;
    return 0;
}

static int push(struct cairn_pickle *p, struct cairn_pickle_value value)
{
    uint32_t made;

    CAIRN_TRY(make(p, value, &made));
    CAIRN_TRY(cairn_vec_reserve(&p->stack, p->stack.count + 1, VALUES_MAX));
    p->stack.items[p->stack.count++] = made;
    return 0;
}

static int pop(struct cairn_pickle *p, uint32_t *ret_value)
{
    if (p->stack.count == 0)
        return -CAIRN_EDAMAGED;
    *ret_value = p->stack.items[--p->stack.count];
    return 0;
}

static int push_number(struct cairn_pickle *p, double number)
{
    return push(p, (struct cairn_pickle_value){.kind = CAIRN_PICKLE_NUMBER, .number = number});
}

static int push_text(struct cairn_pickle *p, uint64_t size_bytes)
{
    struct cairn_pickle_value value = {.kind = CAIRN_PICKLE_TEXT};

    CAIRN_TRY(cairn_cursor_take(&p->cur, size_bytes, &value.text));
    return push(p, value);
}

static int hold(struct cairn_pickle *p, uint32_t holder, uint32_t value)
{
    struct cairn_pickle_value *into = &p->values.items[holder];
    uint32_t cell = (uint32_t)p->cells.count;

    CAIRN_TRY(cairn_vec_reserve(&p->cells, p->cells.count + 1, 2 * VALUES_MAX));
    p->cells.items[p->cells.count++] = (struct cairn_pickle_cell){.value = value};
    if (into->last)
        p->cells.items[into->last].next = cell;
    else
        into->first = cell;
    into->last = cell;
    into->count++;
    return 0;
}

/* Where the innermost mark lies. */
static int find_mark(const struct cairn_pickle *p, size_t *ret_at)
{
    for (size_t at = p->stack.count; at-- > 0;)
        if (p->values.items[p->stack.items[at]].kind == CAIRN_PICKLE_MARK) {
            *ret_at = at;
            return 0;
        }
    return -CAIRN_EDAMAGED;
}

/* What lies from `from` on goes into `holder`. */
static int hold_all(struct cairn_pickle *p, uint32_t holder, size_t from)
{
    for (size_t i = from; i < p->stack.count; i++)
        CAIRN_TRY(hold(p, holder, p->stack.items[i]));
    p->stack.count = from;
    return 0;
}

/* A container of the topmost `count`, or of all above the mark, in their place. */
static int gather(struct cairn_pickle *p, enum cairn_pickle_kind kind, size_t count, bool marked)
{
    size_t from = p->stack.count - count;
    uint32_t made;

    if (count > p->stack.count)
        return -CAIRN_EDAMAGED;
    if (marked)
        CAIRN_TRY(find_mark(p, &from));
    CAIRN_TRY(make(p, (struct cairn_pickle_value){.kind = (uint8_t)kind}, &made));
    CAIRN_TRY(hold_all(p, made, from + marked));
    p->stack.count = from;
    CAIRN_TRY(cairn_vec_reserve(&p->stack, p->stack.count + 1, VALUES_MAX));
    p->stack.items[p->stack.count++] = made;
    return 0;
}

/* The topmost `count`, or all above the mark, into the container below them. */
static int add_to(struct cairn_pickle *p, size_t count, bool marked)
{
    size_t from = p->stack.count - count;
    uint32_t holder;

    if (count > p->stack.count)
        return -CAIRN_EDAMAGED;
    if (marked)
        CAIRN_TRY(find_mark(p, &from));
    if (from == 0)
        return -CAIRN_EDAMAGED;
    holder = p->stack.items[from - 1];
    if (p->values.items[holder].kind != CAIRN_PICKLE_LIST &&
        p->values.items[holder].kind != CAIRN_PICKLE_DICT)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(hold_all(p, holder, from + marked));
    p->stack.count = from;
    return 0;
}

/* Up to the end of a line, without it. */
static int take_line(struct cairn_pickle *p, struct cairn_span *ret_line)
{
    size_t left = cairn_cursor_left_bytes(&p->cur);
    const uint8_t *end = memchr(p->cur.next, '\n', left < LINE_MAX_BYTES ? left : LINE_MAX_BYTES);
    struct cairn_span line;

    if (!end)
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_cursor_take(&p->cur, (uint64_t)(end - p->cur.next) + 1, &line));
    line.size_bytes--;
    *ret_line = line;
    return 0;
}

static int line_number(struct cairn_pickle *p, double *ret_number)
{
    struct cairn_span line;
    char text[64], *end;

    CAIRN_TRY(take_line(p, &line));
    if (line.size_bytes == 0 || line.size_bytes >= sizeof(text))
        return -CAIRN_EDAMAGED;
    memcpy(text, line.data, line.size_bytes);
    text[line.size_bytes] = '\0';
    *ret_number = strtod(text, &end);
    return end != text && (*end == '\0' || strcmp(end, "L") == 0) ? 0 : -CAIRN_EDAMAGED;
}

/* Little-endian, two's complement. */
static int push_long(struct cairn_pickle *p, uint64_t size_bytes)
{
    struct cairn_span bytes;
    double number = 0;

    CAIRN_TRY(cairn_cursor_take(&p->cur, size_bytes, &bytes));
    if (bytes.size_bytes > 16)
        return -CAIRN_EDAMAGED;
    for (size_t i = bytes.size_bytes; i-- > 0;)
        number = number * 256 + bytes.data[i];
    if (bytes.size_bytes > 0 && bytes.data[bytes.size_bytes - 1] & 0x80)
        number -= ldexp(1, (int)bytes.size_bytes * 8);
    return push_number(p, number);
}

static int push_float(struct cairn_pickle *p)
{
    struct cairn_span bytes;
    uint64_t bits = 0;
    double number;

    CAIRN_TRY(cairn_cursor_take(&p->cur, sizeof(bits), &bytes));
    for (size_t i = 0; i < sizeof(bits); i++)
        bits = bits << 8 | bytes.data[i];
    memcpy(&number, &bits, sizeof(number));
    return push_number(p, number);
}

static bool is_ours(struct cairn_span module, struct cairn_span name)
{
    static const char *const modules[] = {"line_profiler.line_profiler",
                                          "line_profiler._line_profiler", "_line_profiler",
                                          "cairn.line_profiler"};

    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
        if (module.size_bytes == strlen(modules[i]) &&
            memcmp(module.data, modules[i], module.size_bytes) == 0)
            return name.size_bytes == 9 && memcmp(name.data, "LineStats", 9) == 0;
    return false;
}

static int push_class(struct cairn_pickle *p, struct cairn_span module, struct cairn_span name)
{
    if (!is_ours(module, name))
        return cairn_err_set(p->err, -CAIRN_EDAMAGED, 0, "import",
                             "it would call %.*s.%.*s, which no profile does",
                             (int)(module.size_bytes < 100 ? module.size_bytes : 100), module.data,
                             (int)(name.size_bytes < 100 ? name.size_bytes : 100), name.data);
    return push(p, (struct cairn_pickle_value){.kind = CAIRN_PICKLE_CLASS});
}

static int take_global(struct cairn_pickle *p, bool from_stack)
{
    struct cairn_span module, name;
    uint32_t first, second;

    if (!from_stack) {
        CAIRN_TRY(take_line(p, &module));
        CAIRN_TRY(take_line(p, &name));
        return push_class(p, module, name);
    }
    CAIRN_TRY(pop(p, &second));
    CAIRN_TRY(pop(p, &first));
    if (p->values.items[first].kind != CAIRN_PICKLE_TEXT ||
        p->values.items[second].kind != CAIRN_PICKLE_TEXT)
        return -CAIRN_EDAMAGED;
    return push_class(p, p->values.items[first].text, p->values.items[second].text);
}

/* An object of the class below its arguments; or what it is set to. */
static int take_object(struct cairn_pickle *p, bool build)
{
    uint32_t above, below;

    CAIRN_TRY(pop(p, &above));
    if (!build) {
        CAIRN_TRY(pop(p, &below));
        return p->values.items[below].kind == CAIRN_PICKLE_CLASS
                   ? push(p,
                          (struct cairn_pickle_value){.kind = CAIRN_PICKLE_OBJECT, .first = above})
                   : -CAIRN_EDAMAGED;
    }
    if (p->stack.count == 0 ||
        p->values.items[p->stack.items[p->stack.count - 1]].kind != CAIRN_PICKLE_OBJECT)
        return -CAIRN_EDAMAGED;
    p->values.items[p->stack.items[p->stack.count - 1]].first = above;
    return 0;
}

static int memorize(struct cairn_pickle *p, uint64_t key)
{
    if (p->stack.count == 0)
        return -CAIRN_EDAMAGED;
    p->memo_count++;
    return cairn_map_put(&p->memo, key, 0, p->stack.items[p->stack.count - 1]);
}

static int recall(struct cairn_pickle *p, uint64_t key)
{
    uint64_t found;

    if (!cairn_map_get(&p->memo, key, 0, &found))
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_vec_reserve(&p->stack, p->stack.count + 1, VALUES_MAX));
    p->stack.items[p->stack.count++] = (uint32_t)found;
    return 0;
}

/* The number behind an opcode, of so many bytes. */
static int take_number(struct cairn_pickle *p, size_t size_bytes, uint64_t *ret_number)
{
    struct cairn_span bytes;

    CAIRN_TRY(cairn_cursor_take(&p->cur, size_bytes, &bytes));
    *ret_number = 0;
    for (size_t i = size_bytes; i-- > 0;)
        *ret_number = *ret_number << 8 | bytes.data[i];
    return 0;
}

/* As it stands there; of what is quoted, what is between the quotes. */
static int take_line_text(struct cairn_pickle *p, bool quoted)
{
    struct cairn_pickle_value value = {.kind = CAIRN_PICKLE_TEXT};

    CAIRN_TRY(take_line(p, &value.text));
    if (quoted && value.text.size_bytes < 2)
        return -CAIRN_EDAMAGED;
    if (quoted) {
        value.text.data++;
        value.text.size_bytes -= 2;
    }
    return push(p, value);
}

static int take_line_key(struct cairn_pickle *p, bool put)
{
    double key;

    CAIRN_TRY(line_number(p, &key));
    if (!(key >= 0 && key < (double)VALUES_MAX))
        return -CAIRN_EDAMAGED;
    return put ? memorize(p, (uint64_t)key) : recall(p, (uint64_t)key);
}

/* Opcodes with no number of fixed size behind them. */
static int follow_plain(struct cairn_pickle *p, uint8_t opcode)
{
    double number;

    switch (opcode) {
    case '(':
        return push(p, (struct cairn_pickle_value){.kind = CAIRN_PICKLE_MARK});
    case 'N':
        return push(p, (struct cairn_pickle_value){.kind = CAIRN_PICKLE_NONE});
    case 0x88:
    case 0x89:
        return push_number(p, opcode == 0x88);
    case 'I':
    case 'L':
    case 'F':
        CAIRN_TRY(line_number(p, &number));
        return push_number(p, number);
    case 'G':
        return push_float(p);
    case 'V':
    case 'S':
        return take_line_text(p, opcode == 'S');
    case ')':
        return gather(p, CAIRN_PICKLE_TUPLE, 0, false);
    case ']':
        return gather(p, CAIRN_PICKLE_LIST, 0, false);
    case '}':
        return gather(p, CAIRN_PICKLE_DICT, 0, false);
    case 0x85:
    case 0x86:
    case 0x87:
        return gather(p, CAIRN_PICKLE_TUPLE, opcode - 0x84u, false);
    case 't':
        return gather(p, CAIRN_PICKLE_TUPLE, 0, true);
    case 'l':
        return gather(p, CAIRN_PICKLE_LIST, 0, true);
    case 'd':
        return gather(p, CAIRN_PICKLE_DICT, 0, true);
    case 'a':
        return add_to(p, 1, false);
    case 's':
        return add_to(p, 2, false);
    case 'e':
    case 'u':
        return add_to(p, 0, true);
    case 'p':
    case 'g':
        return take_line_key(p, opcode == 'p');
    case 0x94:
        return memorize(p, p->memo_count);
    case 'c':
    case 0x93:
        return take_global(p, opcode == 0x93);
    case 0x81:
    case 'R':
    case 'b':
        return take_object(p, opcode == 'b');
    default:
        return cairn_err_set(p->err, -CAIRN_EDAMAGED, 0, "import",
                             "it has the opcode %#x, which no profile has", opcode);
    }
}

static int follow(struct cairn_pickle *p, uint8_t opcode)
{
    static const struct {
        uint8_t opcode, size_bytes;
    } sized[] = {{0x80, 1}, {0x95, 8}, {'J', 4},  {'K', 1},  {'M', 2}, {0x8a, 1},
                 {0x8b, 4}, {'X', 4},  {0x8c, 1}, {0x8d, 8}, {'T', 4}, {'U', 1},
                 {'q', 1},  {'r', 4},  {'h', 1},  {'j', 4}};
    uint64_t number = 0;
    size_t i = 0;

    while (i < sizeof(sized) / sizeof(sized[0]) && sized[i].opcode != opcode)
        i++;
    if (i == sizeof(sized) / sizeof(sized[0]))
        return follow_plain(p, opcode);
    CAIRN_TRY(take_number(p, sized[i].size_bytes, &number));
    switch (opcode) {
    case 'J':
        return push_number(p, (double)(int32_t)number);
    case 'K':
    case 'M':
        return push_number(p, (double)number);
    case 0x8a:
    case 0x8b:
        return push_long(p, number);
    case 'X':
    case 0x8c:
    case 0x8d:
    case 'T':
    case 'U':
        return push_text(p, number);
    case 'q':
    case 'r':
        return memorize(p, number);
    case 'h':
    case 'j':
        return recall(p, number);
    default:
        return 0; /* the protocol, and frames, which say nothing */
    }
}

static int read_all(struct cairn_pickle *p, uint32_t *ret_value)
{
    uint32_t none;
    uint8_t opcode;
    int code;

    CAIRN_TRY(make(p, (struct cairn_pickle_value){.kind = CAIRN_PICKLE_NONE}, &none));
    CAIRN_TRY(cairn_vec_reserve(&p->cells, 1, 1));
    p->cells.items[p->cells.count++] = (struct cairn_pickle_cell){0};
    for (;;) {
        if (cairn_cursor_u8(&p->cur, &opcode) < 0)
            return cairn_err_set(p->err, -CAIRN_EDAMAGED, 0, "import", "it ends early");
        if (opcode == '.')
            return pop(p, ret_value);
        code = follow(p, opcode);
        if (code < 0)
            return code == -CAIRN_EEND ? -CAIRN_EDAMAGED : code;
    }
}

int cairn_pickle_read(struct cairn_pickle *pickle, struct cairn_span bytes, struct cairn_err *err,
                      uint32_t *ret_value)
{
    *pickle = (struct cairn_pickle){.err = err};
    cairn_cursor_init(&pickle->cur, bytes);
    cairn_map_init(&pickle->memo, VALUES_MAX);
    return read_all(pickle, ret_value);
}

void cairn_pickle_release(struct cairn_pickle *pickle)
{
    cairn_map_release(&pickle->memo);
    cairn_vec_release(&pickle->values);
    cairn_vec_release(&pickle->cells);
    cairn_vec_release(&pickle->stack);
}

uint32_t cairn_pickle_value_of(const struct cairn_pickle *p, uint32_t dict, const char *key)
{
    const struct cairn_pickle_value *items = &p->values.items[dict];

    if (items->kind != CAIRN_PICKLE_DICT)
        return 0;
    for (uint32_t cell = items->first; cell; cell = p->cells.items[cell].next) {
        const struct cairn_pickle_value *name = &p->values.items[p->cells.items[cell].value];

        cell = p->cells.items[cell].next;
        if (!cell)
            return 0;
        if (name->kind == CAIRN_PICKLE_TEXT && name->text.size_bytes == strlen(key) &&
            memcmp(name->text.data, key, name->text.size_bytes) == 0)
            return p->cells.items[cell].value;
    }
    return 0;
}

bool cairn_pickle_items(const struct cairn_pickle *p, uint32_t value, size_t count,
                        const struct cairn_pickle_value *ret_items[])
{
    const struct cairn_pickle_value *holder = &p->values.items[value];
    uint32_t cell = holder->first;

    if ((holder->kind != CAIRN_PICKLE_TUPLE && holder->kind != CAIRN_PICKLE_LIST) ||
        holder->count != count)
        return false;
    for (size_t i = 0; i < count; i++, cell = p->cells.items[cell].next)
        ret_items[i] = &p->values.items[p->cells.items[cell].value];
    return true;
}
