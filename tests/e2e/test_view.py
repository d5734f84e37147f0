"""`cairn view`: the page of `cairn html`, served to whoever holds the link, and to nobody else."""
import contextlib
import http.client
import http.server
import os
import re
import select
import signal
import socket
import threading
import time

import pytest
from playwright.sync_api import expect

import harness
from test_html import PATIENCE_MS, browser, make, tab, visible  # noqa: F401: a fixture

LINK = re.compile(r"http://([\d.]+|\[[\da-f:]+\]):(\d+)/\?t=([0-9a-f]{32})")
HEADERS = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
}
NO_DESKTOP = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "SSH_CONNECTION": ""}


class View:
    """A server that runs: its link, and requests to it as one wants them."""

    def __init__(self, cairn, *words, env=NO_DESKTOP):
        self.process = cairn.spawn("view", *words, env=env)
        self.link = harness.read_line(self.process)
        match = LINK.fullmatch(self.link)
        assert match, self.link
        self.host, self.port, self.token = match[1], int(match[2]), match[3]
        self.own = f"{self.host}:{self.port}"
        self.cookie = f"cairn-{self.port}={self.token}"

    def ask(self, path="/", method="GET", hosts=None, body=None, **headers):
        """The answer to a request with these headers and no others, and its body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for host in [self.own] if hosts is None else hosts:
                connection.putheader("Host", host)
            for name, value in headers.items():
                for each in value if isinstance(value, list) else [value]:
                    connection.putheader(name.replace("_", "-"), each)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer, answer.read()

    def status(self, *args, **headers):
        answer, _ = self.ask(*args, **headers)
        return answer.status

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return harness.finish(self.process)


@contextlib.contextmanager
def serving(cairn, *words, **options):
    view = View(cairn, "--no-open", *words, **options)
    try:
        yield view
    finally:
        ended = view.end()
    assert ended.status == 0 and ended.out == b"", ended


@pytest.fixture(scope="module")
def recording(python, tmp_path_factory):
    cairn = harness.Cairn(tmp_path_factory.mktemp("view"))
    return cairn.need_sight(*cairn.record(python, "states.py", 0.5))


@pytest.fixture(scope="module")
def view(recording, tmp_path_factory):
    cairn = harness.Cairn(tmp_path_factory.mktemp("served"))
    with serving(cairn, "--source", recording) as view:
        yield view


def test_the_first_visit_trades_the_token_for_a_cookie(cairn, recording, view):
    answer, body = view.ask(f"/?t={view.token}")
    assert (answer.status, answer.headers["Location"], body) == (302, "/", b"")
    cookie, *rules = answer.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict"} <= set(rules)
    assert not any(rule.startswith(("Domain", "Expires", "Max-Age")) for rule in rules)
    answer, body = view.ask(Cookie=cookie)
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/html")
    assert body == make(cairn, recording, "--source").read_bytes()


def check_headers(answer):
    for name, value in HEADERS.items():
        assert answer.headers.get_all(name) == [value]
    (policy,) = answer.headers.get_all("Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy and "http" not in policy
    assert not any(name.lower().startswith("access-control") for name in answer.headers)


def test_every_answer_says_what_a_browser_may_do_with_it(view):
    asked = {
        302: {"path": f"/?t={view.token}"}, 200: {"Cookie": view.cookie}, 403: {},
        404: {"path": "/none", "Cookie": view.cookie},
        405: {"method": "POST", "Cookie": view.cookie},
    }
    for status, request in asked.items():
        answer, _ = view.ask(**request)
        assert answer.status == status
        check_headers(answer)


def filled(view, value):
    """What a test asks for, with the server's own port, another one, and the token in it."""
    if isinstance(value, dict):
        return {key: filled(view, each) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(view, each) for each in value]
    return value.format(port=view.port, other=view.port % 65535 + 1, token=view.token)


@pytest.mark.parametrize("request_", [
    {}, {"path": "/?t="}, {"path": "/?t=" + "0" * 32}, {"path": "/page.js"},
    {"path": "/favicon.ico"}, {"path": "/../../etc/passwd"}, {"method": "HEAD"},
    {"method": "POST"}, {"method": "OPTIONS", "Access_Control_Request_Method": "GET"},
    {"Cookie": "cairn={token}"}, {"Cookie": "cairn-{port}="}, {"Cookie": "cairn-{port}={token}0"},
    {"Authorization": "Bearer {token}"},
], ids=str)
def test_who_has_no_token_gets_nothing(view, request_):
    answer, body = view.ask(**filled(view, request_))
    assert answer.status == 403 and b"<" not in body and "Set-Cookie" not in answer.headers


