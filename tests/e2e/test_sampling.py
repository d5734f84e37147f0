"""What the samples say, on every interpreter: stacks, lines, names, threads, states, quality."""
import os
import re
import subprocess
import sys

import pytest

import harness
import strace
from harness import TORN, TRUNCATED, Frame, time_in, unescaped

pytestmark = pytest.mark.alone


def line_of(script, text):
    lines = (harness.TARGETS / script).read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.strip() == text)


def has_frame(stack, name):
    return any(frame.name == name for frame in stack)


def spun(stacks, interpreter, script, name):
    return time_in(stacks, name, interpreter.path(script))


def test_functions_files_and_lines(cairn, interpreter):
    file, ended = cairn.record(interpreter, "lines.py", 1.0)
    truth = {int(line): s for line, s in ended.last_json()["line_s"].items()}
    path = interpreter.path("lines.py")
    seen = {}
    for stack, value in cairn.collapsed(file).items():
        for caller, callee in zip(stack, stack[1:]):
            if (caller.name, callee.name) == ("three_lines", "spin"):
                assert caller.file == path
                seen[caller.line] = seen.get(caller.line, 0) + value
    assert set(seen) == set(truth)
    near_s = 0.12 + cairn.blind_s(file, ended)
    for line, seconds in truth.items():
        assert abs(seen[line] / 1e6 - seconds) < near_s, (line, seen, truth)


def test_lines_first_and_none(cairn, python):
    file, _ = cairn.record(python, "busy.py", 0.5)
    definition = line_of("busy.py", "def heavy(until):")
    heavy = {f for s in cairn.collapsed(file) for f in s if f.name == "heavy"}
    assert {f.line for f in heavy} <= {definition + 1, definition + 2}
    first = {f for s in cairn.collapsed(file, "--lines", "first") for f in s}
    assert {f.line for f in first if f.name == "heavy"} == {definition}
    none = cairn("export", "-f", "collapsed", "--lines", "none", file).expect().text
    assert f"heavy ({python.path('busy.py')})" in none


def test_recursion_of_every_depth(cairn, interpreter):
    file, ended = cairn.record(interpreter, "recursion.py", 0.25)
    seen = {}
    for stack, value in cairn.collapsed(file).items():
        if stack[-1].name == "bottom":
            depth = sum(frame.name == "down" for frame in stack)
            seen[depth] = seen.get(depth, 0) + value
    told = ended.last_json()["bottom_s"]
    assert set(seen) == {int(depth) for depth in told}, "no depth that never was"
    near_s = 0.1 + cairn.blind_s(file, ended)
    for depth, seconds in told.items():
        assert abs(seen[int(depth)] / 1e6 - seconds) < near_s
    rows = {r["name"]: r for r in cairn.report(file, "--limit", "1000")["rows"]}
    assert rows["down"]["total_share"] <= 1, "recursion counts once in total"


def test_deep_stacks_are_whole(cairn, interpreter):
    file, ended = cairn.record(interpreter, "deep.py", 0.6)
    stacks = cairn.collapsed(file)
    path = interpreter.path("deep.py")
    spinning = {s: v for s, v in stacks.items() if has_frame(s, "spin")}
    least_s = ended.last_json()["spin_s"] - 0.2 - cairn.blind_s(file, ended)
    assert sum(spinning.values()) > max(0, least_s * 1e6)
    for stack in spinning:
        if TORN in stack:
            continue
        names = [frame.name for frame in stack if frame.file == path]
        assert names == ["<module>", "main"] + ["level"] * 200 + ["spin"][: len(names) - 202]
        assert TRUNCATED not in stack


def test_hard_names(cairn, interpreter):
    file, ended = cairn.record(interpreter, "names.py", 2.7, 9)
    facts = ended.last_json()
    text = cairn("export", "-f", "collapsed", "--threads", file).expect().text
    assert all(ord(c) >= 32 or c == "\n" for c in text)
    stacks = harness.parse_collapsed(text)
    seen, threads = {}, set()
    for stack, value in stacks.items():
        threads.add(unescaped(stack[0].name))
        for frame in stack:
            if unescaped(frame.file) == facts["file"]:
                name = unescaped(frame.name)
                seen[name] = seen.get(name, 0) + value
    assert set(seen) == set(facts["functions"])
    near_us = 100_000 + cairn.blind_s(file, ended) * 1e6
    for name, spent_s in zip(facts["functions"], facts["spent_s"]):
        assert abs(seen[name] - spent_s * 1e6) < near_us, (name, spent_s, seen)
    assert f"thread:{facts['thread']}" in threads
    rows = cairn.report(file, "--limit", "1000")["rows"]
    assert set(facts["functions"]) <= {row["name"] for row in rows}
    assert facts["file"] in {row["file"] for row in rows}


