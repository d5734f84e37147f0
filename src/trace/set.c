#include "set.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "decode.h"
#include "vec.h"

#define FILES_MAX ((size_t)1 << 20)

struct member {
    uint64_t sequence;
    struct cairn_reader *reader;
};

struct cairn_set {
    CAIRN_VEC(struct member) members;
    uint64_t set_id; /* 0: not known */
    uint64_t missing;
};

enum belonging { NO_SET, LOST, FOUND };

/* What the first chunk, number 0, says. 0, or a code when it could not be looked at. */
static int read_set(struct cairn_reader *reader, enum belonging *ret_belonging,
                    uint64_t *ret_set_id, uint64_t *ret_sequence, struct cairn_err *err)
{
    struct cairn_span sections;
    struct cairn_section section;
    struct cairn_cursor cur;
    struct cairn_buf buf;
    uint64_t parent, skipped = 0;
    int code;

    *ret_belonging = LOST;
    if (cairn_reader_chunk(reader, 0)->number != 0)
        return 0;
    cairn_buf_init(&buf, CAIRN_CHUNK_MAX_BYTES);
    code = cairn_reader_load(reader, 0, &buf, &sections, err);
    if (code == 0) {
        *ret_belonging = NO_SET;
        cairn_cursor_init(&cur, sections);
        while (*ret_belonging == NO_SET && cairn_section_next(&cur, &section, &skipped) == 0) {
            if (section.kind == CAIRN_SECTION_SET &&
                cairn_decode_set(section.bytes, ret_set_id, ret_sequence, &parent) == 0)
                *ret_belonging = FOUND;
        }
    }
    cairn_buf_release(&buf);
    return code == -CAIRN_EDAMAGED ? 0 : code;
}

static int add(struct cairn_set *set, uint64_t sequence, struct cairn_reader *reader)
{
    size_t count = set->members.count;

    CAIRN_TRY(cairn_vec_reserve(&set->members, count + 1, FILES_MAX));
    set->members.items[set->members.count++] = (struct member){sequence, reader};
    return 0;
}

/* PATH.<number>: takes it in if it is one of ours. */
static int try_member(struct cairn_set *set, const char *path, uint64_t sequence,
                      struct cairn_err *err)
{
    struct cairn_reader *reader;
    uint64_t set_id = 0, said_sequence = 0;
    enum belonging belonging;
    int code = cairn_reader_open(path, &reader, err);

    if (code == -CAIRN_EFOREIGN || code == -CAIRN_EDAMAGED)
        return 0; /* it leaves a gap, which is counted */
    if (code < 0)
        return code;
    code = read_set(reader, &belonging, &set_id, &said_sequence, err);
    if (code < 0) {
        cairn_reader_free(reader);
        return code;
    }
    if (belonging == FOUND && set->set_id == 0 && said_sequence == sequence)
        set->set_id = set_id;
    if (belonging == LOST ||
        (belonging == FOUND && set_id == set->set_id && said_sequence == sequence)) {
        code = add(set, sequence, reader);
        if (code == 0)
            return 0;
        cairn_err_set(err, code, 0, "set", "cannot list the files of the recording");
    }
    cairn_reader_free(reader);
    return code;
}

/* The number behind "NAME." in a folder's entry; 0 when it is none (1 is the first). */
static uint64_t sequence_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    const char *digits;
    uint64_t sequence = 0;

    if (strncmp(entry, name, length) != 0 || entry[length] != '.')
        return 0;
    digits = entry + length + 1;
    if (*digits < '1' || *digits > '9' || strlen(digits) > 18)
        return 0;
    for (; *digits >= '0' && *digits <= '9'; digits++)
        sequence = sequence * 10 + (uint64_t)(*digits - '0');
    return *digits == '\0' ? sequence : 0;
}

struct sequences {
    CAIRN_VEC(uint64_t) all;
};

