"""Threads that run beside each other, without the GIL, and are over soon."""
import os
import threading
import zlib

CHUNK = os.urandom(1 << 20)


def pack():
    for _ in range(20):
        zlib.compress(CHUNK, 9)


def main():
    threads = [threading.Thread(target=pack) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
