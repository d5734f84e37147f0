"""The kernel refuses what Cairn asks for, as a container's filter may."""
import sys

import pytest

import harness

REFUSE = [sys.executable, harness.TARGETS / "refuse.py"]


def filtered(cairn, calls, *args, **env):
    return harness.execute([*REFUSE, calls, cairn.binary, *args], **cairn.options({"env": env}))


def test_without_perf_events_children_are_polled_for_and_cpu_is_still_known(cairn, python):
    ended = filtered(
        cairn, "perf_event_open", "run", "-o", "x.cairn", "--",
        *python.command("children.py", "fork", 1.0),
    ).expect()  # fmt: skip
    facts = ended.last_json()
    assert "children were looked for now and then" in ended.talk
    document = cairn("report", "--json", "x.cairn").expect().json()
    assert document["recording"]["children"] == "poll"
    blind_s = cairn.blind_s("x.cairn", ended)
    for child in facts["children"]:
        stacks = cairn.collapsed("x.cairn", "--process", str(child))
        spun = sum(v for stack, v in stacks.items() if any(f.name == "child_work" for f in stack))
        assert spun > 0.6e6 - blind_s * 1e6, "a child was missed"
    cpu_s = sum(cairn.collapsed("x.cairn", "--metric", "cpu").values()) / 1e6
    recorded = document["recording"]
    # What ran behind the last look at a child is not known: of each of the two so much.
    least_s = 0.7 * (recorded["user_s"] + recorded["sys_s"]) - len(facts["children"]) * blind_s
    assert cpu_s > least_s, "on a busy machine too"


def test_without_remote_reading_it_says_so_and_the_program_is_none_the_worse(cairn, python):
    ended = filtered(
        cairn, "process_vm_readv", "run", "-o", "x.cairn", "--", *python.command("exits.py", 3)
    )
    assert ended.status in (3, harness.NO_PERMISSION)
    assert "may not be read" in ended.talk and "no Python" not in ended.talk
    attached = filtered(cairn, "process_vm_readv", "dump", "1")
    assert attached.status == harness.NO_PERMISSION


@pytest.mark.parametrize("calls", ["process_vm_readv", "process_vm_readv,perf_event_open"])
def test_run_says_in_one_line_what_is_refused_and_what_would_allow_it(cairn, folder, calls):
    code = "print('its own')"
    ended = filtered(cairn, calls, "run", "--python", sys.executable, "-c", code)
    ended.expect(harness.NO_PERMISSION)
    assert ended.out == b"its own\n"
    (line,) = ended.talk.splitlines()
    assert "seccomp" in line and "process_vm_readv" in line and "would allow it: " in line
    assert not list(folder.rglob("*.cairn")), "no empty recording is left behind"


def test_it_is_said_before_the_program_begins(cairn):
    code = "import sys; sys.stderr.write('the program\\n')"
    ended = filtered(cairn, "process_vm_readv", "run", "--python", sys.executable, "-c", code)
    first, second = ended.expect(harness.NO_PERMISSION).talk.splitlines()
    assert "may not be read" in first and second == "the program"


def test_the_setting_is_that_of_the_container(cairn):
    env = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    ended = filtered(cairn, "process_vm_readv", "run", "-c", "0", **env)
    assert "securityContext: {" in ended.expect(harness.NO_PERMISSION).talk


@pytest.mark.parametrize("command", ["attach", "dump"])
def test_attach_and_dump_say_what_a_filter_refuses(cairn, python, worker, command):
    target = worker(python)
    ended = filtered(cairn, "process_vm_readv", command, target.pid)
    ended.expect(harness.NO_PERMISSION)
    assert ended.out == b"" and len(ended.talk.splitlines()) <= 3
    assert str(target.pid) in ended.talk and "seccomp" in ended.talk
    target.check_answer()
