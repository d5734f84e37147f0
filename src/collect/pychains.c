#include "pychains.h"

#include <string.h>

#include "pyframe.h"
#include "pyread_parts.h"

#define TYPES_MAX 65536
#define BASES_MAX 4
#define WRAPPED_AT 16  /* behind the head of a wrapper stands what it wraps */
#define YIELD_FROM 72  /* the instruction that awaits, 3.8 to 3.10 */
#define RESUME_AWAIT 2 /* 3.11, 3.12: so much at least is what its successor says */

static uint64_t u64_at(const uint8_t *data, uint64_t place)
{
    uint64_t value;

    memcpy(&value, data + place, sizeof(value));
    return value;
}

void cairn_pychains_init(struct cairn_pychains *chains, size_t chain_count)
{
    *chains = (struct cairn_pychains){.max_links = chain_count * CAIRN_PYCHAIN_DEPTH_MAX};
    cairn_map_init(&chains->types, TYPES_MAX);
}

void cairn_pychains_release(struct cairn_pychains *chains)
{
    cairn_map_release(&chains->types);
    cairn_vec_release(&chains->links);
}

void cairn_pychains_clear(struct cairn_pychains *chains)
{
    chains->links.count = 0;
}

/* --- Types --- */

static enum cairn_pychain_kind kind_of_name(const char *name)
{
    static const struct {
        const char *name;
        enum cairn_pychain_kind kind;
    } known[] = {
        {"coroutine", CAIRN_PYCHAIN_FRAMED},
        {"generator", CAIRN_PYCHAIN_FRAMED},
        {"async_generator", CAIRN_PYCHAIN_FRAMED},
        {"coroutine_wrapper", CAIRN_PYCHAIN_WRAPS},
        {"async_generator_asend", CAIRN_PYCHAIN_WRAPS},
        {"async_generator_athrow", CAIRN_PYCHAIN_WRAPS},
        {"str", CAIRN_PYCHAIN_STR},
        {"int", CAIRN_PYCHAIN_INT},
        {"set", CAIRN_PYCHAIN_SET},
        {"weakref", CAIRN_PYCHAIN_REF},
        {"weakref.ReferenceType", CAIRN_PYCHAIN_REF}, /* 3.10 on */
        {"_asyncio.Task", CAIRN_PYCHAIN_TASK},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].kind;
    return CAIRN_PYCHAIN_OTHER;
}

/* What its name says of a type, and what it is made from. */
static int read_type(struct cairn_pyread *read, uint64_t type, enum cairn_pychain_kind *ret_kind,
                     uint64_t *ret_base)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    char name[24] = "";
    uint64_t address;

    *ret_kind = CAIRN_PYCHAIN_OTHER;
    *ret_base = 0;
    CAIRN_TRY(cairn_remote_get(&read->remote, type + l->type_name, &address, sizeof(address)));
    CAIRN_TRY(cairn_remote_get(&read->remote, address, name, sizeof(name)));
    if (memchr(name, 0, sizeof(name)))
        *ret_kind = kind_of_name(name);
    if (!cairn_pylayout_has(l->type_base))
        return 0;
    return cairn_remote_get(&read->remote, type + l->type_base, ret_base, sizeof(*ret_base));
}

/* Types that count are the interpreter's own and never die, so an address is asked for once. */
int cairn_pychains_kind(struct cairn_pyread *read, struct cairn_pychains *chains, uint64_t type,
                        enum cairn_pychain_kind *ret_kind)
{
    struct cairn_map *types = &chains->types;
    enum cairn_pychain_kind kind;
    uint64_t known, base;
    int code;

    *ret_kind = CAIRN_PYCHAIN_OTHER;
    if (cairn_map_get(types, type, 0, &known)) {
        *ret_kind = (enum cairn_pychain_kind)known;
        return 0;
    }
    code = read_type(read, type, ret_kind, &base);
    for (unsigned i = 0; i < BASES_MAX && code == 0 && base && *ret_kind == CAIRN_PYCHAIN_OTHER;
         i++) {
        code = read_type(read, base, &kind, &base);
        if (code == 0 && kind == CAIRN_PYCHAIN_TASK)
            *ret_kind = kind;
    }
    if (code == -CAIRN_EGONE || code == -CAIRN_EPERM)
        return code;
    if (types->count == types->max_count)
        cairn_map_clear(types);
    return cairn_map_put(types, type, 0, *ret_kind);
}

/* --- Links --- */

