/* pstats.h: what pstats.Stats does with a profile: add, strip, sort, reverse, restrict, callees.
 *
 * Text made of it equals that of Python's pstats, so the steps are Python's too, where a sum of
 * them would be shorter: rows keep the order of arrival, sorting is stable and starts from that
 * order, stripping keeps the last of two callers that become one, and callees are found once.
 * Owner: the caller, until cairn_pstats_release(). Threads: one at a time.
 */
#ifndef CAIRN_PSTATS_H
#define CAIRN_PSTATS_H

#include "prof.h"

struct cairn_pstats_name { /* of a key, in `names` */
    size_t start, size_bytes;
};

struct cairn_pstats_callee { /* ordered by caller */
    uint32_t caller, callee;
    struct cairn_prof_numbers numbers;
};

struct cairn_pstats {
    struct cairn_prof prof;
    struct cairn_buf head; /* a line for each file it was read from */
    int64_t calls, primitive;
    bool unsure; /* primitive is not known */
    double total_s;
    size_t name_width; /* of the longest standard name, in characters */

    struct cairn_buf names;
    CAIRN_VEC(struct cairn_pstats_name) name_of; /* standard names, by key */

    bool sorted;
    CAIRN_VEC(uint32_t) order; /* rows, when sorted */
    struct cairn_buf sorted_by;

    bool callees_known;
    CAIRN_VEC(struct cairn_pstats_callee) callees;
};

struct cairn_pstats_limit { /* which rows are printed; several are held one after the other */
    enum { CAIRN_LIMIT_COUNT, CAIRN_LIMIT_SHARE, CAIRN_LIMIT_MATCH } kind;
    int64_t count;
    double share;
    struct cairn_span pattern; /* borrowed */
};

struct cairn_pstats_list { /* what print_stats and its like are to print */
    CAIRN_VEC(uint32_t) rows;
    size_t name_width;
    struct cairn_buf message; /* how it came about, in Python's words; of texts as they are */
};

/* Takes `prof` over, whatever comes of it; `head` is the line that names it, "" for none.
 * 0, -CAIRN_ENOMEM or -CAIRN_ELIMIT; release in all cases. */
int cairn_pstats_init(struct cairn_pstats *stats, struct cairn_prof *prof, const char *head);
void cairn_pstats_release(struct cairn_pstats *stats);

/* 0, -CAIRN_ENOMEM, -CAIRN_ELIMIT; -CAIRN_EUSAGE when callers of the two cannot be added up. Then
 * a part has been added. */
int cairn_pstats_add(struct cairn_pstats *stats, const struct cairn_pstats *more);

/* Leaves of each file name what stands behind its last slash. 0, -CAIRN_ENOMEM, -CAIRN_ELIMIT. */
int cairn_pstats_strip(struct cairn_pstats *stats);

/* Sorts by keys, the first one first. -CAIRN_EUSAGE when one is not known: nothing changed. */
int cairn_pstats_sort(struct cairn_pstats *stats, const struct cairn_span *keys, size_t count);
void cairn_pstats_reverse(struct cairn_pstats *stats);

/* The keys there are, by index, and what they sort by; NULL behind the last. */
const char *cairn_pstats_sort_key(size_t index, const char **ret_text);

/* "file:line(function)", borrowed until something is added or stripped; and its characters. */
struct cairn_span cairn_pstats_name(const struct cairn_pstats *stats, uint32_t key);
size_t cairn_pstats_width(struct cairn_span name);

/* The rows to print: 0, -CAIRN_ENOMEM, -CAIRN_ELIMIT. cairn_pstats_list_release() in all cases. */
int cairn_pstats_select(const struct cairn_pstats *stats, const struct cairn_pstats_limit *limits,
                        size_t count, struct cairn_pstats_list *ret_list);
void cairn_pstats_list_release(struct cairn_pstats_list *list);

/* The functions that a function calls, where it has become known. 0 or -CAIRN_ENOMEM. */
int cairn_pstats_find_callees(struct cairn_pstats *stats);
size_t cairn_pstats_callees(const struct cairn_pstats *stats, uint32_t key,
                            const struct cairn_pstats_callee **ret_callees);

#endif
