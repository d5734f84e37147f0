"""What GNU gprof printed, read like a recording."""
import re

import pytest
from playwright.sync_api import expect
from test_html import browser, make, opened  # noqa: F401: a fixture
from test_html_counts import call_table

from harness import DAMAGED, execute

C_PROGRAM = """
static int __attribute__((noinline)) leaf(int n)
{ volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
static int __attribute__((noinline)) near(int n) { return leaf(n) + 1; }
static int __attribute__((noinline)) far(int n) { return leaf(3 * n) + near(n); }
static int __attribute__((noinline)) again(int n) { leaf(100); return n ? again(n - 1) + 1 : 0; }
static int odd(int n);
static int __attribute__((noinline)) even(int n) { leaf(2000); return n ? odd(n - 1) : 1; }
static int __attribute__((noinline)) odd(int n) { leaf(1000); return n ? even(n - 1) : 0; }
int main(void) { int s = 0; for (int i = 0; i < 300; i++) s += near(700000) + far(700000) + odd(2) + again(4); return s & 1; }
"""
OWN = {"leaf", "near", "far", "again", "odd", "even", "main"}
CALLS = {"leaf": 3300, "near": 600, "far": 300, "again": 1500, "odd": 600, "even": 300}
PRIMITIVE = {**CALLS, "again": 300, "odd": None, "even": None}  # of a cycle gprof does not tell


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gprof")
    (folder / "t.c").write_text(C_PROGRAM)
    execute(["cc", "-pg", "-O1", "-fno-inline", "-o", "t", "t.c"], cwd=folder).expect()
    ended = execute(["./t"], cwd=folder)
    assert ended.status in (0, 1)

    def printed(name, *options):
        (folder / name).write_bytes(execute(["gprof", *options, "t", "gmon.out"], cwd=folder)
                                    .expect().out)
        return folder / name
    return printed


def flat_of(text):
    """{name: own seconds} of the flat profile, as gprof prints it."""
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +([\d.]+) (?: *\d+ +[\d.]+ +[\d.]+)? +(\w+)$", text,
                      re.MULTILINE)
    return {name: float(own) for own, name in rows if float(own)}


@pytest.mark.parametrize("options", [[], ["-b"], ["-b", "-p"], ["-b", "-q"]], ids=" ".join)
def test_own_times_are_those_of_the_flat_profile(cairn, profiled, options):
    wanted = flat_of(profiled("flat", "-b", "-p").read_text())
    assert "leaf" in wanted and wanted.keys() <= OWN
    report = cairn.report(profiled("read", *options), "--idle")
    got = {row["name"]: row["self_s"] for row in report["rows"] if row["self_s"]}
    assert got == pytest.approx(wanted)
    assert report["quality"]["stacks"] == "inferred"
    assert report["quality"]["imported"] == "gprof"


def test_who_called_whom_is_that_of_the_graph(cairn, profiled):
    file = profiled("graph", "-b", "-q")
    entry = next(part for part in file.read_text().split("-----") if re.search(r"^\[\d+\].* leaf \[",
                                                                             part, re.MULTILINE))
    rows = re.findall(r"^ +([\d.]+) +([\d.]+) +\d+/\d+ +(\w+)", entry, re.MULTILINE)
    wanted = {name: float(own) + float(below) for own, below, name in rows}
    of = cairn.report(file, "--of", "leaf", "--idle")
    got = {row["name"]: row["total_s"] for row in of["callers"]}
    assert {"near", "far"} <= wanted.keys() <= got.keys()
    for name in ("near", "far"):
        assert got[name] == pytest.approx(wanted[name], abs=0.011)


def test_calls_are_those_of_the_graph(cairn, profiled):
    report = cairn.report(profiled("graph", "-b", "-q"), "--idle")
    rows = {row["name"]: row for row in report["rows"]}
    assert {name: rows[name]["calls"] for name in CALLS} == CALLS
    assert {name: rows[name]["primitive_calls"] for name in CALLS} == PRIMITIVE
    assert rows["main"]["calls"] is None  # whoever starts a program is not among its functions
    callers = {each["name"]: each["calls"] for each in rows["leaf"]["callers"]}
    assert callers == {"near": 600, "far": 300, "again": 1500, "odd": 600, "even": 300}
    assert all(each["self_s"] is None for each in rows["leaf"]["callers"])
    assert {each["name"]: (each["calls"], each["primitive_calls"]) for each in rows["again"]["callers"]} == {
        "main": (300, 300), "again": (1200, None)}
    text = cairn("report", "--limit", 20, profiled("graph", "-b", "-q")).expect().text
    assert re.search(r" 1500/300 .* again\n", text) and re.search(r" 600/\? .* odd\n", text)


def test_what_recursed_is_not_known_everywhere(cairn, profiled, browser, folder):  # noqa: F811
    """Of a cycle neither page nor pstats nor a graph tells what the file does not."""
    file = profiled("graph", "-b", "-q")
    with opened(browser, make(cairn, file), "#tab=explore") as page:
        rows = {row[-1]: row for row in call_table(page)}
        told = {name: rows[name][0].replace(",", "") for name in [*CALLS, "main"]}
        section = page.locator("section", has=page.locator("#table"))
        expect(section).not_to_contain_text("nothing here is inferred")
        section.get_by_role("link", name="even", exact=True).click()
        expect(page.locator("main")).to_contain_text("300 calls, ? of them with none of its own below")
    assert told == {"leaf": "3300", "near": "600", "far": "300", "again": "1500/300", "odd": "600/?",
                    "even": "300/?", "main": "?"}
    assert rows["even"][4] == rows["main"][4] == "n/a"
    cairn("import", "-o", folder / "x.cairn", file).expect()
    shown = cairn("pstats", folder / "x.cairn", data=b"sort ncalls\nstats\ncallers even\n").expect().text
    assert f"{sum(CALLS.values())} function calls (? primitive calls)" in shown
    assert re.search(r" 600/\? +[\d.]+ +[\d.]+ +[\d.]+ +odd\n", shown), shown
    assert re.search(r" 1500/300 .* again\n", shown)
    for command in (["gprof2dot", file], ["export", "-f", "dot", file],
                    ["export", "-f", "pstats", "-o", folder / "x.pstats", file]):
        told = cairn(*command).expect().talk
        assert "which calls of 2 functions recursed" in told and "how often 1 function was called" in told, told
    assert "recursed" not in cairn("gprof2dot", "-f", "pstats", folder / "x.pstats").expect().talk


def test_the_flat_profile_alone_tells_no_recursion(cairn, profiled):
    rows = {row["name"]: row for row in cairn.report(profiled("flat", "-b", "-p"), "--idle")["rows"]}
    assert rows["leaf"]["calls"] == CALLS["leaf"] and rows["leaf"]["primitive_calls"] is None


def test_what_is_no_gprof_any_more_is_refused_with_its_line(cairn, profiled, folder):
    lines = profiled("whole", "-b").read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith("name    ") or " name" in line)
    lines[at + 1] = " 12.00 nonsense"
    (folder / "bad").write_text("\n".join(lines) + "\n")
    ended = cairn("report", folder / "bad").expect(DAMAGED)
    assert f"line {at + 2} does not belong there" in ended.talk and "gprof" in ended.talk
