"""Threads that each run a loop of asyncio and are over, SIDE at a time.

    thread_loops.py SECONDS

Prints how many there were.
"""
import asyncio
import json
import sys
import threading
import time

SIDE = 16
NAP_S = 0.025  # long enough to be found by a round of tasks


def main(seconds):
    over, made = time.monotonic() + seconds, 0
    while time.monotonic() < over:
        threads = [threading.Thread(target=asyncio.run, args=(asyncio.sleep(NAP_S),))
                   for _ in range(SIDE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        made += SIDE
    print(json.dumps({"threads": made}))


if __name__ == "__main__":
    main(float(sys.argv[1]))
