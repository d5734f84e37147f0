"""`%%cairn` in a notebook: what a kernel says to it, and that this works in a browser."""
import pytest
from jupyter_client.manager import start_new_kernel
from playwright.sync_api import expect
from test_html import browser  # noqa: F401: a fixture

import harness


@pytest.fixture
def kernel(folder, monkeypatch):
    """A notebook's kernel; what it says goes where its client listens."""
    environment = harness.Cairn(folder).environment(
        PYTHONPATH=str(harness.built_package()), IPYTHONDIR=str(folder / "ipython"),
        PYDEVD_DISABLE_FILE_VALIDATION="1")
    manager, client = start_new_kernel(
        startup_timeout=harness.DEADLINE_S, kernel_name="python3", env=environment, cwd=str(folder))

    def run(code):
        said = []
        answer = client.execute_interactive(
            code, timeout=harness.DEADLINE_S, output_hook=lambda told: said.append(told["content"]))
        assert answer["content"]["status"] == "ok", answer
        return said

    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


# Long beside the first look, which takes 20 to 120 ms: before that nothing else is looked at, so it
# weighs as much, and a cell of 0.3 s may have too few looks to rank anything.
CELL = """%%cairn {}-r 1khz
import time
def spin(until):
    while time.perf_counter() < until:
        pass
spin(time.perf_counter() + 2)"""


def test_a_notebook_shows_the_text_and_then_the_page(kernel, folder, browser):
    kernel("%load_ext cairn")
    said = kernel(CELL.format(""))
    texts = [told["text"] for told in said if told.get("name") == "stdout"]
    pages = [told["data"]["text/html"] for told in said if "text/html" in told.get("data", {})]
    assert "spin" in "".join(texts) and len(pages) == 1
    assert said.index(next(told for told in said if told.get("name") == "stdout")) < said.index(
        next(told for told in said if "text/html" in told.get("data", {})))
    notebook = folder / "notebook.html"
    notebook.write_text(f"<!doctype html><meta charset=utf-8><title>notebook</title>{pages[0]}")
    page, told = browser.new_page(), []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.goto(notebook.as_uri())
    frame = page.frame_locator("iframe[title=Cairn]")
    expect(frame.get_by_role("tabpanel")).to_contain_text("spin")
    frame.get_by_role("tab", name="Explore").click()
    expect(frame.locator(".functions")).to_contain_text("spin")
    frame.get_by_label("Search").fill("spin")
    expect(frame.locator(".functions tbody tr")).to_have_count(1)
    frame.get_by_role("link", name="spin").first.click()
    expect(frame.get_by_role("tab", name="Function")).to_have_attribute("aria-selected", "true")
    assert page.url == notebook.as_uri(), "the notebook stays where it is"
    assert told == []
    page.close()


def test_a_notebook_shows_the_text_alone_when_asked(kernel):
    kernel("%load_ext cairn")
    said = kernel(CELL.format("-t "))
    assert any("spin" in told.get("text", "") for told in said)
    assert not any("text/html" in told.get("data", {}) for told in said)
