"""More of everything than anybody planned for: threads, and few descriptors to watch them with;
processes, programs and threads that come and go as fast as they can.

CAIRN_FULL=1 lets the storms go on for a minute each, and in three interpreters.
"""
import os

import pytest

import harness

FULL = bool(os.environ.get("CAIRN_FULL"))
STORM_S = 60 if FULL else 3
THREADS = 10_000
FEW_THREADS, FEW_FILES = 150, 128
MEMORY_MAX = 512 << 20

INTERPRETERS = sorted(harness.supported_interpreters(), key=lambda i: i.version)
INSTALLED = [i for i in INTERPRETERS if not i.chroot]
SOME = [INTERPRETERS[0], INTERPRETERS[len(INTERPRETERS) // 2], INTERPRETERS[-1]]


def ready(interpreter):
    if interpreter.chroot and os.geteuid() != 0:
        pytest.skip("an unpacked interpreter needs root for chroot")
    interpreter.prepare()
    return interpreter


def limited(cairn, limit, *args):
    return harness.execute(["prlimit", limit, cairn.binary, *args], **cairn.options({}))


@pytest.fixture
def threads():
    """Starts tests/targets/many_threads.py; what was started is ended with the test."""
    started = []

    def start(interpreter, *args):
        process = harness.spawn(interpreter.command("many_threads.py", *args))
        started.append(process)
        return process, harness.json.loads(harness.read_line(process))

    yield start
    for process in started:
        harness.end_group(process)
        process.wait(timeout=harness.DEADLINE_S)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


@pytest.mark.parametrize("some", SOME, ids=lambda i: i.label)
def test_ten_thousand_threads(cairn, threads, some):
    process, facts = threads(ready(some), THREADS)
    if facts["threads"] < THREADS:
        pytest.skip(f"this machine allows {facts['threads']} threads, not {THREADS}")
    ended = limited(
        cairn, f"--as={MEMORY_MAX}", "attach", "--for", "2s", "-o", "x.cairn", facts["ready"]
    )
    assert "10001 threads" in ended.expect().talk
    document = cairn.report("x.cairn")
    quality, recording = document["quality"], document["recording"]
    assert recording["threads"] == THREADS + 1
    assert quality["samples"] >= THREADS and 0 < quality["own_cpu_s"] < 2 * recording["wall_s"] + 2
    assert quality["torn"] + quality["unreadable"] <= quality["samples"] // 100
    shares = {row["name"]: row["self_share"] for row in document["rows"]}
    assert shares["sleep"] > 0.99
    assert harness.finish(process).expect().last_json() == {"over": THREADS}


def test_more_threads_than_descriptors(cairn, threads, interpreter):
    """The files of a thread that cannot be kept open are opened for each look."""
    process, facts = threads(interpreter, FEW_THREADS, "busy")
    limit = f"--nofile={FEW_FILES}:{FEW_FILES}"
    attach = ["attach", "--for", "1s", "-o", "x.cairn", facts["ready"]]
    ended = limited(cairn, limit, *attach).expect()
    document = cairn.report("x.cairn")
    assert document["recording"]["threads"] == FEW_THREADS + 2
    wall_s = document["recording"]["wall_s"]
    spent = {
        metric: harness.time_in(cairn.collapsed("x.cairn", "--metric", metric), "spin") / 1e6
        for metric in ("wall", "cpu", "runq")
    }
    near_s = 0.1 * wall_s + cairn.blind_s(cairn.folder / "x.cairn", ended)
    assert abs(spent["wall"] - wall_s) < near_s, "it was seen until the end"
    had_s = spent["cpu"] + spent["runq"]
    assert had_s > 0.7 * spent["wall"] - near_s, (spent, "what it had is known")
    slept_s = harness.time_in(cairn.collapsed("x.cairn"), "sleep") / 1e6
    assert slept_s > FEW_THREADS * (wall_s - near_s)
    assert harness.finish(process).expect().last_json() == {"over": FEW_THREADS}


@pytest.mark.timeout(8 * STORM_S + 120)
@pytest.mark.parametrize("kind", ["exec", "fork", "threads"])
@pytest.mark.parametrize("some", SOME if FULL else [INSTALLED[-1]], ids=lambda i: i.label)
def test_storms(cairn, some, kind):
    command = ready(some).command("storm.py", kind, STORM_S)
    ended = cairn("run", "-o", "x.cairn", "--", *command, deadline_s=2 * STORM_S + 60).expect()
    told = ended.last_json()["count"]
    assert told > 0
    document = cairn.report("x.cairn")
    recording, quality = document["recording"], document["quality"]
    assert quality["samples"] > 100 and quality["ended"]
    assert recording["wall_s"] >= STORM_S
    if kind == "fork":
        # Whoever could not be looked at is counted; nobody is counted twice.
        assert recording["processes"] + quality["unseen"] <= told + 1
    else:
        assert recording["processes"] == 1
