"""`cairn diff`: what changed is found, with its size; what did not is not; and scripts are told."""
import cProfile
import re
import shutil

import pytest

import harness

WORSE, NOT_ENOUGH = 1, 3


@pytest.fixture(scope="module")
def runs(python, tmp_path_factory):
    """Two runs of one thing, one of twice as much, and what each thread says it took."""
    cairn = harness.Cairn(tmp_path_factory.mktemp("diff"))
    files = {}
    for name, seconds in (("one", 1), ("again", 1), ("two", 2)):
        files[name] = cairn.folder / f"{name}.cairn"
        ended = cairn("run", "--report", "none", "-o", files[name], "--python", python.executable,
                      harness.TARGETS / "states.py", seconds).expect()
        cairn.need_sight(files[name], ended)
        files[name, "facts"] = ended.last_json()
        files["blind_s"] = files.get("blind_s", 0) + cairn.blind_s(files[name], ended)
    return files


@pytest.fixture(scope="module")
def names(python, tmp_path_factory):
    cairn = harness.Cairn(tmp_path_factory.mktemp("names"))
    return cairn.need_sight(*cairn.record(python, "names.py", 0.9, 9))


def compare(cairn, before, after, *options, status=0):
    return cairn("diff", "--json", *options, before, after).expect(status).json()


def row_of(document, name):
    return next(row for row in document["rows"] if row["name"] == name)


def test_a_recording_does_not_differ_from_itself(cairn, runs, folder):
    shutil.copy(runs["one"], folder / "copy.cairn")
    document = compare(cairn, runs["one"], folder / "copy.cairn", "--tolerance", "0")
    assert document["verdict"] == "same" and document["whole"]["change"] == 0
    for row in document["rows"]:
        for kind in ("self", "total"):
            value = row[kind]
            assert value["change"] == 0 and value["low"] <= 0 <= value["high"], row
            assert value["verdict"] == "same"


def need_alike(cairn, *files):
    """Two runs in one of which the machine stood still are not of one thing."""
    walls_s = [cairn.report(file)["recording"]["wall_s"] for file in files]
    if max(walls_s) - min(walls_s) > 0.1:
        pytest.skip(f"the same program took {walls_s} s")


def test_two_runs_of_one_thing_are_the_same(cairn, runs):
    need_alike(cairn, runs["one"], runs["again"])
    document = compare(cairn, runs["one"], runs["again"])
    assert document["verdict"] == "same" and document["normalize"] == "run"
    text = cairn("diff", runs["one"], runs["again"]).expect().text
    assert "distinguishable" in text and text.rstrip().endswith("same")


def test_twice_as_much_is_worse_and_how_much(cairn, runs):
    document = compare(cairn, runs["one"], runs["two"], status=WORSE)
    assert document["verdict"] == "worse"
    threads = {"spin": "busy", "sleep_through": "sleeper", "wait_for_lock": "waiter"}
    for name, thread in threads.items():
        value = row_of(document, name)["self"]
        took = [runs[run, "facts"][thread]["wall_s"] for run in ("one", "two")]
        assert value["verdict"] == "worse", (name, value)
        slack_s = runs["blind_s"]
        assert value["low"] - slack_s <= took[1] - took[0] <= value["high"] + slack_s, (name, value, took)
    reports = [cairn.report(runs[name])["rows"] for name in ("one", "two")]
    sums = [sum(row["self_s"] for row in rows) for rows in reports]
    assert abs(document["whole"]["change"] - (sums[1] - sums[0])) < 1e-6
    document = compare(cairn, runs["two"], runs["one"])
    assert row_of(document, "spin")["self"]["verdict"] == "better"


def test_sums_are_those_of_the_reports(cairn, runs):
    document = compare(cairn, runs["one"], runs["two"], "--idle", status=WORSE)
    for side in ("before", "after"):
        rows = cairn.report(document[side]["file"], "--idle")["rows"]
        wanted = {(r["qualname"], r["file"], r["module"]): r["self_s"] for r in rows}
        got = {(r["qualname"], r["file"], r["module"]): r["self"][side] for r in document["rows"]}
        for key, value in wanted.items():
            assert abs(got[key] - value) < 1e-6, key


def test_shares_do_not_see_that_all_took_longer(cairn, runs):
    document = compare(cairn, runs["one"], runs["two"], "--normalize", "share")
    assert document["verdict"] == "same" and document["whole"]["before"] == 1


def test_what_was_attached_to_is_compared_by_the_second(cairn, worker, python, folder):
    target = worker(python)
    for name, time in (("short", "500ms"), ("long", "1s")):
        words = ["--report", "none", "--for", time, "-o", folder / name]
        cairn.need_sight(folder / name, cairn("attach", *words, target.pid).expect())
    document = compare(cairn, folder / "short", folder / "long", "--tolerance", "10")
    assert document["normalize"] == "second"
    assert abs(document["whole"]["after"] - document["whole"]["before"]) < 0.1


