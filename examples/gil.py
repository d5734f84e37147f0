"""Two threads fight for the interpreter lock: counting in turn, then both at once.

Shows that two threads of plain Python take as long as one after the other (or longer), and what
each thread waited for meanwhile.

    cairn run examples/gil.py
"""
import threading
import time

COUNT = 10_000_000


def count_down(n):
    while n > 0:
        n -= 1


def one_after_the_other():
    count_down(COUNT)
    count_down(COUNT)


def both_at_once():
    threads = [
        threading.Thread(target=count_down, args=(COUNT,), name=f"counter-{i}") for i in (1, 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    in_turn = seconds(one_after_the_other)
    at_once = seconds(both_at_once)
    print(f"one after the other {in_turn:.2f} s, two threads at once {at_once:.2f} s")


if __name__ == "__main__":
    main()