static bool is_final(int code)
{
    return code == -CAIRN_EGONE || code == -CAIRN_EPERM || code == -CAIRN_ENOMEM;
}

/* Until 3.10 a frame is an object, and a generator that is over has none. */
static int take_object_frame(const struct cairn_pyread *read, const struct cairn_pyview *view,
                             struct cairn_pychain_link *link)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    uint8_t frame[CAIRN_PYLAYOUT_FRAME_BYTES];
    enum cairn_pycheck ignored;
    struct cairn_pyraw raw;
    int32_t depth;

    CAIRN_TRY(cairn_pyview_get(view, link->object + l->gen_frame, &link->frame, 8));
    if (!link->frame)
        return 0;
    CAIRN_TRY(cairn_pyview_get(view, link->frame, frame, l->frame_size));
    if (cairn_pyframe_decode(l, read->runtime.table, link->frame, frame, 0, &raw, &ignored) < 0)
        return -CAIRN_EUNREADABLE;
    link->state = raw.state;
    link->code = raw.code;
    link->instr = raw.instr;
    if (cairn_pylayout_has(l->frame_top)) {
        link->top = u64_at(frame, l->frame_top);
        return 0;
    }
    memcpy(&depth, frame + l->frame_depth, sizeof(depth));
    link->top = depth > 0 ? u64_at(frame, l->frame_values) + 8 * (uint64_t)depth : 0;
    return 0;
}

static int take_frame(const struct cairn_pyread *read, const struct cairn_pyview *view,
                      struct cairn_pychain_link *link)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    uint8_t frame[CAIRN_PYLAYOUT_FRAME_BYTES];
    int32_t slots;

    if (cairn_pyframe_is_object(l))
        return take_object_frame(read, view, link);
    CAIRN_TRY(cairn_pyview_get(view, link->object + l->gen_state, &link->state, 1));
    link->frame = link->object + l->gen_frame;
    CAIRN_TRY(cairn_pyview_get(view, link->frame, frame, l->frame_size));
    link->code = u64_at(frame, l->frame_code) & ~CAIRN_PYSTACK_TAG_BITS;
    link->instr = u64_at(frame, l->frame_instr);
    if (cairn_pylayout_has(l->frame_stackpointer)) {
        link->top = u64_at(frame, l->frame_stackpointer);
        return 0;
    }
    memcpy(&slots, frame + l->frame_stacktop, sizeof(slots));
    link->top = slots > 0 ? link->frame + l->frame_size + 8 * (uint64_t)slots : 0;
    return 0;
}

/* Until 3.12 only the instruction tells whether a generator awaits or yields. */
static int is_at_await(const struct cairn_pyread *read, const struct cairn_pyview *view,
                       const struct cairn_pychain_link *link, bool *ret_awaits)
{
    const struct cairn_pylayout *l = &read->runtime.layout;
    uint64_t units = 0;
    uint8_t unit[2];

    if (cairn_pyframe_is_object(l)) {
        CAIRN_TRY(cairn_pyview_get(view, link->code + l->code_bytes, &units, 8));
        units += l->bytes_data;
    }
    CAIRN_TRY(cairn_pyview_get(view, units + link->instr + 2, unit, sizeof(unit)));
    *ret_awaits = units ? unit[0] == YIELD_FROM : unit[1] >= RESUME_AWAIT;
    return 0;
}

static int get_awaited(const struct cairn_pyread *read, const struct cairn_pyview *view,
                       uint64_t top, uint64_t *ret_awaits)
{
    const unsigned minor = read->runtime.table->minor;

    CAIRN_TRY(cairn_pyview_get(view, top - (minor >= 15 ? 16 : 8), ret_awaits, 8));
    if (minor >= 14)
        *ret_awaits &= ~CAIRN_PYSTACK_TAG_BITS;
    return 0;
}

/* What a frame that is suspended awaits lies on top of its stack. */
static int take_awaited(const struct cairn_pyread *read, const struct cairn_pyview *view,
                        const struct cairn_pyview *units, struct cairn_pychain_link *link)
{
    const struct cairn_pytable *table = read->runtime.table;
    bool awaits = link->state == table->suspended + 1;

    if (!link->top)
        return 0;
    if (table->minor <= 12) {
        if (link->state != table->suspended)
            return 0;
        CAIRN_TRY(is_at_await(read, units, link, &awaits));
    }
    return awaits ? get_awaited(read, view, link->top, &link->awaits) : 0;
}

/* What the object of a link is, where its frame stands, and what it awaits. -CAIRN_EUNREADABLE: as
 * far as was found out. */
