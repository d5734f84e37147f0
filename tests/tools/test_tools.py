"""The checks and the sum of `make test` can fail: each is shown what it must not let pass."""
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.timeout(60)


def run(tool, *args, **more):
    return subprocess.run([sys.executable, str(ROOT / "tools" / tool), *map(str, args)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=50, **more)


def tree(folder, **files):
    for name, text in files.items():
        path = folder / "src" / name.replace("__", "/").replace("_h", ".h").replace("_c", ".c")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


RULES = ["base:", "trace:base", "model:base,trace"]


@pytest.mark.parametrize("line, word", [
    ('#include "row.h"', "base may not include model/row.h"),
    ('#include "../model/row.h"', "bare name"),
    ("#include <row.h>", "angle brackets"),
    ('#  include\t"row.h"', "base may not include"),
])
def test_floors_finds_an_include_from_above(tmp_path, line, word):
    done = run("check_floors.py", tree(tmp_path, base__low_c=line, model__row_h=""), *RULES)
    assert done.returncode == 1 and word in done.stdout


def test_floors_lets_an_include_from_below_pass(tmp_path):
    source = '#include <stdio.h>\n#include "low.h"\n'
    done = run("check_floors.py", tree(tmp_path, model__row_c=source, base__low_h=""), *RULES)
    assert done.returncode == 0, done.stdout


def test_floors_finds_a_name_used_twice_and_a_folder_without_floor(tmp_path):
    files = {"base__low_h": "", "model__low_h": "", "attic__old_c": '#include "low.h"'}
    done = run("check_floors.py", tree(tmp_path, **files), *RULES)
    assert done.returncode == 1
    assert "has a file of that name" in done.stdout and "has no floor for" in done.stdout


def test_headers_finds_one_that_needs_another(tmp_path):
    good = "#ifndef A\n#define A\n#include <stddef.h>\nsize_t cairn_a(void);\n#endif\n"
    assert run("check_headers.py", tree(tmp_path, base__a_h=good), "cc", *RULES).returncode == 0
    tree(tmp_path, base__b_h="size_t cairn_b(void);\n")
    done = run("check_headers.py", tmp_path, "cc", *RULES)
    assert done.returncode == 1 and "b.h: does not compile alone" in done.stdout


def test_format_finds_and_mends(tmp_path):
    (tmp_path / ".clang-format").write_text((ROOT / ".clang-format").read_text())
    tree(tmp_path, base__a_c="int  a( void )\n{\n  return 3;\n}\n")
    assert "a.c:1: not as" in run("check_format.py", tmp_path).stdout
    assert run("check_format.py", tmp_path).returncode == 1
    assert run("check_format.py", tmp_path, "--fix").returncode == 0
    assert (tmp_path / "src/base/a.c").read_text() == "int a(void)\n{\n    return 3;\n}\n"
    assert run("check_format.py", tmp_path).returncode == 0


def test_checks_of_an_empty_tree_fail(tmp_path):
    assert run("check_floors.py", tmp_path, *RULES).returncode == 1
    assert run("check_headers.py", tmp_path, "cc", *RULES).returncode == 1
    assert run("check_format.py", tmp_path).returncode == 1


def test_elf_finds_a_program_that_is_not_hardened(tmp_path):
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    flags = ["-no-pie", "-Wl,-z,lazy", "-Wl,-z,execstack", "-Wl,-z,norelro"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "soft", tmp_path / "main.c"], check=True,
                   stderr=subprocess.DEVNULL, timeout=50)
    done = run("check_elf.py", tmp_path / "soft")
    assert done.returncode == 1 and "; 4 faults" in done.stdout


def test_tap_turns_a_reasoned_skip_only(tmp_path):
    said = ["1..2", "# skip: no perf", "not ok 1 # SKIP a", "not ok 2 # SKIP b"]
    done = run("tap.py", "printf", "%s\n", *said)
    assert done.stdout.splitlines()[2:] == ["ok 1 - a # SKIP no perf", "not ok 2 # SKIP b"]
    assert run("tap.py", "sh", "-c", "exit 3").returncode == 3
    assert run("tap.py", "sh", "-c", "kill -ABRT $$").returncode == 128 + 6


def tally(tmp_path, *stages):
    rows = []
    for number, (status, name, text) in enumerate(stages):
        (tmp_path / name).write_text(text)
        rows.append(f"stage{number}\t{status}\t1\t{tmp_path / name}\n")
    (tmp_path / "stages").write_text("".join(rows))
    done = run("tally.py", tmp_path / "stages")
    return done.returncode, done.stdout.splitlines()


UNIT = '{"name": "map", "result": "%s", "stdout": "1..2\\nok 1 - a\\n%s\\n"}\n'
JUNIT = '<testsuites><testcase classname="c" name="n">%s</testcase></testsuites>'


def test_sum_adds_up_all_runners(tmp_path):
    code, lines = tally(tmp_path, (0, "u.json", UNIT % ("OK", "ok 2 - b # SKIP no perf")),
                        (0, "p.xml", JUNIT % ""), (0, "t.tap", "ok - 3.15\nok - 3.16 # SKIP none"))
    assert (code, lines[-1]) == (0, "3 passed, 0 failed, 2 skipped")
    assert "skipped: stage0: map: b: no perf" in lines
    assert "skipped: stage2: t: 3.16: none" in lines


@pytest.mark.parametrize("stage, word", [
    ((1, "u.json", UNIT % ("FAIL", "not ok 2 - b")), "failed: stage0: map: b"),
    ((1, "u.json", UNIT % ("ERROR", "")), "failed: stage0: map: error"),  # it crashed
    ((1, "u.json", UNIT % ("TIMEOUT", "ok 2 - b")), "failed: stage0: map: timeout"),
    ((0, "u.json", UNIT % ("OK", "ok 2 - b # SKIP")), "map: b: skipped without a reason"),
    ((1, "p.xml", JUNIT % "<failure/>"), "failed: stage0: c.n"),
    ((1, "p.xml", JUNIT % "<error/>"), "failed: stage0: c.n"),
    ((124, "p.xml", JUNIT % ""), "ended with status 124"),
    ((5, "p.xml", "<testsuites/>"), "it ran no test"),
    ((0, "p.xml", JUNIT % '<skipped message="why"/>'), "it ran no test"),
    ((0, "p.xml", "<testsuites>"), "no results"),
])
def test_sum_fails_when_a_stage_did(tmp_path, stage, word):
    code, lines = tally(tmp_path, stage)
    assert code == 1 and any(word in line for line in lines), lines
    assert " 1 failed, " in lines[-1]


def test_sum_of_nothing_fails(tmp_path):
    (tmp_path / "stages").write_text("")
    done = run("tally.py", tmp_path / "stages")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "0 passed, 0 failed, 0 skipped")
