"""Profiles of cProfile: the table that pstats reads is the table of the report, of its JSON, of queries
and of the page; what is inferred beside it changes none of its numbers."""
import marshal
import pstats

import pytest
from playwright.sync_api import expect
from test_html import browser, make, opened, parts  # noqa: F401: a fixture
from test_html_counts import call_table, calls_of, near

from harness import execute

PROGRAM = """
import collections, json, textwrap

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)

def squares(n):
    for i in range(n):
        yield i * i

def main():
    fib(15), even(200), sum(squares(500))
    sorted(range(900), key=lambda n: fib(n % 4))
    json.dumps(list(range(500))), textwrap.fill("word " * 300), collections.namedtuple("P", "x y")

main()
"""


@pytest.fixture(scope="module")
def profile(python, tmp_path_factory):
    """A file, and what pstats says of it: by filename:lineno(function)."""
    folder = tmp_path_factory.mktemp("calls")
    (folder / "program.py").write_text(PROGRAM)
    file = folder / "a.prof"
    execute([python.executable, "-m", "cProfile", "-o", file, "program.py"], cwd=folder).expect()
    return file, pstats.Stats(str(file)).stats


def key_of(row):
    return row["file"], row["first_line"], row["name"]


def numbers_of(row):
    return row["calls"], row["primitive_calls"], pytest.approx(row["self_s"], abs=1e-9), pytest.approx(
        row["total_s"], abs=1e-9)


@pytest.mark.parametrize("way", ["file", "recording"])
def test_the_report_has_the_table(cairn, profile, way):
    file, stats = profile
    if way == "recording":
        cairn("import", "-o", "a.cairn", file).expect()
        file = cairn.folder / "a.cairn"
    rows = {key_of(row): row for row in cairn.report(file)["rows"]}
    assert set(rows) == set(stats) and len(stats) > 50
    for key, (cc, nc, tt, ct, callers) in stats.items():
        assert (nc, cc, tt, ct) == numbers_of(rows[key])
        # In the callers of cProfile the two numbers of calls stand the other way round.
        assert {caller: numbers for caller, numbers in callers.items()} == {
            key_of(each): numbers_of(each) for each in rows[key]["callers"]}
        kind = "python" if key[0] != "~" else "type" if key[2].startswith("<class '") else "c"
        assert rows[key]["kind"] == kind and rows[key]["resumes"] == 0
    text = cairn("report", "--by", "function", "--limit", len(stats), file).expect().text
    cc, nc, *_ = next(numbers for key, numbers in stats.items() if key[2] == "fib")
    assert f"{nc}/{cc} " in text and "ncalls  tottime  percall  cumtime  percall" in text


@pytest.mark.parametrize("name", ["fib", "even", "squares", "<built-in method builtins.sorted>"])
def test_a_function_has_its_callers_and_callees(cairn, profile, name):
    file, stats = profile
    key = next(each for each in stats if each[2] == name)
    wanted = {other: callers[key] for other, (*_, callers) in stats.items() if key in callers}
    answer = cairn("query", file, "function", name).expect().json()
    (row,) = answer["counted"]
    assert {key_of(each): numbers_of(each) for each in row["callees"]} == wanted
    assert {key_of(each): numbers_of(each) for each in row["callers"]} == stats[key][4]
    assert cairn.report(file, "--of", name)["counted"] == answer["counted"]
    text = cairn("report", "--of", name, file).expect().text
    for calls, primitive, *_ in [*wanted.values(), *stats[key][4].values()]:
        assert (f"{calls}/{primitive} " if calls != primitive else f"{calls} ") in text


def test_a_part_of_the_stacks_has_no_table(cairn, profile):
    """Focus keeps stacks, and these are inferred: what the file counted is of all of them."""
    file, _ = profile
    for options in (["--focus", "fib"], ["--ignore", "fib"], ["--only-my-code"], ["--to", "0.001"]):
        rows = cairn.report(file, *options)["rows"]
        assert rows and all(row["calls"] is None and row["self_low"] is None for row in rows), options
    assert cairn.report(file, "--by", "module")["rows"][0]["calls"] is None


def test_stacks_begin_where_the_program_did(cairn, profile):
    """What starts the program is called by imports as well: its time is no less that of the program."""
    file, stats = profile
    stacks = cairn.collapsed(file)
    assert sum(stacks.values()) == pytest.approx(sum(row[2] for row in stats.values()) * 1e6, abs=len(stacks))
    lost = sum(value for stack, value in stacks.items() if stack[0].name == "[unknown]")
    assert lost < 0.5 * sum(stacks.values())
    assert any([frame.name for frame in stack][-4:] == ["<module>", "main", "fib", "fib"] for stack in stacks)


def test_files_add_up(cairn, profile):
    file, stats = profile
    for name in ("a", "b"):
        cairn("import", "-o", f"{name}.cairn", file).expect()
    cairn("merge", "-o", "both.cairn", "a.cairn", "b.cairn").expect()
    rows = {key_of(row): row for row in cairn.report("both.cairn")["rows"]}
    assert {key: (2 * nc, 2 * cc) for key, (cc, nc, *_) in stats.items()} == {
        key: (row["calls"], row["primitive_calls"]) for key, row in rows.items()}


