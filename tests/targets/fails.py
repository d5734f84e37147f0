"""Works a while, then ends with a traceback and status 1."""
import time


def work():
    until = time.perf_counter() + 0.4
    while time.perf_counter() < until:
        pass


def fail():
    raise ValueError("as asked")


work()
print("worked", flush=True)
fail()
