"""Children, however they come to be, and a process that becomes another program."""
import json
import os

import pytest

import harness
from harness import time_in

pytestmark = pytest.mark.alone


def by_process(stacks):
    """{pid: stacks}, from an export with --processes."""
    found = {}
    for stack, value in stacks.items():
        label = stack[0].name
        assert label.startswith("process:"), stack
        found.setdefault(int(label.removeprefix("process:").split()[0]), {})[stack] = value
    return found


@pytest.mark.parametrize("mode", ["fork", "fork-exec", "subprocess", "spawn"])
def test_children_are_followed(cairn, interpreter, mode):
    seconds = 0.8
    file, ended = cairn.record(interpreter, "children.py", mode, seconds)
    facts = ended.last_json()
    processes = by_process(cairn.collapsed(file, "--processes"))
    blind_us = cairn.blind_s(file, ended) * 1e6
    assert time_in(processes[facts["parent"]], "parent_work") > 0.7 * seconds * 1e6 - blind_us
    for child in facts["children"]:
        assert child in processes, f"the child {child} was not seen"
        # Its first tenths may be gone before it is found and read, never the greater part.
        assert time_in(processes[child], "child_work") > 0.6 * seconds * 1e6 - blind_us
        assert time_in(processes[child], "parent_work") == 0


def test_children_of_a_shell_are_followed(cairn, interpreter, folder):
    command = interpreter.command("busy.py", 0.7)
    words = " ".join(f"'{word}'" for word in command)
    out = folder / "out.cairn"
    ended = cairn("run", "-o", out, "sh", "-c", f"{words} & {words}; wait").expect()
    processes = by_process(cairn.collapsed(out, "--processes"))
    heavy_us = [time_in(stacks, "heavy") for stacks in processes.values()]
    least_us = 200_000 - cairn.blind_s(out, ended) * 1e6
    assert sum(us > least_us for us in heavy_us) >= 2
    assert sum(us > 0 for us in heavy_us) <= 2


def test_exec_midway_keeps_both_programs(cairn, interpreter):
    seconds = 0.8
    file, ended = cairn.record(interpreter, "exec_midway.py", seconds)
    stacks = cairn.collapsed(file)
    before, after = time_in(stacks, "before_exec"), time_in(stacks, "after_exec")
    least_us = 0.6 * seconds * 1e6 - cairn.blind_s(file, ended) * 1e6
    assert before > least_us and after > least_us
    assert not any(
        {"before_exec", "after_exec"} <= {frame.name for frame in stack} for stack in stacks
    )


