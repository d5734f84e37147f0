#include "counting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "callspool.h"
#include "owner.h"
#include "package.h"
#include "spoolfile.h"
#include "ticks.h"

#define PATH_MAX_BYTES 4096
#define LIST_MAX_BYTES (1 << 20)
#define WRITER_ID 2 /* beside the collector's */

static int add(void *ctx, struct cairn_sink *sink, struct cairn_err *err)
{
    struct cairn_counting *counting = ctx;
    struct cairn_callspool_result result;

    CAIRN_TRY(
        cairn_callspool_write(cairn_buf_cstr(&counting->spool), sink, WRITER_ID, &result, err));
    return result.processes > 0 || result.lines.processes > 0;
}

static int make_folder(struct cairn_counting *counting, struct cairn_err *err)
{
    const char *place = getenv("TMPDIR");
    struct cairn_owner_saved saved;
    char folder[PATH_MAX_BYTES];
    int sys = 0;

    if (place == NULL || place[0] != '/')
        place = "/tmp";
    if (snprintf(folder, sizeof(folder), "%s/cairn-XXXXXX", place) >= (int)sizeof(folder))
        return cairn_err_set(err, -CAIRN_ELIMIT, 0, "exact", "%.300s is too long a name", place);
    CAIRN_TRY(cairn_owner_enter(counting->owner, &saved));
    if (mkdtemp(folder) == NULL)
        sys = errno;
    cairn_owner_leave(&saved);
    if (sys == 0) {
        cairn_buf_add_str(&counting->spool, folder);
        return counting->spool.code;
    }
    cairn_err_set(err, -CAIRN_EIO, sys, "exact", "no folder for the counts can be made in %.300s",
                  place);
    cairn_err_add(err, "Name a place that can be written with TMPDIR=/PATH.");
    return -CAIRN_EIO;
}

/* The folder with our sitecustomize comes first; what there was stays behind it. */
static int tell(struct cairn_counting *counting, struct cairn_err *err)
{
    const char *before = getenv("PYTHONPATH");
    struct cairn_buf path;
    int code;

    cairn_buf_init(&path, LIST_MAX_BYTES);
    code = cairn_package_find("_site", &path, err);
    if (code == 0 && before != NULL && before[0] != '\0')
        cairn_buf_printf(&path, ":%s", before);
    if (code == 0 && (path.code < 0 || setenv("PYTHONPATH", cairn_buf_cstr(&path), 1) < 0 ||
                      setenv("CAIRN_SPOOL", cairn_buf_cstr(&counting->spool), 1) < 0))
        code = cairn_err_set(err, -CAIRN_ENOMEM, 0, "exact", "the environment of the program");
    cairn_buf_release(&path);
    return code;
}

/* What is to be counted, a line each; the program's side of it is _site/sitecustomize.py. */
static int write_wanted(struct cairn_counting *counting, const struct cairn_settings *settings,
                        struct cairn_err *err)
{
    struct cairn_owner_saved saved;
    char path[PATH_MAX_BYTES];
    FILE *file;
    bool written = false;

    (void)snprintf(path, sizeof(path), "%s/" CAIRN_SPOOL_WANTED, cairn_buf_cstr(&counting->spool));
    CAIRN_TRY(cairn_owner_enter(counting->owner, &saved));
    file = fopen(path, "wxe");
    cairn_owner_leave(&saved);
    if (file != NULL) {
        if (settings->exact)
            fputs("calls\n", file);
        if (settings->counted.wanted)
            fputs("lines\n", file);
        if (settings->opcodes)
            fputs("opcodes\n", file);
        if (settings->toggle_signal != 0)
            fprintf(file, "toggle %" PRIu64 "\n", settings->toggle_signal);
        for (size_t i = 0; i < settings->counted.count; i++)
            fprintf(file, "in %s\n", settings->counted.items[i]);
        for (size_t i = 0; i < settings->called.count; i++)
            fprintf(file, "calls in %s\n%s%s\n", settings->called.items[i],
                    settings->opcodes ? "in " : "",
                    settings->opcodes ? settings->called.items[i] : "");
        written = !ferror(file);
        written = fclose(file) == 0 && written;
    }
    if (written)
        return 0;
    return cairn_err_set(err, -CAIRN_EIO, errno, "exact", "%.300s cannot be written", path);
}

int cairn_counting_open(struct cairn_counting *counting, const struct cairn_settings *settings,
                        struct cairn_session_options *options, struct cairn_err *err)
{
    counting->owner = options->owner;
    cairn_buf_init(&counting->spool, PATH_MAX_BYTES);
    cairn_ticks_begin();
    CAIRN_TRY(make_folder(counting, err));
    CAIRN_TRY(write_wanted(counting, settings, err));
    CAIRN_TRY(tell(counting, err));
    options->add = add;
    options->add_ctx = counting;
    return 0;
}

void cairn_counting_close(struct cairn_counting *counting)
{
    if (counting->spool.size_bytes > 0)
        cairn_spoolfile_remove_all(cairn_buf_cstr(&counting->spool));
    cairn_buf_release(&counting->spool);
}
