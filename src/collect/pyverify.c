#include "pyverify.h"

#include <string.h>

#include "err.h"
#include "pyframe.h"
#include "pystr.h"

#define THREADS_MAX 64
#define MEMBERS_MAX 32
#define MEMBER_BYTES 40 /* struct PyMemberDef: name at 0, offset at 16 */
#define MEMBER_OFFSET 16
#define NAME_BYTES 20
#define CHUNKS_MAX 256 /* of a data stack: one that is deeper says nothing */
#define COLLECTING_BEHIND_LISTS 176
#define COLLECTING_BEHIND_YOUNGEST 104 /* the pointer to it */
#define TRIES 4                        /* the frames that are looked at may just be over */

struct member {
    const char *name; /* in front of it: what Python calls it */
    uint32_t place;   /* where the table has it */
};

static bool get_u64(struct cairn_remote *remote, uint64_t address, uint64_t *ret)
{
    return address % 8 == 0 && cairn_remote_get(remote, address, ret, sizeof(*ret)) == 0;
}

/* The type of `object`, if it has this name and its objects this size; `size_bytes` 0: any. */
static bool type_of(struct cairn_remote *remote, const struct cairn_pylayout *l, uint64_t object,
                    const char *name, uint32_t size_bytes, uint64_t *ret_type)
{
    uint64_t type, address, basic_bytes;
    char text[NAME_BYTES] = "";

    if (!get_u64(remote, object + l->object_type, &type) ||
        !get_u64(remote, type + l->type_name, &address) ||
        !get_u64(remote, type + l->type_basic_size, &basic_bytes) ||
        cairn_remote_get(remote, address, text, strlen(name) + 1) < 0)
        return false;
    *ret_type = type;
    return memcmp(text, name, strlen(name) + 1) == 0 && (!size_bytes || basic_bytes == size_bytes);
}

/* The members that a type tells of, as far as they could be read. */
struct told {
    size_t count;
    struct {
        char name[NAME_BYTES];
        uint64_t place;
    } members[MEMBERS_MAX];
};

/* Two reads for all of them: one that is met costs no more than its first samples do. */
static void read_told(struct cairn_remote *remote, const struct cairn_pylayout *l, uint64_t type,
                      struct told *ret_told)
{
    uint8_t list[MEMBERS_MAX][MEMBER_BYTES];
    struct cairn_remote_part parts[MEMBERS_MAX];
    bool ok[MEMBERS_MAX] = {false};
    uint64_t address;

    *ret_told = (struct told){.count = 0};
    if (!get_u64(remote, type + l->type_members, &address) || !address)
        return;
    for (size_t i = 0; i < MEMBERS_MAX; i++)
        parts[i] = (struct cairn_remote_part){address + i * MEMBER_BYTES, list[i], MEMBER_BYTES};
    cairn_pystr_read_each(remote, parts, MEMBERS_MAX, ok);
    for (size_t i = 0; i < MEMBERS_MAX && ok[i]; i++) {
        memcpy(&address, list[i], sizeof(address));
        if (!address)
            break;
        memcpy(&ret_told->members[i].place, list[i] + MEMBER_OFFSET, sizeof(uint64_t));
        parts[i] = (struct cairn_remote_part){address, ret_told->members[i].name, NAME_BYTES - 1};
        ok[i] = false;
        ret_told->count++;
    }
    cairn_pystr_read_each(remote, parts, ret_told->count, ok);
    for (size_t i = 0; i < ret_told->count; i++)
        if (!ok[i])
            ret_told->members[i].name[0] = 0;
}

/* Where the type says that the member lies; 0: it does not. */
static uint64_t member_place(const struct told *told, const char *name)
{
    for (size_t i = 0; i < told->count; i++)
        if (strcmp(told->members[i].name, name) == 0)
            return told->members[i].place;
    return 0;
}

static bool members_hold(const struct told *told, const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (member_place(told, members[i].name) != members[i].place)
            return false;
    }
    return true;
}

/* Behind f_trace_opcodes, which Python code may see, come f_gen, f_lasti, three numbers, the
 * state. */
static bool frame_holds(struct cairn_remote *remote, const struct cairn_pylayout *l, uint64_t type)
{
    const struct member members[] = {{"f_back", l->frame_previous}, {"f_code", l->frame_code}};
    struct told told;
    uint64_t before;

    read_told(remote, l, type, &told);
    before = member_place(&told, "f_trace_opcodes");
    return members_hold(&told, members, sizeof(members) / sizeof(members[0])) && before &&
           l->frame_generator == (before + 8) / 8 * 8 && l->frame_last == l->frame_generator + 8 &&
           l->frame_state == l->frame_last + 12;
}

/* Of the instructions, until 3.10 an object of their own, Python code sees copies alone from 3.11
 * on: they are what is behind the members. */
