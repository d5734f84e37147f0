#include "place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io.h"

#define FOLDER ".cairn"
#define GITIGNORE ".gitignore"
#define SUFFIX ".cairn"
#define NAME_MAX_BYTES 64

/* Puts a .gitignore into the folder that keeps all of it out of git. That it cannot be written
 * costs nobody a recording. */
static void add_gitignore(void)
{
    int fd = cairn_io_open(FOLDER "/" GITIGNORE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);

    if (fd >= 0) {
        (void)cairn_io_write(fd, "*\n", 2);
        cairn_io_close(&fd);
    }
}

/* By the effective user, who is not the real one under sudo. */
static bool may_write(const char *folder)
{
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
}

/* A folder that can be written, made when it is not there. */
static bool can_use_here(void)
{
    struct stat info;

    if (mkdir(FOLDER, 0777) == 0)
        add_gitignore();
    else if (errno != EEXIST)
        return false;
    return stat(FOLDER, &info) == 0 && S_ISDIR(info.st_mode) && may_write(FOLDER);
}

static int add_elsewhere(struct cairn_buf *path)
{
    const char *top = getenv("TMPDIR");

    return cairn_buf_printf(path, "%s/cairn-%lu", top != NULL && top[0] != '\0' ? top : "/tmp",
                            (unsigned long)geteuid());
}

/* "Not found" is said of programs, and has a status that scripts rely on. */
static int refuse_folder(const char *folder, int sys, struct cairn_err *err)
{
    int code = cairn_err_from_errno(sys) == -CAIRN_EPERM ? -CAIRN_EPERM : -CAIRN_EIO;

    cairn_err_set(err, code, sys, "place", "there is no folder for the recording: %.300s", folder);
    cairn_err_add(err, "Name the recording with -o FILE, or a folder for it with TMPDIR.");
    return code;
}

/* $TMPDIR is everybody's: a folder there counts only when nobody else can have put anything into
 * it, or lead us away with a link. */
static int check_private(const char *folder, struct cairn_err *err)
{
    struct stat info;

    if (lstat(folder, &info) < 0)
        return refuse_folder(folder, errno, err);
    if (S_ISDIR(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 077) == 0)
        return 0;
    cairn_err_set(err, -CAIRN_EPERM, 0, "place", "recordings cannot go to %.300s", folder);
    cairn_err_add(err, "It is not a folder that only you can use.");
    cairn_err_add(err, "Name the recording with -o FILE.");
    return -CAIRN_EPERM;
}

static void add_name(struct cairn_buf *path, const char *name)
{
    size_t kept = 0;

    for (; *name != '\0' && kept < NAME_MAX_BYTES; name++, kept++) {
        bool harmless = isalnum((unsigned char)*name) || strchr("._+-", *name) != NULL;

        /* No dot or dash in front: the file would be hidden, or look like an option. */
        if (kept == 0 && (*name == '.' || *name == '-'))
            harmless = false;
        cairn_buf_u8(path, (uint8_t)(harmless ? *name : '_'));
    }
    if (kept == 0)
        cairn_buf_add_str(path, "program");
}

int cairn_place_new(const char *name, struct cairn_buf *ret_path, bool *ret_elsewhere,
                    struct cairn_err *err)
{
    time_t now = time(NULL);
    struct tm local;
    char date[32];

    cairn_buf_clear(ret_path);
    *ret_elsewhere = !can_use_here();
    if (*ret_elsewhere) {
        const char *folder;

        add_elsewhere(ret_path);
        folder = cairn_buf_cstr(ret_path);
        if (ret_path->code < 0)
            return cairn_err_set(err, -CAIRN_ENOMEM, 0, "place", "no place for the recording");
        if (mkdir(folder, 0700) < 0 && errno != EEXIST)
            return refuse_folder(folder, errno, err);
        CAIRN_TRY(check_private(folder, err));
    } else {
        cairn_buf_add_str(ret_path, FOLDER);
    }
    cairn_buf_u8(ret_path, '/');
    add_name(ret_path, name);
    if (localtime_r(&now, &local) == NULL ||
        strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &local) == 0)
        snprintf(date, sizeof(date), "undated");
    cairn_buf_printf(ret_path, "-%s-%ld" SUFFIX, date, (long)getpid());
    if (ret_path->code < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "place", "no place for the recording");
    return 0;
}

void cairn_place_tidy(void)
{
    DIR *dir = opendir(FOLDER);
    struct dirent *entry;
    bool others = false;

    if (dir == NULL)
        return;
    while ((entry = readdir(dir)) != NULL)
        others |= strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                  strcmp(entry->d_name, GITIGNORE) != 0;
    closedir(dir);
    /* Should a recording appear right now, rmdir() fails and only the .gitignore is gone. */
    if (!others) {
        (void)unlink(FOLDER "/" GITIGNORE);
        (void)rmdir(FOLDER);
    }
}

static bool is_recording(const char *name)
{
    size_t size_bytes = strlen(name), suffix_bytes = strlen(SUFFIX);

    return name[0] != '.' && size_bytes > suffix_bytes &&
           strcmp(name + size_bytes - suffix_bytes, SUFFIX) == 0;
}

static bool is_newer(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* Puts the newest recording of a folder into `best` when it is newer than `*newest`. A folder
 * that is not there holds none. */
static int look_into(const char *folder, struct timespec *newest, struct cairn_buf *best)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    if (dir == NULL)
        return 0;
    while ((entry = readdir(dir)) != NULL) {
        struct stat info;

        if (!is_recording(entry->d_name) || fstatat(dirfd(dir), entry->d_name, &info, 0) < 0 ||
            !S_ISREG(info.st_mode) || !is_newer(&info.st_mtim, newest))
            continue;
        *newest = info.st_mtim;
        cairn_buf_clear(best);
        cairn_buf_printf(best, "%s/%s", folder, entry->d_name);
    }
    closedir(dir);
    return best->code;
}

/* Whether a run here would put its recording here; the same question as can_use_here(), but
 * nothing is made. */
static bool would_use_here(void)
{
    struct stat info;

    if (stat(FOLDER, &info) < 0)
        return may_write(".");
    return S_ISDIR(info.st_mode) && may_write(FOLDER);
}

int cairn_place_newest(struct cairn_buf *ret_path, struct cairn_err *err)
{
    struct timespec newest = {.tv_sec = INT64_MIN};
    struct cairn_buf folder;
    int code;

    cairn_buf_clear(ret_path);
    code = look_into(FOLDER, &newest, ret_path);
    if (code == 0 && !would_use_here()) {
        cairn_buf_init(&folder, 1 << 16);
        add_elsewhere(&folder);
        if (folder.code == 0 && check_private(cairn_buf_cstr(&folder), NULL) == 0)
            code = look_into(cairn_buf_cstr(&folder), &newest, ret_path);
        cairn_buf_release(&folder);
    }
    if (code < 0)
        return cairn_err_set(err, -CAIRN_ENOMEM, 0, "place", "recordings cannot be looked for");
    if (ret_path->size_bytes > 0)
        return 0;
    cairn_err_set(err, -CAIRN_ENOTFOUND, 0, "place", "there is no recording in %s/", FOLDER);
    cairn_err_add(err, "Make one with `cairn run script.py`, or name the file.");
    return -CAIRN_ENOTFOUND;
}
