"""Row page: how long a browser takes with the page of a large recording, and how much memory.

Cairn serves it (`cairn view`), and writes it to a file that is opened from the disk (`cairn html`);
speedscope's page (npm) is served from a folder, beside what `cairn export -f speedscope` makes of the
same recording, and is asked only how soon it has it. `profiling.sampling` writes a file, too: of a
million samples, as in the row report, and once. The browser is headless Chromium,
without a GPU. A number of a browser is the time until what was asked for is on the screen, two
frames later; CPU is that of the thread that draws.
"""
import functools
import http.server
import os
import subprocess
import sys
import tarfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import machine
import measure
from row_report import make_tachyon
from subjects import ROOT, build_program
from table import Goal

ROWS = ("page",)
MILLION = 1_000_000
CHROMIUMS = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
SPEEDSCOPE = "1.25.0"
OPENED = 5  # times
STEPS = 20  # of each kind
READY_S = 400
PEER_S = 900
PATIENCE_MS = 240_000
WHERE = "headless Chromium"
EXPECTED = {"all": "no figure in the research"}
MIB = 2**20
GOALS = {"recording": Goal(2), "file time": Goal(5), "file memory": Goal(300 / 1.048576),
         "file size": Goal(15 / 1.048576), "file paint": Goal(1), "paint": Goal(0.5), "filter": Goal(50), "focus": Goal(50), "brush": Goal(50),
         "frames": Goal(30, at_most=False)}
UNITS = {"ready": ("until it is served", "s"), "paint": ("first paint", "s"),
         "open cpu": ("CPU of the page to open", "s"), "filter": ("another metric, p95", "ms"),
         "focus": ("focus on a function, p95", "ms"), "brush": ("a part of the time, p95", "ms"),
         "filter cpu": ("another metric, CPU, p95", "ms"),
         "focus cpu": ("focus on a function, CPU, p95", "ms"),
         "brush cpu": ("a part of the time, CPU, p95", "ms"),
         "frames": ("frames a second while zooming", "1/s"),
         "peak": ("peak memory of the server", "MiB"), "memory": ("memory of the server", "MiB"),
         "recording": ("memory of the server, in sizes of the recording", "x"),
         "bytes": ("what the browser is sent", "MiB"),
         "file time": ("the page as a file, made in", "s"),
         "file memory": ("the page as a file, peak memory to make it", "MiB"),
         "file size": ("the page as a file", "MiB"),
         "file paint": ("the page as a file, first paint", "s")}
FILES = {**{kind: UNITS[kind] for kind in UNITS if kind.startswith("file ")},
         "file cpu": ("the page as a file, CPU of the page to open", "s")}
NO_BRUSH = "with so many stacks it has one slice: there is no part of the time to choose"
PAINT = """async () => {
    for (;;) {
        const [paint] = performance.getEntriesByName('first-contentful-paint');
        if (paint) return paint.startTime / 1000;
        await new Promise((done) => requestAnimationFrame(done));
    }
}"""
FRAMES = """async (hashes) => {
    let frames = 0, on = true;
    const count = () => { frames++; if (on) requestAnimationFrame(count); };
    requestAnimationFrame(count);
    const begin = performance.now();
    for (let i = 0; performance.now() - begin < 3000; i++) {
        location.hash = hashes[i % hashes.length];
        await new Promise((done) => requestAnimationFrame(done));
    }
    on = false;
    return 1000 * frames / (performance.now() - begin);
}"""
# What has to be asked of the server is shown as soon as the panel is no longer busy.
CHANGE = """async (hash) => {
    const begin = performance.now();
    const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(
        () => setTimeout(done))));
    const busy = () => document.querySelector('#panel[aria-busy=true]');
    location.hash = hash;
    await frames();
    if (busy()) {
        while (busy()) await new Promise((done) => requestAnimationFrame(done));
        await frames();
    }
    return performance.now() - begin;
}"""


def p95(values):
    return sorted(values)[int(0.95 * (len(values) - 1))]


