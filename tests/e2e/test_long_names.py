"""Functions whose names are longer than anybody writes them: those of generated code."""
NAMES = {200: "a", 4000: "b", 4100: "c", 10000: "d", 9000: "\u00e9"}
CUT = {40000: ("e", 16384), 9001: ("\u4e2d", 8192)}  # CAIRN_PYSTR_CUT_BYTES: two of the latter a character


def test_a_long_name_is_there_with_its_file_and_line(cairn, interpreter, folder):
    cairn("run", "-r", "200", "-o", folder / "r.cairn", "--",
          *interpreter.command("long_names.py")).expect()  # fmt: skip
    frames = {frame for stack in cairn.collapsed(folder / "r.cairn") for frame in stack}
    wanted = {(f"made/{length}.py", letter * length) for length, letter in NAMES.items()}
    wanted |= {(f"made/{length}.py", letter * kept + "\u2026") for length, (letter, kept) in CUT.items()}
    assert {(frame.file, frame.name) for frame in frames if frame.file.startswith("made/")} == wanted
    assert {frame.line for frame in frames if frame.file.startswith("made/")} <= {2, 3}
    assert "[unknown]" not in {frame.name for frame in frames}