def test_a_command_line_that_comes_late_is_told(cairn, python):
    """Between an exec and its command line a busy machine can put any time."""
    file, ended = cairn.record(python, "late_command.py", 0.8)
    events = json.loads(cairn("export", file, "-f", "chrome", "-o", "-").expect().text)["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert "late_command.py" in names[ended.last_json()["child"]], names


def test_exec_by_another_thread_begins_anew(cairn, interpreter):
    """The thread that goes on under the number of the first has another clock than that had."""
    seconds = 0.8
    file, ended = cairn.record(interpreter, "exec_midway.py", seconds, "thread")
    used_s, blind_s = ended.last_json()["cpu_s"], cairn.blind_s(file, ended)
    cpu_s = time_in(cairn.collapsed(file, "--metric", "cpu"), "after_exec") / 1e6
    print(f"\n{interpreter.label}: {cpu_s:.3f} of {used_s:.3f} s")
    # Its first hundredths may be gone before the second Python is found and read.
    assert 0.8 * used_s - blind_s < cpu_s < 1.05 * used_s + 0.02
    wall_s = sum(cairn.collapsed(file).values()) / 1e6
    assert wall_s < cairn.report(file)["recording"]["wall_s"] * 1.02 + 0.1


def test_a_process_goes_on_without_its_first_thread(cairn, interpreter):
    """It is a zombie then, in name; so it is for a moment where another thread calls exec."""
    file, ended = cairn.record(interpreter, "leader_exits.py", 0.8)
    told, blind_s = ended.last_json(), cairn.blind_s(file, ended)
    stacks = cairn.collapsed(file, "--metric", "cpu")
    cpu_s = sum(stacks.values()) / 1e6
    assert told["cpu_s"] - 0.05 - blind_s < cpu_s < 1.05 * told["cpu_s"] + 0.05
    # Both sleep and wait for the GIL for as long as the machine lets them: the program tells.
    wall_s, whole_s = sum(cairn.collapsed(file).values()) / 1e6, cairn.report(file)["recording"]["wall_s"]
    assert wall_s < whole_s * 1.02 + told["both_s"], "who is over has no time"
    # Its first half may have been read before the other thread was.
    assert time_in(stacks, "stay") / 1e6 > 0.5 * told["stay_s"] - blind_s


def test_time_before_python_is_there_is_counted(cairn, interpreter, folder):
    words = " ".join(f"'{word}'" for word in interpreter.command("busy.py", 0.5))
    out = folder / "out.cairn"
    ended = cairn("run", "-o", out, "sh", "-c", f"sleep 0.4; exec {words}").expect()
    stacks = cairn.collapsed(out)
    outside, blind_us = time_in(stacks, "[not python]"), cairn.blind_s(out, ended) * 1e6
    assert outside > 250_000 - blind_us, "the shell's time is [not python], it is not dropped"
    assert time_in(stacks, "heavy") > 200_000 - blind_us


def test_a_process_that_is_not_wanted_can_be_left_out(cairn, python):
    file, ended = cairn.record(python, "children.py", "fork", 0.6)
    facts = ended.last_json()
    only = cairn.collapsed(file, "--process", str(facts["parent"]))
    assert time_in(only, "parent_work") > 300_000 - cairn.blind_s(file, ended) * 1e6
    assert time_in(only, "child_work") == 0


def test_no_children_leaves_them_alone(cairn, python):
    file, ended = cairn.record(python, "children.py", "fork", 0.5, options=["--no-children"])
    processes = by_process(cairn.collapsed(file, "--processes"))
    assert set(processes) == {ended.last_json()["parent"]}


def test_children_are_followed_without_root(cairn, folder):
    """The recording says by which way they were found; both ways find them."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    system = "/usr/bin/python3"
    if (harness.version_of(system) or (0,))[:2] not in harness.SUPPORTED:
        pytest.skip(f"{system} is not a supported CPython that everybody may read")
    folder.chmod(0o777)
    for source in (cairn.binary, harness.TARGETS / "children.py"):
        copy = folder / source.name
        copy.write_bytes(source.read_bytes())
        copy.chmod(0o755)
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    program = [system, "children.py", "fork-exec", "0.8"]
    run = [*nobody, folder / cairn.binary.name, "run", "-o", "x.cairn", *program]
    ended = harness.execute(run, cwd=folder, env=cairn.environment(HOME=str(folder))).expect()
    processes = by_process(cairn.collapsed(folder / "x.cairn", "--processes"))
    least_us = 400_000 - cairn.blind_s(folder / "x.cairn", ended) * 1e6
    for child in ended.last_json()["children"]:
        assert time_in(processes.get(child, {}), "child_work") > least_us


def test_who_waits_for_a_processor_is_not_said_to_run(cairn, interpreter):
    """What is counted between two entries of the kernel's book is set right when it was too much."""
    file, ended = cairn.record(interpreter, "contended.py", 8)
    used = {int(pid): seconds for pid, seconds in ended.last_json().items()}
    rows = cairn.report(file, "--by", "process", "--metric", "cpu", "--limit", "20")["rows"]
    told = {row["pid"]: row["self_s"] for row in rows if row["pid"] in used}
    whole_s, told_s = sum(used.values()), sum(told.values())
    print(f"\n{interpreter.label}: {told_s:.3f} of {whole_s:.3f} s, {told_s / whole_s:.3f}")
    assert 0.98 * whole_s - cairn.blind_s(file, ended) < told_s < 1.02 * whole_s


def test_no_wait_for_a_processor_is_told_twice(cairn, interpreter):
    """Of who works and sleeps in turns beside somebody who only works: what it ran, waited and slept."""
    with harness.proc() as options:
        file, ended = cairn.record(interpreter, "turns.py", 3, **options)
    facts, script = ended.last_json(), interpreter.path("turns.py")
    truth = {"cpu": facts["cpu_s"], "runq": facts["runq_s"]}
    truth["blocked"] = facts["wall_s"] - sum(truth.values())
    near_s = 0.025 * facts["wall_s"] + cairn.blind_s(file, ended)
    told = {}
    for metric in truth:
        stacks = cairn.collapsed(file, "--metric", metric)
        told[metric] = (time_in(stacks, "main", script) - time_in(stacks, "compete", script)) / 1e6
    print(f"\n{interpreter.label}: {told} of {truth}")
    for metric, seconds in truth.items():
        assert abs(told[metric] - seconds) < near_s, (metric, told, truth)
