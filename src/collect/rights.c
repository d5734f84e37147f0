#include "rights.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "err.h"
#include "io.h"

#define FILE_MAX_BYTES (1 << 16)
#define PARANOID_UNPRIVILEGED 2 /* the highest at which a user may count what is theirs */
#define BIT(cap) ((uint64_t)1 << (cap))

/* The number behind `name` in a file of lines "NAME:\tNUMBER", or `fallback`. */
static uint64_t field(const char *text, const char *name, int base, uint64_t fallback)
{
    size_t name_bytes = strlen(name);

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, name_bytes) == 0 && line[name_bytes] == ':')
            return strtoull(line + name_bytes + 1, NULL, base);
    }
    return fallback;
}

static int setting(const char *path, int fallback)
{
    struct cairn_buf text;
    int value = fallback;

    cairn_buf_init(&text, FILE_MAX_BYTES);
    if (cairn_io_read_file(AT_FDCWD, path, &text) == 0 && text.size_bytes > 0)
        value = atoi(cairn_buf_cstr(&text));
    cairn_buf_release(&text);
    return value;
}

static enum cairn_container container(void)
{
    if (getenv("KUBERNETES_SERVICE_HOST") != NULL ||
        access("/var/run/secrets/kubernetes.io", F_OK) == 0)
        return CAIRN_CONTAINER_KUBERNETES;
    if (access("/run/.containerenv", F_OK) == 0)
        return CAIRN_CONTAINER_PODMAN;
    return access("/.dockerenv", F_OK) == 0 ? CAIRN_CONTAINER_DOCKER : CAIRN_CONTAINER_NONE;
}

static bool reads_itself(void)
{
    uint64_t there = 0, here = 0;
    struct iovec local = {&here, sizeof(here)}, remote = {&there, sizeof(there)};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof(here);
}

void cairn_rights_read(struct cairn_rights *ret_rights)
{
    struct cairn_buf text;
    const char *status = "";

    cairn_buf_init(&text, FILE_MAX_BYTES);
    if (cairn_io_read_file(AT_FDCWD, "/proc/self/status", &text) == 0)
        status = cairn_buf_cstr(&text);
    *ret_rights = (struct cairn_rights){
        .uid = geteuid(),
        .caps = field(status, "CapEff", 16, 0),
        .bound = field(status, "CapBnd", 16, 0),
        .seccomp = (int)field(status, "Seccomp", 10, 0),
        .reads = reads_itself(),
        .yama = setting("/proc/sys/kernel/yama/ptrace_scope", -1),
        .paranoid = setting("/proc/sys/kernel/perf_event_paranoid", -2),
        .container = container(),
    };
    cairn_buf_release(&text);
}

int cairn_rights_whom(pid_t pid, struct cairn_rights_whom *ret_whom)
{
    struct passwd entry, *found = NULL;
    struct cairn_buf status;
    struct stat info;
    char path[32], text[4096];

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    /* The folder of a process that may not be dumped is root's, whoever runs it: as for us. */
    if (stat(path, &info) < 0)
        return -CAIRN_EGONE;
    *ret_whom = (struct cairn_rights_whom){.pid = pid, .uid = info.st_uid};
    if (getpwuid_r(info.st_uid, &entry, text, sizeof(text), &found) == 0 && found != NULL)
        snprintf(ret_whom->user, sizeof(ret_whom->user), "%s", entry.pw_name);
    else
        snprintf(ret_whom->user, sizeof(ret_whom->user), "uid %lu", (unsigned long)info.st_uid);
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    cairn_buf_init(&status, FILE_MAX_BYTES);
    if (cairn_io_read_file(AT_FDCWD, path, &status) == 0)
        ret_whom->caps = field(cairn_buf_cstr(&status), "CapPrm", 16, 0);
    cairn_buf_release(&status);
    return 0;
}

void cairn_rights_child(const struct cairn_rights *rights, struct cairn_rights_whom *ret_whom)
{
    *ret_whom = (struct cairn_rights_whom){.uid = rights->uid, .child = true};
}

/* A capability that is missing: a container has to be given it, in which root alone has it then; a
 * user becomes root; who took it from root is not known. */
