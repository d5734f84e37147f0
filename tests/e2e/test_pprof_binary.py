"""`cairn pprof BINARY FILE`: addresses of gperftools' CPU profiles by their names in ELF files."""
import re
import shutil
import subprocess

import pytest

from harness import execute

C_PROGRAM = """
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sum += i; }
static __attribute__((noinline)) void hidden(int n) { leaf(n); sum++; }
__attribute__((noinline)) void middle(int n) { hidden(2 * n); leaf(n); sum++; }
int main(int argc, char **argv) {
    (void)argv;
    for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;) middle(20000 * argc);
    return 0;
}
"""
OWN = ("leaf", "hidden", "middle", "main")
PAGE = 0x1000


class Binary:
    """A C program, and where its parts would lie in a process."""

    def __init__(self, folder, *options):
        self.path = folder / "t"
        (folder / "t.c").write_text(C_PROGRAM)
        execute(["cc", "-O1", "-g", *options, "-o", self.path, folder / "t.c"]).expect()
        self.base = 0x555555554000 if b"DYN" in self.told("readelf", "-h").split(b"Type:")[1][:40] else 0
        loads = re.findall(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ (R? ?W? ?E?)",
                           self.told("readelf", "-lW").decode())
        self.code = next([int(number, 16) for number in load[:3]] for load in loads if "E" in load[3])
        self.symbols = {}
        for line in self.told("nm", "-S", "--defined-only").decode().splitlines():
            words = line.split()
            if len(words) == 4 and words[2] in "tT":
                self.symbols[words[3]] = int(words[0], 16), int(words[1], 16)

    def told(self, *words):
        return subprocess.run([*words, self.path], capture_output=True, check=True).stdout

    def inside(self, name, offset=5):
        """Where `offset` bytes into a function lie in the process."""
        start, size = self.symbols[name]
        assert offset < size
        return self.base + start + offset

    def maps(self, path=None):
        offset, address, size = self.code
        start = self.base + (address & -PAGE)
        end = (self.base + address + size + PAGE - 1) & -PAGE
        first = f"{self.base or 0x400000:x}-{start:x} r--p 00000000 fd:00 12 {path or self.path}\n"
        return first + f"{start:x}-{end:x} r-xp {offset & -PAGE:08x} fd:00 12 {path or self.path}\n"


def words(*numbers):
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def profile(maps, *stacks):
    """As the page of the format has it: {samples, addresses, leaf first}."""
    data = words(0, 3, 0, 10_000, 0)
    for count, addresses in stacks:
        data += words(count, len(addresses), *addresses)
    return data + words(0, 1, 0) + maps.encode()


def rows_of(text):
    """{name: (flat, cum)} of what -top prints."""
    return {line.split(maxsplit=5)[5]: (line.split()[0], line.split()[3])
            for line in text.splitlines() if re.match(r" +[\d.]+\w* +[\d.]+%", line)}


@pytest.fixture(scope="module", params=["-pie", "-no-pie"])
def binary(request, tmp_path_factory):
    position = "-fPIE" if request.param == "-pie" else "-fno-pie"
    return Binary(tmp_path_factory.mktemp("binary"), request.param, position)


def usual(binary):
    """Six samples in leaf, by way of hidden; two in middle itself: five places in the code."""
    main, middle = binary.inside("main", 20), binary.inside("middle")
    return profile(binary.maps(), (6, [binary.inside("leaf"), binary.inside("hidden"), middle, main]),
                   (2, [middle, main]))


def test_functions_have_their_names(cairn, binary, folder):
    (folder / "x.prof").write_bytes(usual(binary))
    for named in ([binary.path], []):  # the file that is mapped is found without, as by pprof
        ended = cairn("pprof", "-top", *named, "x.prof").expect()
        assert rows_of(ended.text) == {"leaf": ("60ms", "60ms"), "middle": ("20ms", "80ms"),
                                       "hidden": ("0", "60ms"), "main": ("0", "80ms")}
        assert "no name" not in ended.talk
    traces = cairn("pprof", "-traces", binary.path, "x.prof").expect().text
    assert re.search(r"60ms +leaf\n +hidden\n +middle\n +main\n", traces)


