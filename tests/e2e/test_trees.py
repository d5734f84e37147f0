"""Trees of processes: each has a role, none is averaged with another, none is missed."""
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import harness
import strace
from harness import time_in

WORKERS = 4
STEP_S = 0.1  # of trees.py: worker i takes (i + 1) of them


def roles_of(report):
    return {role["name"]: role for role in report["roles"]}


def pids_by_role(cairn, file):
    rows = cairn.report(file, "--by", "process", "--idle")["rows"]
    return {row["role"]: row["pid"] for row in rows}


def most_missed(blind_s):
    """How many of the workers can be over before anybody looks: worker i needs (i + 1) steps, so who
    stood still for two can have missed the first two."""
    return min(WORKERS, int(blind_s / STEP_S))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver", "executor", "subprocess"])
def test_workers_are_named_and_not_averaged(cairn, interpreter, method):
    file, ended = cairn.record(interpreter, "trees.py", method, WORKERS)
    facts = ended.last_json()
    name = "trees" if method == "subprocess" else "worker"
    report, blind_s = cairn.report(file), cairn.blind_s(file, ended)
    roles = roles_of(report)
    if method == "subprocess":
        name = "trees trees"  # the same program, started by itself
    assert roles["trees"]["count"] == 1 and roles["trees"]["parent"] is None
    told = {name: (role["count"], role["parent"]) for name, role in roles.items()}
    assert ("forkserver" in roles) == (method == "forkserver"), told
    assert ("resource_tracker" in roles) == (method in ("spawn", "forkserver"))

    labels = pids_by_role(cairn, file)
    found = {pid for label, pid in labels.items() if name in (label, label.rpartition(" ")[0])}
    assert found <= set(facts["children"]) and labels["trees"] == facts["parent"]
    if len(found) < WORKERS:
        assert WORKERS - len(found) <= most_missed(blind_s), (report["roles"], blind_s)
        return  # the rest is about four
    assert found == {labels[f"{name} {i}"] for i in range(WORKERS)}
    workers = roles[name]
    assert workers["count"] == workers["sampled"] == WORKERS, report["roles"]
    assert workers["parent"] == ("forkserver" if method == "forkserver" else "trees")

    # The least has one step to do and the most four; each has its own start-up besides. What one did
    # behind the last look at it is not known.
    cpu, wall = workers["cpu"], workers["wall"]
    assert cpu["max_s"] - cpu["min_s"] > 1.5 * STEP_S - blind_s
    assert cpu["min_s"] <= cpu["median_s"] <= cpu["max_s"]
    assert cpu["max_s"] > 3.2 * STEP_S - blind_s
    assert 0 < wall["min_s"] <= wall["median_s"] <= wall["max_s"] <= report["recording"]["wall_s"]
    on_cpu = roles_of(cairn.report(file, "--metric", "cpu"))[name]
    assert on_cpu["function"] == "work"

    stacks = cairn.collapsed(file, "--process", workers["kind"], "--metric", "cpu")
    alone = cairn.collapsed(file, "--process", f"{name} 0", "--processes", "--metric", "cpu")
    least_s = 0.7 * sum(range(1, WORKERS + 1)) * STEP_S - blind_s
    assert time_in(stacks, "work") > least_s * 1e6
    assert len({stack[0].name for stack in alone}) == 1


def test_the_report_names_roles(cairn, python):
    file, ended = cairn.record(python, "trees.py", "fork", WORKERS)
    text = cairn("report", file).expect().text
    section = text[text.index("\nprocesses ") :].split("\n\n")[0]
    seen = roles_of(cairn.report(file))["worker"]["count"]
    assert WORKERS - most_missed(cairn.blind_s(file, ended)) <= seen <= WORKERS
    assert "  trees " in section
    assert f"  worker 0–{seen - 1} " in section or seen < 2, text
    assert " % work (trees)" in section, text
    by_process = cairn("report", "--by", "process", file).expect().text
    assert f"  worker {seen - 1}  " in by_process or seen < 2