WRONG_PLACES = [
    {"hosts": ["evil.example:{port}"]}, {"hosts": ["127.0.0.1"]}, {"hosts": ["localhost"]},
    {"hosts": ["127.0.0.1:{other}"]}, {"hosts": ["127.0.0.1.evil.example:{port}"]},
    {"hosts": ["localhost:{port}@evil.example"]}, {"hosts": ["127.0.0.2:{port}"]},
    {"hosts": ["2130706433:{port}"]}, {"hosts": ["[::1]:{port}"]}, {"hosts": ["127.0.0.1:{port}0"]},
    {"hosts": [""]}, {"hosts": ["127.0.0.1:{port}", "evil.example"]},
    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "http://127.0.0.1:{other}"}, {"Origin": "http://127.0.0.1"},
    {"Origin": ["http://127.0.0.1:{port}", "http://evil.example"]},
    {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": ["none", "cross-site"]}, {"Sec_Fetch_Site": ""},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_PLACES, ids=str)
def test_who_comes_from_elsewhere_gets_nothing_whatever_it_brings(view, wrong):
    """DNS that was made to name this address, pages of others, another port of this machine."""
    request = filled(view, wrong)
    for path, cookie in (("/", {"Cookie": view.cookie}), (f"/?t={view.token}", {})):
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            answer, body = view.ask(path, method, **request, **cookie)
            assert answer.status in (403, 400) and b"<html" not in body
            assert "Set-Cookie" not in answer.headers
            if len(request.get("hosts", [1])) == 1:
                assert answer.status == 403


@pytest.mark.parametrize("right", [
    {"hosts": ["localhost:{port}"]}, {"hosts": ["127.0.0.1:{port}"]}, {"hosts": ["LocalHost:{port}"]},
    {"hosts": ["localhost:{port}"], "Origin": "http://localhost:{port}"},
    {"Origin": "http://127.0.0.1:{port}", "Sec_Fetch_Site": "same-origin"},
    {"Sec_Fetch_Site": "none"}, {"Cookie": "a=b; cairn-{port}=0; cairn-{port}={token}; c=d"},
], ids=str)
def test_who_comes_from_here_is_served(view, right):
    assert view.status(**{"Cookie": view.cookie, **filled(view, right)}) == 200


@pytest.mark.parametrize("path", [
    "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/..%2f..%2fetc/passwd",
    "/etc/passwd", "/\\..\\etc\\passwd", "/page.html%00.js", "/%00", "/%00x?a=1", "http://evil.example/etc/passwd", "*",
    "/?/../../etc/passwd",
])
def test_no_path_leads_to_a_file(view, path):
    answer, body = view.ask(path, Cookie=view.cookie)
    assert answer.status in (404, 400) or path.startswith("/?")
    assert b"root:" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NONE"])
def test_it_is_only_read(view, method):
    answer, body = view.ask(method=method, Cookie=view.cookie)
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD" and b"<" not in body


def test_head_is_get_without_the_body(view):
    whole, body = view.ask(Cookie=view.cookie)
    head, nothing = view.ask(method="HEAD", Cookie=view.cookie)
    assert nothing == b"" and head.status == 200
    assert int(head.headers["Content-Length"]) == len(body)
    without_date = [
        {k: v for k, v in answer.headers.items() if k != "Date"} for answer in (whole, head)]
    assert without_date[0] == without_date[1]


def test_what_is_too_large_is_refused_and_not_read(view):
    big = "x" * (1 << 20)
    for request in ({"Cookie": view.cookie, "X_Big": big}, {"path": f"/?t={view.token}&x={big}"},
                    {"Cookie": big}):
        try:
            assert view.status(**request) in (400, 413, 414, 431)
        except (BrokenPipeError, ConnectionResetError):
            pass  # closed while it was still being told
    # Nobody sends the body: the answer comes without it.
    answer, _ = view.ask(method="POST", Cookie=view.cookie, Content_Length=str(10 << 30))
    assert answer.status == 405
    many = "&".join(f"a{i}=1" for i in range(100))
    assert view.status(f"/?{many}", Cookie=view.cookie) == 400
    assert view.status(Cookie=view.cookie) == 200


def test_who_is_slow_does_not_keep_others_out(view):
    """As many connections as there are, none of which ever asks: all are cut off, and whoever asks
    meanwhile is served in the end."""
    with contextlib.ExitStack() as open_ones:
        start = time.monotonic()
        slow = [open_ones.enter_context(socket.create_connection(("127.0.0.1", view.port), 30))
                for _ in range(150)]
        for connection in slow[::2]:
            connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        cut = set()
        while slow[0] not in cut:  # a byte now and then, which is what slow ones do
            with contextlib.suppress(OSError):
                slow[0].sendall(b"x")
            ready, _, _ = select.select([slow[0]], [], [], 0.2)
            with contextlib.suppress(ConnectionResetError):
                if ready and slow[0].recv(4096):
                    continue
            if ready:
                cut.add(slow[0])
            assert time.monotonic() - start < harness.DEADLINE_S
        assert time.monotonic() - start > 2  # a browser has its time
        assert view.status(Cookie=view.cookie) == 200


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_it_is_told(cairn, recording, how):
    view = View(cairn, "--no-open", "-p", harness.free_port(), recording)
    with socket.create_connection(("127.0.0.1", view.port), 30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        view.status()
        ended = view.end(how)
    assert (ended.status, ended.out, ended.err) == (0, b"", b"")
    # From another address: from its own the kernel may choose that port, which then talks to itself.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", view.port), 30, source_address=("127.0.0.2", 0))


def test_a_port_that_is_taken_is_one_clear_error(cairn, recording):
    port = harness.free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        ended = cairn("view", "--no-open", "-p", port, recording)
    assert ended.status == harness.CAIRN_FAILED and ended.out == b""
    assert f"port {port} of 127.0.0.1 is in use" in ended.talk and "-p 0" in ended.talk
    assert len(ended.talk.splitlines()) == 2
    with serving(cairn, "-p", port, recording) as view:  # it is free again
        assert view.port == port and view.status(Cookie=view.cookie) == 200
    with serving(cairn, "-p", port, recording) as view:
        assert view.port == port


@pytest.mark.parametrize("words, status, said", [
    (["-a", "192.0.2.1"], harness.USAGE, "no address of this machine"),
    (["-a", "example.com"], harness.USAGE, "no IP address"),
    (["-p", "65536"], harness.USAGE, "65535"),
    (["-p", "x"], harness.USAGE, "65535"),
    (["--focus", "("], harness.USAGE, "("),
], ids=str)
def test_what_cannot_be_served_is_said(cairn, recording, words, status, said):
    ended = cairn("view", "--no-open", *words, recording, env=NO_DESKTOP).expect(status)
    assert ended.out == b"" and said in ended.talk


@pytest.mark.parametrize("damage", ["foreign", "empty", "garbled"])
def test_what_cannot_be_read_is_not_served(cairn, recording, folder, damage):
    whole = recording.read_bytes()
    bad = {"foreign": b"no recording\n" * 100, "empty": b"",
           "garbled": bytes(byte ^ 0x5A for byte in whole)}[damage]
    (folder / "bad.cairn").write_bytes(bad)
    ended = cairn("view", "--no-open", "bad.cairn", deadline_s=10).expect(123)
    assert ended.out == b"" and 1 <= len(ended.err.decode().splitlines()) <= 4


def test_beyond_this_machine_the_token_stays(cairn, recording):
    view = View(cairn, "--no-open", "-a", "0.0.0.0", recording)
    name = socket.gethostname()
    asked = {
        403: [{}, {"hosts": [f"evil.example:{view.port}"], "Cookie": view.cookie},
              {"Cookie": view.cookie, "Origin": "http://evil.example"}],
        200: [{"hosts": [f"{host}:{view.port}"], "Cookie": view.cookie}
              for host in ("127.0.0.1", "localhost", "127.0.0.2", name)],
    }
    found = {status: [view.status(**request) for request in requests]
             for status, requests in asked.items()}
    ended = view.end()
    assert found == {status: [status] * len(all) for status, all in asked.items()}
    link = f"http://{name}:{view.port}/?t={view.token}"
    assert ended.talk == (
        f"cairn: serving beyond this machine; only this link opens it: {link}\n")


def test_on_the_other_loopback(cairn, recording):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no IPv6 here")
    view = View(cairn, "--no-open", "-a", "::1", recording)
    connection = http.client.HTTPConnection("::1", view.port, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", f"/?t={view.token}")
        assert connection.getresponse().status == 302
    assert view.own == f"[::1]:{view.port}" and view.end().status == 0


def fake_desktop(folder):
    """A desktop that tells which link it was to open."""
    opener = folder / "xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$1" > {folder}/opened\n')
    opener.chmod(0o755)
    return {**NO_DESKTOP, "DISPLAY": ":0", "PATH": f"{folder}:{os.environ['PATH']}"}


def test_a_desktop_gets_a_link_that_opens_once(cairn, recording, folder):
    """Everybody can read the words of a command line: what they hold is of no use to the second."""
    os.mkfifo(folder / "opened")
    view = View(cairn, recording, env=fake_desktop(folder))
    count, link = (folder / "opened").read_text().split()
    match = LINK.fullmatch(link)
    assert count == "1" and match[3] != view.token and int(match[2]) == view.port
    path = f"/?t={match[3]}"
    assert view.status(path, "HEAD") == 302 and view.status(path, hosts=["evil.example"]) == 403
    answer, _ = view.ask(path)
    assert answer.status == 302
    assert view.status(Cookie=answer.headers["Set-Cookie"].split(";")[0]) == 200
    assert view.status(path) == 403 and view.status(f"/?t={view.token}") == 302
    assert view.end().status == 0


def test_over_ssh_it_says_how_to_get_there(cairn, recording, folder):
    env = {**fake_desktop(folder), "SSH_CONNECTION": "192.0.2.7 50000 192.0.2.9 2222"}
    view = View(cairn, recording, env=env)
    ended = view.end().expect()
    assert re.search(rf"ssh -L {view.port}:127\.0\.0\.1:{view.port} -N -p 2222 (\S+@)?192\.0\.2\.9$",
                     ended.talk, re.MULTILINE)
    assert not (folder / "opened").exists()


def test_it_ends_when_nobody_asks_any_more(cairn, recording):
    view = View(cairn, "--no-open", "--quit-after", "500ms", recording)
    with contextlib.suppress(ConnectionError):  # on a slow machine it is over before it is asked
        view.status()
    ended = harness.finish(view.process)
    assert ended.status == 0 and "ended" in ended.talk


@contextlib.contextmanager
def page_of(browser, link):
    """A page opened by its link, which has nothing to complain of."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    told, asked = [], []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(link)
    tab(page, "Overview").wait_for()
    try:
        yield page
    finally:
        seen = list(told), list(asked)
        context.close()
    origin = link.split("?")[0]
    assert seen[0] == [] and all(url.startswith(origin) for url in seen[1]), seen


def test_a_browser_shows_what_the_page_shows(cairn, recording, browser, view):  # noqa: F811
    top = max(cairn.report(recording)["rows"], key=lambda row: row["self_s"])
    with page_of(browser, view.link) as page:
        assert page.url == view.link.split("?")[0]
        head = cairn("report", recording).expect().text.split("\ntime ")[0]
        assert page.locator(".verdict").inner_text() == " ".join(head.split())
        tab(page, "Explore").click()
        expect(page.get_by_role("treegrid", name="Call tree")).to_be_visible()
        expect(page.locator(".functions tbody tr").first).to_contain_text(visible(top["qualname"]))
        page.reload()
        expect(tab(page, "Explore")).to_have_attribute("aria-selected", "true")
        assert page.evaluate("document.cookie") == "" and view.token not in page.content()


def test_a_page_of_another_port_gets_nothing(browser, view):  # noqa: F811
    """Another port is the same site: its requests bring the cookie. What it asks for is refused,
    what it embeds stays empty."""
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>other</title>")

        def log_message(self, *args):
            pass

    own = view.link.split("?")[0]
    with http.server.HTTPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        context = browser.new_context()
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.goto(view.link)
        tab(page, "Overview").wait_for()
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        answers = {}
        page.on("response", lambda answer: answers.update({answer.url: answer.status}))
        read = page.evaluate("""async (own) => {
            const tries = {};
            for (const mode of ["cors", "no-cors"])
                tries[mode] = await fetch(own + "?" + mode, {mode, credentials: "include"}).then(
                    (answer) => answer.text(), () => "refused");
            const frame = document.createElement("iframe");
            frame.src = own + "?frame";
            await new Promise((done) => { frame.onload = done; document.body.append(frame); });
            try { tries.frame = frame.contentDocument.body.textContent; }
            catch (error) { tries.frame = "refused"; }
            return tries;
        }""", own)
        context.close()
        other.shutdown()
    assert set(read) == {"cors", "no-cors", "frame"}
    assert all(value in ("refused", "") for value in read.values()), read
    assert 200 not in answers.values(), answers