static bool code_holds(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                       uint64_t type)
{
    const struct cairn_pylayout *l = &runtime->layout;
    const struct member members[] = {
        {"co_name", l->code_name},
        {"co_filename", l->code_filename},
        {"co_firstlineno", l->code_first_line},
        {"co_stacksize", l->code_stack},
        {runtime->table->minor >= 10 ? "co_linetable" : "co_lnotab", l->code_linetable},
    };
    const struct member older[] = {{"co_code", l->code_bytes},
                                   {"co_names", l->code_names},
                                   {"co_nlocals", l->code_locals}},
                        newer[] = {{"co_qualname", l->code_qualname}};
    struct told told;

    read_told(remote, l, type, &told);
    if (!members_hold(&told, members, sizeof(members) / sizeof(members[0])))
        return false;
    if (cairn_pyframe_is_object(l))
        return members_hold(&told, older, sizeof(older) / sizeof(older[0]));
    return members_hold(&told, newer, sizeof(newer) / sizeof(newer[0]));
}

/* The youngest generation's list is the first of three that lie in front of what is counted for
 * them. */
static bool collector_holds(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                            uint64_t thread)
{
    const struct cairn_pylayout *l = &runtime->layout;
    uint64_t collecting, interp, youngest;

    if (!cairn_pylayout_has(l->interp_gc))
        collecting = runtime->address + l->runtime_gc + l->gc_collecting;
    else if (get_u64(remote, thread + l->thread_interp, &interp))
        collecting = interp + l->interp_gc + l->gc_collecting;
    else
        return false;
    return get_u64(remote, collecting - COLLECTING_BEHIND_YOUNGEST, &youngest) &&
           youngest == collecting - COLLECTING_BEHIND_LISTS;
}

static const char *misfit(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                          uint64_t frame)
{
    const struct cairn_pylayout *l = &runtime->layout;
    const bool object = cairn_pyframe_is_object(l);
    uint64_t type, code, part;

    if (object && (!type_of(remote, l, frame, "frame", 0, &type) || !frame_holds(remote, l, type)))
        return "its frames";
    if (!get_u64(remote, frame + l->frame_code, &code) ||
        !type_of(remote, l, code, "code", object ? l->code_size : l->code_instructions, &type) ||
        !code_holds(remote, runtime, type))
        return "its code objects";
    /* One byte of it is that behind the last. */
    if (!get_u64(remote, code + (object ? l->code_bytes : l->code_linetable), &part) ||
        !type_of(remote, l, part, "bytes", l->bytes_data + 1, &type))
        return "its bytes";
    if (!get_u64(remote, code + l->code_name, &part) ||
        !type_of(remote, l, part, "str", l->unicode_size, &type))
        return "its strings";
    return NULL;
}

/* In 3.11 and 3.12 a structure on the C stack holds it. */
static bool current_frame(struct cairn_remote *remote, const struct cairn_pylayout *l,
                          uint64_t thread, uint64_t *ret_frame)
{
    uint64_t cframe;

    if (!cairn_pylayout_has(l->thread_cframe))
        return get_u64(remote, thread + l->thread_current_frame, ret_frame);
    return get_u64(remote, thread + l->thread_cframe, &cframe) && cframe &&
           get_u64(remote, cframe + l->cframe_current_frame, ret_frame);
}

/* The frame at the root of its data stack (3.11 on). While a call begins, what is current is not
 * written yet, and the process may stand still there; this one was written long ago. */
static bool first_frame(struct cairn_remote *remote, const struct cairn_pylayout *l,
                        uint64_t thread, uint64_t *ret_frame)
{
    uint64_t chunk, previous;

    if (!cairn_pylayout_has(l->thread_chunk) ||
        !get_u64(remote, thread + l->thread_chunk, &previous) || !previous)
        return false;
    for (size_t i = 0; previous; i++) {
        chunk = previous;
        if (i == CHUNKS_MAX || !get_u64(remote, chunk + l->chunk_previous, &previous))
            return false;
    }
    *ret_frame = chunk + l->chunk_data + 8; /* the first word is left out */
    return true;
}

/* By the frames of some thread: one that begins or ends meanwhile says nothing. What is first on a
 * data stack may be long over: that it does not fit says nothing, either. */
static int judge(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                 uint64_t thread, const char **ret_what)
{
    const struct cairn_pylayout *l = &runtime->layout;
    int code = -CAIRN_ENOTFOUND;

    for (size_t i = 0; thread && i < THREADS_MAX; i++) {
        uint64_t frame;

        if (current_frame(remote, l, thread, &frame) && frame) {
            *ret_what = misfit(remote, runtime, frame);
            if (!*ret_what)
                return 0;
            code = -CAIRN_EUNSUPPORTED;
        }
        if (first_frame(remote, l, thread, &frame) && !misfit(remote, runtime, frame))
            return 0;
        if (!get_u64(remote, thread + l->thread_next, &thread))
            break;
    }
    return code;
}

int cairn_pyverify(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                   uint64_t thread, const char **ret_what)
{
    int code = -CAIRN_EUNSUPPORTED;

    *ret_what = "its garbage collector";
    if (!collector_holds(remote, runtime, thread))
        return code;
    for (int i = 0; i < TRIES && code == -CAIRN_EUNSUPPORTED; i++)
        code = judge(remote, runtime, thread, ret_what);
    return code;
}
