/* wire.h: what dictionary entries, ticks and tables hold, as both writer and reader see them. */
#ifndef CAIRN_WIRE_H
#define CAIRN_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cursor.h"
#include "format.h"

/* Ids below are those of one writer; string id 0 is "", stack id 0 the empty stack, code, module,
 * location and track ids start at 1. */

struct cairn_code_def {
    uint32_t name, qualname, file; /* string ids; qualname 0: this Python has none */
    uint32_t first_line;           /* 0 when not known */
};

struct cairn_linetable_def {
    uint32_t code;
    uint8_t kind; /* enum cairn_linetable_kind */
    struct cairn_span bytes;
};

struct cairn_module_def {
    uint32_t path;              /* string id */
    struct cairn_span build_id; /* may be empty; at most 64 bytes */
};

struct cairn_location_def {
    uint8_t kind;   /* enum cairn_location_kind */
    uint32_t ref;   /* code, module or string id */
    int64_t offset; /* bytes; 0 for labels */
};

struct cairn_stack_def {
    uint32_t parent, location; /* the location is the frame called by the parent's leaf */
};

struct cairn_track_def {
    uint8_t kind;      /* enum cairn_track_kind */
    uint32_t parent;   /* track id or 0 */
    uint64_t number;   /* pid, tid, stream number */
    uint64_t start_ns; /* since boot, from the kernel's start time; with number and boot id it
                          names one incarnation. 0 when not known */
    uint32_t boot_id;  /* string id; processes */
    uint32_t name;     /* string id: thread name, command name */
    uint32_t detail;   /* string id: command line, task coroutine, "" */
    uint8_t birth;     /* enum cairn_birth; processes */
};

struct cairn_clock_def {
    uint64_t mono_ns, boot_ns, real_ns;
    uint32_t boot_id; /* string id */
};

/* The times of the ticks of one chunk. Tick number first_tick + i was due at
 *   due(first_tick) = base_ns,  due(k + 1) = due(k) + cairn_tick_interval(seed, k + 1, mean_ns)
 * and was taken delays[i] quanta later; ticks that came too late are not in the list: `numbers`
 * are ascending but may have gaps (those are the missed ones). With mean_ns 0 ("max") the delay
 * counts from the tick before. */
struct cairn_ticks_def {
    uint64_t base_ns, mean_ns, seed, quantum_ns; /* quantum_ns >= 1 */
    uint64_t before_ns; /* time of the tick before the first one here: its wall time starts there */
    size_t count;
    const uint64_t *numbers;  /* borrowed */
    const uint64_t *times_ns; /* borrowed; as read back: rounded to the quantum */
};

/* ns from tick k-1 to tick k: uniform in [mean/2, mean*3/2), from cairn_rng_at(seed, k). */
uint64_t cairn_tick_interval(uint64_t seed, uint64_t k, uint64_t mean_ns);

struct cairn_column_def {
    const char *name; /* up to 64 bytes of UTF-8 */
    const char *unit; /* "ns", "quanta", "count", "bytes", "id", "" */
    uint8_t encoding; /* enum cairn_encoding */
};

#endif
