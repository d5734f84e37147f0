/* cmd_import.c: `cairn import FILE -o OUT` */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "caged.h"
#include "command.h"
#include "io.h"
#include "output.h"
#include "progress_line.h"
#include "say.h"

static int open_file(const char *path, int *ret_fd, struct cairn_err *err)
{
    struct stat info;
    int fd = cairn_io_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);

    if (fd < 0)
        return cairn_err_set(err, cairn_err_from_errno(fd), -fd, "import", "%.300s cannot be read",
                             path);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        *ret_fd = fd;
        return 0;
    }
    cairn_io_close(&fd);
    cairn_err_set(err, -CAIRN_EFOREIGN, 0, "import", "%.300s is no regular file", path);
    cairn_err_add(err, "It is read more than once: save what comes out of a pipe first.");
    return -CAIRN_EFOREIGN;
}

/* Into the file at `path`, which takes the place of whatever is there. */
static int import_to(const struct cairn_call *call, int file, const char *path,
                     struct cairn_err *err)
{
    struct cairn_import_options options = {.interval_ns = call->settings.reading.each_ns};
    struct cairn_sink_options to = {.path = path, .force = true};
    struct cairn_progress_line line;
    struct cairn_sink *sink;
    int code, closed;

    CAIRN_TRY(cairn_sink_open(&to, &sink, err));
    cairn_progress_line_begin(&line);
    options.progress = &line.progress;
    code = cairn_caged_import(file, call->words.items[0], &options, sink, err);
    cairn_progress_line_end(&line);
    closed = cairn_sink_close(sink, code == 0 ? err : NULL);
    return code < 0 ? code : closed;
}

static int import(const struct cairn_call *call, int file, struct cairn_err *err)
{
    struct cairn_output output;
    const char *name = call->settings.output;
    int code, closed;

    if (strcmp(name, "-") == 0)
        name = "./-"; /* a recording is not written as it comes */
    CAIRN_TRY(cairn_output_check(name, call->words.items[0], err));
    CAIRN_TRY(cairn_output_open(name, call->settings.force, &output, err));
    code = import_to(call, file, output.part ? output.part : output.name, err);
    closed = cairn_output_close(&output, code == 0, err);
    return code < 0 ? code : closed;
}

int cairn_cmd_import(struct cairn_call *call)
{
    struct cairn_err err = {0};
    int file, code;

    if (call->settings.output == NULL) {
        cairn_err_set(&err, -CAIRN_EUSAGE, 0, "import", "`cairn import` needs a name: -o OUT");
        cairn_err_add(&err, "Reading commands take FILE as it is: cairn report FILE.");
        return cairn_say_err(&err);
    }
    code = open_file(call->words.items[0], &file, &err);
    if (code == 0) {
        code = import(call, file, &err);
        cairn_io_close(&file);
    }
    return code < 0 ? cairn_say_err(&err) : 0;
}
