"""A shell with job control and one job: `little_shell.py COMMAND…`, on a terminal.

Says `job stopped`, waits for a line, goes on with `job continued`, and at last `job ended STATUS`.
"""
import os
import signal
import sys


def status_of(wait_status):
    code = os.waitstatus_to_exitcode(wait_status)
    return 128 - code if code < 0 else code


signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
try:
    os.setpgid(job, job)
except PermissionError:
    pass  # the job has done so, and is past its exec
while True:
    _, wait_status = os.waitpid(job, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    if not os.WIFSTOPPED(wait_status):
        break
    print("job stopped", flush=True)
    sys.stdin.readline()
    print("job continued", flush=True)
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
print("job ended", status_of(wait_status), flush=True)
