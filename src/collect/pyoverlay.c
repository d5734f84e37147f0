#include "pyoverlay.h"

#include <string.h>

#include "err.h"
#include "format.h"

#define BASE_EXCEPTION (1ul << 30) /* Py_TPFLAGS_BASE_EXC_SUBCLASS, the same in all versions */
#define LEAST_ADDRESS 65536        /* of memory: below, kernels map none unless told to */
#define ITEMS_MAX 256              /* generators in one another, each with its exceptions */
#define LAST_WITH_NONE 12          /* until then "no exception" may be None */

/* Asks where the GIL of an interpreter lies, until it is told. */
static int seek_gil(struct cairn_pyread *read, struct cairn_pyinterp *interp)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    int code;

    if (cairn_pylayout_has(l->runtime_gil)) {
        interp->gil = read->runtime.address + l->runtime_gil;
        return 0;
    }
    if (!cairn_pylayout_has(l->interp_gil))
        return 0;
    code = cairn_remote_get(&read->remote, interp->address + l->interp_gil, &interp->gil,
                            sizeof(interp->gil));
    if (code < 0 || interp->gil % 8 != 0)
        interp->gil = 0;
    return code == -CAIRN_EUNREADABLE ? 0 : code;
}

static uint64_t gc_address(const struct cairn_pyread *read, const struct cairn_pyinterp *interp)
{
    const struct cairn_pylayout *l = &read->runtime.layout;

    if (!cairn_pylayout_has(l->gc_collecting))
        return 0;
    if (cairn_pylayout_has(l->interp_gc))
        return interp->address + l->interp_gc + l->gc_collecting;
    if (cairn_pylayout_has(l->runtime_gc))
        return read->runtime.address + l->runtime_gc + l->gc_collecting;
    return 0;
}

int cairn_pyoverlay_plan(struct cairn_pyread *read)
{
    const struct cairn_pylayout *l = &read->runtime.layout;

    for (size_t i = 0; i < read->interps.count; i++) {
        struct cairn_pyinterp *interp = &read->interps.items[i];
        uint64_t gc = gc_address(read, interp);

        interp->gil_known = interp->gc_known = false;
        if (!interp->gil)
            CAIRN_TRY(seek_gil(read, interp));
        if (interp->gil && cairn_pylayout_has(l->gil_locked))
            CAIRN_TRY(cairn_pyread_add(read, (struct cairn_pyslot){NULL, SLOT_GIL, i, 0},
                                       interp->gil, l->gil_locked + sizeof(uint32_t)));
        if (gc)
            CAIRN_TRY(cairn_pyread_add(read, (struct cairn_pyslot){NULL, SLOT_GC, i, 0}, gc,
                                       sizeof(uint32_t)));
    }
    return 0;
}

int cairn_pyoverlay_plan_thread(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    const struct cairn_pylayout *l = &read->runtime.layout;

    kept->exc_item_ok = false;
    if (!kept->exc_item)
        return 0;
    return cairn_pyread_add(read, (struct cairn_pyslot){kept, SLOT_EXC, 0, 0},
                            kept->exc_item + l->excitem_value, sizeof(uint64_t));
}

/* Whoever is called its holder may be gone by now, but was a thread state once; who locked it is
 * called so. */
static void take_gil(const struct cairn_pyread *read, struct cairn_pyinterp *interp,
                     const uint8_t *data)
{
    uint64_t holder;
    int32_t locked;

    memcpy(&holder, data + read->runtime.layout.gil_holder, sizeof(holder));
    memcpy(&locked, data + read->runtime.layout.gil_locked, sizeof(locked));
    interp->gil_known = (locked == 0 || locked == 1) && /* -1: not yet made */
                        (holder ? holder % 8 == 0 && holder >= LEAST_ADDRESS : locked == 0);
    interp->gil_seen |= interp->gil_known;
    interp->holder = locked == 1 ? holder : 0;
}

/* The flag does not say which thread: it is the one that held the GIL when it was first met set,
 * whoever gets the GIL while a finalizer runs. When nobody held it, it is not known. */
static void take_gc(struct cairn_pyinterp *interp, const uint8_t *data)
{
    int32_t collecting;

    memcpy(&collecting, data, sizeof(collecting));
    if (collecting != 1)
        interp->collector = 0;
    else if (!interp->collector)
        interp->collector = interp->holder;
    interp->gc_known = interp->gil_known && (collecting == 0 || interp->collector);
}

void cairn_pyoverlay_take(struct cairn_pyread *read, const struct cairn_pyslot *slot,
                          const uint8_t *data)
{
    if (slot->what == SLOT_GIL)
        take_gil(read, &read->interps.items[slot->index], data);
    if (slot->what == SLOT_GC)
        take_gc(&read->interps.items[slot->index], data);
    if (slot->what == SLOT_EXC) {
        memcpy(&slot->kept->exc_item_value, data, sizeof(uint64_t));
        slot->kept->exc_item_ok = true;
    }
}

/* Whether that object is an exception. Where None may stand there, one look at its type tells;
 * None is remembered, an exception is not: its place is soon another's. */
