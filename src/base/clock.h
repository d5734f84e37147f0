/* clock.h: the clocks of a recording. Times are ns in a uint64_t; CLOCK_MONOTONIC unless named. */
#ifndef CAIRN_CLOCK_H
#define CAIRN_CLOCK_H

#include <stdint.h>
#include <sys/types.h>

uint64_t cairn_clock_mono_ns(void);
uint64_t cairn_clock_boot_ns(void);
uint64_t cairn_clock_real_ns(void);
uint64_t cairn_clock_own_cpu_ns(void); /* CPU time of this process */
/* CPU time of a process, all its threads that are and were. 0, or a negated errno: -ESRCH, -EPERM,
 * -EINVAL when it is just gone. */
int cairn_clock_cpu_of(pid_t pid, uint64_t *ret_cpu_ns);

/* How often the kernel looks at who runs: 1 to 10 ms, as it was built. */
uint64_t cairn_clock_kernel_tick_ns(void);

/* Sleeps until CLOCK_MONOTONIC reaches `when_ns`; 0, or -EINTR when a signal came first. */
int cairn_clock_sleep_until(uint64_t when_ns);

/* When to do again what was begun at `begun_ns`, and at `begun_cpu_ns` of this process's CPU time,
 * and is over now: `wait_ns` after its begin, or later, so that it takes no more than one `part`th
 * of a CPU. Waiting for one is no reason to wait longer. */
uint64_t cairn_clock_again(uint64_t begun_ns, uint64_t begun_cpu_ns, uint64_t wait_ns,
                           unsigned part);

/* The id of this boot, 36 characters and NUL; "unknown" when the kernel does not tell. Asked for
 * once: who may not open a file later (base/cage) asks before. */
void cairn_clock_boot_id(char ret_text[37]);

#endif
