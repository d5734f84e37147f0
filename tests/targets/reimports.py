"""Modules that are imported again and again: their code lives as long as its run takes.

    reimports.py SECONDS
"""
import importlib
import sys
import time

NAMES = """argparse calendar cmd configparser csv decimal difflib doctest email.mime.text html.parser
    http.client inspect json logging.config pdb pickletools platform plistlib pydoc statistics tarfile
    unittest.mock urllib.request xml.dom.minidom zipfile""".split()
FIRST = {name.partition(".")[0] for name in NAMES}

until = time.perf_counter() + float(sys.argv[1])
while time.perf_counter() < until:
    for name in NAMES:
        importlib.import_module(name)
    for name in list(sys.modules):
        if name.partition(".")[0] in FIRST:
            del sys.modules[name]
