#include "pysites.h"

#include <stdbool.h>

/* Of these, the numbers are the same in 3.8, 3.9 and 3.10. */
enum {
    OP_POP_TOP = 1,
    OP_UNARY_FIRST = 10,
    OP_UNARY_LAST = 15,
    OP_BINARY_FIRST = 16,
    OP_BINARY_LAST = 29,
    OP_BITS_FIRST = 62,
    OP_BITS_LAST = 66,
    OP_STORE_NAME = 90,
    OP_STORE_GLOBAL = 97,
    OP_LOAD_CONST = 100,
    OP_LOAD_NAME = 101,
    OP_BUILD_TUPLE = 102,
    OP_BUILD_LIST = 103,
    OP_BUILD_SET = 104,
    OP_BUILD_MAP = 105,
    OP_LOAD_ATTR = 106,
    OP_COMPARE_OP = 107,
    OP_LOAD_GLOBAL = 116,
    OP_IS_OP = 117,
    OP_CONTAINS_OP = 118,
    OP_LOAD_FAST = 124,
    OP_STORE_FAST = 125,
    OP_CALL_FUNCTION = 131,
    OP_LOAD_CLOSURE = 135,
    OP_LOAD_DEREF = 136,
    OP_STORE_DEREF = 137,
    OP_CALL_FUNCTION_KW = 141,
    OP_CALL_FUNCTION_EX = 142,
    OP_EXTENDED_ARG = 144,
    OP_FORMAT_VALUE = 155,
    OP_BUILD_CONST_KEY_MAP = 156,
    OP_BUILD_STRING = 157,
    OP_LOAD_METHOD = 160,
    OP_CALL_METHOD = 161,
};

#define FORMAT_HAS_SPEC 4
#define KEYWORDS_ARE_GIVEN 1
#define DEPTH_MAX 64
#define NAMELESS UINT32_MAX
#define NOT_SO SIZE_MAX

/* What lies on the stack of values, as far as it is known: by which name each was loaded. Below the
 * last `depth` nothing is. */
struct values {
    uint32_t names[DEPTH_MAX];
    size_t depth;
};

static void push(struct values *values, uint32_t name)
{
    if (values->depth == DEPTH_MAX)
        values->depth = 0;
    values->names[values->depth++] = name;
}

static void pop(struct values *values, size_t count)
{
    values->depth -= count < values->depth ? count : values->depth;
}

static bool is_between(uint8_t op, int first, int last)
{
    return op >= first && op <= last;
}

/* How many values a call takes, with what it calls; 0: it is no call. */
static size_t taken_by_call(uint8_t op, uint32_t argument)
{
    switch (op) {
    case OP_CALL_FUNCTION:
        return (size_t)argument + 1;
    case OP_CALL_FUNCTION_KW: /* and the names of the last ones */
    case OP_CALL_METHOD:      /* and what it is a method of */
        return (size_t)argument + 2;
    case OP_CALL_FUNCTION_EX:
        return argument & KEYWORDS_ARE_GIVEN ? 3 : 2;
    default:
        return 0;
    }
}

/* How many values an instruction takes to make one of them; NOT_SO: it does something else. */
static size_t taken_for_one(uint8_t op, uint32_t argument)
{
    if (is_between(op, OP_BINARY_FIRST, OP_BINARY_LAST) ||
        is_between(op, OP_BITS_FIRST, OP_BITS_LAST))
        return 2;
    switch (op) {
    case OP_COMPARE_OP:
    case OP_IS_OP:
    case OP_CONTAINS_OP:
        return 2;
    case OP_BUILD_TUPLE:
    case OP_BUILD_LIST:
    case OP_BUILD_SET:
    case OP_BUILD_STRING:
        return argument;
    case OP_BUILD_MAP:
        return 2 * (size_t)argument;
    case OP_BUILD_CONST_KEY_MAP:
        return (size_t)argument + 1;
    case OP_FORMAT_VALUE:
        return argument & FORMAT_HAS_SPEC ? 2 : 1;
    default:
        return is_between(op, OP_UNARY_FIRST, OP_UNARY_LAST) ? 1 : NOT_SO;
    }
}

/* What any other instruction does to the values. */
static void carry_out(struct values *values, uint8_t op, uint32_t argument)
{
    size_t taken = taken_for_one(op, argument);

    switch (op) {
    case OP_LOAD_GLOBAL:
    case OP_LOAD_NAME:
        push(values, argument);
        break;
    case OP_LOAD_ATTR:
        pop(values, 1);
        push(values, argument);
        break;
    case OP_LOAD_METHOD:
        pop(values, 1);
        push(values, argument);
        push(values, NAMELESS);
        break;
    case OP_LOAD_CONST:
    case OP_LOAD_FAST:
    case OP_LOAD_CLOSURE:
    case OP_LOAD_DEREF:
        push(values, NAMELESS);
        break;
    case OP_POP_TOP:
    case OP_STORE_FAST:
    case OP_STORE_DEREF:
    case OP_STORE_GLOBAL:
    case OP_STORE_NAME:
        pop(values, 1);
        break;
    default:
        if (taken != NOT_SO) {
            pop(values, taken);
            push(values, NAMELESS);
        } else {
            values->depth = 0; /* it jumps, or what it does is not told here */
        }
    }
}

size_t cairn_pysites_find(struct cairn_span text, struct cairn_pycallsite *ret_sites, size_t max)
{
    struct values values = {.depth = 0};
    uint32_t prefix = 0;
    size_t count = 0;

    for (size_t unit = 0; unit < text.size_bytes / 2 && count < max; unit++) {
        uint8_t op = text.data[2 * unit];
        uint32_t argument = prefix << 8 | text.data[2 * unit + 1];
        size_t taken = taken_by_call(op, argument);

        prefix = op == OP_EXTENDED_ARG ? argument : 0;
        if (op == OP_EXTENDED_ARG)
            continue;
        if (!taken) {
            carry_out(&values, op, argument);
            continue;
        }
        if (taken <= values.depth && values.names[values.depth - taken] != NAMELESS)
            ret_sites[count++] =
                (struct cairn_pycallsite){(uint32_t)unit, values.names[values.depth - taken]};
        pop(&values, taken);
        push(&values, NAMELESS);
    }
    return count;
}
