"""What `pip install .` and `pip wheel .` build with (PEP 517): a wheel of the command, the package,
and one extension module for each CPython.

Without settings that is the CPython that pip runs with. `-C fat=true`: every one that tools/abis.py
finds, in one wheel. `-C build=FOLDER`: what `make build` made there is packed, nothing compiled.
"""
import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "cairn"
# What pkg-config calls them, or what is looked for in PATH, and the package of Debian that has them.
LIBRARIES = {
    "libzstd": "libzstd-dev", "libxxhash": "libxxhash-dev", "zlib": "zlib1g-dev",
    "libelf": "libelf-dev", "libdw": "libdw-dev", "libpcre2-8": "libpcre2-dev",
    "libprotobuf-c": "libprotobuf-c-dev", "libmicrohttpd": "libmicrohttpd-dev",
}
PROGRAMS = {"cc": "gcc", "pkg-config": "pkg-config", "protoc-c": "protobuf-c-compiler"}


def version():
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


def headers():
    """Where Python.h of this Python should be."""
    import sysconfig

    return Path(sysconfig.get_paths()["include"]) / "Python.h"


def missing(fat):
    """{what is not here: the package that has it}"""
    lacking = {name: package for name, package in PROGRAMS.items() if not shutil.which(name)}
    if "pkg-config" not in lacking:
        for name, package in LIBRARIES.items():
            if subprocess.run(["pkg-config", "--exists", name], check=False).returncode != 0:
                lacking[name] = package
    if not fat and not headers().exists():
        lacking["Python.h"] = "python{}.{}-dev".format(*sys.version_info)
    return lacking


def check(fat):
    lacking = missing(fat)
    if lacking:
        names, packages = ", ".join(lacking), " ".join(lacking.values())
        sys.exit(f"cairn: not here, and needed to build it: {names}; apt-get install {packages}")


def run(*command, **environment):
    done = subprocess.run(list(map(str, command)), cwd=ROOT, env={**os.environ, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-4000:]}\ncairn: {command[0]} failed; see above")


def build(folder, fat):
    check(fat)
    which = {} if fat else {"CAIRN_PYTHONS": sys.executable}
    run("meson", "setup", folder, "-Dtests=false", "-Dprefix=/usr", **which)
    run("meson", "compile", "-C", folder, **which)


def tag(fat):
    python = "py3-none" if fat else "cp{0}{1}-cp{0}{1}".format(*sys.version_info)
    return f"{python}-linux_{platform.machine()}"


def metadata():
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version()}\n"
            "Summary: A profiler for Python: where a program is slow, why, and what to do about it\n"
            "License: Apache-2.0\nRequires-Python: >=3.8\n"
            "Description-Content-Type: text/markdown\n\n" + (ROOT / "README.md").read_text())


class Wheel:
    """A wheel that is being written, and the list of what is in it."""

    def __init__(self, path, name):
        self.archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.info = f"{name}.dist-info"
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same files, the same wheel
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def finish(self):
        self.record.append(f"{self.info}/RECORD,,")
        self.archive.writestr(f"{self.info}/RECORD", "\n".join(self.record) + "\n")
        self.archive.close()


def pack(folder, path, fat):
    name = f"{NAME}-{version()}"
    with tempfile.TemporaryDirectory() as staging:
        run("meson", "install", "-C", folder, "--no-rebuild", "--destdir", staging)
        (command,) = Path(staging).glob("**/bin/cairn")
        package = command.parent.parent / "share" / "cairn" / "python"
        wheel = Wheel(path, name)
        wheel.add(f"{name}.data/scripts/cairn", command.read_bytes(), 0o755)
        for file in sorted(package.rglob("*")):
            if file.is_file():
                wheel.add(str(file.relative_to(package)), file.read_bytes())
    wheel.add(f"{wheel.info}/METADATA", metadata().encode())
    wheel.add(f"{wheel.info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: cairn\nRoot-Is-Purelib: false\n"
                                     f"Tag: {tag(fat)}\n".encode())
    wheel.add(f"{wheel.info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.finish()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = config_settings or {}
    fat = settings.get("fat") == "true" or "build" in settings
    file = f"{NAME}-{version()}-{tag(fat)}.whl"
    with tempfile.TemporaryDirectory() as made:
        folder = settings.get("build")
        if folder is None:
            folder = Path(made) / "build"
            build(folder, fat)
        pack(folder, Path(wheel_directory) / file, fat)
    return file


def build_sdist(sdist_directory, config_settings=None):
    """What git knows of, as it lies here."""
    import io
    import tarfile

    name = f"{NAME}-{version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for file in filter(None, listed.stdout.decode().split("\0")):
            archive.add(ROOT / file, f"{name}/{file}", recursive=False)
        told = tarfile.TarInfo(f"{name}/PKG-INFO")
        content = metadata().encode()
        told.size = len(content)
        archive.addfile(told, io.BytesIO(content))
    return f"{name}.tar.gz"


def main():
    """`backend.py FOLDER BUILD`: the fat wheel of a build folder, for `make wheel`."""
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(Path(sys.argv[1]) / build_wheel(sys.argv[1], {"build": sys.argv[2]}))


if __name__ == "__main__":
    main()
