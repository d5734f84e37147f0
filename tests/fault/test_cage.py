"""What reads a file of another tool goes mad: it does no harm, and is one clear answer.

The library that unpacks gzip is replaced, by the loader and for the tests alone, by one that does
what a file made for that would have the reader do."""
import gzip
import os
import shutil
import sys

import pytest

import harness
from harness import execute

REFUSE = [sys.executable, harness.TARGETS / "refuse.py"]
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
STACKS = b"main (a.py:1);work (a.py:2) 75\nmain (a.py:3) 25\n"

MADMAN = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* In place of zlib's: an answer of -3 is "damaged", of -4 "out of memory". */
int inflate(void *stream, int flush)
{
    const char *how = getenv("HOW"), *place = getenv("PLACE");
    char *words[] = {"sh", "-c", "echo harm >&2; touch $PLACE", 0};
    (void)stream, (void)flush;
    if (!strcmp(how, "crash")) *(volatile char *)place = *(volatile char *)8;
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "killed")) raise(SIGKILL);
    if (!strcmp(how, "open")) open(place, O_CREAT | O_WRONLY, 0600);
    if (!strcmp(how, "read")) open("/etc/passwd", O_RDONLY);
    if (!strcmp(how, "connect")) socket(AF_INET, SOCK_STREAM, 0);
    if (!strcmp(how, "exec")) execv("/bin/sh", words);
    if (!strcmp(how, "fork") && fork() == 0) execv("/bin/sh", words);
    if (!strcmp(how, "say")) (void)!write(2, "harm\n", 5);
    if (!strcmp(how, "leave")) exit(0);
    if (!strcmp(how, "memory")) { while (malloc(1 << 20)) ; return -4; }
    if (!strcmp(how, "stay")) for (volatile unsigned i = 0;; i++) ;
    return -3;
}
"""
ENDED = "asked the system for what it never needs"
HARM = {
    "crash": "crashed: Segmentation fault", "abort": "crashed: Aborted", "killed": "was killed",
    "leave": "crashed", "memory": "more memory to read than the 484 MB", "say": "damaged",
    **{how: ENDED for how in ["open", "read", "connect", "exec", "fork"]},
}  # fmt: skip


@pytest.fixture(scope="module")
def madman(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler to make the library with")
    folder = tmp_path_factory.mktemp("madman")
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    (folder / "m.c").write_text(MADMAN)
    execute(["cc", "-w", "-shared", "-fPIC", "-o", "m.so", "m.c"], cwd=folder).expect()
    return folder / "m.so"


@pytest.fixture
def mad(cairn, folder, madman):
    """Runs the command on a packed file, which is then read as `how` says."""
    (folder / "x").write_bytes(gzip.compress(STACKS))
    before = set(os.listdir(folder))

    def run(how, *args, prefix=()):
        env = {"LD_PRELOAD": str(madman), "HOW": how, "PLACE": str(folder / "harm")}
        ended = execute([*prefix, cairn.binary, *args], **cairn.options({"env": env}))
        assert ended.status == harness.DAMAGED, (ended.status, ended.talk)
        assert ended.out == b"" and 1 <= len(ended.talk.splitlines()) <= 4
        assert "harm" not in ended.talk.replace("to do harm", "")
        assert set(os.listdir(folder)) == before, "nothing is left behind, and nothing was made"
        return ended.talk

    return run


COMMANDS = [["report", "x"], ["import", "-o", "y.cairn", "x"], ["html", "-o", "y.html", "x"]]


@pytest.mark.parametrize("how", HARM)
def test_whatever_the_reader_does_is_one_answer(mad, how):
    for command in COMMANDS:
        told = mad(how, *command)
        assert HARM[how] in told and " x " in told.splitlines()[0]


@pytest.mark.parametrize("how", ["open", "read", "connect", "exec", "fork", "say"])
def test_without_a_filter_it_can_make_nothing_either(mad, how):
    mad(how, "report", "x", prefix=[*REFUSE, "seccomp"])


def test_without_a_filter_files_are_read_and_that_is_told(cairn, folder):
    (folder / "x").write_bytes(gzip.compress(STACKS))
    whole = cairn("report", "--json", "x").expect().json()
    assert whole["total_s"] == pytest.approx(100e-6)
    refused = [*REFUSE, "seccomp", cairn.binary]
    ended = execute([*refused, "report", "--json", "x"], **cairn.options({}))
    assert ended.expect().json()["rows"] == whole["rows"]
    told = execute([*refused, "doctor"], **cairn.options({})).expect().text
    assert "\ncage       no seccomp filter: Operation not permitted\n" in told
    document = execute([*refused, "doctor", "--json"], **cairn.options({})).expect().json()
    assert document["cage"]["seccomp"] is False and "seccomp" in document["cage"]["why"]


def test_with_a_filter_that_is_told(cairn):
    document = cairn("doctor", "--json").expect().json()
    assert document["cage"] == {"seccomp": True, "why": None}
    assert "\ncage       seccomp: " in cairn("doctor").expect().text


def test_who_has_no_rights_reads_as_well(cairn, folder):
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    (folder / "x").write_bytes(gzip.compress(STACKS))
    (folder / "x").chmod(0o644)
    shutil.copy(cairn.binary, folder / "cairn")
    command = [*NOBODY, folder / "cairn", "report", "--json", "x"]
    ended = execute(command, cwd=folder, env=cairn.environment())
    assert ended.expect().json()["total_s"] == pytest.approx(100e-6)


def test_a_file_of_root_alone_is_read_by_nobody(cairn, folder):
    """By the descriptor, which is all that it needs."""
    (folder / "x").write_bytes(gzip.compress(STACKS))
    (folder / "x").chmod(0o600)
    assert cairn.report("x")["total_s"] == pytest.approx(100e-6)


def test_the_child_goes_with_its_parent(cairn, folder, madman):
    (folder / "x").write_bytes(gzip.compress(STACKS))
    env = {"LD_PRELOAD": str(madman), "HOW": "stay", "PLACE": "x"}
    process = cairn.spawn("report", "x", env=env)
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    try:
        found = ""
        while not found:
            assert process.poll() is None
            with open(children, encoding="ascii") as file:
                found = file.read().strip()
        child = os.pidfd_open(int(found))
        process.kill()
        readable, _, _ = harness.select.select([child], [], [], harness.DEADLINE_S)
        os.close(child)
        assert readable, "it lives on"
    finally:
        harness.end_group(process)
        harness.finish(process)