def test_states_of_threads_are_told_apart(cairn, interpreter):
    file, ended = cairn.record(interpreter, "states.py", 1.5)
    blind_s = cairn.blind_s(file, ended)
    for thread, facts in ended.last_json().items():
        rows = cairn.report(file, "--by", "state", "--thread", thread, "--idle")["rows"]
        share = {row["name"]: row["self_share"] for row in rows}
        assert abs(sum(share.values()) - 1) < 1e-6, "states sum to 100 %"
        if thread == "busy":
            assert share.get("blocked", 0) < 0.05 + blind_s / 1.5, (thread, share)
        else:
            assert share["blocked"] > 0.95 - blind_s / 1.5, (thread, share)
        stacks = cairn.collapsed(file, "--thread", thread)
        assert abs(sum(stacks.values()) / 1e6 - facts["wall_s"]) < 0.15 + blind_s, thread


def test_cpu_metric_is_exact(cairn, interpreter):
    file, ended = cairn.record(interpreter, "states.py", 1.0)
    for thread, facts in ended.last_json().items():
        stacks = cairn.collapsed(file, "--metric", "cpu", "--thread", thread)
        above_s = sum(stacks.values()) / 1e6 - facts["cpu_s"]
        near_s = 0.02 + 0.02 * facts["cpu_s"]
        # In the clock that young threads are asked for is what the host took, in their own it is not.
        assert -near_s < above_s < near_s + ended.taken_s, (thread, above_s, facts)


def test_sixty_four_idle_threads(cairn, interpreter):
    file, ended = cairn.record(interpreter, "idle_threads.py", 1.0)
    facts = ended.last_json()
    stacks = cairn.collapsed(file, "--threads")
    threads = {stack[0].name for stack in stacks}
    assert {f"thread:idle-{i}" for i in range(64)} <= threads
    near_s = 0.15 + cairn.blind_s(file, ended)
    spinning = spun(stacks, interpreter, "idle_threads.py", "spin") / 1e6
    assert abs(spinning - facts["spin_s"]) < near_s
    # The first of them may wait for long before all have begun.
    waiting = spun(stacks, interpreter, "idle_threads.py", "wait_for_the_end") / 1e6
    assert abs(waiting - facts["waited_s"]) / 64 < near_s
    assert cairn.report(file)["quality"]["torn_share"] < 0.01


def test_threads_that_live_two_milliseconds(cairn, interpreter):
    file, ended = cairn.record(interpreter, "thread_churn.py", 1.5)
    truth = ended.last_json()
    stacks = cairn.collapsed(file)
    # A life is as long as two ticks; what came before the first of them is its stack's, too.
    lived_s = spun(stacks, interpreter, "thread_churn.py", "brief_life") / 1e6
    assert lived_s > 0.8 * truth["brief_s"] - cairn.blind_s(file, ended)
    assert cairn.report(file)["quality"]["torn_share"] < 0.05


def time_of_those_who_stay(cairn, interpreter, file, metric):
    """All of each thread that was seen in `stay`, by its name."""
    stacks = cairn.collapsed(file, "--threads", "--metric", metric)
    seen = {s[0].name: 0 for s in stacks if spun({s: 1}, interpreter, "comings.py", "stay")}
    for stack, value in stacks.items():
        if stack[0].name in seen:
            seen[stack[0].name] += value / 1e6
    return seen


def test_threads_of_a_few_milliseconds_have_their_names(cairn, interpreter):
    life_s = 0.005
    file, ended = cairn.record(interpreter, "brief.py", 1.0, life_s)
    rows = cairn.report(file, "--by", "thread", "--idle", "--limit", "10000")["rows"]
    names = [row["name"] for row in rows if row["name"] != "MainThread"]
    whole = [name for name in names if re.fullmatch(r"Thread-\d+( \(brief_life\))?", name)]
    # Who is first seen when it ends has no time left to be asked for its name.
    assert len(whole) > 0.7 * len(names) - cairn.blind_s(file, ended) / life_s, names
    assert names


