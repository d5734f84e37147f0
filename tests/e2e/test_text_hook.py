"""`--text-hook`: what is counted by jumps in the text of 3.15 is what is counted without; on any doubt
there are none, and the recording says why.

An interpreter that was unpacked for tests has no /proc; here it gets one, in a mount namespace of its
own, but where it is to be refused for that.
"""
import dataclasses
import functools

import pytest

import harness
from harness import execute

JUMP = 0xE9
HELD_AGAINST = (3, 15, 0)
BOTH = "sys.monitoring, and a jump in the text"
ELSEWHERE = "it is for CPython 3.15 on x86-64, with a GIL"
SEVERAL = "there is more than one interpreter in the process"
NUMBERS = ("calls", "primitive_calls", "resumes")


@dataclasses.dataclass(frozen=True)
class WithProc(harness.Interpreter):
    def command(self, script, *args):
        inside = super().command(script, *args)
        mounts = f'mount -t proc proc "{self.chroot}/proc" && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", mounts, "sh", *inside] if self.chroot else inside


@functools.cache
def refused_by(interpreter):
    command = interpreter.command("hooked_work.py", "profilers", interpreter.package())
    return execute(command).expect().last_json()["refused"][1]


@pytest.fixture
def seeing(interpreter):
    """Of builds that came after the one it was held against some may be none that it knows."""
    seeing = WithProc(**dataclasses.asdict(interpreter))
    if can_jump(seeing) and seeing.version != HELD_AGAINST and refused_by(seeing) is not None:
        pytest.skip(f"{seeing.label} is refused: {refused_by(seeing)}")
    return seeing


def can_jump(interpreter):
    return interpreter.version[:2] == (3, 15)


def rows_of(report, script):
    """What is of the script, and what that called of others: numbers, and callers of the script."""
    own = {row["name"] for row in report["rows"] if row["file"].endswith(script)}
    own = {name for name in own if not name.startswith("<")}  # others have such names, too
    rows = {}
    for row in report["rows"]:
        callers = {c["name"]: c["calls"] for c in row["callers"] if c["name"] in own}
        if row["file"].endswith(script):
            rows[row["file"].rpartition("/")[2], row["name"]] = [[row[key] for key in NUMBERS], callers]
        elif callers and row["kind"] != "python":
            rows[row["kind"], row["name"]] = callers
    return rows


def source_of(report):
    return {engine["name"]: engine["source"] for engine in report["quality"]["engines"]}["counting"]


def run_both(cairn, interpreter, env, script, case, why=None, what=("--exact",)):
    """What is counted of the script, and what it printed with and without. `why`: 3.15 is to refuse."""
    told = []
    for more in ((), ("--text-hook",)):
        file, ended = cairn.record(interpreter, script, case, options=[*what, *more], env=env)
        report = cairn.report(file)
        told.append((rows_of(report, script), ended.text, report))
    (rows, out, _), (hooked_rows, hooked_out, report) = told
    assert hooked_rows == rows and len(rows) >= 3
    assert report["quality"]["events_lost"] == 0
    why = why if can_jump(interpreter) else ELSEWHERE
    assert report["quality"]["text_hook_refused"] == why
    assert (source_of(report) == BOTH) == (why is None)
    text = " ".join(cairn("report", file).expect().text.split())
    assert (f"text hook not used: {why}" in text) == (why is not None)
    return rows, hooked_out, out


@pytest.mark.parametrize("case", ["calls", "threads", "family"])
def test_known_programs_count_the_same(cairn, seeing, counts_place, case):
    run_both(cairn, seeing, counts_place, "exact_work.py", case)


def test_lines_are_counted_beside(cairn, seeing, counts_place):
    what = ("--exact", "--lines=rec", "--lines=countdown")
    run_both(cairn, seeing, counts_place, "exact_work.py", "calls", what=what)


@pytest.mark.parametrize("case", ["tool", "profile", "interpreters", "forks"])
def test_others_in_the_middle_change_nothing(cairn, seeing, counts_place, case):
    why = SEVERAL if case == "interpreters" else None  # in those that come later
    rows, hooked_out, out = run_both(cairn, seeing, counts_place, "hooked_work.py", case, why)
    assert hooked_out == out  # they are told all that they are told without
    # Until 3.11 a profile function that the program sets takes ours away.
    if case != "profile" or seeing.version >= (3, 12):
        n = {"tool": 46 if seeing.version >= (3, 12) else 30, "profile": 41, "forks": 58,
             "interpreters": 920 if seeing.version >= (3, 13) else 20}  # fmt: skip
        assert case != "interpreters" or out.split() == ["6" if seeing.version >= (3, 13) else "0"]
        numbers = rows["hooked_work.py", seeing.name("leaf")][0]
        assert numbers == [2 * n[case], 2 * n[case], 0]
        assert rows["hooked_work.py", seeing.name("deep")][0] == [4 * n[case], n[case], 0]
        assert rows["hooked_work.py", seeing.name("steps")][0] == [n[case], n[case], 2 * n[case]]
        assert rows["hooked_work.py", seeing.name("fails")][0] == [3 * n[case], n[case], 0]


