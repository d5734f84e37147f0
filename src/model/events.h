/* events.h: streams the calls of a timeline, or the regions and marks that a program wrote down,
 * one chunk in memory at a time. */
#ifndef CAIRN_EVENTS_H
#define CAIRN_EVENTS_H

#include "model.h"

struct cairn_event_call {
    uint32_t thread, node;
    uint64_t first_ns, last_ns; /* as samples have them: absolute, moved onto the model's clock */
    uint8_t state;              /* of regions and marks: enum cairn_mark_state of trace/format.h */
    uint32_t on;                /* and a mark's values: a text of the model; 0: none */
};

struct cairn_events; /* opaque */

/* Streams rows of that kind (CAIRN_ROW_EVENT, CAIRN_ROW_MARK) that touch (from_ns, to_ns] (0 and
 * UINT64_MAX for all), cut at its edges. Those of a thread come in the order in which they begin,
 * callers first. 0 or -CAIRN_ENOMEM. */
int cairn_events_open(const struct cairn_model *model, unsigned kind, uint64_t from_ns,
                      uint64_t to_ns, struct cairn_events **ret_events);
/* Before the first: passes over the threads whose entry is false. `chosen` has an entry for each of
 * cairn_model_threads() and must live as long. 0 or -CAIRN_ENOMEM. */
int cairn_events_choose(struct cairn_events *events, const bool *chosen);
/* 0, -CAIRN_EEND, or a negative code (damaged chunks are passed over: they are counted already). */
int cairn_events_next(struct cairn_events *events, struct cairn_event_call *ret_call);
void cairn_events_free(struct cairn_events *events);

#endif
