"""Files that a process maps, made by somebody who wants Cairn to lose its time in them."""
import harness


def test_a_file_full_of_symbols_does_not_keep_it_busy(cairn, python, folder):
    process = harness.spawn([*python.command("odd_elf.py", folder / "odd")])
    try:
        pid = harness.json.loads(harness.read_line(process))["ready"]
        maps = harness.Path(f"/proc/{pid}/maps").read_text().splitlines()
        assert maps[0].endswith("/odd"), "it is the first that is looked into"
        document = cairn("doctor", "--json", pid, deadline_s=30).expect().json()
        assert document["python"]["version"], "it goes on to the next file"
    finally:
        harness.end_group(process)
        harness.finish(process)
