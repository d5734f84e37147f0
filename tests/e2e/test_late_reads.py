"""Reads of a program's memory that are held up, as on a machine with too much to do."""
import strace
from harness import Frame


def test_code_that_is_gone_before_it_is_read_is_not_a_function(cairn, interpreter):
    """Reads that are held up, of modules that come and go: what is left of a code object has no
    names any more."""
    strace.require()
    file = cairn.folder / "late.cairn"
    command = [cairn.binary, "run", "-o", file, "--", *interpreter.command("reimports.py", 2.5)]
    late = ["-e", "trace=process_vm_readv", "-e", "inject=process_vm_readv:delay_enter=400"]
    strace.traced(cairn.folder, late, command, **cairn.options({})).expect()
    stacks = cairn.collapsed(file, "--unit", "samples")
    assert sum(stacks.values()) > 50
    assert not [stack for stack in stacks if Frame("[unknown]") in stack]