def test_new_and_removed_rows(cairn, runs, names):
    document = compare(cairn, runs["one"], names, status=WORSE)
    assert row_of(document, "spin")["status"] == "removed"
    assert row_of(document, "spin")["self"]["after"] == 0
    assert row_of(document, "semi;colon")["status"] == "new"
    text = cairn("diff", runs["one"], names, env={"COLUMNS": "160"}).expect(WORSE).text
    assert "[gone] spin" in text and "[new] semi;colon" in text


@pytest.mark.parametrize("options", [["--thread", "busy"], ["--focus", "spin"],
                                     ["--from", "300ms", "--to", "900ms"], ["--ignore", "import"],
                                     ["--metric", "cpu"], ["--by", "line"], ["--only-my-code"]],
                         ids=lambda options: options[0])
def test_options_of_reading_commands_hold(cairn, runs, options):
    document = compare(cairn, runs["one"], runs["one"], *options)
    rows = cairn.report(runs["one"], *options)["rows"]
    wanted = {row["qualname"] for row in rows}
    assert {row["qualname"] for row in document["rows"]} == wanted
    assert abs(document["before"]["thread_s"] - sum(row["self_s"] for row in rows)) < 1e-6


def test_few_samples_are_told(cairn, python, runs, folder):
    few = folder / "few.cairn"
    cairn("run", "--report", "none", "-r", "10hz", "-o", few, "--python", python.executable,
          harness.TARGETS / "states.py", 0.3).expect()
    document = compare(cairn, few, runs["one"], status=NOT_ENOUGH)
    assert document["verdict"] == "not_enough_data"
    assert not document["before"]["enough"] and document["after"]["enough"]
    assert document["before"]["samples_wanted"] > document["before"]["samples"]
    text = cairn("diff", few, runs["one"]).expect(NOT_ENOUGH).text
    assert "not enough data" in text and "Record for longer" in text


def test_what_counts_no_samples_is_not_judged(cairn, runs, folder):
    """A table of cProfile's has times and no samples: changes are told, and none called worse."""
    for name, loops in (("few.prof", 20_000), ("many.prof", 400_000)):
        profile = cProfile.Profile()
        profile.runcall(lambda loops=loops: [abs(i) for i in range(loops)])
        profile.dump_stats(folder / name)
    for before, after in (("few.prof", "many.prof"), ("few.prof", runs["one"]), (runs["one"], "few.prof")):
        document = compare(cairn, before, after, status=NOT_ENOUGH)
        assert document["verdict"] == "not_enough_data" and document["compared"] == 0
        for side, file in (("before", before), ("after", after)):
            assert (document[side]["samples"] is None) == (file != runs["one"])
            assert document[side]["enough"] == (file == runs["one"])
        for row in document["rows"]:
            assert not row["compared"]
            for value in (row["self"], row["total"]):
                assert value["low"] is value["high"] is value["verdict"] is None
                assert value["change"] == pytest.approx(value["after"] - value["before"], abs=1e-9)
        text = cairn("diff", before, after, env={"COLUMNS": "120"}).expect(NOT_ENOUGH).text
        markdown = cairn("diff", "--markdown", before, after).expect(NOT_ENOUGH).text
        for shown in (text, markdown):
            assert not re.search(r"worse|better|within|distinguishable|95 of 100", shown), shown
            assert "does not tell how many samples" in " ".join(shown.split()) and "n/a" in shown
    changed = row_of(compare(cairn, "few.prof", "many.prof", status=NOT_ENOUGH), "<built-in method builtins.abs>")
    assert changed["self"]["change"] > 0
    assert "abs" in cairn("diff", "few.prof", "many.prof").expect(NOT_ENOUGH).text
    text = cairn("diff", "few.prof", "few.prof").expect(NOT_ENOUGH).text
    assert re.search(r"None of \d+ changed", text), text


def told_of(cairn, before, after):
    """What text and Markdown tell of two files of another tool: (name, "self" or "total")."""
    text = cairn("diff", before, after, env={"COLUMNS": "120"}).expect(NOT_ENOUGH).text
    lines = re.findall(r"^ .* (self|total) +(?:\[\w+\] )?(\S+)$", text, re.MULTILINE)
    markdown = cairn("diff", "--markdown", before, after).expect(NOT_ENOUGH).text
    rows = re.findall(r"^\|  \| <code>([^<]*)</code>.* \| (self|total) \|", markdown, re.MULTILINE)
    assert {name for _, name in lines} == {name for name, _ in rows}, (text, markdown)
    return text, {(name, which) for which, name in lines}


