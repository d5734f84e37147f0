"""Reads of a program's memory that are held up, as on a machine with too much to do."""
import strace
from harness import Frame, parse_collapsed


ENOUGH = 50  # samples


def test_code_that_is_gone_before_it_is_read_is_not_a_function(cairn, interpreter):
    """Reads that are held up, of modules that come and go: what is left of a code object has no
    names any more."""
    strace.require()
    file = cairn.folder / "late.cairn"
    command = [cairn.binary, "run", "--flush", "100ms", "-o", file, "--"]
    command += interpreter.command("reimports.py")

    def stacks():
        return parse_collapsed(cairn("export", "-f", "collapsed", "--unit", "samples", file).text)

    late = ["-e", "trace=process_vm_readv", "-e", "inject=process_vm_readv:delay_enter=400"]
    strace.traced_until(cairn, late, command, lambda: sum(stacks().values()) > ENOUGH).expect()
    assert sum(stacks().values()) > ENOUGH
    assert not [stack for stack in stacks() if Frame("[unknown]") in stack]
