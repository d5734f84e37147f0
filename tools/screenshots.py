#!/usr/bin/env python3
"""Photographs the page for docs/: six views of pyflakes at work, one picture a view.

usage: screenshots.py SOURCE_ROOT [--check]

With the Python of build/venv, which has pyflakes and Playwright. --check says whether the pictures
are of the page that web/dist holds today; the program's times are of the day they were taken.
"""
import hashlib
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

CHROMIUMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]
VIEWS = {
    "overview": "", "timeline": "tab=explore&from=20&to=60",
    "sunburst": "tab=explore&shape=sunburst", "call-graph": "tab=explore&shape=call+graph&cutoff=50",
    "function": "", "compare": "tab=compare",
}
SIZE = {"width": 1200, "height": 900}
# What pyflakes looks at: more than before.
LIBRARIES = {"after": ("asyncio", "unittest", "email", "http", "json"), "before": ("asyncio", "unittest")}


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    folder = root / "docs" / "screenshots"
    seal = folder / "made-from.sha256"
    page = "".join(
        f"{hashlib.sha256((root / 'web' / 'dist' / name).read_bytes()).hexdigest()}  web/dist/{name}\n"
        for name in ("page.css", "page.js"))
    if "--check" in sys.argv[2:]:
        missing = [name for name in VIEWS if not (folder / f"{name}.png").is_file()]
        if missing or not seal.is_file() or seal.read_text() != page:
            print(f"docs/screenshots are not of today's page {' '.join(missing)}")
            print("build/venv/bin/python tools/screenshots.py . takes them anew")
            return 1
        print(f"{len(VIEWS)} pictures of today's page")
        return 0
    folder.mkdir(exist_ok=True)
    photograph(root / "build" / "cairn", folder)
    seal.write_text(page)
    return 0


def photograph(cairn: pathlib.Path, folder: pathlib.Path) -> None:
    from playwright.sync_api import sync_playwright

    browser_path = next(path for path in CHROMIUMS if os.access(path, os.X_OK))
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        file = make_page(cairn, pathlib.Path(place))
        options = {"executable_path": browser_path}
        if os.geteuid() == 0:
            options["args"] = ["--no-sandbox"]
        browser = playwright.chromium.launch(**options)
        for name, chosen in VIEWS.items():
            page = browser.new_page(viewport=SIZE)
            page.goto(f"{file.as_uri()}#{chosen}")
            if name == "function":
                page.locator("#panel .rows tbody a").first.click()
            page.get_by_role("tabpanel").locator("table, svg, canvas").first.wait_for()
            page.wait_for_timeout(300)  # the graph is drawn in the next frame
            page.screenshot(path=folder / f"{name}.png")
            page.close()
        browser.close()


def make_page(cairn: pathlib.Path, place: pathlib.Path) -> pathlib.Path:
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    for name, folders in LIBRARIES.items():
        subprocess.run([cairn, "run", "--report", "none", "-o", place / f"{name}.cairn", "--",
                        sys.executable, "-m", "pyflakes", *(library / each for each in folders)],
                       check=False, stdout=subprocess.DEVNULL)  # it finds faults, and says so by 1
    page = place / "page.html"
    subprocess.run([cairn, "html", "--source", "-o", page, "--before", place / "before.cairn",
                    place / "after.cairn"], check=True, stdout=subprocess.DEVNULL)
    return page


if __name__ == "__main__":
    sys.exit(main())
