/* prof_caged.c: a .prof file is read in a cage, which hands back the table in a form so plain that
 * reading it asks for no cleverness: all counts in front, every number of one width or a varint.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cage.h"
#include "io.h"
#include "prof.h"
#include "prof_reader.h"

#define FILE_MAX_BYTES ((size_t)256 << 20)
#define TABLE_MAX_BYTES ((size_t)256 << 20)
#define MEMORY_BYTES ((uint64_t)484 << 20)
#define PIECE_BYTES ((size_t)1 << 20)
#define CPU_S 60 /* a file may come through a pipe: how long it is nobody knows */
#define KEY_LEAST_BYTES 3
#define ROW_LEAST_BYTES 21
#define CALLER_LEAST_BYTES 20

struct job {
    int in, out;
    const char *path;
};

static void put_numbers(const struct cairn_prof_numbers *numbers, struct cairn_buf *out)
{
    uint64_t times[2];

    memcpy(&times[0], &numbers->self_s, sizeof(times[0]));
    memcpy(&times[1], &numbers->total_s, sizeof(times[1]));
    cairn_buf_u8(out, numbers->plain);
    cairn_buf_svarint(out, numbers->calls);
    cairn_buf_svarint(out, numbers->primitive);
    cairn_buf_u64(out, times[0]);
    cairn_buf_u64(out, times[1]);
}

static void put_row(const struct cairn_prof *prof, const struct cairn_prof_row *row,
                    struct cairn_buf *out)
{
    uint64_t count = 0;

    for (uint32_t c = row->first; c != CAIRN_PROF_NONE; c = prof->callers.items[c].next)
        count++;
    cairn_buf_uvarint(out, row->key);
    put_numbers(&row->numbers, out);
    cairn_buf_uvarint(out, count);
    for (uint32_t c = row->first; c != CAIRN_PROF_NONE; c = prof->callers.items[c].next) {
        cairn_buf_uvarint(out, prof->callers.items[c].key);
        put_numbers(&prof->callers.items[c].numbers, out);
    }
}

int cairn_prof_put_table(const struct cairn_prof *prof, struct cairn_buf *out)
{
    cairn_buf_u8(out, prof->sampled);
    cairn_buf_uvarint(out, prof->keys.count);
    for (uint32_t i = 0; i < prof->keys.count; i++) {
        cairn_buf_bytes(out, cairn_prof_file(prof, i));
        cairn_buf_svarint(out, prof->keys.items[i].line);
        cairn_buf_bytes(out, cairn_prof_name(prof, i));
    }
    cairn_buf_uvarint(out, prof->rows.count);
    for (size_t i = 0; i < prof->rows.count; i++)
        put_row(prof, &prof->rows.items[i], out);
    return out->code;
}

static int take_flag(struct cairn_cursor *cur, bool *ret_flag)
{
    uint8_t byte;

    CAIRN_TRY(cairn_cursor_u8(cur, &byte));
    *ret_flag = byte;
    return byte > 1 ? -CAIRN_EDAMAGED : 0;
}

static int take_numbers(struct cairn_cursor *cur, struct cairn_prof_numbers *ret_numbers)
{
    uint64_t times[2];

    *ret_numbers = (struct cairn_prof_numbers){.calls = 0};
    CAIRN_TRY(take_flag(cur, &ret_numbers->plain));
    CAIRN_TRY(cairn_cursor_svarint(cur, &ret_numbers->calls));
    CAIRN_TRY(cairn_cursor_svarint(cur, &ret_numbers->primitive));
    CAIRN_TRY(cairn_cursor_u64(cur, &times[0]));
    CAIRN_TRY(cairn_cursor_u64(cur, &times[1]));
    memcpy(&ret_numbers->self_s, &times[0], sizeof(times[0]));
    memcpy(&ret_numbers->total_s, &times[1], sizeof(times[1]));
    return isfinite(ret_numbers->self_s) && isfinite(ret_numbers->total_s) ? 0 : -CAIRN_EDAMAGED;
}

static int take_key(struct cairn_cursor *cur, const struct cairn_prof *prof, uint32_t *ret_key)
{
    CAIRN_TRY(cairn_cursor_uvarint32(cur, ret_key));
    return *ret_key < prof->keys.count ? 0 : -CAIRN_EDAMAGED;
}

static int take_row(struct cairn_cursor *cur, struct cairn_prof *prof)
{
    struct cairn_prof_numbers numbers;
    uint32_t key, row;
    size_t count;

    CAIRN_TRY(take_key(cur, prof, &key));
    CAIRN_TRY(take_numbers(cur, &numbers));
    CAIRN_TRY(cairn_prof_put(prof, key, &numbers, &row));
    CAIRN_TRY(cairn_cursor_count(cur, CALLER_LEAST_BYTES, &count));
    for (size_t i = 0; i < count; i++) {
        CAIRN_TRY(take_key(cur, prof, &key));
        CAIRN_TRY(take_numbers(cur, &numbers));
        CAIRN_TRY(cairn_prof_put_caller(prof, row, key, &numbers));
    }
    return 0;
}

