/* record.h: what `cairn run` and `cairn attach` have in common: a recording, then its report. */
#ifndef CAIRN_RECORD_H
#define CAIRN_RECORD_H

#include "buf.h"
#include "command.h"
#include "output.h"
#include "session.h"

struct cairn_record {
    const struct cairn_settings *settings;
    struct cairn_session_options options; /* filled by cairn_record_open; argv or pid are added */
    struct cairn_owner owner;             /* who called sudo, when options.owner points here */
    bool collected;                       /* result is filled */
    struct cairn_session_result result;
    struct cairn_buf path;      /* of the recording */
    struct cairn_output report; /* fd -1: none is wanted */
    bool elsewhere;             /* the recording is not where people look: say it */
};

/* Settles where recording and report go, before anything is started. `name` is what a recording
 * without -o is called after. In any case the record is to be
 * closed; it is not moved in between. */
int cairn_record_open(struct cairn_record *record, const struct cairn_settings *settings,
                      const char *name, struct cairn_err *err);

/* Collects, by record->options; 0 or what cairn_session() answered. */
int cairn_record_run(struct cairn_record *record, struct cairn_err *err);

/* Writes the report of what was recorded. 0 also when none is wanted. Under sudo it gives up root
 * for good: a recording is read as its owner. */
int cairn_record_report(struct cairn_record *record, struct cairn_err *err);

/* Gives the signals back and releases what is held. */
void cairn_record_close(struct cairn_record *record);

#endif