def test_threads_get_their_names_though_others_come_all_the_time(cairn, interpreter):
    file, ended = cairn.record(interpreter, "comings.py", 0)
    seen = time_of_those_who_stay(cairn, interpreter, file, "wall")
    assert seen.keys() == {f"thread:{name}" for name in ended.last_json()}


def test_threads_that_the_kernel_does_not_list(cairn, interpreter):
    """Where a thread ends while they are listed, the list can stop short: here it often does. What
    others ran before they could be told apart is no more than 12 ms of a thread (FRESH_NS)."""
    strace.require()
    file = cairn.folder / "run.cairn"
    command = [cairn.binary, "run", "-o", file, "--", *interpreter.command("comings.py", 0.06)]
    short = ["-e", "trace=getdents64", "-e", "inject=getdents64:retval=0:when=50+3"]
    ended = strace.traced(cairn.folder, short, command, **cairn.options({})).expect()
    truth = ended.last_json()
    seen = time_of_those_who_stay(cairn, interpreter, file, "cpu")
    assert seen.keys() == {f"thread:{name}" for name in truth}
    blind_s = cairn.blind_s(file, ended)
    for name, cpu_s in truth.items():
        assert abs(seen[f"thread:{name}"] - cpu_s) < 0.25 * cpu_s + blind_s, (name, truth)


def test_who_waits_for_a_program_lets_its_threads_end(cairn, python):
    """Where all processors are taken Cairn goes before all others. It must not any more when it waits for
    the program: one of whose threads was put off on its way out had it spin for 0.95 s, which is as long
    as the kernel lets it."""
    strace.require()
    if os.geteuid() != 0:
        pytest.skip("only root may go before all others")
    crowd = harness.spawn(python.command("crowd.py", 8))
    try:
        assert harness.read_line(crowd) == "ready"
        command = [cairn.binary, "run", "-o", "x.cairn", "--", *python.command("busy.py", 0.3)]
        strace.traced(cairn.folder, ["-e", "trace=sched_setattr,wait4"], command,
                      **cairn.options({})).expect()  # fmt: skip
    finally:
        harness.end_group(crowd)
        harness.finish(crowd)
    lines = (cairn.folder / "calls").read_text().splitlines()
    policies = [re.search("SCHED_(RR|NORMAL|OTHER)", line) for line in lines]
    (waits,) = [at for at, line in enumerate(lines) if "wait4(" in line and "WIFEXITED" in line]
    before = [policy[1] for policy in policies[:waits] if policy]
    assert "RR" in before and before[-1] != "RR", lines


def test_asyncio_tasks(cairn, interpreter):
    file, ended = cairn.record(interpreter, "asyncio_pair.py", 1.2)
    facts = ended.last_json()
    stacks = cairn.collapsed(file)
    computing = spun(stacks, interpreter, "asyncio_pair.py", "compute") / 1e6
    assert abs(computing - facts["compute_s"]) < 0.15 + cairn.blind_s(file, ended)
    path = interpreter.path("asyncio_pair.py")
    for stack in stacks:
        own = [frame.name for frame in stack if frame.file == path]
        if "compute" in own:
            assert own[own.index("compute") - 1] == "worker"


def test_a_program_under_a_tracer(cairn, interpreter):
    """Its tracer is called before a frame runs, and from instructions that otherwise call nothing."""
    file, ended = cairn.record(interpreter, "traced.py", 1.2)
    stacks = cairn.collapsed(file, "--unit", "samples")
    path = interpreter.path("traced.py")
    wrong = harness.impossible_stacks(stacks, ended.last_json()["legal"], path)
    assert not wrong
    assert time_in(stacks, "note", path) > 0.5 * sum(stacks.values())
    seen = {(a.name, b.name) for s in stacks for a, b in zip(s, s[1:])}
    assert {(name, "tracer") for name in ("work", "inner", "items", "drain")} <= seen
    assert cairn.report(file)["quality"]["torn_share"] < 0.03


GREENLETS = {
    "greenlets.py": {"left_leaf", "right_leaf"},
    "gevents.py": {"first", "second", "third", "pause"},
}