static bool is_exception(struct cairn_pyread *read, uint64_t object)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    uint64_t type, flags;

    if (!object || object == read->none)
        return false;
    if (read->runtime.table->minor > LAST_WITH_NONE)
        return true;
    if (cairn_remote_get(&read->remote, object + l->object_type, &type, sizeof(type)) < 0 ||
        cairn_remote_get(&read->remote, type + l->type_flags, &flags, sizeof(flags)) < 0)
        return true; /* it was there, and is gone: None stays */
    if (!(flags & BASE_EXCEPTION))
        read->none = object;
    return flags & BASE_EXCEPTION;
}

/* The item came with the read where it is the one of last time; else it is asked for by itself. */
static bool read_item(struct cairn_pyread *read, struct cairn_pykept *kept, uint64_t item)
{
    if (!kept->exc_item_ok || kept->exc_item != item)
        kept->exc_item_ok =
            item % 8 == 0 &&
            cairn_remote_get(&read->remote, item + read->runtime.layout.excitem_value,
                             &kept->exc_item_value, sizeof(kept->exc_item_value)) == 0;
    return kept->exc_item_ok;
}

/* The items of a thread's exceptions end with the one in its state: seen once, both places are
 * right. */
static bool leads_to(struct cairn_pyread *read, uint64_t item, uint64_t outermost)
{
    const uint32_t previous = read->runtime.layout.excitem_size - 8;

    for (int i = 0; i < ITEMS_MAX && item && item % 8 == 0 && item != outermost; i++)
        if (cairn_remote_get(&read->remote, item + previous, &item, sizeof(item)) < 0)
            return false;
    return item == outermost;
}

void cairn_pyoverlay_take_header(struct cairn_pyread *read, struct cairn_pykept *kept)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    uint64_t info, outermost;

    kept->exc_known =
        cairn_pylayout_has(l->thread_exc_info) && cairn_pylayout_has(l->thread_exc_state) &&
        cairn_pylayout_has(l->thread_exception) && cairn_pylayout_has(l->excitem_value);
    if (!kept->exc_known)
        return;
    info = cairn_pykept_field(kept, l->thread_exc_info);
    outermost = kept->thread.tstate + l->thread_exc_state;
    read->exc_seen = read->exc_seen || leads_to(read, info, outermost);
    kept->exc_known = read->exc_seen;
    if (!kept->exc_known)
        return;
    kept->exc =
        cairn_pykept_field(kept, l->thread_exception) != 0 ||
        is_exception(read, cairn_pykept_field(kept, l->thread_exc_state + l->excitem_value));
    if (info == outermost) {
        kept->exc_item = 0;
        return;
    }
    /* A generator has an item of its own. What lies between the two is not looked at. */
    if (!kept->exc && read_item(read, kept, info))
        kept->exc = is_exception(read, kept->exc_item_value);
    else
        kept->exc_known = kept->exc;
    kept->exc_item = info % 8 == 0 ? info : 0;
}

void cairn_pyoverlay_forget(struct cairn_pyread *read)
{
    for (size_t i = 0; i < read->interps.count; i++)
        read->interps.items[i].gil_known = read->interps.items[i].gc_known = false;
}

static const struct cairn_pyinterp *interp_of(const struct cairn_pyread *read, uint64_t address)
{
    for (size_t i = 0; i < read->interps.count; i++)
        if (read->interps.items[i].address == address)
            return &read->interps.items[i];
    return NULL;
}

uint8_t cairn_pyread_overlays(const struct cairn_pyread *read, const struct cairn_pythread *thread)
{
    const struct cairn_pykept *kept = (const struct cairn_pykept *)thread;
    const struct cairn_pyinterp *interp = interp_of(read, thread->interp);
    uint8_t overlays = 0;

    if (!interp || !interp->gil_known)
        overlays |= CAIRN_OVERLAY_GIL_UNKNOWN;
    else if (interp->holder == thread->tstate)
        overlays |= CAIRN_OVERLAY_GIL_HELD;
    if (!interp || !interp->gc_known)
        overlays |= CAIRN_OVERLAY_GC_UNKNOWN;
    else if (interp->collector == thread->tstate)
        overlays |= CAIRN_OVERLAY_GC;
    if (!kept->exc_known)
        overlays |= CAIRN_OVERLAY_EXCEPTION_UNKNOWN;
    else if (kept->exc)
        overlays |= CAIRN_OVERLAY_EXCEPTION;
    return overlays;
}

bool cairn_pyread_knows_gil(const struct cairn_pyread *read)
{
    for (size_t i = 0; i < read->interps.count; i++)
        if (!read->interps.items[i].gil_seen)
            return false;
    return true;
}

bool cairn_pyread_in_gil(const struct cairn_pyread *read, uint64_t address)
{
    for (size_t i = 0; i < read->interps.count; i++) {
        uint64_t gil = read->interps.items[i].gil;

        if (gil && address >= gil && address - gil < read->runtime.layout.gil_size)
            return true;
    }
    return false;
}
