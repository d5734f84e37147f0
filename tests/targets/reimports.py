"""Modules that are imported again and again, until stdin ends: their code lives as long as its run
takes.
"""
import importlib
import select
import sys

NAMES = """argparse calendar cmd configparser csv decimal difflib doctest email.mime.text html.parser
    http.client inspect json logging.config pdb pickletools platform plistlib pydoc statistics tarfile
    unittest.mock urllib.request xml.dom.minidom zipfile""".split()
FIRST = {name.partition(".")[0] for name in NAMES}

while not select.select([0], [], [], 0)[0]:
    for name in NAMES:
        importlib.import_module(name)
    for name in list(sys.modules):
        if name.partition(".")[0] in FIRST:
            del sys.modules[name]
