/* formats.h: the readers of foreign formats, one file each. For the door (import.h) and tests.
 *
 * Each reads all of `feed`, from its start, into `guest`. 0, or a negative code: -CAIRN_EDAMAGED
 * and -CAIRN_ELIMIT as the file is to blame, with `err` filled where there is more to say than
 * that and where.
 */
#ifndef CAIRN_FORMATS_H
#define CAIRN_FORMATS_H

#include "buf.h"
#include "feed.h"
#include "guest.h"

int cairn_in_collapsed(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_pprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_speedscope(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_prof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_gecko(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_lprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_mojo(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_callgrind(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_gprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_gperftools(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_chrome(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_cpuprofile(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);

int cairn_in_perf(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_dtrace(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_hprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_axe(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_oprofile(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_sleepy(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_sysprof(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_xperf(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);
int cairn_in_gprof2dot(struct cairn_feed *feed, struct cairn_guest *guest, struct cairn_err *err);

/* What cairn_import_mapped() says of such a file. */
int cairn_gperftools_mapped(struct cairn_feed *feed, struct cairn_buf *ret_paths);

/* 1: the feed, which stands at its start, is that; 0: it is not; or a failure to read. */
int cairn_is_perf(struct cairn_feed *feed);
int cairn_is_dtrace(struct cairn_feed *feed);
int cairn_is_hprof(struct cairn_feed *feed);
int cairn_is_axe(struct cairn_feed *feed);
int cairn_is_oprofile(struct cairn_feed *feed);
int cairn_is_sleepy(struct cairn_feed *feed);
int cairn_is_sysprof(struct cairn_feed *feed);
int cairn_is_xperf(struct cairn_feed *feed);

/* Where the number at the end of a line of collapsed stacks begins, behind a blank or a tab; 0:
 * none stands there. */
size_t cairn_collapsed_number(struct cairn_span line);

/* "# mode: wall", of which Austin puts some between the stacks, or what a person wrote behind a #.
 */
bool cairn_is_collapsed_remark(struct cairn_span line);

/* Shared by those whose frames are texts: "name (file:line)", or "file.py:name:line" as
 * profiling.sampling and Austin write it. The parts are borrowed from `text`. */
struct cairn_guest_frame cairn_frame_of_text(struct cairn_span text);

/* What is said of a profile that Austin made of memory (-m). */
#define CAIRN_AUSTIN_MEMORY                                                                        \
    "Austin made it of memory (-m): it holds bytes, and no times. Cairn knows what it writes "     \
    "without."

/* Digits alone, below 2^63; false otherwise. */
bool cairn_whole_of_text(struct cairn_span text, uint64_t *ret_whole);

#endif