static int take_function(struct cairn_cursor *cur, struct cairn_prof *prof, uint32_t number)
{
    struct cairn_span file, name;
    int64_t line;
    uint32_t key;

    CAIRN_TRY(cairn_cursor_bytes(cur, &file));
    CAIRN_TRY(cairn_cursor_svarint(cur, &line));
    CAIRN_TRY(cairn_cursor_bytes(cur, &name));
    if (!cairn_marshal_is_text(file) || !cairn_marshal_is_text(name))
        return -CAIRN_EDAMAGED;
    CAIRN_TRY(cairn_prof_key(prof, file, line, name, &key));
    return key == number ? 0 : -CAIRN_EDAMAGED;
}

static int take_all(struct cairn_cursor *cur, struct cairn_prof *prof)
{
    size_t count;

    CAIRN_TRY(take_flag(cur, &prof->sampled));
    CAIRN_TRY(cairn_cursor_count(cur, KEY_LEAST_BYTES, &count));
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(take_function(cur, prof, (uint32_t)i));
    CAIRN_TRY(cairn_cursor_count(cur, ROW_LEAST_BYTES, &count));
    for (size_t i = 0; i < count; i++)
        CAIRN_TRY(take_row(cur, prof));
    return cairn_cursor_left_bytes(cur) > 0 ? -CAIRN_EDAMAGED : 0;
}

int cairn_prof_take_table(struct cairn_prof *prof, struct cairn_span bytes)
{
    struct cairn_cursor cur;
    int code;

    cairn_cursor_init(&cur, bytes);
    code = take_all(&cur, prof);
    return code == -CAIRN_EEND ? -CAIRN_EDAMAGED : code;
}

/* All of a descriptor from where it stands: 0 or a negated errno. */
static int read_all(int fd, size_t max_bytes, struct cairn_buf *ret_bytes)
{
    cairn_buf_init(ret_bytes, max_bytes);
    for (;;) {
        ssize_t got;

        if (ret_bytes->size_bytes == max_bytes)
            return -EFBIG;
        if (cairn_buf_reserve(ret_bytes, 1) < 0)
            return -ENOMEM;
        got = cairn_io_read(fd, ret_bytes->data + ret_bytes->size_bytes,
                            ret_bytes->cap_bytes - ret_bytes->size_bytes);
        if (got <= 0)
            return (int)got;
        ret_bytes->size_bytes += (size_t)got;
    }
}

static int refuse(const char *path, int sys, struct cairn_err *err)
{
    if (sys == -EFBIG)
        return cairn_err_set(err, -CAIRN_EFOREIGN, 0, "prof",
                             "%.300s holds more than Cairn reads of a .prof file", path);
    return cairn_err_set(err, cairn_err_from_errno(sys), sys < 0 ? -sys : sys, "prof",
                         "%.300s cannot be read", path);
}

static int read_prof(const struct job *job, struct cairn_prof *prof, struct cairn_buf *out,
                     struct cairn_err *err)
{
    struct cairn_buf bytes;
    int code = read_all(job->in, FILE_MAX_BYTES, &bytes);

    if (code < 0) {
        code = refuse(job->path, code, err);
    } else {
        code = cairn_prof_read(prof, cairn_buf_span(&bytes), err);
        if (code < 0)
            cairn_err_add(err, "The file is %.300s.", job->path);
    }
    cairn_buf_release(&bytes);
    return code < 0 ? code : cairn_prof_put_table(prof, out);
}

/* In the cage: nothing is given back, since the process is over then. */
static int work(void *context, struct cairn_err *err)
{
    const struct job *job = context;
    struct cairn_prof prof;
    struct cairn_buf out;

    cairn_buf_init(&out, TABLE_MAX_BYTES);
    CAIRN_TRY(cairn_prof_init(&prof));
    CAIRN_TRY(read_prof(job, &prof, &out, err));
    return cairn_io_write(job->out, out.data, out.size_bytes) < 0 ? -CAIRN_EIO : 0;
}

static int take_back(int fd, const char *path, struct cairn_prof *prof, struct cairn_err *err)
{
    struct cairn_buf bytes;
    int code = lseek(fd, 0, SEEK_SET) < 0 ? -errno : read_all(fd, TABLE_MAX_BYTES, &bytes);

    if (code < 0)
        return refuse(path, code, err);
    code = cairn_prof_take_table(prof, cairn_buf_span(&bytes));
    cairn_buf_release(&bytes);
    if (code < 0)
        cairn_err_set(err, code, 0, "prof", "%.300s cannot be read: no such answer can be", path);
    return code;
}

static int load(int in, const char *path, struct cairn_prof *prof, struct cairn_err *err)
{
    int out = memfd_create("cairn", MFD_CLOEXEC), code;
    struct job job = {.in = in, .out = out, .path = path};
    const int files[] = {in, out};
    struct cairn_cage cage = {.what = path,
                              .files = files,
                              .file_count = 2,
                              .memory_bytes = MEMORY_BYTES,
                              .write_bytes = TABLE_MAX_BYTES,
                              .cpu_s = CPU_S,
                              .work = work,
                              .context = &job};

    if (out < 0)
        return refuse(path, errno, err);
    code = cairn_cage_run(&cage, NULL, err);
    if (code == 0)
        code = take_back(out, path, prof, err);
    cairn_io_close(&out);
    return code;
}

int cairn_prof_load(struct cairn_prof *prof, const char *path, struct cairn_err *err)
{
    int in = cairn_io_open(path, O_RDONLY | O_NOCTTY, 0), code;

    if (in < 0)
        return refuse(path, in, err);
    code = load(in, path, prof, err);
    cairn_io_close(&in);
    return code;
}
