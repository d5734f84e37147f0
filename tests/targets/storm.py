"""Does one thing over and over for so many seconds: begins itself anew, forks, starts threads.

    storm.py exec|fork|threads SECONDS

At the end it prints how often, as one JSON object.
"""
import json
import os
import sys
import threading
import time


def exec_storm(until, count):
    if time.monotonic() < until:
        os.execv(sys.executable, [sys.executable, __file__, "exec", str(until), str(count + 1)])
    return count


def fork_storm(until, count):
    while time.monotonic() < until:
        pids = []
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            pids.append(pid)
        for pid in pids:
            assert os.waitpid(pid, 0)[1] == 0
        count += len(pids)
    return count


def thread_storm(until, count):
    while time.monotonic() < until:
        threads = [threading.Thread(target=sum, args=(range(1000),)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        count += len(threads)
    return count


def main():
    kind, count = sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 0
    # What follows an exec is given the end of the storm.
    until = float(sys.argv[2]) if count else time.monotonic() + float(sys.argv[2])
    storm = {"exec": exec_storm, "fork": fork_storm, "threads": thread_storm}[kind]
    print(json.dumps({"count": storm(until, count)}))


main()