class Page:
    """A page that is open, and the CPU time of the thread that draws it."""

    def __init__(self, browser):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900})
        self.context.set_default_timeout(PATIENCE_MS)
        self.page = self.context.new_page()
        self.session = self.context.new_cdp_session(self.page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def cpu_s(self):
        told = self.session.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in told if each["name"] == "TaskDuration")

    def steps(self, hashes):
        """(times, CPU times) in ms."""
        times, cpu = [], []
        for hash in hashes:
            before = self.cpu_s()
            times.append(self.page.evaluate(CHANGE, hash))
            cpu.append(1000 * (self.cpu_s() - before))
        return times, cpu


def open_page(browser, link, kinds):
    """The kinds of numbers of a page, from opening it to its last step."""
    values, paints = {}, []
    for _ in range(OPENED):
        opened = Page(browser)
        opened.page.goto(link)
        opened.page.get_by_role("tab", name="Overview", exact=True).wait_for()
        paints.append(opened.page.evaluate(PAINT))
        values["open cpu"] = opened.cpu_s()
        if len(paints) < OPENED:
            opened.context.close()
    values["paint"] = p95(paints)
    opened.page.evaluate(CHANGE, "tab=explore")
    time.sleep(1)  # what the first drawing left to do
    brushes = opened.page.locator("input[type=range]").count() > 0
    explore = "tab=explore&"
    hashes = {"filter": [f"{explore}metric={('cpu', 'wall')[i % 2]}" for i in range(STEPS)],
              "focus": [f"{explore}focus=function_{100 + i}" for i in range(STEPS)]}
    if brushes:
        hashes["brush"] = [f"{explore}from={i}&to={i + 4}" for i in range(STEPS)]
    for kind, each in hashes.items():
        times, cpu = opened.steps(each)
        values[kind], values[f"{kind} cpu"] = p95(times), p95(cpu)
    values["frames"] = opened.page.evaluate(FRAMES, [f"{explore}zoom={i}" for i in range(8)])
    values["bytes"] = opened.page.evaluate(
        "performance.getEntries().reduce((sum, each) => sum + (each.transferSize || 0), 0)") / MIB
    opened.context.close()
    assert set(values) <= set(kinds), values
    return values


def measure_file(browser, command, page):
    """A page as a file of its own, made by `command`."""
    ran = measure.run([str(word) for word in command], PEER_S)
    opened = Page(browser)
    opened.page.goto(page.as_uri())
    values = {"file time": ran.wall_s, "file memory": ran.peak_bytes / MIB,
              "file size": page.stat().st_size / MIB, "file paint": opened.page.evaluate(PAINT),
              "file cpu": opened.cpu_s()}
    opened.context.close()
    page.unlink()
    return values


def cairns_file(browser, binary, file):
    page = Path(file).with_suffix(".html")
    return measure_file(browser, [binary, "html", "--force", "-o", page, file], page)


def measure_files(bench, launched):
    """A million samples, of Cairn and of `profiling.sampling`."""
    replay = make_tachyon(bench)
    if not replay:
        return
    tables = {kind: bench.table(f"page: {kind}, 1 million samples", f"Page of 1 million samples, {title}",
                                unit, EXPECTED) for kind, (title, unit) in FILES.items()}
    binary, file = bench.tools["cairn"][0].binary, bench.folder / "million.cairn"
    subprocess.run([build_program("large_recording"), file, str(MILLION)], check=True, timeout=300)
    subject = bench.tools["profiling.sampling"][0].subject
    seen, page = subject.scratch(bench.folder, "tachyon.html")
    for tool, run in (
            ("cairn", lambda browser: cairns_file(browser, binary, file)),
            ("profiling.sampling", lambda browser: measure_file(
                browser, [*replay[0], "--flamegraph", "-o", seen, replay[1]], page))):
        with launched() as browser:
            try:
                for kind, value in run(browser).items():
                    tables[kind].add(0, WHERE, tool, value)
            except Exception as why:
                for table in tables.values():
                    table.fail(WHERE, tool, str(why).splitlines()[0][:100])


