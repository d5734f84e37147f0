"""A WSGI application that is busy in `answer`; `stop` ends the server that runs it."""
import os
import signal
import time


def answer(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return b"%d\n" % os.getpid()


def application(environ, start_response):
    if environ["PATH_INFO"] == "/stop":
        os.kill(os.getppid(), signal.SIGTERM)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [answer(0.1)]
