/* lineevents.h: where the events of lines.h come from, version by version: from chosen code alone,
 * so that other code costs nothing while they come. Which events, its counters say: of lines, of
 * instructions or of both. All of it runs under the GIL.
 */
#ifndef CAIRN_LINEEVENTS_H
#define CAIRN_LINEEVENTS_H

#include "pycompat.h"

#include "chooser.h"
#include "lines.h"

struct cairn_line_source { /* of an interpreter */
    struct cairn_lines_hub hub;
    size_t codes;                 /* that events come from */
    int tool, judge;              /* of sys.monitoring, while there are any, and a recording */
    struct cairn_chooser chooser; /* of the recording, while there is one … */
    PyObject *recording;          /* … and its Lines; borrowed: it lasts as long */
    bool wants_lines;             /* the recording, of what is chosen; */
    PyObject *listing;            /* and instructions: what lists those of a code; else NULL */
    PyObject *listed;             /* a list of the code objects that it listed */
    PyObject *plan;               /* what finds the places of lines without times; NULL: timed */
    PyObject *planned;            /* a list likewise */
    struct cairn_spool spool;
};

/* Events of code that nobody has judged come as well, while there is a recording: each code object
 * is judged once, when it first begins. 0; -1 with an exception set. */
int cairn_line_events_all(struct cairn_line_source *source);
void cairn_line_events_chosen(struct cairn_line_source *source);

/* The code begins for the first time: it is counted from now on, or not, NULL. */
struct cairn_lines_code *cairn_line_source_judge(struct cairn_line_source *source, PyObject *code,
                                                 PyObject *globals);

/* Events of this code object come from now on; they come no more, but for those of counters that
 * are left. To be called when the code is asked for first, when there is a first or no last counter
 * of its lines, and when there is one of its instructions. 0; -1 with an exception set. */
int cairn_line_events_begin(struct cairn_line_source *source, PyObject *code);
int cairn_line_events_end(struct cairn_line_source *source, PyObject *code);

#endif
