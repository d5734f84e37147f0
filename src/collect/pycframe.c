#include "pycframe.h"

#include <string.h>

#include "err.h"

#define HOPS_MAX 256 /* frames of one call */
#define DEPTH_MAX 64 /* calls that begin or end between two copies */
/* The interpreter's own variables: the entry frame lies among them. */
#define ENTRY_MAX_BYTES 4096

struct cframe {
    uint64_t address, frame, previous;
};

static uint64_t field_of(const uint8_t *data, uint32_t place)
{
    uint64_t value;

    memcpy(&value, data + place, sizeof(value));
    return value;
}

static struct cframe decode(const struct cairn_pylayout *l, uint64_t address, const uint8_t *data)
{
    return (struct cframe){.address = address,
                           .frame = field_of(data, l->cframe_current_frame),
                           .previous = field_of(data, l->cframe_previous)};
}

static bool find(const struct cairn_pyimage *image, uint64_t address, struct cframe *ret)
{
    int32_t chunk = -1;
    const uint8_t *data =
        address ? cairn_pyimage_at(image, address, image->layout->cframe_size, &chunk) : NULL;

    if (data)
        *ret = decode(image->layout, address, data);
    return data != NULL;
}

/* Whether nothing runs in it (3.12): it is over, or it begins, and what was there before is over.
 * Its entry frame is what is current then. */
static bool is_empty(const struct cframe *cframe)
{
    return cframe->frame - cframe->address < ENTRY_MAX_BYTES;
}

/* On 3.11 one that is over still names the frame that ran in it. */
static bool tells_end(const struct cairn_pylayout *layout)
{
    return !cairn_pylayout_has(layout->frame_is_entry);
}

static void add(struct cairn_pycframes *known, uint64_t cframe)
{
    for (int i = 0; i < CAIRN_PYCFRAMES; i++)
        if (known->addresses[i] == cframe)
            return;
    known->addresses[known->next++ % CAIRN_PYCFRAMES] = cframe;
}

/* Whether the frame was called, however far, by `outer`, or is of a generator that has yielded
 * since. What else lies where there was such a structure once is no frame, or a greenlet's, that
 * rests. */
static bool leads_to(const struct cairn_pyimage *image, uint64_t frame, uint64_t outer)
{
    for (int i = 0; i < HOPS_MAX && frame != outer; i++) {
        struct cairn_pyraw raw = {.chunk = -1};
        enum cairn_pycheck ignored;
        bool entry;

        if (cairn_pystack_frame(image, frame, &raw, &entry, &ignored) < 0)
            return false;
        if (!raw.previous)
            return raw.generator;
        frame = raw.previous;
    }
    return frame == outer;
}

/* The one that was called from `outer` and has a frame. False: none is known, or more than one
 * seems to be, of which only one can be. */
static bool find_inner(const struct cairn_pycframes *known, const struct cairn_pyimage *image,
                       const struct cframe *outer, struct cframe *ret)
{
    bool found = false;

    for (int i = 0; i < CAIRN_PYCFRAMES; i++) {
        struct cframe inner;

        if (known->addresses[i] == outer->address || !find(image, known->addresses[i], &inner) ||
            inner.previous != outer->address || is_empty(&inner) ||
            !leads_to(image, inner.frame, outer->frame))
            continue;
        if (found)
            return false;
        found = true;
        *ret = inner;
    }
    return found;
}

int cairn_pycframes_learn(const struct cairn_pylayout *layout, struct cairn_remote *remote,
                          struct cairn_pyplaces *places, uint64_t cframe, uint64_t tick,
                          uint64_t *ret_frame)
{
    uint8_t data[CAIRN_PYLAYOUT_OBJECT_BYTES];

    if (layout->cframe_size > sizeof(data))
        return 1;
    for (int i = 0; i < DEPTH_MAX && cframe; i++) {
        struct cframe now;

        CAIRN_TRY(cairn_pyplaces_add(places, cframe, layout->cframe_size, true, tick));
        cairn_pyplaces_touch(places, cframe, tick);
        if (cairn_remote_get(remote, cframe, data, layout->cframe_size) < 0)
            return 1;
        now = decode(layout, cframe, data);
        *ret_frame = now.frame;
        if (!tells_end(layout) || !is_empty(&now))
            return 0;
        cframe = now.previous;
    }
    return 0;
}

int cairn_pycframes_current(struct cairn_pycframes *known, const struct cairn_pyimage *image,
                            struct cairn_pyplaces *places, uint64_t cframe, bool still,
                            uint64_t tick, uint64_t *ret_frame)
{
    struct cairn_pyimage others = *image;
    struct cframe now, next;

    others.used = NULL; /* what is merely asked for is not kept for that */
    *ret_frame = 0;
    if (!cframe) /* the thread is not there yet, or is going */
        return 0;
    if (!find(image, cframe, &now))
        return -CAIRN_ENOTFOUND;
    cairn_pyplaces_touch(places, now.address, tick);
    add(known, cframe);
    if (!now.frame && now.previous)
        return -CAIRN_EDAMAGED;
    *ret_frame = now.frame;
    if (!tells_end(image->layout))
        return 0;
    for (int i = 0; i < DEPTH_MAX && is_empty(&now); i++) {
        if (!now.previous)
            return 0;
        if (!find(&others, now.previous, &now))
            return -CAIRN_ENOTFOUND;
        if (!now.frame) /* no call: what lies there has been written over */
            return 0;
        cairn_pyplaces_touch(places, now.address, tick);
        if (!is_empty(&now))
            *ret_frame = now.frame;
    }
    for (int i = 0; i < DEPTH_MAX && !still && find_inner(known, &others, &now, &next); i++) {
        cairn_pyplaces_touch(places, next.address, tick);
        *ret_frame = next.frame;
        now = next;
    }
    return 0;
}