static unsigned lacking(const struct cairn_rights *rights, uint64_t cap, unsigned need)
{
    unsigned root = rights->uid != 0 ? CAIRN_NEED_ROOT : 0;

    if (rights->container != CAIRN_CONTAINER_NONE && (root == 0 || (rights->bound & cap) == 0))
        return need | root;
    return root;
}

static unsigned explain_filter(const struct cairn_rights *rights, const char *call, uint64_t cap,
                               unsigned need, struct cairn_buf *out)
{
    cairn_buf_printf(out, "a filter of system calls (seccomp) refuses %s", call);
    /* The filter that container engines bring lets it through once the capability is given. */
    if (rights->container != CAIRN_CONTAINER_NONE && (rights->bound & cap) == 0)
        return need;
    return CAIRN_NEED_UNFILTERED;
}

static unsigned explain_other_user(const struct cairn_rights *rights,
                                   const struct cairn_rights_whom *whom, struct cairn_buf *out)
{
    cairn_buf_printf(out, "it belongs to %s", whom->user);
    if (rights->uid == 0)
        cairn_buf_add_str(out, ", and root here is without CAP_SYS_PTRACE");
    return lacking(rights, BIT(CAP_SYS_PTRACE), CAIRN_NEED_PTRACE);
}

static unsigned explain_read(const struct cairn_rights *rights,
                             const struct cairn_rights_whom *whom, struct cairn_buf *out)
{
    bool may_trace = (rights->caps & BIT(CAP_SYS_PTRACE)) != 0;

    if (whom->uid != rights->uid && !may_trace)
        return explain_other_user(rights, whom, out);
    if (rights->yama == 3) {
        cairn_buf_add_str(out, "kernel.yama.ptrace_scope is 3: nobody may, root included");
        return CAIRN_NEED_RESTART;
    }
    if (rights->yama == 2 && !may_trace) {
        cairn_buf_add_str(out, "kernel.yama.ptrace_scope is 2: it takes CAP_SYS_PTRACE");
        return lacking(rights, BIT(CAP_SYS_PTRACE), CAIRN_NEED_PTRACE);
    }
    if (rights->yama == 1 && !may_trace && !whom->child) {
        cairn_buf_add_str(out, "kernel.yama.ptrace_scope is 1: only what `cairn run` starts may be "
                               "read");
        return rights->container != CAIRN_CONTAINER_NONE
                   ? lacking(rights, BIT(CAP_SYS_PTRACE), CAIRN_NEED_PTRACE)
                   : CAIRN_NEED_YAMA;
    }
    if (rights->seccomp == 2 && !rights->reads)
        return explain_filter(rights, "process_vm_readv", BIT(CAP_SYS_PTRACE), CAIRN_NEED_PTRACE,
                              out);
    if (may_trace && whom->child) {
        cairn_buf_add_str(out, "a security module of the kernel (AppArmor, SELinux) refuses it");
        return CAIRN_NEED_UNCONFINED;
    }
    if (may_trace) {
        cairn_buf_add_str(out, "it is in another user namespace, or a security module protects it");
        return 0;
    }
    if (whom->caps & ~rights->caps)
        cairn_buf_add_str(out, "it has capabilities that are not given here");
    else
        cairn_buf_add_str(out, "it has changed its user, or does not let itself be looked at");
    return lacking(rights, BIT(CAP_SYS_PTRACE), CAIRN_NEED_PTRACE);
}

static unsigned explain_perf(const struct cairn_rights *rights,
                             const struct cairn_rights_whom *whom, struct cairn_buf *out)
{
    uint64_t enough = BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN);

    if (rights->paranoid > PARANOID_UNPRIVILEGED && (rights->caps & enough) == 0) {
        cairn_buf_printf(out, "kernel.perf_event_paranoid is %d", rights->paranoid);
        return rights->container != CAIRN_CONTAINER_NONE
                   ? lacking(rights, BIT(CAP_PERFMON), CAIRN_NEED_PERFMON)
                   : CAIRN_NEED_PARANOID;
    }
    if (whom->uid != rights->uid && (rights->caps & (enough | BIT(CAP_SYS_PTRACE))) == 0)
        return explain_other_user(rights, whom, out);
    if (rights->seccomp == 2)
        return explain_filter(rights, "perf_event_open", enough, CAIRN_NEED_PERFMON, out);
    if (rights->paranoid == -2) {
        cairn_buf_add_str(out, "this kernel has no perf events");
        return 0;
    }
    cairn_buf_add_str(out, "the kernel does not say why");
    return 0;
}

