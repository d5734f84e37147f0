#!/usr/bin/env python3
"""Bundles web/src into web/dist, which the build embeds; --check says whether that is stale.

usage: bundle.py SOURCE_ROOT [--check]

Bundling needs node and npm (Debian: nodejs npm), the build does not: what is bundled is committed,
with the hashes of what it was made from. --check holds these against the files; where
web/node_modules lies it also checks the types, bundles anew and compares bytes.
"""
import hashlib
import pathlib
import subprocess
import sys
import tempfile

TARGET = "--target=es2022"
SCRIPT = ["src/main.tsx", "--bundle", "--format=iife", "--tsconfig-raw={}", "--jsx=transform",
          "--jsx-factory=h", "--jsx-fragment=Fragment", "--inject:src/h.ts"]
# Properties that are of the script alone, neither of the data nor of the browser: they need no names.
OWN = ("profile written choice sums flame programOnly outermost firstLine timeless siblings isOpen "
       "hasChildren setOpen showAll waits places layer again thin parent totals func node whole found "
       "outside sure fills pieces sides primitive caller callee timed hits "
       "native folded base change words depth zoom cutoff seen stack starts box within thick radius kept outer drop edge names "
       "first last level above judged shade copy several funcs order pause follow down cold "
       "place arms pairs valueOf sign ink own full_ns home hot dim most boxes where what phase label view after part kind").split()
# Names of preact's own: no component here is a class, and nothing else goes by them.
PREACTS = ("getDerivedStateFromProps getDerivedStateFromError getSnapshotBeforeUpdate getChildContext "
           "componentWillMount componentDidMount componentWillUpdate componentDidUpdate componentDidCatch "
           "componentWillReceiveProps componentWillUnmount shouldComponentUpdate forceUpdate contextType "
           "defaultProps debounceRendering vnode diffed unmount props setState Provider Consumer").split()
SCRIPT += [f"--mangle-props=^({'|'.join(OWN + PREACTS)})$"]
STYLE = ["src/page.css"]


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    web, dist = root / "web", root / "web" / "dist"
    if "--check" in sys.argv[2:]:
        return check(root, web, dist)
    if not (web / "node_modules").is_dir():
        run(web, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    run(web, "node_modules/.bin/tsc", "--noEmit")
    bundle(web, dist)
    (dist / "made-from.sha256").write_text(hashes(root, web, dist))
    return 0


def check(root: pathlib.Path, web: pathlib.Path, dist: pathlib.Path) -> int:
    wanted, found = hashes(root, web, dist), (dist / "made-from.sha256").read_text()
    stale = [line.split("  ")[1] for line in sorted({*wanted.splitlines()} ^ {*found.splitlines()})]
    if stale:
        print(f"web/dist is stale, or changed by hand: {', '.join(sorted({*stale}))}")
        print("tools/bundle.py . makes it anew")
        return 1
    print(f"{len(wanted.splitlines())} files, as they were bundled")
    if not (web / "node_modules").is_dir():
        print("not bundled anew: node's modules are not installed here (tools/bundle.py does that)")
        return 0
    run(web, "node_modules/.bin/tsc", "--noEmit")
    with tempfile.TemporaryDirectory() as folder:
        bundle(web, pathlib.Path(folder))
        for name in ("page.js", "page.css"):
            if (pathlib.Path(folder) / name).read_bytes() != (dist / name).read_bytes():
                print(f"web/dist/{name} is not what its sources give")
                return 1
    print("bundled anew: the same bytes")
    return 0


def bundle(web: pathlib.Path, target: pathlib.Path) -> None:
    for name, what in (("page.js", SCRIPT), ("page.css", STYLE)):
        run(web, "node_modules/.bin/esbuild", *what, TARGET, "--minify", "--charset=utf8",
            "--legal-comments=none", "--log-level=warning", f"--outfile={target / name}")
    # Packed it is 2 KB smaller so than as esbuild leaves it, 150 bytes of that by what is unsafe of
    # other scripts: of this one no function without `this` is called with `new`, and nothing takes
    # the place of String and Number. With passes=5,inline=1 it is smaller by 12 bytes, and a part of
    # the time of a large page takes a quarter longer.
    script, ways = str(target / "page.js"), "passes=3,pure_getters,unsafe,unsafe_arrows"
    run(web, "node_modules/.bin/terser", script, "--ecma", "2022", "-c", ways, "-m", "-o", script)


def hashes(root: pathlib.Path, web: pathlib.Path, dist: pathlib.Path) -> str:
    files = sorted([*(web / "src").iterdir(), *web.glob("*.json"), dist / "page.js",
                    dist / "page.css", root / "tools" / "bundle.py"])
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n"
                   for path in files)


def run(folder: pathlib.Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=300)


sys.exit(main())