def test_fifty_workers(cairn, interpreter):
    """Each is there, under its own number, with what it ran."""
    file, ended = cairn.record(interpreter, "fifty.py")
    told = {int(pid): cpu_s for pid, cpu_s in ended.last_json()["cpu_s"].items()}
    workers = roles_of(cairn.report(file))["worker"]
    assert workers["count"] == workers["sampled"] == 50
    assert "  worker 0–49 " in cairn("report", file).expect().text
    labels = pids_by_role(cairn, file)
    assert {labels[f"worker {i}"] for i in range(50)} == set(told)
    rows = cairn.report(file, "--by", "process", "--idle", "--metric", "cpu", "--limit", 60)["rows"]
    seen = {row["pid"]: row["total_s"] for row in rows}
    for pid, cpu_s in told.items():
        assert abs(seen[pid] - cpu_s) < 0.02 + ended.taken_s, (pid, seen[pid], cpu_s)


def test_joblib(cairn, equipped):
    interpreter, env = equipped
    file, ended = cairn.record(interpreter, "jobs.py", 3, env=env)
    facts = ended.last_json()
    roles, labels = roles_of(cairn.report(file)), pids_by_role(cairn, file)
    assert roles["worker"]["count"] == 3 and "resource_tracker" in roles
    workers = {pid for label, pid in labels.items() if label.startswith("worker ")}
    assert set(facts["children"]) <= workers
    assert roles["worker"]["function"] == "work"


def wait_for_port(process, port):
    """Returns when somebody listens, which the log of gunicorn says."""
    while f"Listening at: http://127.0.0.1:{port}" not in harness.read_line(process):
        pass


def test_gunicorn(cairn, folder, equipped):
    interpreter, env = equipped
    port, file = harness.free_port(), folder / "web.cairn"
    *python, script = interpreter.command("web_app.py")
    server = [*python, "-m", "gunicorn", "--chdir", Path(script).parent, "--workers", "3",
              "--log-file", "-", "--worker-tmp-dir", "/tmp", "--bind", f"127.0.0.1:{port}"]
    if interpreter.version >= (3, 10):  # gunicorn 27
        server.append("--no-control-socket")
    options = ["-o", file, "--report", folder / "report"]
    run = cairn.spawn("run", *options, "--", *server, "web_app:application", env=env,
                      stderr=subprocess.STDOUT)  # where the log goes
    pids = set()
    try:
        wait_for_port(run, port)
        for path in ["/"] * 12 + ["/stop"]:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
                pids.add(int(answer.read()))
    except BaseException:
        harness.end_group(run)
        raise
    assert harness.finish(run).status == 0
    roles, labels = roles_of(cairn.report(file)), pids_by_role(cairn, file)
    assert roles["gunicorn"]["count"] == 1 and roles["worker"]["count"] == 3, roles
    assert pids <= {pid for label, pid in labels.items() if label.startswith("worker ")}
    assert roles["worker"]["function"] == "answer"


@pytest.mark.alone
def test_a_child_that_lives_fifty_milliseconds_is_seen(cairn, interpreter):
    file, ended = cairn.record(interpreter, "trees.py", "brief", 20)
    rows = cairn.report(file, "--by", "process", "--idle")["rows"]
    missing = set(ended.last_json()["children"]) - {row["pid"] for row in rows}
    # One that is there while nobody has a processor is over when somebody has.
    assert len(missing) <= cairn.blind_s(file, ended) // 0.04


@pytest.mark.alone
def test_children_are_found_without_records_of_forks(cairn, python, folder):
    file = folder / "polled.cairn"
    refuse = [sys.executable, harness.TARGETS / "refuse.py", "perf_event_open"]
    run = [*refuse, cairn.binary, "run", "-o", file, *python.command("trees.py", "brief", 20)]
    ended = harness.execute(run, **cairn.options({})).expect()
    report = cairn.report(file, "--by", "process", "--idle")
    assert report["recording"]["children"] == "poll"
    seen = set(ended.last_json()["children"]) & {row["pid"] for row in report["rows"]}
    # Looked for every 10 ms: who does not get a processor for five of those misses one.
    assert len(seen) >= 15 - cairn.blind_s(file, ended) // 0.04 and seen
    assert roles_of(report)["fork"]["count"] == len(seen)