unsigned cairn_rights_explain(const struct cairn_rights *rights, enum cairn_act act,
                              const struct cairn_rights_whom *whom, struct cairn_buf *out)
{
    return act == CAIRN_ACT_READ ? explain_read(rights, whom, out)
                                 : explain_perf(rights, whom, out);
}

static void allow_in_engine(const char *engine, unsigned needs, struct cairn_buf *out)
{
    cairn_buf_printf(out, "%s run", engine);
    if (needs & CAIRN_NEED_ROOT)
        cairn_buf_add_str(out, " --user=0");
    if (needs & CAIRN_NEED_PTRACE)
        cairn_buf_add_str(out, " --cap-add=SYS_PTRACE");
    if (needs & CAIRN_NEED_PERFMON)
        cairn_buf_add_str(out, " --cap-add=PERFMON");
    if (needs & CAIRN_NEED_UNFILTERED)
        cairn_buf_add_str(out, " --security-opt seccomp=unconfined");
    if (needs & CAIRN_NEED_UNCONFINED)
        cairn_buf_add_str(out, " --security-opt apparmor=unconfined");
}

static void allow_in_kubernetes(unsigned needs, struct cairn_buf *out)
{
    const char *gap = "";

    cairn_buf_add_str(out, "securityContext: {");
    if (needs & CAIRN_NEED_ROOT) {
        cairn_buf_add_str(out, "runAsUser: 0");
        gap = ", ";
    }
    if (needs & (CAIRN_NEED_PTRACE | CAIRN_NEED_PERFMON)) {
        cairn_buf_printf(out, "%scapabilities: {add: [%s%s%s]}", gap,
                         needs & CAIRN_NEED_PTRACE ? "SYS_PTRACE" : "",
                         (needs & CAIRN_NEED_PTRACE) && (needs & CAIRN_NEED_PERFMON) ? ", " : "",
                         needs & CAIRN_NEED_PERFMON ? "PERFMON" : "");
        gap = ", ";
    }
    if (needs & CAIRN_NEED_UNFILTERED) {
        cairn_buf_printf(out, "%sseccompProfile: {type: Unconfined}", gap);
        gap = ", ";
    }
    if (needs & CAIRN_NEED_UNCONFINED)
        cairn_buf_printf(out, "%sappArmorProfile: {type: Unconfined}", gap);
    cairn_buf_u8(out, '}');
}

void cairn_rights_allow(const struct cairn_rights *rights, unsigned needs, const char *words,
                        struct cairn_buf *out)
{
    const unsigned engine =
        CAIRN_NEED_PTRACE | CAIRN_NEED_PERFMON | CAIRN_NEED_UNFILTERED | CAIRN_NEED_UNCONFINED;

    if (needs & CAIRN_NEED_RESTART) {
        cairn_buf_add_str(out, "restart the system with kernel.yama.ptrace_scope=0");
    } else if ((needs & engine) && rights->container == CAIRN_CONTAINER_KUBERNETES) {
        allow_in_kubernetes(needs, out);
    } else if ((needs & engine) && rights->container != CAIRN_CONTAINER_NONE) {
        allow_in_engine(rights->container == CAIRN_CONTAINER_PODMAN ? "podman" : "docker", needs,
                        out);
    } else if (needs & CAIRN_NEED_UNFILTERED) {
        cairn_buf_add_str(out, "start it outside of that filter");
    } else if (needs & CAIRN_NEED_UNCONFINED) {
        cairn_buf_add_str(out, "a rule in AppArmor or SELinux");
    } else if (needs & CAIRN_NEED_ROOT) { /* and root needs none of the settings below */
        cairn_buf_printf(out, "sudo cairn %s", words);
    } else if (needs != 0) {
        cairn_buf_printf(out, "sudo sysctl%s%s",
                         needs & CAIRN_NEED_YAMA ? " kernel.yama.ptrace_scope=0" : "",
                         needs & CAIRN_NEED_PARANOID ? " kernel.perf_event_paranoid=2" : "");
    }
}
