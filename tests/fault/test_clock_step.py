"""Somebody sets the clock while a program is recorded: no time is lost, made or moved.

The clock of this machine is everybody's, so a library in front of the C library sets it, for the
command and the program alone, when the recording has begun."""
import json
import shutil

import pytest

from harness import execute

STEPPER = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
    static struct timespec begun;
    struct timespec at;
    int code = (int)syscall(SYS_clock_gettime, clock, now);
    if (code || clock != CLOCK_REALTIME) return code;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &at);
    if (!begun.tv_sec) begun = at;
    if ((at.tv_sec - begun.tv_sec) * 1e9 + (at.tv_nsec - begun.tv_nsec) > atol(getenv("STEP_AFTER_MS")) * 1e6)
        now->tv_sec += atol(getenv("STEP_S"));
    return 0;
}
"""
DAY_S = 86_400


@pytest.fixture(scope="module")
def stepper(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler to make the library with")
    folder = tmp_path_factory.mktemp("stepper")
    (folder / "s.c").write_text(STEPPER)
    execute(["cc", "-w", "-shared", "-fPIC", "-o", "s.so", "s.c"], cwd=folder).expect()
    return folder / "s.so"


# Two halves, of ever new stacks.
PROGRAM = """
import json, time
def down(n):
    return n if n == 0 else down(n - 1) + 1
def until(end_s, n=0):
    while time.perf_counter() < end_s:
        n = (n + 7) % 300
        down(n)
def first(end_s): until(end_s)
def second(end_s): until(end_s)
begun = time.perf_counter()
first(begun + 0.8)
middle = time.perf_counter()
second(middle + 0.8)
print(json.dumps({"first": middle - begun, "second": time.perf_counter() - middle}))
"""


def span_s(cairn, file):
    """From the first to the last that an export to a timeline tells of."""
    events = json.loads(cairn("export", "-f", "chrome", file).expect().out)["traceEvents"]
    times = [event["ts"] for event in events if event["ph"] != "M"]
    return (max(times) - min(times)) / 1e6


@pytest.mark.parametrize("step_s", [DAY_S, -DAY_S, -50 * 365 * DAY_S], ids=["on", "back", "1970s"])
def test_the_clock_is_set_meanwhile(cairn, python, stepper, step_s):
    env = {"LD_PRELOAD": str(stepper), "STEP_S": str(step_s), "STEP_AFTER_MS": "300"}
    command = ["--flush", "20ms", "--", python.executable, "-S", "-c", PROGRAM]
    ended = cairn("run", "-o", "x.cairn", *command, env=env).expect()
    told = ended.last_json()
    report = cairn.report("x.cairn", "-n", "1000")
    recorded_s = report["recording"]["wall_s"]
    assert report["quality"]["ended"] and sum(told.values()) - 0.05 <= recorded_s < 60
    in_each = {row["name"]: row["total_s"] for row in report["rows"]}
    blind_s = cairn.blind_s("x.cairn", ended)
    for name, seconds in told.items():
        assert abs(in_each.get(name, 0) - seconds) < 0.5 * seconds + blind_s, name
    half = cairn.report("x.cairn", "--from", "0.5s", "--to", "1s")
    assert half["total_s"] == pytest.approx(0.5, abs=0.05 + blind_s)
    assert recorded_s / 2 < span_s(cairn, "x.cairn") < 60
    # With one that began after it: the same boot, so the same clock.
    env["STEP_AFTER_MS"] = "-1"
    briefly = "import time; time.sleep(0.3)"
    cairn("run", "-o", "y.cairn", "--", python.executable, "-c", briefly, env=env).expect()
    cairn("merge", "-o", "both.cairn", "y.cairn", "x.cairn").expect()
    assert cairn.report("both.cairn")["recording"]["processes"] == 2
    assert recorded_s < span_s(cairn, "both.cairn") < 120
