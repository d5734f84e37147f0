/* lineevents.h: where the events of lines.h come from, version by version: from chosen code alone,
 * so that other code costs nothing while they come. All of it runs under the GIL.
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
    struct cairn_spool spool;
};

/* Events of code that nobody has judged come as well, while there is a recording: each code object
 * is judged once, when it first begins. 0; -1 with an exception set. */
int cairn_line_events_all(struct cairn_line_source *source);
void cairn_line_events_chosen(struct cairn_line_source *source);

/* The code begins for the first time: it is counted from now on, or not, NULL. */
struct cairn_lines_code *cairn_line_source_judge(struct cairn_line_source *source, PyObject *code,
                                                 PyObject *globals);

/* Events of this code object come from now on; they come no more. 0; -1 with an exception set. */
int cairn_line_events_begin(struct cairn_line_source *source, PyObject *code);
int cairn_line_events_end(struct cairn_line_source *source, PyObject *code);

#endif