static int look(struct cairn_pyread *read, struct cairn_pychains *chains,
                struct cairn_pypages *pages, struct cairn_pychain_link *link)
{
    const struct cairn_pyview view = {pages, &read->remote};
    const struct cairn_pyview units = {chains->units ? chains->units : pages, &read->remote};
    uint64_t type;

    link->kind = CAIRN_PYCHAIN_OTHER;
    CAIRN_TRY(cairn_pyview_get(&view, link->object + read->runtime.layout.object_type, &type, 8));
    CAIRN_TRY(cairn_pychains_kind(read, chains, type, &link->kind));
    if (link->kind == CAIRN_PYCHAIN_WRAPS)
        return cairn_pyview_get(&view, link->object + WRAPPED_AT, &link->awaits, 8);
    if (link->kind != CAIRN_PYCHAIN_FRAMED)
        return 0;
    CAIRN_TRY(take_frame(read, &view, link));
    return take_awaited(read, &view, &units, link);
}

/* Nothing awaits itself: where a chain comes back to a link of its own, what it went through was
 * not there at one moment, and which of the two that await this link did so is not told. */
static bool goes_round(struct cairn_pychains *chains, uint32_t first, uint64_t object)
{
    struct cairn_pychain_link *links = chains->links.items;

    for (uint32_t at = first; at != CAIRN_PYCHAIN_END; at = links[at].next)
        if (links[at].object == object)
            return links[at].circular = true;
    return false;
}

int cairn_pychains_follow(struct cairn_pyread *read, struct cairn_pychains *chains,
                          struct cairn_pypages *pages, uint64_t object, uint32_t *ret_link)
{
    uint32_t last = CAIRN_PYCHAIN_END;

    for (unsigned depth = 0; object && object % 8 == 0; depth++) {
        size_t count = chains->links.count;
        struct cairn_pychain_link *link;
        int code;

        if (depth && goes_round(chains, *ret_link, object))
            return 0;
        if (depth == CAIRN_PYCHAIN_DEPTH_MAX) {
            chains->links.items[last].truncated = true;
            return 0;
        }
        CAIRN_TRY(cairn_vec_reserve(&chains->links, count + 1, chains->max_links));
        *(last == CAIRN_PYCHAIN_END ? ret_link : &chains->links.items[last].next) = (uint32_t)count;
        last = (uint32_t)count;
        chains->links.count = count + 1;
        link = &chains->links.items[count];
        *link = (struct cairn_pychain_link){.next = CAIRN_PYCHAIN_END, .object = object};
        code = look(read, chains, pages, link);
        if (is_final(code))
            return code;
        object = link->awaits;
    }
    return 0;
}

bool cairn_pychains_runs(const struct cairn_pyread *read, const struct cairn_pychain_link *link)
{
    return link->kind == CAIRN_PYCHAIN_FRAMED && link->keeps_code &&
           link->state == read->runtime.table->executing;
}

bool cairn_pychains_is_over(const struct cairn_pyread *read, const struct cairn_pychain_link *link)
{
    if (link->kind != CAIRN_PYCHAIN_FRAMED)
        return false;
    return cairn_pyframe_is_object(&read->runtime.layout)
               ? !link->frame
               : link->state > read->runtime.table->executing;
}

int cairn_pychains_goes(struct cairn_pyread *read, struct cairn_pychains *chains,
                        const struct cairn_pyview *view, uint64_t object, bool *ret_goes)
{
    struct cairn_pychain_link link = {.object = object};
    uint64_t type;

    CAIRN_TRY(cairn_pyview_get(view, object + read->runtime.layout.object_type, &type, 8));
    CAIRN_TRY(cairn_pychains_kind(read, chains, type, &link.kind));
    if (link.kind == CAIRN_PYCHAIN_FRAMED)
        CAIRN_TRY(take_frame(read, view, &link));
    *ret_goes = !cairn_pychains_is_over(read, &link);
    return 0;
}

/* A loop awaits one thing after the other at one place, and what it has done with may be another's
 * by then. */
static bool awaits_as(const struct cairn_pychain_link *now, const struct cairn_pychain_link *link)
{
    return now->awaits == link->awaits && !link->circular;
}

static bool awaits_still(const struct cairn_pyread *read, const struct cairn_pyview *view,
                         struct cairn_pychain_link *now, const struct cairn_pychain_link *link)
{
    int code = link->awaits ? get_awaited(read, view, now->top, &now->awaits) : 0;

