/* cmd_doctor.c: `cairn doctor [PID]`: what works here, what is refused, what would allow more. */
#include <stdio.h>
#include <sys/utsname.h>

#include "cage.h"
#include "command.h"
#include "escape.h"
#include "json_out.h"
#include "pidword.h"
#include "probe.h"
#include "rights.h"
#include "say.h"

#define TEXT_MAX_BYTES (1 << 16)
#define SCHEMA 1

struct patient {
    pid_t pid; /* 0: none was named */
    struct cairn_rights rights;
    struct cairn_probes child, process; /* the latter all 0 without a pid */
    struct cairn_probed_python python;
    struct cairn_cage_held cage;                /* of a child that reads files of other tools */
    struct cairn_buf why[2][CAIRN_PROBE_COUNT]; /* of the child, of the process */
    struct cairn_buf allow;                     /* empty: nothing would help, or is needed */
};

static const struct {
    const char *name, *gives;
    enum cairn_act act;
    bool judged; /* by the kernel: who asks, and whom */
} probes[CAIRN_PROBE_COUNT] = {
    [CAIRN_PROBE_READ] = {"process_vm_readv", "stacks: nothing works without it", CAIRN_ACT_READ,
                          true},
    [CAIRN_PROBE_CLOCK] = {"perf task clock", "idle threads are not read again", CAIRN_ACT_PERF,
                           true},
    [CAIRN_PROBE_RECORDS] = {"perf records", "children are seen as they start", CAIRN_ACT_PERF,
                             true},
    [CAIRN_PROBE_SCHEDSTAT] = {"schedstat", "CPU time, waiting for a processor", CAIRN_ACT_READ,
                               false},
    [CAIRN_PROBE_WCHAN] = {"wchan", "whether a thread runs", CAIRN_ACT_READ, false},
};

static const char *const containers[] = {
    [CAIRN_CONTAINER_NONE] = "none",
    [CAIRN_CONTAINER_DOCKER] = "docker",
    [CAIRN_CONTAINER_PODMAN] = "podman",
    [CAIRN_CONTAINER_KUBERNETES] = "kubernetes",
};

/* Why each probe failed; in bits what would have to be given. */
static unsigned explain(const struct cairn_rights *rights, const struct cairn_probes *results,
                        const struct cairn_rights_whom *whom, struct cairn_buf *why)
{
    unsigned needs = 0;

    for (size_t i = 0; i < CAIRN_PROBE_COUNT; i++) {
        int code = results->codes[i];

        if (code == -CAIRN_EPERM && probes[i].judged)
            needs |= cairn_rights_explain(rights, probes[i].act, whom, &why[i]);
        else if (code == -CAIRN_EUNSUPPORTED)
            cairn_buf_add_str(&why[i], "this kernel does not have it, or hides it");
        else if (code < 0)
            cairn_buf_add_str(&why[i], cairn_err_sentence(code));
    }
    return needs;
}

static bool works(const struct patient *patient, enum cairn_probe probe)
{
    return patient->child.codes[probe] == 0 && patient->process.codes[probe] == 0;
}

static int examine(struct patient *patient, struct cairn_err *err)
{
    struct cairn_rights_whom child, process;
    char words[32] = "run";
    unsigned needs;

    cairn_rights_read(&patient->rights);
    cairn_rights_child(&patient->rights, &child);
    if (patient->pid != 0) {
        if (cairn_rights_whom(patient->pid, &process) < 0)
            return cairn_err_set(err, -CAIRN_EGONE, 0, "doctor", "there is no process %d",
                                 (int)patient->pid);
        snprintf(words, sizeof(words), "attach %d", (int)patient->pid);
    }
    CAIRN_TRY(cairn_probe_child(&patient->child, err));
    CAIRN_TRY(cairn_cage_try(&patient->cage, err));
    needs = explain(&patient->rights, &patient->child, &child, patient->why[0]);
    if (patient->pid != 0) {
        cairn_probe_process(patient->pid, &patient->process, &patient->python);
        needs |= explain(&patient->rights, &patient->process, &process, patient->why[1]);
        if (patient->python.code == -CAIRN_EPERM && works(patient, CAIRN_PROBE_READ))
            needs |= CAIRN_NEED_ROOT; /* to open its file */
    }
    cairn_rights_allow(&patient->rights, needs, words, &patient->allow);
    return 0;
}

static int status_of(const struct patient *patient)
{
    if (!works(patient, CAIRN_PROBE_READ))
        return cairn_err_status(-CAIRN_EPERM);
    return patient->pid != 0 ? cairn_err_status(patient->python.code) : 0;
}

/* What the kernel judges by. */
static void put_system(const struct cairn_rights *rights, struct cairn_buf *out)
{
    struct utsname system = {.sysname = "Linux"};

    (void)uname(&system);
    cairn_buf_printf(out, "cairn " CAIRN_VERSION " on %s %s %s\n\n", system.sysname, system.release,
                     system.machine);
    cairn_buf_printf(out, "rights     uid %lu, ", (unsigned long)rights->uid);
    if (rights->yama >= 0)
        cairn_buf_printf(out, "ptrace_scope %d, ", rights->yama);
    if (rights->paranoid > -2)
        cairn_buf_printf(out, "perf_event_paranoid %d, ", rights->paranoid);
    cairn_buf_printf(out, "%s seccomp filter, container: %s\n", rights->seccomp == 2 ? "a" : "no",
                     containers[rights->container]);
}

