#include "pprof_words.h"

#include <stddef.h>

#include "format.h"
#include "jsonin.h"
#include "protobuf.h"

uint64_t cairn_pprof_time_unit(struct cairn_span unit)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        {"nanoseconds", 1},        {"ns", 1},       {"microseconds", 1000},  {"us", 1000},
        {"milliseconds", 1000000}, {"ms", 1000000}, {"seconds", 1000000000}, {"s", 1000000000}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (cairn_span_is(unit, units[i].name))
            return units[i].ns;
    return 0;
}

uint8_t cairn_pprof_state(struct cairn_span text)
{
    if (cairn_span_is(text, "blocked"))
        return CAIRN_SAMPLE_BLOCKED;
    if (cairn_span_is(text, "stopped"))
        return CAIRN_SAMPLE_STOPPED;
    return cairn_span_is(text, "gil_wait") ? CAIRN_SAMPLE_GIL_WAIT : CAIRN_SAMPLE_UNKNOWN;
}

int cairn_pprof_type(struct cairn_span message, struct cairn_pprof_type *ret_type)
{
    struct cairn_protobuf_field field;
    struct cairn_cursor cur;
    int more;

    *ret_type = (struct cairn_pprof_type){0, 0};
    cairn_cursor_init(&cur, message);
    while ((more = cairn_protobuf_next(&cur, &field)) > 0) {
        if (field.number == 1)
            ret_type->type = (int64_t)field.value;
        else if (field.number == 2)
            ret_type->unit = (int64_t)field.value;
    }
    return more;
}

int cairn_pprof_id(struct cairn_span message, uint64_t *ret_id)
{
    struct cairn_cursor cur;
    struct cairn_protobuf_field field;
    int more;

    *ret_id = 0;
    cairn_cursor_init(&cur, message);
    while ((more = cairn_protobuf_next(&cur, &field)) > 0)
        if (field.number == 1)
            *ret_id = field.value;
    return more;
}
