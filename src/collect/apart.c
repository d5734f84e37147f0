#include "apart.h"

#include <sched.h>

#include "procfs.h"
#include "urgency.h"

#define LOOKS 4
#define WAIT_NS UINT64_C(50000000) /* at first; it doubles, unless the last time … */
#define WAIT_MOST_NS UINT64_C(6400000000)
#define USEFUL 16 /* … was of use for so many times as long */

bool cairn_apart_leave(int processor)
{
    cpu_set_t allowed, others;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0 || !CPU_ISSET(processor, &allowed))
        return false; /* or there are very many */
    others = allowed;
    CPU_CLR(processor, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof(others), &others) < 0)
        return false;
    sched_setaffinity(0, sizeof(allowed), &allowed); /* it was allowed before */
    return true;
}

void cairn_apart_look(struct cairn_apart *apart, pid_t pid, pid_t tid, uint64_t now_ns)
{
    struct cairn_proc_stat stat;
    int here;

    if (!tid) {
        apart->looks = 0;
        return;
    }
    if (++apart->looks < LOOKS || now_ns < apart->from_ns)
        return;
    apart->looks = 0;
    here = sched_getcpu();
    apart->went = false;
    if (here >= 0 && here < CPU_SETSIZE && cairn_proc_stat(pid, tid, &stat) == 0 &&
        stat.processor == here && !cairn_urgency_is_crowded())
        apart->went = cairn_apart_leave(here);
    if (now_ns - apart->from_ns >= USEFUL * apart->wait_ns)
        apart->wait_ns = WAIT_NS;
    else if (apart->wait_ns < WAIT_MOST_NS)
        apart->wait_ns *= 2;
    apart->from_ns = now_ns + apart->wait_ns;
}