/* What the cage is without, and why: the first of it. False: nothing is amiss. */
static bool find_gap(const struct cairn_cage_held *held, const char **ret_what, int *ret_why)
{
    const struct {
        const char *what;
        int why;
    } parts[] = {{"no seccomp filter", held->filter},
                 {"with the rights of this user", held->user},
                 {"rights may be had again", held->fixed},
                 {"without limits", held->limits}};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        *ret_what = parts[i].what;
        *ret_why = parts[i].why;
        if (parts[i].why != 0)
            return true;
    }
    return false;
}

static void put_cage(const struct cairn_cage_held *held, struct cairn_buf *out)
{
    const char *what;
    char buf[128];
    int why;

    cairn_buf_add_str(out, "cage       ");
    if (find_gap(held, &what, &why))
        cairn_buf_printf(out, "%s: %s\n", what, cairn_cage_why(why, buf, sizeof(buf)));
    else
        cairn_buf_add_str(out,
                          "seccomp: files of other tools are read by a child without rights\n");
}

static void put_head(const struct patient *patient, struct cairn_buf *out)
{
    bool works_here = works(patient, CAIRN_PROBE_READ);

    cairn_buf_printf(out, "engine     %s\n",
                     works_here ? "sampling from outside, by process_vm_readv"
                                : "none: memory of the program may not be read");
    cairn_buf_printf(out, "children   %s\n",
                     works(patient, CAIRN_PROBE_RECORDS) ? "seen as they start, by perf records"
                                                         : "looked for now and then");
    cairn_buf_printf(out, "CPU time   %s\n",
                     works(patient, CAIRN_PROBE_SCHEDSTAT) ? "by schedstat" : "not known");
    put_cage(&patient->cage, out);
    if (patient->pid == 0)
        return;
    cairn_buf_add_str(out, "python     ");
    if (patient->python.code == 0)
        cairn_buf_printf(out, "%s in process %d, layout: %s", patient->python.version,
                         (int)patient->pid, patient->python.layout);
    else
        cairn_escape_terminal(out, cairn_span_of(patient->python.why.text));
    cairn_buf_u8(out, '\n');
}

static const char *word(int code)
{
    return code == 0 ? "works" : "REFUSED";
}

static void put_reasons(const struct patient *patient, struct cairn_buf *out)
{
    for (size_t i = 0; i < CAIRN_PROBE_COUNT; i++)
        for (unsigned on = 0; on < 2; on++) {
            if (patient->why[on][i].size_bytes == 0)
                continue;
            cairn_buf_printf(out, "\nrefused    %s%s: ", probes[i].name,
                             on == 0 ? "" : " on the process");
            cairn_escape_terminal(out, cairn_buf_span(&patient->why[on][i]));
        }
    if (patient->allow.size_bytes == 0)
        return;
    cairn_buf_add_str(out, "\nto allow   ");
    cairn_buf_add(out, patient->allow.data, patient->allow.size_bytes);
}

static void put_text(const struct patient *patient, struct cairn_buf *out)
{
    put_system(&patient->rights, out);
    put_head(patient, out);
    cairn_buf_printf(out, "\n%-17s %-10s ", "tried", "on a child");
    if (patient->pid != 0)
        cairn_buf_printf(out, "%-10s ", "on it");
    cairn_buf_add_str(out, "gives\n");
    for (size_t i = 0; i < CAIRN_PROBE_COUNT; i++) {
        cairn_buf_printf(out, "%-17s %-10s ", probes[i].name, word(patient->child.codes[i]));
        if (patient->pid != 0)
            cairn_buf_printf(out, "%-10s ", word(patient->process.codes[i]));
        cairn_buf_printf(out, "%s\n", probes[i].gives);
    }
    put_reasons(patient, out);
    if (out->size_bytes > 0 && out->data[out->size_bytes - 1] != '\n')
        cairn_buf_u8(out, '\n');
}

/* Text, or null where there is none. */
static void put_json_text(struct cairn_json *json, const char *key, struct cairn_span text)
{
    if (text.size_bytes > 0)
        cairn_json_put_text(json, key, text);
    else
        cairn_json_put_null(json, key);
}

static void put_json_setting(struct cairn_json *json, const char *key, int value, int lowest)
{
    if (value >= lowest)
        cairn_json_put_number(json, key, value);
    else
        cairn_json_put_null(json, key);
}

