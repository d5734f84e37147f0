"""`cairn doctor`: each probe is tried for real, and what is refused has a reason and a remedy."""
import os
import shutil
import subprocess
import sys

import pytest

import harness
from harness import execute, finish, read_line

REFUSE = [sys.executable, harness.TARGETS / "refuse.py"]
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
PROBES = ["process_vm_readv", "perf task clock", "perf records", "schedstat", "wchan"]


def filtered(cairn, calls, *args, **env):
    return execute([*REFUSE, calls, cairn.binary, *args], **cairn.options({"env": env}))


def works(document, on="child"):
    return {p["name"]: p["works"] for p in document["probes"] if p["on"] == on}


def test_it_says_that_sampling_works_here(cairn):
    ended = cairn("doctor").expect()
    assert "process_vm_readv" in ended.text and ended.err == b""
    document = cairn("doctor", "--json").expect().json()
    assert document["sampling"] is True and list(works(document)) == PROBES
    assert works(document)["process_vm_readv"] is True
    assert document["system"]["uid"] == os.geteuid()
    assert document["pid"] is None and document["python"] is None


def test_it_names_the_python_of_a_process(cairn, interpreter, worker):
    target = worker(interpreter)
    pid = target.pid
    version = ".".join(map(str, interpreter.version[:3]))
    assert f"{version} in process {pid}" in cairn("doctor", pid).expect().text
    document = cairn("doctor", "--json", pid).expect().json()
    assert document["pid"] == pid and document["python"]["why"] is None
    assert document["python"]["version"].startswith(version)
    assert document["python"]["layout"] in ("offsets", "table", "table+probe")
    assert works(document, "process")["process_vm_readv"] is True
    target.check_answer()


def test_what_is_no_python_is_said(cairn, free_pid):
    process = harness.spawn(["sleep", "30"])
    try:
        ended = cairn("doctor", process.pid).expect(harness.NOT_SUPPORTED)
        assert "no Python" in ended.text
    finally:
        harness.end_group(process)
        finish(process)
    assert str(free_pid) in cairn("doctor", free_pid).expect(harness.CAIRN_FAILED).talk
    cairn("doctor", "12x").expect(harness.USAGE)
    cairn("doctor", "1", "2").expect(harness.USAGE)


OLD = [i for i in harness.installed_interpreters() if i.version[:2] not in harness.SUPPORTED]


@pytest.mark.parametrize("old", OLD, ids=lambda i: i.label)
def test_a_python_that_cannot_be_read_is_refused_by_name(cairn, old):
    code = "import sys; sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.read()"
    process = harness.spawn([old.executable, "-c", code])
    try:
        assert read_line(process) == "ready"
        document = cairn("doctor", "--json", process.pid).expect(harness.NOT_SUPPORTED).json()
    finally:
        harness.end_group(process)
        finish(process)
    assert document["sampling"] is True and document["python"]["version"] is None
    assert f"{old.version[0]}.{old.version[1]}" in document["python"]["why"]


@pytest.mark.parametrize(
    "calls, lost",
    [
        ("process_vm_readv", PROBES[:1]),
        ("perf_event_open", PROBES[1:3]),
        ("process_vm_readv,perf_event_open", PROBES[:3]),
    ],
)
def test_what_a_filter_refuses_is_found_out(cairn, calls, lost):
    status = harness.NO_PERMISSION if PROBES[0] in lost else 0
    before = works(cairn("doctor", "--json").expect().json())
    document = filtered(cairn, calls, "doctor", "--json").expect(status).json()
    assert document["sampling"] is (PROBES[0] not in lost)
    if "perf records" in lost:
        assert document["children"] == "poll"
    for probe in document["probes"]:
        name = probe["name"]
        assert probe["works"] is (before[name] and name not in lost), probe
        assert (probe["why"] is None) is probe["works"]
        assert name not in lost or not before[name] or "seccomp" in probe["why"]
    assert document["allow"] and document["system"]["seccomp_filter"] is True
    text = filtered(cairn, calls, "doctor").expect(status).text
    assert text.count("REFUSED") >= len(lost) and document["allow"] in text


def test_in_kubernetes_the_setting_is_that_of_a_pod(cairn):
    ended = filtered(cairn, "process_vm_readv", "doctor", KUBERNETES_SERVICE_HOST="10.0.0.1")
    assert "securityContext: {" in ended.expect(harness.NO_PERMISSION).text


def test_a_process_of_somebody_else(cairn, python, worker, folder):
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    target = worker(python)
    shutil.copy(cairn.binary, folder / "cairn")
    ended = execute(
        [*NOBODY, folder / "cairn", "doctor", target.pid], cwd=folder, env=cairn.environment()
    ).expect(harness.NO_PERMISSION)
    assert "it belongs to root" in ended.text
    assert f"sudo cairn attach {target.pid}" in ended.text
    target.check_answer()


def test_a_closed_stdout_is_a_failure(cairn):
    with open("/dev/full", "wb") as full:
        cairn("doctor", stdout=full).expect(harness.CAIRN_FAILED)


def test_nothing_is_left_running(cairn):
    process = cairn.spawn("doctor", stdout=subprocess.PIPE)
    try:
        process.communicate(timeout=harness.DEADLINE_S)  # which ends nobody, as finish() does
        left = [p for p in os.listdir("/proc") if p.isdigit() and harness.session_of(p) == process.pid]
        assert not left
    finally:
        harness.end_group(process)