static int by_number(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static int list_folder(DIR *folder, const char *name, struct sequences *found)
{
    const struct dirent *entry;

    while ((entry = readdir(folder)) != NULL) {
        uint64_t sequence = sequence_of(entry->d_name, name);

        if (sequence == 0)
            continue;
        CAIRN_TRY(cairn_vec_reserve(&found->all, found->all.count + 1, FILES_MAX));
        found->all.items[found->all.count++] = sequence;
    }
    if (found->all.count > 1)
        qsort(found->all.items, found->all.count, sizeof(uint64_t), by_number);
    return 0;
}

/* Which PATH.<number> there are, in order. */
static int list_members(const char *path, struct sequences *found, struct cairn_err *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char *parent = slash == NULL ? strdup(".") : strndup(path, (size_t)(name - path));
    DIR *folder = parent == NULL ? NULL : opendir(parent);
    int sys = errno, code;

    free(parent);
    if (folder == NULL)
        return cairn_err_set(err, cairn_err_from_errno(sys), sys, "set",
                             "cannot list the folder of %s", path);
    code = list_folder(folder, name, found);
    closedir(folder);
    if (code < 0)
        cairn_err_set(err, code, 0, "set", "cannot list the files of the recording");
    return code;
}

static int add_rest(struct cairn_set *set, const char *path, struct cairn_err *err)
{
    struct sequences found = {0};
    size_t room_bytes = strlen(path) + 24;
    char *member_path = cairn_malloc(room_bytes);
    int code;

    if (member_path == NULL)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "set", "cannot list the recording's files");
    code = list_members(path, &found, err);
    for (size_t i = 0; code == 0 && i < found.all.count; i++) {
        snprintf(member_path, room_bytes, "%s.%" PRIu64, path, found.all.items[i]);
        code = try_member(set, member_path, found.all.items[i], err);
    }
    if (code == 0)
        set->missing = set->members.items[set->members.count - 1].sequence + 1 - set->members.count;
    cairn_vec_release(&found.all);
    free(member_path);
    return code;
}

static int begin(struct cairn_set *set, const char *path, struct cairn_err *err)
{
    struct cairn_reader *reader;
    uint64_t set_id = 0, sequence = 0;
    enum belonging belonging;
    int code;

    CAIRN_TRY(cairn_reader_open(path, &reader, err));
    code = read_set(reader, &belonging, &set_id, &sequence, err);
    if (code == 0) {
        code = add(set, sequence, reader);
        if (code < 0)
            cairn_err_set(err, code, 0, "set", "cannot open %s", path);
    }
    if (code < 0) {
        cairn_reader_free(reader);
        return code;
    }
    /* A later file named alone is read alone: it holds all that it needs. */
    if (belonging == NO_SET || sequence > 0)
        return 0;
    set->set_id = set_id;
    return add_rest(set, path, err);
}

int cairn_set_open(const char *path, struct cairn_set **ret_set, struct cairn_err *err)
{
    struct cairn_set *set = cairn_calloc(1, sizeof(*set));
    int code;

    if (set == NULL)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "set", "cannot open %s", path);
    code = begin(set, path, err);
    if (code < 0) {
        cairn_set_free(set);
        return code;
    }
    *ret_set = set;
    return 0;
}

void cairn_set_free(struct cairn_set *set)
{
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->members.count; i++)
        cairn_reader_free(set->members.items[i].reader);
    cairn_vec_release(&set->members);
    free(set);
}

size_t cairn_set_count(const struct cairn_set *set)
{
    return set->members.count;
}

struct cairn_reader *cairn_set_reader(struct cairn_set *set, size_t index)
{
    return index < set->members.count ? set->members.items[index].reader : NULL;
}

uint64_t cairn_set_sequence(const struct cairn_set *set, size_t index)
{
    return set->members.items[index].sequence;
}

uint64_t cairn_set_missing(const struct cairn_set *set)
{
    return set->missing;
}
