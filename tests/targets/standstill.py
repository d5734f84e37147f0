"""Threads that are for long in the middle of something: a collection, an exception's handling.

The one that collects is busy at it; the others stand still.

    standstill.py

Says "ready" when all are there, and ends when stdin does.
"""
import gc
import sys
import threading

over = threading.Event()
arrived = threading.Semaphore(0)


def stand():
    arrived.release()
    over.wait()


def collector():
    def on_collection(phase, info):
        if phase == "start":
            arrived.release()
        while not over.is_set():
            pass

    gc.callbacks.append(on_collection)
    gc.collect()


def handler():
    try:
        raise KeyError("being handled")
    except KeyError:
        stand()


def handler_in_generator():
    def failing():
        try:
            raise KeyError("being handled in a generator")
        except KeyError:
            stand()
            yield

    list(failing())


def generator_in_handler():
    def standing():
        stand()
        yield

    try:
        raise KeyError("being handled around a generator")
    except KeyError:
        list(standing())


def handled_before():
    try:
        raise KeyError("was handled")
    except KeyError:
        pass
    stand()


def main():
    gc.disable()
    works = [collector, handler, handler_in_generator, generator_in_handler, handled_before]
    threads = [threading.Thread(target=work, name=work.__name__) for work in works]
    for thread in threads:
        thread.start()
    for _ in threads:
        arrived.acquire()
    print("ready", flush=True)
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
