#include "pyverify.h"

#include <string.h>

#include "err.h"

#define THREADS_MAX 64
#define MEMBERS_MAX 64
#define MEMBER_BYTES 40 /* struct PyMemberDef: name at 0, offset at 16 */
#define MEMBER_OFFSET 16
#define NAME_BYTES 20
#define TRIES 4 /* the frame that is looked at may just be over */

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

/* Where the type says that the member lies; 0: it does not. */
static uint32_t member_place(struct cairn_remote *remote, const struct cairn_pylayout *l,
                             uint64_t type, const char *name)
{
    uint64_t members, address, place;
    char text[NAME_BYTES];

    if (!get_u64(remote, type + l->type_members, &members) || !members)
        return 0;
    for (size_t i = 0; i < MEMBERS_MAX; i++, members += MEMBER_BYTES) {
        if (!get_u64(remote, members, &address) || !address)
            return 0;
        if (cairn_remote_get(remote, address, text, strlen(name) + 1) < 0 ||
            memcmp(text, name, strlen(name) + 1) != 0)
            continue;
        return get_u64(remote, members + MEMBER_OFFSET, &place) ? (uint32_t)place : 0;
    }
    return 0;
}

static bool members_hold(struct cairn_remote *remote, const struct cairn_pylayout *l, uint64_t type,
                         const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (member_place(remote, l, type, members[i].name) != members[i].place)
            return false;
    }
    return true;
}

/* Behind f_trace_opcodes, which Python code may see, come f_gen, f_lasti, three numbers, the
 * state. */
static bool frame_holds(struct cairn_remote *remote, const struct cairn_pylayout *l, uint64_t type)
{
    const struct member members[] = {{"f_back", l->frame_previous}, {"f_code", l->frame_code}};
    uint32_t before = member_place(remote, l, type, "f_trace_opcodes");

    return members_hold(remote, l, type, members, sizeof(members) / sizeof(members[0])) && before &&
           l->frame_generator == (before + 8) / 8 * 8 && l->frame_last == l->frame_generator + 8 &&
           l->frame_state == l->frame_last + 12;
}

static bool code_holds(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                       uint64_t type)
{
    const struct cairn_pylayout *l = &runtime->layout;
    const struct member members[] = {
        {"co_name", l->code_name},
        {"co_filename", l->code_filename},
        {"co_firstlineno", l->code_first_line},
        {"co_code", l->code_bytes},
        {"co_names", l->code_names},
        {"co_stacksize", l->code_stack},
        {"co_nlocals", l->code_locals},
        {runtime->table->minor >= 10 ? "co_linetable" : "co_lnotab", l->code_linetable},
    };

    return members_hold(remote, l, type, members, sizeof(members) / sizeof(members[0]));
}

/* What Python code never sees lies at fixed distances. */
static bool distances_hold(const struct cairn_pylayout *l)
{
    return l->unicode_state == l->unicode_length + 16 &&
           l->unicode_ascii_data == l->unicode_state + 16 &&
           l->unicode_compact_data == l->unicode_ascii_data + 24 &&
           l->unicode_size == l->unicode_compact_data + 8 &&
           l->thread_profile == l->thread_current_frame + 32 &&
           l->thread_trace == l->thread_profile + 8;
}

static const char *misfit(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                          uint64_t frame)
{
    const struct cairn_pylayout *l = &runtime->layout;
    uint64_t type, code, part;

    if (!distances_hold(l))
        return "its strings or threads";
    if (!type_of(remote, l, frame, "frame", 0, &type) || !frame_holds(remote, l, type))
        return "its frames";
    if (!get_u64(remote, frame + l->frame_code, &code) ||
        !type_of(remote, l, code, "code", l->code_size, &type) ||
        !code_holds(remote, runtime, type))
        return "its code objects";
    /* One byte of it is that behind the last. */
    if (!get_u64(remote, code + l->code_bytes, &part) ||
        !type_of(remote, l, part, "bytes", l->bytes_data + 1, &type))
        return "its bytes";
    if (!get_u64(remote, code + l->code_name, &part) ||
        !type_of(remote, l, part, "str", l->unicode_size, &type))
        return "its strings";
    return NULL;
}

/* The current frame of some thread; 0: none has one. */
static uint64_t some_frame(struct cairn_remote *remote, const struct cairn_pylayout *l,
                           uint64_t thread)
{
    for (size_t i = 0; thread && i < THREADS_MAX; i++) {
        uint64_t frame;

        if (get_u64(remote, thread + l->thread_current_frame, &frame) && frame)
            return frame;
        if (!get_u64(remote, thread + l->thread_next, &thread))
            return 0;
    }
    return 0;
}

int cairn_pyverify(struct cairn_remote *remote, const struct cairn_pyruntime *runtime,
                   uint64_t thread, const char **ret_what)
{
    *ret_what = NULL;
    for (int i = 0; i < TRIES; i++) {
        uint64_t frame = some_frame(remote, &runtime->layout, thread);

        if (!frame)
            return -CAIRN_ENOTFOUND;
        *ret_what = misfit(remote, runtime, frame);
        if (!*ret_what)
            return 0;
    }
    return -CAIRN_EUNSUPPORTED;
}
