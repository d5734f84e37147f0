"""Functions that are made, called once and dropped: each one's code lies where the last one's did.

    takeover.py [COUNT [SECONDS [DEPTH]]]

Each sleeps for SECONDS, at the end of DEPTH calls of a function that stays. Prints the seconds that
each one took, by its name.
"""
import json
import sys
import time

SOURCE = "def {name}():\n    start = clock()\n    down(depth, seconds)\n    return clock() - start\n"
def down(depth, seconds):
    if depth:
        down(depth - 1, seconds)
    else:
        time.sleep(seconds)


def main():
    arguments = sys.argv[1:] + ["100", "0.02", "0"][len(sys.argv) - 1 :]
    count, seconds, depth = int(arguments[0]), float(arguments[1]), int(arguments[2])
    waited = {}
    for i in range(count):
        scope = {"clock": time.perf_counter, "down": down, "depth": depth, "seconds": seconds}
        exec(SOURCE.format(name=f"made_{i}"), scope)
        waited[f"made_{i}"] = scope.pop(f"made_{i}")()
    print(json.dumps(waited))


if __name__ == "__main__":
    main()
