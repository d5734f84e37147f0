#include "caged.h"

#include <math.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cage.h"
#include "clock.h"
#include "io.h"

/* A file that cannot be read ends within 512 MB in all, of which the command itself has its part.
 */
#define MEMORY_BYTES ((uint64_t)484 << 20)
#define IN_MEMORY_BYTES ((uint64_t)512 << 20) /* of a recording that no file was named for */
#define PATHS_MAX_BYTES ((size_t)1 << 20)
#define CPU_S 8 /* and one for each MB: it is read at tens of them */

/* How far the work is: from the process that does it to ours. */
struct told {
    struct cairn_progress progress; /* the first member: what the work is given */
    _Atomic uint32_t *share_ppm;
};

struct job {
    int fd;
    const char *path;
    struct cairn_import_options options;
    struct cairn_sink *sink;
};

static int work(void *context, struct cairn_err *err)
{
    const struct job *job = context;

    CAIRN_TRY(cairn_import(job->fd, job->path, &job->options, job->sink, err));
    return cairn_sink_close(job->sink, err);
}

static unsigned seconds_for(int fd)
{
    struct stat info;

    return fstat(fd, &info) < 0 ? CPU_S : CPU_S + (unsigned)(info.st_size >> 20);
}

static void tell(struct cairn_progress *progress, double share)
{
    struct told *told = (struct told *)progress;

    atomic_store_explicit(told->share_ppm, (uint32_t)lround(share * 1e6), memory_order_relaxed);
}

static int run(struct job *job, struct cairn_cage *cage, struct cairn_err *err)
{
    struct cairn_spill spill;
    int files[3 + CAIRN_OBJECTS_MAX] = {job->fd, cairn_sink_fd(job->sink)};
    size_t count = 2;
    char boot_id[37];
    int code;

    cairn_spill_open(&spill);
    job->options.spill = &spill;
    if (spill.fd >= 0)
        files[count++] = spill.fd;
    for (size_t i = 0; i < job->options.object_count && i < CAIRN_OBJECTS_MAX; i++)
        files[count++] = job->options.objects[i].fd;
    cage->files = files;
    cage->file_count = count;
    cairn_clock_boot_id(boot_id); /* the writer's, which may open nothing in there */
    code = cairn_cage_run(cage, NULL, err);
    cairn_spill_close(&spill);
    return code;
}

int cairn_caged_import(int fd, const char *path, const struct cairn_import_options *options,
                       struct cairn_sink *sink, struct cairn_err *err)
{
    struct told told = {.progress = {.tell = tell}};
    struct job job = {.fd = fd, .path = path, .options = *options, .sink = sink};
    struct cairn_cage cage = {.what = path,
                              .memory_bytes = MEMORY_BYTES,
                              .write_bytes = *cairn_sink_path(sink) ? 0 : IN_MEMORY_BYTES,
                              .cpu_s = seconds_for(fd),
                              .work = work,
                              .context = &job,
                              .progress = options->progress};
    int code;

    told.share_ppm = mmap(NULL, sizeof(*told.share_ppm), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (told.share_ppm == MAP_FAILED)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "import", "cannot read %.300s", path);
    cage.share_ppm = told.share_ppm;
    job.options.progress = &told.progress;
    code = run(&job, &cage, err);
    munmap(told.share_ppm, sizeof(*told.share_ppm));
    return code;
}

struct mapped_job {
    int fd, out;
};

static int find_mapped(void *context, struct cairn_err *err)
{
    const struct mapped_job *job = context;
    struct cairn_buf paths;
    struct cairn_span span;
    int code;

    (void)err;
    cairn_buf_init(&paths, PATHS_MAX_BYTES);
    code = cairn_import_mapped(job->fd, &paths);
    span = cairn_buf_span(&paths);
    if (code == 0)
        code = cairn_io_write(job->out, span.data, span.size_bytes);
    cairn_buf_release(&paths);
    return code;
}

void cairn_caged_mapped(int fd, const char *path, struct cairn_buf *ret_paths)
{
    struct mapped_job job = {.fd = fd, .out = memfd_create("mapped", MFD_CLOEXEC)};
    const int files[] = {fd, job.out};
    const struct cairn_cage cage = {.what = path,
                                    .files = files,
                                    .file_count = 2,
                                    .memory_bytes = MEMORY_BYTES,
                                    .write_bytes = PATHS_MAX_BYTES,
                                    .cpu_s = seconds_for(fd),
                                    .work = find_mapped,
                                    .context = &job};
    struct cairn_err err = {0};
    ssize_t got;

    if (job.out >= 0 && cairn_cage_run(&cage, NULL, &err) == 0 &&
        cairn_buf_reserve(ret_paths, PATHS_MAX_BYTES) == 0) {
        got = cairn_io_pread(job.out, ret_paths->data + ret_paths->size_bytes, PATHS_MAX_BYTES, 0);
        ret_paths->size_bytes += got > 0 ? (size_t)got : 0;
    }
    cairn_io_close(&job.out);
}
