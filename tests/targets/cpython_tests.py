"""Runs CPython's own tests of cProfile with cairn.cprofile in its place.

usage: cpython_tests.py PACKAGE: prints {"ran", "bad": {name: last line of why}} as JSON, or null
where they are not installed.
"""
import io
import json
import sys
import unittest

package = sys.argv[1]
sys.path.insert(0, package)

import cairn._exact  # noqa: E402
import cairn.cprofile  # noqa: E402

sys.modules["cProfile"] = cairn.cprofile
sys.modules["_lsprof"] = cairn._exact

from test.support import script_helper  # noqa: E402


def with_package(helper):
    """The tests start Pythons of their own: those are to find the package, too."""

    def started(*args, **options):
        words = ["cairn.cprofile" if word == "cProfile" else word for word in args]
        return helper(*words, **{"PYTHONPATH": package, "__isolated": False, **options})

    return started


for name in ("assert_python_ok", "assert_python_failure"):
    setattr(script_helper, name, with_package(getattr(script_helper, name)))

try:
    from test import test_cprofile  # noqa: E402
except ImportError:  # Debian packs them apart
    print(json.dumps(None))
    sys.exit(0)

suite = unittest.defaultTestLoader.loadTestsFromModule(test_cprofile)
result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
bad = {
    test.id().rpartition(".")[2]: trace.strip().splitlines()[-1]
    for test, trace in result.failures + result.errors
}
sys.stdout = sys.__stdout__
print(json.dumps({"ran": result.testsRun, "bad": bad}))