    return code == 0 && awaits_as(now, link);
}

static bool is_as_before(const struct cairn_pyread *read, const struct cairn_pyview *view,
                         struct cairn_pychain_link *link)
{
    struct cairn_pychain_link now = {.object = link->object};

    if (link->kind == CAIRN_PYCHAIN_WRAPS)
        return cairn_pyview_get(view, link->object + WRAPPED_AT, &now.awaits, 8) == 0 &&
               awaits_as(&now, link);
    if (link->kind != CAIRN_PYCHAIN_FRAMED)
        return false;
    link->keeps_code = take_frame(read, view, &now) == 0 && now.code == link->code;
    return link->keeps_code && now.state == link->state && now.frame == link->frame &&
           now.instr == link->instr && awaits_still(read, view, &now, link);
}

/* Who is awaited by one that stands still does so too, at what it awaits itself: one that runs or
 * is over was looked at when its awaiter had gone on. Nobody awaits the first. */
static bool can_stand(const struct cairn_pyread *read, const struct cairn_pychain_link *link,
                      bool first)
{
    const struct cairn_pytable *table = read->runtime.table;

    if (link->kind != CAIRN_PYCHAIN_FRAMED)
        return true;
    if (first)
        return !cairn_pychains_is_over(read, link);
    return link->state >= table->suspended && link->state < table->executing;
}

void cairn_pychains_confirm(const struct cairn_pyread *read, struct cairn_pychains *chains,
                            struct cairn_pypages *pages, uint32_t at)
{
    const struct cairn_pyview view = {.pages = pages};
    const uint32_t first = at;

    for (struct cairn_pychain_link *link; at != CAIRN_PYCHAIN_END; at = link->next) {
        link = &chains->links.items[at];
        link->holds = is_as_before(read, &view, link) && can_stand(read, link, at == first);
    }
}

bool cairn_pychains_goes_on(const struct cairn_pychain_link *link)
{
    return link->kind == CAIRN_PYCHAIN_FRAMED || link->kind == CAIRN_PYCHAIN_WRAPS;
}

bool cairn_pychains_holds(const struct cairn_pychains *chains, uint32_t link)
{
    const struct cairn_pychain_link *links = chains->links.items;

    while (link != CAIRN_PYCHAIN_END && links[link].holds)
        link = links[link].next;
    return link == CAIRN_PYCHAIN_END || !cairn_pychains_goes_on(&links[link]);
}

int cairn_pychains_want(const struct cairn_pyread *read, const struct cairn_pychains *chains,
                        struct cairn_pypages *pages, uint32_t at)
{
    const struct cairn_pylayout *l = &read->runtime.layout;

    for (const struct cairn_pychain_link *link; at != CAIRN_PYCHAIN_END; at = link->next) {
        link = &chains->links.items[at];
        CAIRN_TRY(cairn_pypages_want(pages, link->object + l->object_type, 8));
        if (link->kind == CAIRN_PYCHAIN_WRAPS)
            CAIRN_TRY(cairn_pypages_want(pages, link->object + WRAPPED_AT, 8));
        if (link->kind != CAIRN_PYCHAIN_FRAMED)
            continue;
        CAIRN_TRY(cairn_pypages_want(pages, link->object, l->gen_frame + 8));
        if (link->frame)
            CAIRN_TRY(cairn_pypages_want(pages, link->frame, l->frame_size));
        if (link->top)
            CAIRN_TRY(cairn_pypages_want(pages, link->top - 16, 16));
    }
    return 0;
}

/* --- What is told of them --- */

struct cairn_pycode_entry *cairn_pychains_code(const struct cairn_pyread *read,
                                               const struct cairn_pychain_link *link)
{
    return link->kind == CAIRN_PYCHAIN_FRAMED && link->keeps_code
               ? cairn_pycodes_find(&read->codes, link->code)
               : NULL;
}

bool cairn_pychains_frame(const struct cairn_pyread *read, const struct cairn_pychain_link *link,
                          struct cairn_pyframe *ret_frame)
{
    const struct cairn_pyimage image = {.layout = &read->runtime.layout,
                                        .table = read->runtime.table};
    struct cairn_pycode_entry *entry = cairn_pychains_code(read, link);

    *ret_frame = (struct cairn_pyframe){.address = link->frame};
    if (!entry || !cairn_pystack_offset(&image, entry, link->instr, &ret_frame->offset))
        return false;
    ret_frame->code = entry->named ? &entry->code : NULL;
    return true;
}