def test_calls_that_recursed_are_called_nothing_else(cairn, folder):
    """profile knows of a caller how often it called, and no more: no time is made up."""
    stats = {("~", 0, "<built-in method f>"): (2, 5, 1.5, 2.5, {("a.py", 1, "g"): 3}),
             ("a.py", 1, "g"): (1, 1, 0.25, 2.75, {})}  # fmt: skip
    (folder / "a.prof").write_bytes(marshal.dumps(stats))
    row = next(row for row in cairn.report("a.prof")["rows"] if row["kind"] == "c")
    assert (row["calls"], row["primitive_calls"], row["self_s"], row["total_s"]) == (5, 2, 1.5, 2.5)
    assert [(each["calls"], each["self_s"], each["total_s"]) for each in row["callers"]] == [(3, None, None)]
    assert "n/a" in cairn("report", "--of", "g", "a.prof").expect().text


def place(key):
    file, line, name = key
    if file == "~":
        return "{" + name[1:-1] + "}" if name[:1] == "<" and name[-1:] == ">" else name
    return f"{file.rpartition('/')[2]}:{line}({name})"


def test_the_page_has_the_table(cairn, profile, browser):  # noqa: F811
    file, stats = profile
    with opened(browser, make(cairn, file), "#tab=explore") as page:
        rows = call_table(page)
        section = page.locator("section", has=page.locator("#table"))
        expect(section).to_contain_text("nothing here is inferred")
        expect(page.locator("section", has=page.locator("#flame"))).to_contain_text("Inferred: ")
        section.get_by_role("button", name="ncalls").click()
        most = calls_of(call_table(page)[0][0])
        page.get_by_label("Search").fill("program.py")
        expect(page.locator("#table + p")).to_contain_text("hold program.py")
        found = call_table(page)
        page.get_by_label("Search").fill("")
        page.get_by_role("tab", name="Overview").click()
        expect(page.locator("section", has=page.locator("#top"))).to_contain_text("ncalls")
    assert most[0] == max(row[1] for row in stats.values())
    assert sorted(row[-1] for row in found) == sorted(place(key) for key in stats if "program.py" in key[0])
    wanted = {}
    for key, numbers in stats.items():
        wanted.setdefault(place(key), []).append(numbers)
    assert len(rows) == len(stats)
    for ncalls, self_s, _, total_s, _, name in rows:
        assert any(calls_of(ncalls) == (nc, cc) and near(self_s, tt) and near(total_s, ct)
                   for cc, nc, tt, ct, _ in wanted[name]), (name, ncalls, self_s, total_s)


@pytest.mark.parametrize("name", ["fib", "main", "<built-in method builtins.len>"])
def test_the_page_has_who_called_whom(cairn, profile, browser, name):  # noqa: F811
    file, stats = profile
    page_file = make(cairn, file)
    _, data = parts(page_file)
    key = next(each for each in stats if each[2] == name)
    number = next(i for i, row in enumerate(data["functions"]) if data["strings"][row[0]] == name)
    wanted = {"callers": stats[key][4],
              "callees": {other: callers[key] for other, (*_, callers) in stats.items() if key in callers}}
    with opened(browser, page_file, f"#tab=function&function={number}") as page:
        page.locator("#callers").wait_for()
        shown = {id: call_table(page, id) if wanted[id] else [] for id in wanted}
    for id, edges in wanted.items():
        assert len(shown[id]) == len(edges)
        for ncalls, self_s, total_s, where in shown[id]:
            assert any(where == place(other) and calls_of(ncalls) == (nc, cc) and near(self_s, tt)
                       and near(total_s, ct) for other, (nc, cc, tt, ct) in edges.items()), (id, where)


def test_of_a_part_the_page_has_what_is_inferred(cairn, profile, browser):  # noqa: F811
    file, _ = profile
    with opened(browser, make(cairn, file), "#tab=explore&focus=fib") as page:
        section = page.locator("section", has=page.locator("#table"))
        section.locator("tbody tr").first.wait_for()
        expect(section).not_to_contain_text("ncalls")


def test_yappi_s_names_in_callgrind_are_functions(cairn, folder):
    """As `yappi -f callgrind` writes them: behind the name stands where it lies. Nothing else does."""
    (folder / "x").write_text("""version: 1
creator: yappi
events: Ticks

fl=(1) /srv/my app.py
fl=(2) /srv/b.py
fn=(1) <module> /srv/my app.py:1
fn=(2) Tree.walk /srv/b.py:93
fn=(3) of /srv/c.py:7

fl=(1)
fn=(1)
1 5
cfl=(2)
cfn=(2)
calls=3 93
1 40

fl=(2)
fn=(2)
93 40
fn=(3)
94 2
""")
    report = cairn.report("x")
    assert {(row["file"], row["first_line"], row["name"]) for row in report["rows"]} == {
        ("/srv/my app.py", 1, "<module>"), ("/srv/b.py", 93, "Tree.walk"),
        ("/srv/b.py", 0, "of /srv/c.py:7")}  # fmt: skip
