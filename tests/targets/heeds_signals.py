"""Prints each signal that it gets; TERM and a third INT end it with status 7.

Prints "ready PID" first. It waits for signals with sigwait, so that none can fall between a look
and a sleep; the order of lines is the order of signals as long as they come one by one.
"""
import os
import signal
import sys

HEEDED = {getattr(signal, name) for name in ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT")}


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, HEEDED)
    print("ready", os.getpid(), flush=True)
    interrupts = 0
    while True:
        number = signal.sigwait(HEEDED)
        print(signal.Signals(number).name, flush=True)
        interrupts += number == signal.SIGINT
        if number == signal.SIGTERM or interrupts == 3:
            sys.exit(7)


main()