@pytest.mark.parametrize("records", [True, False])
def test_who_is_over_and_not_waited_for_is_met_once(cairn, python, folder, records):
    """A child that nobody waits for stays listed, without a thread."""
    strace.require()
    (folder / "x.py").write_text(
        "import os, time\n"
        "children = [os.fork() or os._exit(0) for _ in range(10)]\n"
        "end = time.perf_counter() + 2.5\nwhile time.perf_counter() < end:\n    sum(range(1000))\n"
        "print(*children)\n"
    )
    refuse = [] if records else [sys.executable, harness.TARGETS / "refuse.py", "perf_event_open"]
    trace = ["strace", "-o", "calls", "-e", "trace=openat,readlink,readlinkat", *refuse]
    run = [cairn.binary, "run", "-o", "x.cairn", "--python", python.executable, "x.py"]
    ended = harness.execute([*trace, *run], **cairn.options({})).expect()
    calls = (folder / "calls").read_text()
    for child in ended.text.split():
        assert calls.count(f'"/proc/{child}/task"') < 10, child


# At 1 Hz all of them are over at the first tick, or at none.
@pytest.mark.parametrize("rate", ["1khz", "1hz"])
def test_children_that_are_over_at_once_are_counted(cairn, python, rate):
    file, ended = cairn.record(python, "trees.py", "blink", 50, options=["-r", rate])
    report = cairn.report(file)
    if report["recording"]["children"] != "perf":
        pytest.skip("the kernel gives no records of forks: what nobody saw cannot be counted")
    seen = report["recording"]["processes"] - 1
    assert seen + report["quality"]["unseen"] == len(ended.last_json()["children"])


@pytest.mark.alone
def test_records_that_the_kernel_had_no_room_for_are_counted(cairn, python):
    many = 200 * os.cpu_count()  # a processor's ring holds 170 records, and each has two
    file, ended = cairn.record(python, "trees.py", "unwatched", many)
    report = cairn.report(file)
    if report["recording"]["children"] != "perf":
        pytest.skip("the kernel gives no records of forks: what nobody saw cannot be counted")
    quality, children = report["quality"], len(ended.last_json()["children"])
    seen = report["recording"]["processes"] - 1 + quality["unseen"]
    # Lost is what told of a birth, or of an end.
    assert 0 < quality["records_lost"] <= 2 * children
    assert seen < children <= seen + quality["records_lost"]
    text = " ".join(cairn("report", file).expect().text.split())
    assert f"{quality['records_lost']:,} records of forks and exits lost" in text


def test_threads_of_copies_have_their_own_names(cairn, interpreter):
    file, ended = cairn.record(interpreter, "trees.py", "threads", WORKERS)
    rows = cairn.report(file, "--by", "thread", "--idle", "--metric", "cpu")["rows"]
    names = [row["name"] for row in rows if row["name"].startswith("inner-")]
    assert len(names) >= WORKERS - most_missed(cairn.blind_s(file, ended)), rows
    assert len(set(names)) == len(names) and {*names} <= {f"inner-{i}" for i in range(WORKERS)}, rows
    assert len(set(ended.last_json()["children"])) == WORKERS


def test_a_daemon_is_followed(cairn, interpreter):
    file, ended = cairn.record(interpreter, "trees.py", "daemon")
    (daemon,) = ended.last_json()["children"]
    stacks = cairn.collapsed(file, "--process", str(daemon), "--metric", "cpu")
    assert time_in(stacks, "work") > (0.7 * 3 * STEP_S - cairn.blind_s(file, ended)) * 1e6


# At 10 kHz some of those who forked them are seen, and are gone when their children are told of.
@pytest.mark.parametrize("rate, count", [("1khz", 12), ("10khz", 40)])
def test_daemons_are_not_taken_for_the_program(cairn, interpreter, rate, count):
    """Who forked them is over at once; they are his children all the same."""
    file, _ = cairn.record(interpreter, "trees.py", "daemons", count, options=["-r", rate])
    report = cairn.report(file)
    if report["recording"]["children"] != "perf":
        pytest.skip("who made a daemon is in the kernel's records of forks alone")
    roles = roles_of(report)
    assert roles["trees"]["count"] == 1, report["roles"]
    assert {*roles} <= {"trees", "trees fork", "trees fork fork"}, report["roles"]