def test_what_changed_in_total_alone_is_told(cairn, folder):
    """Of files that are not judged: g took as long as before, and others called it."""
    for name, caller in (("one", "zA"), ("other", "zB")):
        (folder / f"{name}.collapsed").write_text(f"main;{caller};g 4000\nmain;zA 500\nmain;zB 500\nmain 3000\n")
    text, told = told_of(cairn, "one.collapsed", "other.collapsed")
    assert told == {("zA", "total"), ("zB", "total")}, text
    assert "2 others did not change." in text, text


def test_what_did_not_change_is_not_told(cairn, folder):
    """Times of 0.1 s are no sums of powers of two: what is left over of them is no change."""
    for name, last in (("one", 1_300_000), ("other", 1_700_000)):
        (folder / f"{name}.collapsed").write_text(
            "".join(f"main;f{i} {3 * 10 ** (i % 6) + i}\n" for i in range(40)) + f"main;last {last}\n")
    text, told = told_of(cairn, "one.collapsed", "other.collapsed")
    assert told == {("last", "self"), ("main", "total")}, text
    assert "40 others did not change." in text, text


def test_counted_calls_are_not_judged_for_their_own_reason(cairn, python, folder):
    if not python.has_engine():
        pytest.skip("the engine has no build for this Python")
    (folder / "calls.py").write_text("def f(): return sum(range(99))\nfor _ in range(9): f()\n")
    for name in ("one", "other"):
        cairn("run", "--exact", "--report", "none", "-o", f"{name}.cairn", "--python", python.executable,
              "calls.py").expect()
    for options in ([], ["--markdown"]):
        text = cairn("diff", "--metric", "counted", *options, "one.cairn", "other.cairn").expect(NOT_ENOUGH).text
        text = " ".join(text.split())
        assert "calls are counted one by one" in text and "another tool" not in text, text


def test_markdown_holds_no_foreign_markup(cairn, runs, names):
    text = cairn("diff", "--markdown", "-n", "30", runs["one"], names).expect(WORSE).text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) > 5 and text.startswith("### cairn: worse\n")
    assert {line.count("|") for line in table} == {9}, "no name adds a column"
    assert set(re.findall(r"<[^>]*>", text)) == {"<code>", "</code>", "<sub>", "</sub>"}
    assert "quote&#34;&#60;tag&#62;" in text and "\u2028" not in text


def test_percentages_have_two_bases(cairn, runs):
    text = [cairn("diff", "--base", base, runs["one"], runs["two"]).expect(WORSE).text
            for base in ("before", "after")]
    parts = [float(re.search(r"\+([\d.]+) % of", t).group(1)) for t in text]
    assert parts[0] > parts[1] > 0
    whole = compare(cairn, runs["one"], runs["two"], status=WORSE)["whole"]
    assert abs(whole["of_before"] * 100 - parts[0]) < 0.1
    assert abs(whole["of_after"] * 100 - parts[1]) < 0.1


def test_lines_fit_and_names_steer_no_terminal(cairn, runs, names):
    for columns in (40, 80, 120):
        out = cairn("diff", runs["one"], names, env={"COLUMNS": str(columns)}).expect(WORSE).out.decode()
        assert "\x1b" not in out and "\0" not in out
        for line in out.splitlines():
            assert len(line) <= columns or "空" in line, (columns, line)


@pytest.mark.parametrize("words", [["--by", "thread"], ["--json", "--markdown"],
                                   ["--from", "2s", "--to", "1s"]])
def test_bad_usage_is_told(cairn, runs, words):
    ended = cairn("diff", *words, runs["one"], runs["two"]).expect(harness.USAGE)
    assert ended.out == b"" and ended.talk


def test_two_recordings_are_needed(cairn, runs, folder):
    cairn("diff", runs["one"]).expect(harness.USAGE)
    (folder / "not.cairn").write_bytes(b"no recording")
    ended = cairn("diff", runs["one"], folder / "not.cairn").expect(harness.DAMAGED)
    assert "not.cairn" in ended.talk


def test_of_nothing_no_share_is_told(cairn, folder):
    for name, stacks in [("nothing", "[]"), ("some", "[[0]]")]:
        (folder / name).write_text('{"shared": {"frames": [{"name": "f"}]}, "profiles": [{"type": "sampled", '
            '"name": "t", "unit": "seconds", "startValue": 0, "endValue": 1, '
            f'"samples": {stacks}, "weights": {stacks.replace("[0]", "1")}}}]}}')
    for words, told in [(["nothing", "some"], False), (["some", "nothing"], True),
                        (["nothing", "some", "--base", "after"], True)]:
        [line] = [line for line in cairn("diff", *words).expect(3).text.splitlines() if line.startswith("whole")]
        assert ("%" in line) == (" of " in line) == told, line
