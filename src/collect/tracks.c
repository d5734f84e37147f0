#include "tracks.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "map.h"

#define NAMES_FIRST_NS 1000000ull   /* a thread gets its name shortly after its state … */
#define NAMES_MOST_NS 1000000000ull /* … or never: asked for ever more rarely */
#define RENAMES_MAX 16              /* of a thread, by itself */
#define NAMES_PART 25               /* of the time may be spent on it */

/* Without a name the kernel's is taken. */
static int write_worker(struct cairn_writer *writer, const struct cairn_subject *subject,
                        struct cairn_worker *worker, struct cairn_span name)
{
    struct cairn_track_def def = {.kind = CAIRN_TRACK_THREAD, .number = (uint64_t)worker->tid};
    struct cairn_proc_stat stat;

    if (!worker->track)
        worker->process_track = subject->track;
    def.parent = worker->process_track;
    if (worker->track && name.size_bytes) {
        /* When it began is known. */
    } else if (cairn_proc_stat(subject->pid, worker->tid, &stat) == 0) {
        worker->start_ns = stat.start_ns;
        if (!name.size_bytes)
            name = (struct cairn_span){(const uint8_t *)stat.comm, strlen(stat.comm)};
    } else if (worker->track && !name.size_bytes) {
        return 0;                  /* gone meanwhile: it keeps the name it had */
    } else if (!name.size_bytes) { /* gone already: most have the name of their process */
        name = (struct cairn_span){(const uint8_t *)subject->comm, strlen(subject->comm)};
    }
    def.start_ns = worker->start_ns;
    CAIRN_TRY(cairn_writer_track_name(writer, name, &def.name));
    return cairn_writer_track(writer, &def, &worker->track);
}

int cairn_tracks_process(struct cairn_writer *writer, uint32_t boot_id, uint32_t parent_track,
                         struct cairn_subject *subject)
{
    struct cairn_track_def def = {.kind = CAIRN_TRACK_PROCESS,
                                  .number = (uint64_t)subject->pid,
                                  .start_ns = subject->start_ns,
                                  .boot_id = boot_id,
                                  .birth = subject->birth};
    struct cairn_proc_stat stat;
    struct cairn_buf text;
    int code;

    /* A parent that was met later than its child stays unnamed: tracks refer to older ones. */
    if (!subject->parent_track && (!subject->track || parent_track < subject->track))
        subject->parent_track = parent_track;
    def.parent = subject->parent_track;
    cairn_buf_init(&text, CAIRN_STRING_MAX_BYTES);
    if (cairn_proc_stat(subject->pid, 0, &stat) == 0) /* else over since it was met */
        memcpy(subject->comm, stat.comm, sizeof(subject->comm));
    cairn_proc_cmdline(subject->pid, &text); /* fails: it is empty then */
    subject->nameless = text.size_bytes == 0;
    code = cairn_writer_track_name(
        writer, (struct cairn_span){(const uint8_t *)subject->comm, strlen(subject->comm)},
        &def.name);
    if (code >= 0)
        code = cairn_writer_track_name(writer, cairn_buf_span(&text), &def.detail);
    if (code >= 0)
        code = cairn_writer_track(writer, &def, &subject->track);
    cairn_buf_release(&text);
    return code;
}

void cairn_tracks_exec(struct cairn_subject *subject)
{
    if (!subject->has_children || subject->python == CAIRN_PYTHON_READ ||
        subject->former_count == CAIRN_FORMER_TRACKS_MAX)
        return;
    subject->former_tracks[subject->former_count++] = subject->track;
    subject->track = 0;
    subject->has_children = false;
}

void cairn_tracks_end(struct cairn_writer *writer, struct cairn_subject *subject)
{
    cairn_tracks_end_workers(writer, subject);
    cairn_writer_track_end(writer, subject->remains.track);
    for (size_t i = 0; i < subject->workers.count; i++)
        cairn_writer_track_end(writer, subject->workers.items[i]->track);
    for (size_t i = 0; i < subject->former_count; i++)
        cairn_writer_track_end(writer, subject->former_tracks[i]);
    cairn_writer_track_end(writer, subject->track);
}

int cairn_tracks_add_workers(struct cairn_writer *writer, struct cairn_subject *subject)
{
    for (size_t i = 0; i < subject->workers.count; i++)
        if (!subject->workers.items[i]->track)
            CAIRN_TRY(write_worker(writer, subject, subject->workers.items[i],
                                   (struct cairn_span){NULL, 0}));
    return 0;
}

int cairn_tracks_rename_workers(struct cairn_writer *writer, struct cairn_subject *subject)
{
    for (size_t i = 0; i < subject->workers.count; i++) {
        subject->workers.items[i]->named = false;
        CAIRN_TRY(
            write_worker(writer, subject, subject->workers.items[i], (struct cairn_span){NULL, 0}));
    }
    return 0;
}

int cairn_tracks_name_worker(struct cairn_writer *writer, struct cairn_subject *subject, pid_t tid,
                             const char *name)
{
    for (size_t i = 0; i < subject->workers.count; i++) {
        struct cairn_worker *worker = subject->workers.items[i];

        if (worker->tid != tid)
            continue;
        if (!worker->track || worker->named || worker->renames == RENAMES_MAX)
            return 0;
        worker->renames++;
        return write_worker(writer, subject, worker,
                            (struct cairn_span){(const uint8_t *)name, strlen(name)});
    }
    return 0;
}

