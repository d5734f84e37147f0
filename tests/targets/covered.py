"""Its own work, with or without coverage.py measuring it.

usage: covered.py [coverage]: with it prints {"lines": […], "tool": …} as JSON: what coverage.py found
of this file, and who had the place of a coverage tool in sys.monitoring meanwhile.
"""
import json
import sys


def leaf(n):
    if n > 10:
        return -1
    return n


def numbers(n):
    for i in range(n):
        if i == 100:
            leaf(100)
        yield leaf(i)


def fails():
    try:
        leaf("a")
    except TypeError:
        return 1
    return 2


def work():
    total = 0
    for i in numbers(20):
        total += i
    fails()
    return total


def tool_now():
    monitoring = getattr(sys, "monitoring", None)
    return monitoring and monitoring.get_tool(monitoring.COVERAGE_ID)


def measured():
    import coverage

    found = coverage.Coverage(data_file=None, config_file=False)
    found.start()
    tool = tool_now()
    work()
    found.stop()
    data = found.get_data()
    (name,) = [name for name in data.measured_files() if name.endswith("covered.py")]
    print(json.dumps({"lines": sorted(data.lines(name)), "tool": tool}))


if __name__ == "__main__":
    measured() if sys.argv[1:] == ["coverage"] else work()
