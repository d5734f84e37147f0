"""Under sudo: the program and the recording are those of the user who called it, sampling is root's.

What sudo leaves behind is set by hand: where sudo is installed, nobody may not use it.
"""
import os
import shutil

import pytest

import harness
from harness import execute, time_in

NOBODY = 65534
SYSTEM = "/usr/bin/python3"
TELL = """
import json, os, sys
names = ("HOME", "USER", "LOGNAME", "SHELL", "SUDO_UID", "SUDO_USER", "SUDO_COMMAND")
print(json.dumps({
    "uid": os.getresuid(), "gid": os.getresgid(), "groups": os.getgroups(),
    "env": {name: os.environ.get(name) for name in names},
}))
sum(range(10 ** 7))
"""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else"),
    pytest.mark.skipif(
        (harness.version_of(SYSTEM) or (0,))[:2] not in harness.SUPPORTED,
        reason=f"{SYSTEM} is not a supported CPython that everybody may run",
    ),
]


@pytest.fixture
def sudo(cairn, folder):
    """Runs Cairn as sudo would for nobody, in a folder that is nobody's."""
    os.chown(folder, NOBODY, NOBODY)

    def run(*args, cwd=folder, **env):
        env = {"SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody", **env}
        env = cairn.environment(SUDO_COMMAND="cairn", HOME="/root", USER="root", **env)
        return execute([cairn.binary, *args], cwd=cwd, env=env)

    return run


def owners(folder):
    return {(p.stat().st_uid, p.stat().st_gid) for p in [folder, *folder.rglob("*")]}


def test_program_and_recording_are_the_users(sudo, folder):
    ended = sudo("run", "--python", SYSTEM, "-c", TELL).expect()
    told = ended.last_json()
    assert told["uid"] == [NOBODY] * 3 and told["gid"] == [NOBODY] * 3
    assert told["groups"] == [NOBODY]
    assert told["env"]["USER"] == told["env"]["LOGNAME"] == "nobody"
    assert told["env"]["HOME"] not in (None, "/root")
    assert not any(told["env"][name] for name in ("SUDO_UID", "SUDO_USER", "SUDO_COMMAND"))
    assert "runs as nobody" in ended.talk and "--as-root" in ended.talk and "quality" in ended.talk
    assert len(list((folder / ".cairn").glob("*.cairn"))) == 1
    assert owners(folder) == {(NOBODY, NOBODY)}


def test_as_root_leaves_everything_to_root(sudo, folder):
    ended = sudo("run", "--as-root", "--python", SYSTEM, "-c", TELL).expect()
    told = ended.last_json()
    assert told["uid"] == [0] * 3 and told["env"]["HOME"] == "/root"
    assert told["env"]["SUDO_UID"] == str(NOBODY), "as it would be without Cairn"
    assert "runs as" not in ended.talk
    assert owners(folder / ".cairn") == {(0, 0)}


def test_it_is_sampled_all_the_same(cairn, sudo, folder):
    shutil.copy(harness.TARGETS / "busy.py", folder)
    ended = sudo("run", "-o", "x.cairn", "--report", "r.txt", "--python", SYSTEM, "busy.py", "1")
    truth = ended.expect().last_json()
    stacks, near_s = cairn.collapsed(folder / "x.cairn"), 0.1 + cairn.blind_s(folder / "x.cairn", ended)
    assert abs(time_in(stacks, "heavy") / 1e6 - truth["spent_s"]["heavy"]) < near_s
    for name in ("x.cairn", "r.txt"):
        assert (folder / name).stat().st_uid == NOBODY


def test_attach_records_for_the_user(sudo, folder, python, worker):
    target = worker(python)  # of root: looking is root's right still
    sudo("attach", "--for", "300ms", target.pid).expect()
    assert owners(folder) == {(NOBODY, NOBODY)}
    target.check_answer()


def test_root_is_not_led_where_the_user_may_not_write(sudo, folder, tmp_path):
    """A link of the user's must not make root create a file for them."""
    tmp_path.chmod(0o755)
    (folder / ".cairn").symlink_to(tmp_path)
    ended = sudo("run", "--python", SYSTEM, "-c", "0", TMPDIR=str(folder))
    assert "because .cairn/ here cannot be written" in ended.expect().talk
    assert not list(tmp_path.iterdir())
    assert owners(folder / f"cairn-{NOBODY}") == {(NOBODY, NOBODY)}
    ended = sudo("run", "-o", tmp_path / "x.cairn", "--python", SYSTEM, "-c", "print('began')")
    assert ended.status in (harness.NO_PERMISSION, harness.CAIRN_FAILED) and ended.out == b""
    assert "Permission denied" in ended.talk
    assert not list(tmp_path.iterdir())


def test_a_failed_run_leaves_nothing_behind(sudo, folder):
    sudo("run", "--python", SYSTEM, "/nosuch/program").expect(harness.NOT_FOUND)
    assert not list(folder.iterdir())


def test_a_users_own_environment_means_nothing(cairn, folder):
    """Without root SUDO_UID is a word like any other."""
    folder.chmod(0o777)
    shutil.copy(cairn.binary, folder / "cairn")
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    env = cairn.environment(SUDO_UID="1", SUDO_GID="1", HOME=str(folder))
    run = [*nobody, "./cairn", "run", "--python", SYSTEM, "-c", TELL]
    ended = execute(run, cwd=folder, env=env).expect()
    assert ended.last_json()["uid"] == [NOBODY] * 3 and "runs as" not in ended.talk
    assert ended.last_json()["env"]["SUDO_UID"] == "1"