static bool tells_already(const struct cairn_pythons *pythons, const char *text)
{
    for (size_t i = 0; i < pythons->count; i++)
        if (strcmp(pythons->texts[i], text) == 0)
            return true;
    return pythons->count == CAIRN_PYTHONS_MAX;
}

int cairn_tracks_add_python(struct cairn_writer *writer, struct cairn_pythons *pythons,
                            struct cairn_subject *subject, uint64_t now_ns)
{
    char text[CAIRN_PYTHON_BYTES], key[CAIRN_PYTHON_BYTES] = "target.python";

    snprintf(text, sizeof(text), "%s (%s)", cairn_pyread_version(subject->py),
             cairn_pyread_layout(subject->py));
    cairn_tracks_expect_names(subject, now_ns);
    if (tells_already(pythons, text))
        return 0;
    if (pythons->count > 0)
        snprintf(key, sizeof(key), "target.python.%d", (int)subject->pid);
    memcpy(pythons->texts[pythons->count++], text, sizeof(text));
    return cairn_writer_env(writer, key, (struct cairn_span){(const uint8_t *)text, strlen(text)});
}

void cairn_tracks_expect_names(struct cairn_subject *subject, uint64_t now_ns)
{
    subject->names_wait_ns = NAMES_FIRST_NS;
    subject->main_named = false;
    subject->names_at_ns = now_ns > subject->names_rest_ns ? now_ns : subject->names_rest_ns;
}

struct naming {
    struct cairn_writer *writer;
    struct cairn_subject *subject;
    struct cairn_map nameless; /* pthread_id to the index of its worker */
    int code;
};

static bool wants_name(void *ctx, uint64_t pthread_id)
{
    const struct naming *naming = ctx;
    uint64_t index;

    return cairn_map_get(&naming->nameless, pthread_id, 0, &index);
}

/* The next thread mostly gets the place of the one before, and with it its pthread_id: whose name
 * it is the kernel's number tells. The first of a process may bear that of a parent's. */
static void on_name(void *ctx, uint64_t pthread_id, uint64_t native_id, struct cairn_span name)
{
    struct naming *naming = ctx;
    struct cairn_worker *worker;
    uint64_t index;

    if (naming->code < 0 || !cairn_map_get(&naming->nameless, pthread_id, 0, &index))
        return;
    worker = naming->subject->workers.items[index];
    if (native_id != (uint64_t)worker->ns_tid && worker->tid != naming->subject->pid)
        return;
    naming->code = write_worker(naming->writer, naming->subject, worker, name);
    worker->named = true;
    cairn_map_remove(&naming->nameless, pthread_id, 0);
}

/* How many workers Python has yet to tell the name of: they are in `nameless` then. */
static int find_nameless(struct naming *naming)
{
    const struct cairn_subject *subject = naming->subject;

    for (size_t i = 0; i < subject->workers.count; i++) {
        struct cairn_worker *worker = subject->workers.items[i];

        if (worker->py && !worker->named)
            CAIRN_TRY(
                cairn_map_put(&naming->nameless, cairn_states_outermost(worker)->pthread_id, 0, i));
    }
    return (int)naming->nameless.count;
}

/* The first thread of a program that has not imported threading has no name there, and is known
 * by the one it would have. */
static int name_main_thread(struct cairn_writer *writer, struct cairn_subject *subject)
{
    static const char name[] = "MainThread";
    struct cairn_worker *first = subject->workers.items[0];

    if (first->named || !first->py || first->tid != subject->pid ||
        !cairn_pyread_lacks_threading(subject->py))
        return 0;
    subject->main_named = true;
    return write_worker(writer, subject, first,
                        (struct cairn_span){(const uint8_t *)name, sizeof(name) - 1});
}

int cairn_tracks_read_names(struct cairn_writer *writer, struct cairn_subject *subject,
                            uint64_t now_ns)
{
    struct naming naming = {.writer = writer, .subject = subject};
    uint64_t begun_cpu_ns = cairn_clock_own_cpu_ns();

    cairn_map_init(&naming.nameless, SIZE_MAX);
    naming.code = find_nameless(&naming);
    if (naming.code > 0) {
        naming.code = 0;
        cairn_pyread_names(subject->py, wants_name, on_name, &naming); /* best effort */
        if (naming.code == 0 && !subject->main_named)
            naming.code = name_main_thread(writer, subject);
    }
    cairn_map_release(&naming.nameless);
    subject->names_rest_ns = cairn_clock_again(now_ns, begun_cpu_ns, 0, NAMES_PART);
    subject->names_at_ns = now_ns + subject->names_wait_ns;
    if (subject->names_at_ns < subject->names_rest_ns)
        subject->names_at_ns = subject->names_rest_ns;
    subject->names_wait_ns *= 2;
    if (subject->names_wait_ns > NAMES_MOST_NS)
        subject->names_wait_ns = NAMES_MOST_NS;
    return naming.code;
}

void cairn_tracks_end_workers(struct cairn_writer *writer, struct cairn_subject *subject)
{
    for (size_t i = 0; i < subject->ended.count; i++)
        cairn_writer_track_end(writer, subject->ended.items[i]);
    subject->ended.count = 0;
}
