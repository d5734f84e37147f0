"""A thread that computes for a while, and is outlived by its process.

    outlived.py [SECONDS]

Prints the processor time of the thread, as the kernel has it.
"""
import json
import sys
import threading
import time


def compute(seconds, told):
    while time.thread_time() < seconds:
        pass
    told["thread_cpu_s"] = time.thread_time()


def main():
    told = {}
    args = (float(sys.argv[1]) if len(sys.argv) > 1 else 1.0, told)
    thread = threading.Thread(target=compute, args=args, name="computer")
    thread.start()
    thread.join()
    time.sleep(0.5)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