def test_every_byte_of_a_function_has_the_name_that_addr2line_gives(cairn, binary, folder):
    places = [binary.base + start + offset for start, size in (binary.symbols[name] for name in OWN)
              for offset in range(0, size, 3)]
    told = subprocess.run(["addr2line", "-f", "-e", binary.path, *(hex(a - binary.base) for a in places)],
                          capture_output=True, text=True, check=True).stdout.splitlines()[::2]
    wanted = {name: told.count(name) for name in OWN}
    assert sum(wanted.values()) == len(places)
    (folder / "x.prof").write_bytes(profile(binary.maps(), *((1, [place]) for place in places)))
    rows = rows_of(cairn("pprof", "-top", "-unit=ms", binary.path, "x.prof").expect().text)
    assert {name: round(float(flat[:-2])) for name, (flat, _) in rows.items()} == \
        {name: 10 * count for name, count in wanted.items()}


def test_a_caller_is_where_the_call_was_not_where_it_returns(cairn, binary, folder):
    """A call that ends a function returns behind it."""
    start, size = binary.symbols["hidden"]
    (folder / "x.prof").write_bytes(profile(binary.maps(), (1, [binary.inside("leaf"),
                                                                binary.base + start + size])))
    assert set(rows_of(cairn("pprof", "-top", binary.path, "x.prof").expect().text)) == {"leaf", "hidden"}


def test_the_binary_stands_for_the_program_that_is_gone(cairn, binary, folder):
    data = usual(binary).replace(bytes(binary.path), b"/gone/from/here")
    (folder / "x.prof").write_bytes(data)
    assert "leaf" in rows_of(cairn("pprof", "-top", binary.path, "x.prof").expect().text)
    ended = cairn("pprof", "-top", "x.prof").expect()
    assert not set(OWN) & set(rows_of(ended.text))
    assert "5 of 5 addresses have no name" in ended.talk and "/gone/from/here (5)" in ended.talk


def test_what_has_no_symbol_is_told(cairn, binary, folder):
    """A stripped program has none; nothing is mapped at the address; the file is no program."""
    stripped = folder / "stripped"
    shutil.copy(binary.path, stripped)
    execute(["strip", stripped]).expect()
    data = profile(binary.maps() + "7f0000000000-7f0000001000 r-xp 00000000 fd:00 9 /etc/passwd\n",
                   (1, [binary.inside("leaf"), binary.inside("main", 20)]), (1, [0x99]),
                   (1, [0x7f0000000010]))
    (folder / "x.prof").write_bytes(data)
    ended = cairn("pprof", "-top", stripped, "x.prof").expect()
    assert not set(OWN) & set(rows_of(ended.text))
    assert "4 of 4 addresses have no name" in ended.talk
    assert f"{binary.path} (2)" in ended.talk and "/etc/passwd (1)" in ended.talk
    ended = cairn("pprof", "-top", binary.path, "x.prof").expect()
    assert {"leaf", "main"} <= set(rows_of(ended.text))
    assert "2 of 4 addresses have no name" in ended.talk and f"{binary.path} (" not in ended.talk


def test_a_program_that_is_damaged_is_one_without_names(cairn, binary, folder):
    (folder / "x.prof").write_bytes(usual(binary))
    whole = binary.path.read_bytes()
    for cut in (64, len(whole) // 2, len(whole) - 100):
        (folder / "cut").write_bytes(whole[:cut])
        ended = cairn("pprof", "-top", folder / "cut", "x.prof").expect()
        assert "addresses have no name" in ended.talk


def test_other_commands_open_no_file_that_a_profile_names(cairn, binary, folder):
    (folder / "x.prof").write_bytes(usual(binary))
    names = {row["name"] for row in cairn.report("x.prof")["rows"]}
    assert names and all(name.startswith("0x") for name in names)


def test_a_profile_that_gperftools_wrote(cairn, folder):
    """Beside what the tool's own pprof says of the same two files."""
    pprof = shutil.which("google-pprof")
    links = execute(["cc", "-shared", "-x", "c", "/dev/null", "-lprofiler", "-o", folder / "links"])
    if pprof is None or links.status != 0:
        pytest.skip("google-perftools and libgoogle-perftools-dev are not both installed")
    binary = Binary(folder, "-Wl,--no-as-needed", "-lprofiler")
    execute([binary.path], env={"CPUPROFILE": str(folder / "x.prof")}).expect()
    told = execute([pprof, "--text", binary.path, folder / "x.prof"]).expect().text
    wanted = {words[5]: int(words[0]) for words in map(str.split, told.splitlines())
              if len(words) == 6 and words[0].isdigit()}
    ended = cairn("pprof", "-top", "-sample_index=samples", binary.path, "x.prof").expect()
    got = {name: int(flat) for name, (flat, _) in rows_of(ended.text).items()}
    for name in OWN:
        assert got.get(name, 0) == wanted.get(name, 0), (told, ended.text)
    assert got["leaf"] > 10