def test_a_signal_puts_them_in_and_takes_them_out(cairn, seeing, counts_place):
    options = ["--exact", "--text-hook", "--toggle-signal", "USR2"]
    file, ended = cairn.record(seeing, "hooked_work.py", "toggled", options=options, env=counts_place)
    report = cairn.report(file)
    rows = {row["name"]: row for row in report["rows"] if row["file"].endswith("hooked_work.py")}
    assert rows[seeing.name("leaf")]["calls"] == 2 * 20 * 3
    seen = ended.last_json()
    if can_jump(seeing):
        assert source_of(report) == BOTH
        assert [[byte == JUMP for byte in bytes_] for bytes_ in seen] == [
            [i % 2 == 1] * 3 for i in range(7)
        ]  # fmt: skip


def test_with_books_and_a_timeline(cairn, seeing, counts_place):
    options = ["--timeline", "--text-hook"]
    file, _ = cairn.record(seeing, "exact_work.py", "calls", options=options, env=counts_place)
    quality = cairn.report(file)["quality"]
    assert quality["timeline_calls"] == quality["events"] and quality["timeline_lost"] == 0
    options = ["--exact", "--text-hook", "--max-overhead", "0.1"]
    file, _ = cairn.record(seeing, "hooked_work.py", "interpreters", options=options, env=counts_place)
    quality = cairn.report(file)["quality"]
    assert quality["max_overhead"] == 0.001 and quality["events_lost"] == 0
    assert quality["text_hook_refused"] == (SEVERAL if can_jump(seeing) else ELSEWHERE)


def test_profilers_one_after_the_other(seeing, counts_place):
    said = execute(seeing.command("hooked_work.py", "profilers", seeing.package())).expect().last_json()
    first, *others = said["counted"]
    assert first["leaf"][0] == 2 * 2 * 5 and all(other == first for other in others)
    if can_jump(seeing):
        assert said["refused"] == [None] * 5
        assert all(len(bytes_) == 3 for _, bytes_ in said["seen"])
        assert all({byte == JUMP for byte in bytes_} == {hooked} for hooked, bytes_ in said["seen"])
    else:
        assert said["refused"] == [None, ELSEWHERE, ELSEWHERE, None, ELSEWHERE]
        assert not any(JUMP in bytes_ for _, bytes_ in said["seen"])


def test_interpreters_that_come_later_are_left_alone(seeing, counts_place):
    if not can_jump(seeing):
        pytest.skip(ELSEWHERE)
    ended = execute(seeing.command("hooked_work.py", "interpreters_alone", seeing.package())).expect()
    assert ended.text.split()[0] == "6"  # they were told all
    said = ended.last_json()
    assert said["refused"] is None and said["leaf"] == 2 * 920
    assert set(said["still"]) == {JUMP} and JUMP not in said["gone"]


def test_what_is_let_go_is_let_go(seeing, counts_place):
    """By DISABLE, which is the interpreter's own work."""
    command = seeing.command("hooked_work.py", "gates", seeing.package())
    chosen, untimed, *hooked = execute(command).expect().last_json()
    assert chosen["rows"]["deep"][0] == 80 and "leaf" not in chosen["rows"]
    assert untimed["rows"]["leaf"][0] == 40
    assert [some["rows"] for some in hooked] == [chosen["rows"], untimed["rows"]]
    if can_jump(seeing):
        assert all(set(some["on"]) == {JUMP} for some in hooked)


def test_who_is_there_before_keeps_them_away(seeing, counts_place):
    if not can_jump(seeing):
        pytest.skip(ELSEWHERE)
    said = execute(seeing.command("hooked_work.py", "beside", seeing.package())).expect().last_json()
    assert said["refused"] is None
    alone, tool, profile, interpreter, again = (
        {byte == JUMP for byte in bytes_} if bytes_ else None for bytes_ in said["seen"]
    )
    assert alone == again == {True}
    assert tool == profile == {False} and interpreter in ({False}, None)


@pytest.mark.parametrize("doubt, why", [
    ("version", "this is CPython 3.15.9, and Cairn's module was made for 3.15.0"),
    ("breakpoint", "the function does not begin as those that are known"),
    ("trial", "in a trial other events came by it than had to"),
])  # fmt: skip
def test_on_a_doubt_there_are_none(seeing, counts_place, doubt, why):
    if not can_jump(seeing):
        pytest.skip(ELSEWHERE)
    command = seeing.command("hooked_work.py", "doubts", seeing.package(), doubt)
    first, others, again = execute(command).expect().last_json()
    assert first == again == why.replace("3.15.0", ".".join(map(str, seeing.version)))
    assert others and JUMP not in others


def test_without_proc_it_says_so(cairn, interpreter, counts_place):
    if not (can_jump(interpreter) and interpreter.chroot):
        pytest.skip("it has /proc")
    options = ["--exact", "--text-hook"]
    file, _ = cairn.record(interpreter, "exact_work.py", "calls", options=options, env=counts_place)
    report = cairn.report(file)
    why = "/proc/self/maps does not tell of the function's text"
    assert report["quality"]["text_hook_refused"] == why
    assert source_of(report) == "sys.monitoring"
    text = cairn("report", file).expect().text
    assert f"text hook not used: {why}" in " ".join(text.split())


def test_nothing_to_hurry_is_an_error(cairn):
    for options in (["run"], ["run", "--lines"], ["run", "--opcodes"], ["lines"]):
        ended = cairn(*options, "--text-hook", "--", "true").expect(harness.USAGE)
        assert "--text-hook has nothing to hurry" in ended.err.decode()
