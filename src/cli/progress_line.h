/* progress_line.h: a line on a terminal that says how far a long read is, and how long it may take.
 *
 * It comes after a second, so that short work stays silent, and goes when the work is done or
 * cairn_progress_line_end() is called: nothing of it is left on the screen.
 */
#ifndef CAIRN_PROGRESS_LINE_H
#define CAIRN_PROGRESS_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "progress.h"

struct cairn_progress_line {
    struct cairn_progress progress; /* the first member: what the work is given */
    int fd;                         /* -1: says nothing */
    uint64_t (*now_ns)(void);
    uint64_t start_ns, drawn_ns;
    bool is_shown, is_done;
};

/* On stderr when that is a terminal, else nowhere. */
void cairn_progress_line_begin(struct cairn_progress_line *line);

/* On any descriptor, by any clock. */
void cairn_progress_line_init(struct cairn_progress_line *line, int fd, uint64_t (*now_ns)(void));

/* Takes the line away; what the work says after that is ignored. */
void cairn_progress_line_end(struct cairn_progress_line *line);

#endif
