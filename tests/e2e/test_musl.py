"""A CPython that was built against musl: what the samples say of it, as of every other."""
import os
import subprocess

import pytest

import harness
from test_sampling import (  # noqa: F401
    test_cpu_metric_is_exact,
    test_deep_stacks_are_whole,
    test_functions_files_and_lines,
    test_recursion_of_every_depth,
    test_states_of_threads_are_told_apart,
    test_threads_of_a_few_milliseconds_have_their_names,
    test_who_takes_a_threads_place_has_its_own_stacks,
)
from test_tasks import test_each_task_is_charged_to_the_line_it_awaits_at  # noqa: F401

pytestmark = [pytest.mark.alone, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def interpreter():
    if not os.environ.get("CAIRN_FULL"):
        pytest.skip("it takes minutes to build: `make test-full`")
    told = subprocess.run([harness.ROOT / "tools" / "musl_python.sh"], capture_output=True, text=True,
                          timeout=1000)
    assert told.returncode == 0, told.stdout + told.stderr
    executable = told.stdout.strip().splitlines()[-1]
    version = harness.version_of(executable)
    return harness.Interpreter(f"{'.'.join(map(str, version))}-musl", version, executable)


def test_it_is_musl(interpreter):
    code = "print([line.split()[-1] for line in open('/proc/self/maps') if '/libc.so' in line][0])"
    libc = harness.execute([interpreter.executable, "-c", code]).expect().text.strip()
    assert "-musl/" in os.path.realpath(libc)


def test_counting_is_refused_by_name(cairn, interpreter):
    file, _ = cairn.record(interpreter, "busy.py", 0.3, options=["--exact"])
    assert "x86_64-linux-musl.so" in cairn.report(file)["recording"]["environment"]["counting.refused"]