SHIM = """#!/bin/sh
# As pyenv's: asks others which Python is meant, and becomes that.
for step in 1 2 3; do name=$(sleep 0.02; basename "$0"); done
{before}
exec {words}
"""


def report_of_shim(cairn, interpreter, folder, before):
    shim, file = folder / "python", folder / "shim.cairn"
    words = " ".join(interpreter.command("trees.py", "fork", 2))
    shim.write_text(SHIM.format(words=words, before=before))
    shim.chmod(0o755)
    cairn("run", "-o", file, shim).expect()
    report = cairn.report(file)
    if report["recording"]["children"] != "perf":
        pytest.skip("what is over at once is in the kernel's records of forks alone")
    return report


def test_what_a_shell_runs_before_it_is_the_program(cairn, interpreter, folder):
    roles = roles_of(report_of_shim(cairn, interpreter, folder, ""))
    assert {*roles} == {"trees", "worker", "start-up"}, roles
    assert roles["trees"]["count"] == 1 and roles["trees"]["parent"] is None
    assert roles["start-up"]["parent"] == "trees"
    assert roles["start-up"]["count"] >= 3  # whatever else was too short


def test_what_a_shell_leaves_beside_the_program_keeps_its_name(cairn, python, folder):
    roles = report_of_shim(cairn, python, folder, "sleep 5 <&- >&- 2>&- & sleep 0.05")["roles"]
    assert ("sleep", "trees") in {(role["kind"], role["parent"]) for role in roles}, roles
    assert "start-up" not in {role["kind"] for role in roles}, roles


@pytest.mark.alone
def test_a_pid_that_is_used_again_is_another_process(cairn, python):
    if os.geteuid() != 0:
        pytest.skip("needs root, to choose the next pid")
    file, ended = cairn.record(python, "trees.py", "reuse")
    (pid,) = ended.last_json()["children"]
    rows = [row for row in cairn.report(file, "--by", "process", "--idle")["rows"]
            if row["pid"] == pid]
    stacks = cairn.collapsed(file, "--process", str(pid))
    blind_s = cairn.blind_s(file, ended)
    # Each works for 0.3 s: who stood still for that can have missed one of them.
    assert len(rows) >= 2 - (blind_s > 0.28), "both children have a row of their own"
    least_us = 0.15e6 - blind_s * 1e6
    assert time_in(stacks, "first_work") > least_us
    assert time_in(stacks, "second_work") > least_us


@pytest.mark.alone
def test_two_hundred_children_cost_little(cairn, python):
    file, ended = cairn.record(python, "trees.py", "idle", 200)
    facts, report = ended.last_json(), cairn.report(file)
    role = roles_of(report)["fork"]
    assert len(set(facts["children"])) == 200
    assert role["sampled"] == 200
    # One that is over has no time any more, even when its last record came before its end; when it
    # ended is seen at a tick.
    missed_s = report["quality"]["missed"] / 1000
    assert role["wall"]["max_s"] < max(facts["lived_s"]) + 0.1 + missed_s
    # 200 idle processes: what is paid is their discovery. Half a core it was, before.
    assert report["quality"]["own_cpu_s"] < 0.35 * report["recording"]["wall_s"]


@pytest.mark.alone
def test_two_hundred_that_all_work_cost_no_ticks(cairn, python, folder):
    """They have two hundred times as much to do as there are processors, when they are met as well."""
    if os.geteuid() != 0:
        pytest.skip("only root may go before as many, the others wait in line")
    count, seconds = 200, 4
    crowd = harness.spawn(python.command("crowd.py", count))
    try:
        assert harness.read_line(crowd) == "ready"
        ended = cairn("attach", "--for", f"{seconds}s", "-o", "out.cairn", crowd.pid).expect()
    finally:
        harness.end_group(crowd)
        harness.finish(crowd)
    report = cairn.report(folder / "out.cairn")
    if report["recording"]["children"] != "perf":
        pytest.skip("without the kernel's records every process is asked at every tick")
    assert report["recording"]["processes"] == count + 1
    assert report["quality"]["missed"] < 10 * seconds + 1000 * ended.taken_s, (report["quality"], ended.taken_s)
    working = roles_of(report)["fork"]
    assert working["count"] == working["sampled"] == count, (working, report["quality"])