static void put_json_system(struct cairn_json *json, const struct cairn_rights *rights)
{
    cairn_json_key(json, cairn_span_of("system"));
    cairn_json_object(json);
    cairn_json_put_u64(json, "uid", rights->uid);
    cairn_json_put_str(json, "container", containers[rights->container]);
    cairn_json_put_bool(json, "seccomp_filter", rights->seccomp == 2);
    put_json_setting(json, "ptrace_scope", rights->yama, 0);
    put_json_setting(json, "perf_event_paranoid", rights->paranoid, -1);
    cairn_json_close(json);
}

static void put_json_cage(struct cairn_json *json, const struct cairn_cage_held *held)
{
    const char *what;
    char text[256], buf[128];
    int why, size = 0;

    if (find_gap(held, &what, &why))
        size = snprintf(text, sizeof(text), "%s: %s", what, cairn_cage_why(why, buf, sizeof(buf)));
    cairn_json_key(json, cairn_span_of("cage"));
    cairn_json_object(json);
    cairn_json_put_bool(json, "seccomp", held->filter == 0);
    put_json_text(json, "why", cairn_span_of(size > 0 ? text : NULL));
    cairn_json_close(json);
}

static void put_json_python(struct cairn_json *json, const struct patient *patient)
{
    const struct cairn_probed_python *python = &patient->python;

    if (patient->pid == 0) {
        cairn_json_put_null(json, "pid");
        cairn_json_put_null(json, "python");
        return;
    }
    cairn_json_put_u64(json, "pid", (uint64_t)patient->pid);
    cairn_json_key(json, cairn_span_of("python"));
    cairn_json_object(json);
    put_json_text(json, "version", cairn_span_of(python->version));
    put_json_text(json, "layout", cairn_span_of(python->layout));
    put_json_text(json, "why", cairn_span_of(python->code < 0 ? python->why.text : NULL));
    cairn_json_close(json);
}

static void put_json_probes(struct cairn_json *json, const struct patient *patient)
{
    cairn_json_key(json, cairn_span_of("probes"));
    cairn_json_array(json);
    for (unsigned on = 0; on < (patient->pid != 0 ? 2u : 1u); on++)
        for (size_t i = 0; i < CAIRN_PROBE_COUNT; i++) {
            const struct cairn_probes *results = on == 0 ? &patient->child : &patient->process;

            cairn_json_object(json);
            cairn_json_put_str(json, "name", probes[i].name);
            cairn_json_put_str(json, "on", on == 0 ? "child" : "process");
            cairn_json_put_bool(json, "works", results->codes[i] == 0);
            put_json_text(json, "why", cairn_buf_span(&patient->why[on][i]));
            cairn_json_put_str(json, "gives", probes[i].gives);
            cairn_json_close(json);
        }
    cairn_json_close(json);
}

static int put_json(const struct patient *patient, struct cairn_buf *out)
{
    struct cairn_json json;

    cairn_json_init(&json, out, 2);
    cairn_json_object(&json);
    cairn_json_put_u64(&json, "schema", SCHEMA);
    cairn_json_put_bool(&json, "sampling", works(patient, CAIRN_PROBE_READ));
    cairn_json_put_str(&json, "children", works(patient, CAIRN_PROBE_RECORDS) ? "perf" : "poll");
    put_json_python(&json, patient);
    put_json_probes(&json, patient);
    put_json_text(&json, "allow", cairn_buf_span(&patient->allow));
    put_json_cage(&json, &patient->cage);
    put_json_system(&json, &patient->rights);
    cairn_json_close(&json);
    return cairn_json_end(&json);
}

/* A negative code when there is no answer, else the exit status of having printed it. */
static int show(const struct patient *patient, bool json, struct cairn_err *err)
{
    struct cairn_buf out;
    int code = 0, status;

    cairn_buf_init(&out, TEXT_MAX_BYTES);
    if (json)
        code = put_json(patient, &out);
    else
        put_text(patient, &out);
    if (code < 0)
        cairn_err_set(err, code, 0, "doctor", "the answer could not be put together");
    status = code < 0 ? code : cairn_say_out(&out);
    cairn_buf_release(&out);
    return status;
}

int cairn_cmd_doctor(struct cairn_call *call)
{
    struct patient patient = {0};
    struct cairn_err err = {0};
    int code = 0, status = 0;

    cairn_buf_init(&patient.allow, TEXT_MAX_BYTES);
    for (size_t i = 0; i < CAIRN_PROBE_COUNT; i++) {
        cairn_buf_init(&patient.why[0][i], TEXT_MAX_BYTES);
        cairn_buf_init(&patient.why[1][i], TEXT_MAX_BYTES);
    }
    if (call->words.count > 0)
        code = cairn_pid_read(call->words.items[0], &patient.pid, &err);
    if (code == 0)
        code = examine(&patient, &err);
    if (code == 0)
        status = code = show(&patient, call->settings.json, &err);
    if (code < 0)
        status = cairn_say_err(&err);
    else if (status == 0)
        status = status_of(&patient);
    cairn_buf_release(&patient.allow);
    for (size_t i = 0; i < CAIRN_PROBE_COUNT; i++) {
        cairn_buf_release(&patient.why[0][i]);
        cairn_buf_release(&patient.why[1][i]);
    }
    return status;
}
