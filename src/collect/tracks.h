/* tracks.h: processes and threads as a recording knows them: who they are and what they are called.
 *
 * A track may be written again under its id when a better name is known. Everything returns 0 or
 * a negative code that ends the recording. Threads: one at a time.
 */
#ifndef CAIRN_TRACKS_H
#define CAIRN_TRACKS_H

#include "subject.h"
#include "writer.h"

/* The track of a process, anew or again, as when its name is known. `parent_track` may be 0, and
 * counts the first time. */
int cairn_tracks_process(struct cairn_writer *writer, uint32_t boot_id, uint32_t parent_track,
                         struct cairn_subject *subject);

/* The process has begun another program, and gets its track anew by the next
 * cairn_tracks_process(): whom it made so far was made by what it was before. Not where that was
 * Python, whose children are the program's, nor more than CAIRN_FORMER_TRACKS_MAX times. Not for
 * one with children that go on: those are the new program's as well. */
void cairn_tracks_exec(struct cairn_subject *subject);

/* The process is gone, and with it all that are of it. */
void cairn_tracks_end(struct cairn_writer *writer, struct cairn_subject *subject);

/* Tracks for the workers that have none. */
int cairn_tracks_add_workers(struct cairn_writer *writer, struct cairn_subject *subject);

/* The kernel knows the thread by another name from now on: so does the recording, unless Python has
 * told one. A thread that is renamed again and again keeps the 16th. */
int cairn_tracks_name_worker(struct cairn_writer *writer, struct cairn_subject *subject, pid_t tid,
                             const char *name);

/* After an exec: the names of before do not hold. */
int cairn_tracks_rename_workers(struct cairn_writer *writer, struct cairn_subject *subject);

/* Ends those of workers that are over (`ended`). */
void cairn_tracks_end_workers(struct cairn_writer *writer, struct cairn_subject *subject);

#define CAIRN_PYTHONS_MAX 16
#define CAIRN_PYTHON_BYTES 64

struct cairn_pythons { /* that the recording tells of, each once: processes may come without end */
    char texts[CAIRN_PYTHONS_MAX][CAIRN_PYTHON_BYTES]; /* "3.9.2 (table)" */
    size_t count;
};

/* A runtime was found: says which in the recording, if there was none like it. The first one is
 * what the recording is about. */
int cairn_tracks_add_python(struct cairn_writer *writer, struct cairn_pythons *pythons,
                            struct cairn_subject *subject, uint64_t now_ns);

/* Threads are new: they will have names soon. */
void cairn_tracks_expect_names(struct cairn_subject *subject, uint64_t now_ns);

/* Asks Python for the names of the workers that have none of its, and sets when to ask again. */
int cairn_tracks_read_names(struct cairn_writer *writer, struct cairn_subject *subject,
                            uint64_t now_ns);

#endif