def cpu_s_of(pids):
    """What the kernel has counted for them so far."""
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")


def test_children_that_are_there_already_did_nothing_before(cairn, python, folder):
    """What they ran before somebody attached is not in the recording, however they are found."""
    crowd = harness.spawn(python.command("crowd.py", 3))
    try:
        assert harness.read_line(crowd) == "ready"
        children = Path(f"/proc/{crowd.pid}/task/{crowd.pid}/children").read_text().split()
        while cpu_s_of(children) < 1:
            os.sched_yield()
        before_s = cpu_s_of(children)
        cairn("attach", "--for", "700ms", "-o", "out.cairn", crowd.pid).expect()
        ran_s = cpu_s_of(children) - before_s
    finally:
        harness.end_group(crowd)
        harness.finish(crowd)
    rows = cairn.report(folder / "out.cairn", "--by", "process", "--metric", "cpu")["rows"]
    assert {row["pid"] for row in rows if row["self_s"]} == {int(pid) for pid in children}
    assert sum(row["self_s"] for row in rows) <= ran_s + 0.01 * len(children)


def test_processes_without_end_are_told_of_once(cairn, python, folder):
    """What is the same of every child does not make each file of a recording longer."""
    others = [i for i in harness.supported_interpreters() if i.version[:2] != python.version[:2]]
    other = next((i for i in others if not i.chroot), python)
    (folder / "program.py").write_text(
        "import os, subprocess, sys, time\n"
        "for _ in range(12):\n"
        "    if os.fork() == 0:\n        time.sleep(0.06)\n        os._exit(0)\n"
        "    os.wait()\n"
        # Longer than a machine stands still: it must be looked into while it is there.
        f"subprocess.run([{other.executable!r}, '-c', 'import time; time.sleep(1.5)'])\n")
    cairn("run", "--report", "none", "-o", "x.cairn", "--", python.executable, "program.py").expect()
    told = cairn.report(folder / "x.cairn")["recording"]["environment"]
    pythons = {key: value for key, value in told.items() if re.match(r"target\.python(\.\d+)?$", key)}
    assert pythons["target.python"].startswith(".".join(map(str, python.version)))
    assert len(pythons) == len(set(pythons.values())), pythons
    if other is not python:
        assert any(text.startswith(".".join(map(str, other.version))) for text in pythons.values()), pythons


OLD = [i for i in harness.installed_interpreters() if i.version[:2] not in harness.SUPPORTED]


@pytest.mark.parametrize("old", OLD, ids=lambda i: i.label)
def test_a_child_that_cannot_be_read_says_why(cairn, python, folder, old):
    """A program of two Pythons, of which one is too old."""
    sleeps = "import time; time.sleep(1.5)"
    (folder / "program.py").write_text(f"import subprocess\nsubprocess.run([{old.executable!r}, '-c', {sleeps!r}])\n")
    ended = cairn("run", "-o", "x.cairn", "--", python.executable, "program.py").expect()
    told = cairn.report(folder / "x.cairn")["recording"]["environment"]["target.refused"]
    assert f"Python {old.version[0]}.{old.version[1]}" in told
    text = " ".join(ended.talk.split())
    assert "[unknown] is Python that could not be read: " + told in text


def test_names_with_blanks_stay_whole(cairn, python, folder):
    (folder / "my busy.py").write_bytes((harness.TARGETS / "busy.py").read_bytes())
    (folder / "starts it.py").write_text(
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, 'my busy.py', '0.1'])\n"
        "subprocess.run(f\"{sys.executable} 'my busy.py' 0.1; true\", shell=True)\n")
    cairn("run", "-o", "x.cairn", "--", python.executable, "starts it.py").expect()
    report = cairn.report("x.cairn")
    assert {role["kind"] for role in report["roles"]} == {"starts it", "my busy"}
    cairn("html", "-o", "x.html", "x.cairn").expect()
    assert "<title>starts it.py - Cairn</title>" in (folder / "x.html").read_text()