def measure_cairn(browser, binary, file):
    """Those, and what the server takes."""
    begun = time.monotonic()
    server = subprocess.Popen([binary, "view", "--no-open", file], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    timer = threading.Timer(READY_S, server.kill)
    timer.start()
    try:
        link = server.stdout.readline().strip()
        if not link:
            raise measure.Failed(f"nothing was served within {READY_S} s")
        values = {"ready": time.monotonic() - begun, **open_page(browser, link, UNITS)}
        status = Path(f"/proc/{server.pid}/status").read_text()
        for kind, key in (("peak", "VmHWM:"), ("memory", "VmRSS:")):
            values[kind] = int(status.split(key)[1].split()[0]) / 1024
        values["recording"] = values["memory"] * MIB / Path(file).stat().st_size
        of_file = cairns_file(browser, binary, file)
        return {**values, **{kind: of_file[kind] for kind in of_file if kind in UNITS}}
    finally:
        timer.cancel()
        server.terminate()
        server.wait(60)


@contextmanager
def served(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def speedscope_page(bench):
    """The folder of its page, from npm, once."""
    place = ROOT / "build" / "npm"
    archive = place / f"speedscope-{SPEEDSCOPE}.tgz"
    place.mkdir(parents=True, exist_ok=True)
    if not archive.exists():
        subprocess.run(["npm", "pack", "--silent", f"speedscope@{SPEEDSCOPE}"], cwd=place, check=True,
                       timeout=120, stdout=subprocess.DEVNULL)
    with tarfile.open(archive) as package:
        package.extractall(bench.folder / "speedscope")
    return bench.folder / "speedscope" / "package" / "dist" / "release"


def measure_speedscope(bench, browser, binary, file):
    folder = speedscope_page(bench)
    subprocess.run([binary, "export", "-f", "speedscope", "--force", "-o", folder / "big.json",
                    file],
                   check=True, timeout=READY_S)
    with served(folder) as origin:
        opened = Page(browser)
        begun = time.monotonic()
        opened.page.goto(f"{origin}/index.html#profileURL={origin}/big.json")
        while "big" not in opened.page.title() and "speedscope" == opened.page.title():
            if time.monotonic() - begun > PATIENCE_MS / 1000:
                raise measure.Failed(f"shows nothing after {PATIENCE_MS // 1000} s")
            opened.page.wait_for_timeout(20)
        values = {"paint": time.monotonic() - begun, "open cpu": opened.cpu_s()}
        values["bytes"] = (folder / "big.json").stat().st_size / MIB
        opened.context.close()
    return values


@contextmanager
def ending(context):
    with ExitStack() as stack:
        yield stack.enter_context(context)
        with machine.ending():
            stack.close()


def chromium():
    return next((path for path in CHROMIUMS if os.access(path, os.X_OK)), None)


def measure_rows(bench):
    print(f"{time.strftime('%H:%M:%S')} page", file=sys.stderr, flush=True)
    samples = MILLION if bench.quick else 10 * MILLION
    name = f"{samples // MILLION} million samples"
    tables = {kind: bench.table(f"page: {kind}, {name}", f"Page of {name}, {title}", unit, EXPECTED,
                                None if bench.quick else GOALS.get(kind)) for kind, (title, unit) in UNITS.items()}
    if chromium() is None:
        bench.refused["cairn", "a page in a browser"] = f"none of {', '.join(CHROMIUMS)} is there"
        return
    from playwright.sync_api import sync_playwright

    binary, file = bench.tools["cairn"][0].binary, bench.folder / "page.cairn"
    subprocess.run([build_program("large_recording"), file, str(samples)], check=True, timeout=300)
    machine.to_every_core()
    work = {"cairn": lambda browser: measure_cairn(browser, binary, file),
            "speedscope": lambda browser: measure_speedscope(bench, browser, binary, file)}
    with ending(sync_playwright()) as playwright:
        @contextmanager
        def launched():
            browser = playwright.chromium.launch(
                executable_path=chromium(), args=["--no-sandbox"] if os.geteuid() == 0 else [])
            try:
                yield browser
            finally:
                with machine.ending():
                    browser.close()

        for turn in range(bench.rounds):
            for tool, run in work.items():
                with launched() as browser:
                    try:
                        values = run(browser)
                    except Exception as why:
                        for table in tables.values():
                            table.fail(WHERE, tool, str(why).splitlines()[0][:100])
                        continue
                for kind, value in values.items():
                    tables[kind].add(turn, WHERE, tool, value)
                if tool == "cairn" and "brush" not in values:
                    bench.refused["cairn", f"a part of the time of {name}"] = NO_BRUSH
        measure_files(bench, launched)
    machine.to_tool_cores()
