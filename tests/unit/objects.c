#include "objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "err.h"

void objects_init(struct objects *objects, const struct cairn_pylayout *layout)
{
    memset(objects, 0, sizeof(*objects));
    objects->used = 64; /* no object stands at the start */
    objects->layout = layout;
}

int objects_read(void *ctx, const struct cairn_remote_part *parts, size_t count, size_t *ret_parts)
{
    struct objects *objects = ctx;

    for (*ret_parts = 0; *ret_parts < count; ++*ret_parts) {
        const struct cairn_remote_part *part = &parts[*ret_parts];

        if (part->address < OBJECTS_BASE ||
            part->address - OBJECTS_BASE > OBJECTS_BYTES - part->size_bytes)
            return *ret_parts ? -CAIRN_ESHORT : -CAIRN_EUNREADABLE;
        memcpy(part->data, objects->memory + (part->address - OBJECTS_BASE), part->size_bytes);
    }
    return 0;
}

void objects_put(struct objects *objects, uint64_t address, uint64_t value)
{
    memcpy(objects->memory + (address - OBJECTS_BASE), &value, sizeof(value));
}

uint64_t objects_make(struct objects *objects, uint64_t size_bytes, uint64_t type)
{
    uint64_t address = OBJECTS_BASE + objects->used;

    objects->used += (size_bytes + 15) / 16 * 16;
    assert_true(objects->used <= OBJECTS_BYTES);
    objects_put(objects, address + objects->layout->object_type, type);
    return address;
}

uint64_t objects_make_type(struct objects *objects, const char *name)
{
    const struct cairn_pylayout *l = objects->layout;
    uint64_t type = objects_make(objects, l->type_size, 0), text = objects_make(objects, 64, 0);

    memcpy(objects->memory + (text - OBJECTS_BASE), name, strlen(name) + 1);
    objects_put(objects, type + l->type_name, text);
    return type;
}
