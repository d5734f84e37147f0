/* Where in a process its Python is: looked for until it is found, or known that it cannot be read.
 */
#include "clock.h"
#include "err.h"
#include "format.h"
#include "subject.h"

#define SEEK_MOST_NS 200000000ull
/* What a program maps to load a libpython; and how often that is looked at, and acted on. */
#define MAPPED_BYTES ((uint64_t)2 << 20)
#define MAPPED_NS 10000000ull
#define MAPPED_PART 50
/* Between mapping a library and clearing its data a loader runs for microseconds; reading that from
 * a disk may take longer. */
#define MISFIT_CPU_NS 5000000ull
#define MISFIT_MOST_NS 500000000ull

static void on_python_death(void *ctx, struct cairn_pythread *thread)
{
    (void)ctx;
    cairn_states_drop(thread);
}

static void begin_reading(struct cairn_subject *subject)
{
    cairn_pyread_on_death(subject->py, on_python_death, subject);
    subject->python = CAIRN_PYTHON_READ;
}

static bool anything_ran(const struct cairn_subject *subject)
{
    for (size_t i = 0; i < subject->workers.count; i++)
        if (subject->workers.items[i]->ran)
            return true;
    return false;
}

/* Looks for a runtime wherever it may be, when it is time to; in between whether one that was met
 * before it was initialised now is. -CAIRN_ENOTFOUND: there was nothing to do. */
static int open_runtime(struct cairn_subject *subject, struct cairn_pyfiles *files, bool everywhere)
{
    struct cairn_remote remote;

    cairn_remote_live(&remote, subject->pid);
    if (everywhere)
        return cairn_pyread_open(subject->pid, &remote, files, &subject->site, &subject->py,
                                 &subject->why);
    if (!subject->site.address || !anything_ran(subject))
        return -CAIRN_ENOTFOUND;
    return cairn_pyread_open_site(subject->pid, &remote, &subject->site, &subject->py,
                                  &subject->why);
}

/* Whether what does not fit has had the time to become what fits: by its processor time, since it
 * may wait for a processor for long; who does not want one has had it. */
static bool is_another_build(struct cairn_subject *subject, uint64_t now_ns)
{
    uint64_t cpu_ns = 0;
    bool wants = false;

    for (size_t i = 0; i < subject->workers.count; i++) {
        cpu_ns += subject->workers.items[i]->cpu_ns;
        wants |= subject->workers.items[i]->runs;
    }
    if (!subject->misfit_ns)
        subject->misfit_cpu_ns = cpu_ns;
    if (!subject->misfit_ns || wants)
        subject->misfit_ns = now_ns;
    return cpu_ns >= subject->misfit_cpu_ns + MISFIT_CPU_NS ||
           now_ns >= subject->misfit_ns + MISFIT_MOST_NS;
}

/* Whether a process that ran has mapped so much that a Python may be in it: a program that loads
 * one late does so when it is hardly looked for any more. */
static bool has_mapped_more(struct cairn_subject *subject, uint64_t now_ns)
{
    uint64_t bytes, before_bytes = subject->mapped_bytes;

    if (now_ns < subject->mapped_at_ns || !anything_ran(subject) ||
        cairn_proc_mapped_bytes(subject->pid, &bytes) < 0)
        return false;
    subject->mapped_at_ns = now_ns + MAPPED_NS;
    if (bytes >= before_bytes && bytes - before_bytes < MAPPED_BYTES)
        return false;
    subject->mapped_bytes = bytes;
    return bytes > before_bytes;
}

bool cairn_subject_seek(struct cairn_subject *subject, struct cairn_pyfiles *files, uint64_t now_ns)
{
    bool everywhere, more;
    uint64_t begun_cpu_ns;
    int code;

    if (subject->python != CAIRN_PYTHON_SOUGHT)
        return false;
    more = has_mapped_more(subject, now_ns);
    begun_cpu_ns = more ? cairn_clock_own_cpu_ns() : 0;
    everywhere = more || now_ns >= subject->look_at_ns;
    code = open_runtime(subject, files, everywhere);
    if (more) { /* it may be on its way: once more, soon, and no search after search */
        subject->mapped_at_ns = cairn_clock_again(now_ns, begun_cpu_ns, MAPPED_NS, MAPPED_PART);
        if (subject->look_wait_ns > MAPPED_NS)
            subject->look_wait_ns = MAPPED_NS;
    }
    if (code == 0) {
        begin_reading(subject);
        return true;
    }
    if (code == -CAIRN_EDAMAGED)
        subject->why.code = -CAIRN_EUNSUPPORTED; /* as far as it is known */
    else if (code != -CAIRN_ENOTFOUND)
        subject->misfit_ns = 0;
    if (!everywhere)
        return false;
    if (code == -CAIRN_EUNSUPPORTED || code == -CAIRN_EPERM ||
        (code == -CAIRN_EDAMAGED && is_another_build(subject, now_ns))) {
        subject->python = CAIRN_PYTHON_UNSUPPORTED;
        return true;
    }
    subject->look_at_ns = now_ns + subject->look_wait_ns;
    subject->look_wait_ns += subject->look_wait_ns / 2;
    if (subject->look_wait_ns > SEEK_MOST_NS)
        subject->look_wait_ns = SEEK_MOST_NS;
    return false;
}

bool cairn_subject_copy(struct cairn_subject *subject, const struct cairn_subject *parent)
{
    struct cairn_pysite site = {0};
    struct cairn_remote remote;

    if (!parent || parent->python != CAIRN_PYTHON_READ || subject->birth != CAIRN_BIRTH_FORK)
        return false;
    site.address = cairn_pyread_runtime(parent->py, &site.versions[0]);
    cairn_remote_live(&remote, subject->pid);
    if (cairn_pyread_open_site(subject->pid, &remote, &site, &subject->py, &subject->why) < 0)
        return false; /* sought like any other's */

    /* It fails: names are looked for. */
    cairn_pyread_take_over(subject->py, parent->py);
    begin_reading(subject);
    return true;
}