@pytest.mark.parametrize("script", GREENLETS)
def test_greenlets(cairn, equipped, script):
    interpreter, env = equipped
    file, ended = cairn.record(interpreter, script, 1.2, env=env)
    legal = {tuple(pair) for pair in interpreter.names(ended.last_json()["legal"])}
    path = interpreter.path(script)
    stacks = cairn.collapsed(file, "--unit", "samples")
    for stack in stacks:
        own = [frame.name for frame in stack if frame.file == path]
        assert all(pair in legal for pair in zip(own, own[1:])), stack
    for name in GREENLETS[script]:
        assert time_in(stacks, name) > 0.04 * sum(stacks.values()), name
    assert cairn.report(file)["quality"]["torn_share"] <= 0.02


QUALITY = {
    "ticks", "samples", "torn", "truncated", "unreadable", "missed", "reread", "torn_share",
    "own_cpu_s", "bytes",
}  # fmt: skip


def test_quality_agrees_with_the_export_and_the_file(cairn, interpreter):
    file, ended = cairn.record(interpreter, "flutter.py", 0.8)
    quality = cairn.report(file)["quality"]
    assert QUALITY <= set(quality)
    samples = cairn.collapsed(file, "--unit", "samples")
    assert sum(samples.values()) == quality["samples"]
    assert sum(v for stack, v in samples.items() if TORN in stack) == quality["torn"]
    assert sum(v for stack, v in samples.items() if TRUNCATED in stack) == quality["truncated"]
    assert quality["bytes"] == file.stat().st_size
    assert 0 < quality["own_cpu_s"] < 5
    assert abs(quality["torn_share"] - quality["torn"] / quality["samples"]) < 1e-6
    assert quality["ticks"] > 375 * max(0.1, 0.8 - ended.taken_s)


def may_go_first():
    """Whether a process of ours may have a priority before all sessions."""
    ask = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", ask], capture_output=True).returncode == 0


@pytest.fixture
def hogs():
    """Two to each processor, each in a session of its own: to autogroup, users of their own."""
    burn = "while True: pass"
    started = [harness.spawn([sys.executable, "-c", burn]) for _ in range(2 * os.cpu_count())]
    yield started
    for process in started:
        harness.end_group(process)
        process.wait(timeout=harness.DEADLINE_S)


def test_ticks_are_kept_beside_other_sessions_that_compute(cairn, python, hogs):
    if not may_go_first():
        pytest.skip("without CAP_SYS_NICE Cairn waits for a processor like any other")
    file, ended = cairn.record(python, "busy.py", 1.0)
    quality = cairn.report(file)["quality"]
    lost_s = quality["missed"] / 1000 - ended.taken_s
    assert lost_s < 0.1 * (quality["ticks"] + quality["missed"]) / 1000, quality


def test_wall_time_of_the_process_is_all_there(cairn, interpreter):
    file, ended = cairn.record(interpreter, "busy.py", 1.0)
    stacks = cairn.collapsed(file)
    wall = sum(stacks.values()) / 1e6
    wall_s = ended.last_json()["wall_s"]
    blind_s = cairn.blind_s(file, ended)
    assert wall_s * 0.97 - blind_s < wall < wall_s + 1.0 + blind_s
    assert Frame("[unknown]") not in {f for stack in stacks for f in stack}


def test_who_takes_a_threads_place_has_its_own_stacks(cairn, interpreter):
    """A thread that begins when another is over mostly gets its memory: that of its state, of its
    frames, and until 3.10 that of the descriptor which has the kernel's number. Its name is that of
    the function that it runs."""
    file, ended = cairn.record(interpreter, "successors.py", 2, 1)
    told = ended.last_json()
    drawn = cairn("export", "-f", "speedscope", file).expect().json()
    names = [frame["name"] for frame in drawn["shared"]["frames"]]
    own_ns = others_ns = named = 0
    for profile in drawn["profiles"]:
        [(name, tid)] = re.findall(r"^(.*?) ?\(pid \d+, tid (\d+)\)$", profile["name"])
        own = told.get(tid)
        assert name not in {"even", "odd"} - {own}, profile["name"]
        named += name == own
        for stack, weight in zip(profile["samples"], profile["weights"]):
            ran = {"even", "odd"} & {names[frame] for frame in stack}
            if own is not None and ran:
                own_ns += weight * (ran == {own})
                others_ns += weight * (ran != {own})
    print(
        f"\n{interpreter.label}: {own_ns / 1e9:.3f} s its own, {others_ns / 1e6:.3f} ms another's, "
        f"{named} of {len(drawn['profiles'])} named"
    )
    assert own_ns > 0 and named > 0
    assert others_ns == 0
