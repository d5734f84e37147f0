#include "cagefilter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef ARCH

#define RULES_MAX 160
#define ARG(n) ((uint32_t)(offsetof(struct seccomp_data, args) + 8 * (n))) /* its lower half */

struct filter {
    struct sock_filter rules[RULES_MAX];
    unsigned short count;
};

/* The bytes that it was given, what it makes of them, memory, and its end. */
static const uint32_t allowed[] = {
    __NR_read,         __NR_pread64,      __NR_write,     __NR_pwrite64,      __NR_lseek,
    __NR_ftruncate,    __NR_fallocate,    __NR_close,     __NR_brk,           __NR_munmap,
    __NR_mremap,       __NR_madvise,      __NR_getrandom, __NR_clock_gettime, __NR_gettimeofday,
    __NR_getpid,       __NR_gettid,       __NR_futex,     __NR_sched_yield,   __NR_rt_sigprocmask,
    __NR_rt_sigaction, __NR_rt_sigreturn, __NR_exit,      __NR_exit_group,    __NR_restart_syscall,
};

/* What a C library may ask on the way, and go on without. */
static const uint32_t refused[] = {
    __NR_fstat,   __NR_newfstatat,        __NR_statx, __NR_ioctl, __NR_uname,
    __NR_sysinfo, __NR_sched_getaffinity,
};

static void add(struct filter *filter, uint16_t code, uint8_t yes, uint8_t no, uint32_t value)
{
    if (filter->count < RULES_MAX)
        filter->rules[filter->count] = (struct sock_filter){code, yes, no, value};
    filter->count++;
}

static void load(struct filter *filter, uint32_t offset_bytes)
{
    add(filter, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset_bytes);
}

static void answer(struct filter *filter, uint32_t action)
{
    add(filter, BPF_RET | BPF_K, 0, 0, action);
}

/* The `length` rules that follow are for this call alone, and answer in any case. */
static void for_call(struct filter *filter, uint32_t number, uint8_t length)
{
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 0, length, number);
}

/* Ends the process unless this half of an argument is `value`. */
static void require(struct filter *filter, uint32_t offset_bytes, uint32_t value)
{
    load(filter, offset_bytes);
    add(filter, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
    answer(filter, SECCOMP_RET_KILL_PROCESS);
}

/* Memory, and none that could be run. */
static void allow_mapping(struct filter *filter, uint32_t number)
{
    for_call(filter, number, 4);
    load(filter, ARG(2));
    add(filter, BPF_JMP | BPF_JSET | BPF_K, 0, 1, PROT_EXEC);
    answer(filter, SECCOMP_RET_KILL_PROCESS);
    answer(filter, SECCOMP_RET_ALLOW);
}

/* Asking for our own limits, not setting any. */
static void allow_limits(struct filter *filter)
{
    for_call(filter, __NR_prlimit64, 10);
    require(filter, ARG(0), 0);
    require(filter, ARG(2), 0);
    require(filter, ARG(2) + 4, 0);
    answer(filter, SECCOMP_RET_ALLOW);
#ifdef __NR_getrlimit
    for_call(filter, __NR_getrlimit, 1);
    answer(filter, SECCOMP_RET_ALLOW);
#endif
}

/* abort(): so that an abort is told as one. */
static void allow_abort(struct filter *filter)
{
    for_call(filter, __NR_tgkill, 4);
    require(filter, ARG(0), (uint32_t)getpid());
    answer(filter, SECCOMP_RET_ALLOW);
}

static void build(struct filter *filter)
{
    require(filter, (uint32_t)offsetof(struct seccomp_data, arch), ARCH);
    load(filter, (uint32_t)offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
        for_call(filter, allowed[i], 1);
        answer(filter, SECCOMP_RET_ALLOW);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        for_call(filter, refused[i], 1);
        answer(filter, SECCOMP_RET_ERRNO | EPERM);
    }
    allow_mapping(filter, __NR_mmap);
    allow_mapping(filter, __NR_mprotect);
    allow_limits(filter);
    allow_abort(filter);
    answer(filter, SECCOMP_RET_KILL_PROCESS);
}

int cairn_cagefilter_install(void)
{
    struct filter filter = {.count = 0};
    struct sock_fprog program = {.filter = filter.rules};

    build(&filter);
    if (filter.count > RULES_MAX)
        return E2BIG;
    program.len = filter.count;
    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? errno : 0;
}

#else

int cairn_cagefilter_install(void)
{
    return ENOSYS;
}

#endif
