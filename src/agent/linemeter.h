/* linemeter.h: what counting lines and instructions costs by its own books, and whose it lets go to
 * cost no more than it may.
 *
 * Each event is charged with what a line and its time were measured to take, which is the most that
 * any of them does. Now and then the sum is held against the CPU time of the process. While it is
 * more than its share of what the program itself needed, the code object that costs most is let go,
 * until what is left fits: its numbers are those until then, and whoever tells of its events is to
 * stop that (cairn_lines_is_over()).
 * Threads, owner: as lines.h; part of a hub.
 */
#ifndef CAIRN_LINEMETER_H
#define CAIRN_LINEMETER_H

#include <stdint.h>

struct cairn_lines_hub;
struct cairn_lines_code;

struct cairn_line_meter {
    double share, event_ns;   /* of what the program itself needs, 0.05; 0: nobody keeps books */
    uint64_t (*cpu_ns)(void); /* CPU time of this process */
    uint64_t events, let_go;  /* code objects */
    uint64_t period, period_events, period_cpu_ns;
};

/* What a code object was charged with in a period. */
struct cairn_line_charge {
    uint64_t period, events;
};

/* Before the first event, and with a spool; in a child made by fork its books begin. NULL: the CPU
 * time that the kernel tells. */
void cairn_line_meter_begin(struct cairn_lines_hub *hub, double share, double event_ns,
                            uint64_t (*cpu_ns)(void));
void cairn_line_meter_again(struct cairn_lines_hub *hub);

/* Writes the books into the spool. */
void cairn_line_meter_write(struct cairn_lines_hub *hub);

/* So many events came of the code, which may be let go for it. */
void cairn_line_meter_charge(struct cairn_lines_hub *hub, struct cairn_lines_code *code,
                             unsigned events);

#endif
