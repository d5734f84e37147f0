"""Runs CPython's own tests of cProfile, profile and pstats with Cairn's modules in their place.

usage: cpython_tests.py PACKAGE: prints {module: {"ran", "bad": {name: last line of why}}} as JSON,
or null where they are not installed.
"""
import importlib
import io
import json
import sys
import unittest
import warnings

package = sys.argv[1]
sys.path.insert(0, package)

import cairn._exact  # noqa: E402
import cairn.cprofile  # noqa: E402
import cairn.pstats  # noqa: E402

OURS = {
    "cProfile": cairn.cprofile,
    "profile": cairn.cprofile,  # one engine stands for both
    "profiling.tracing": cairn.cprofile,
    "_lsprof": cairn._exact,
    "pstats": cairn.pstats,
}
COMMANDS = {"cProfile": "cairn.cprofile", "profile": "cairn.cprofile", "pstats": "cairn.pstats"}
TESTS = ["test_cprofile", "test_profile", "test_pstats"]
if sys.version_info >= (3, 15):
    import profiling

    profiling.tracing = cairn.cprofile
    TESTS[0] = "test_profiling.test_tracing_profiler"
sys.modules.update(OURS)

from test.support import script_helper  # noqa: E402


def with_package(helper):
    """The tests start Pythons of their own: those are to find the package, too."""

    def started(*args, **options):
        words = [COMMANDS.get(word, word) for word in args]
        return helper(*words, **{"PYTHONPATH": package, "__isolated": False, **options})

    return started


for name in ("assert_python_ok", "assert_python_failure"):
    setattr(script_helper, name, with_package(getattr(script_helper, name)))


def suites(name):
    """Of the classes that are the module's own: one imports another's."""
    module = importlib.import_module(f"test.{name}")
    for thing in vars(module).values():
        if isinstance(thing, type) and issubclass(thing, unittest.TestCase) and thing.__module__ == module.__name__:
            yield unittest.defaultTestLoader.loadTestsFromTestCase(thing)


def told(name):
    result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.TestSuite(suites(name)))
    bad = {
        ".".join(getattr(test, "test_case", test).id().split(".")[-2:]): trace.strip().splitlines()[-1]
        for test, trace in result.failures + result.errors
    }
    return {"ran": result.testsRun, "bad": bad}


try:
    importlib.import_module(f"test.{TESTS[0]}")
except ImportError:  # Debian packs them apart
    print(json.dumps(None))
    sys.exit(0)
warnings.simplefilter("ignore")
found = {name.rpartition(".")[2]: told(name) for name in TESTS}
sys.stdout = sys.__stdout__
print(json.dumps(found))
