"""Two processes that run the same lines, one of them with a second thread: the parent five times, the
child three, once in a thread of its own."""
import os
import threading
import time


def turns(n):
    done = 0
    for _ in range(n):
        done += 1
    return done


def main():
    child = os.fork()
    if child == 0:
        thread = threading.Thread(target=turns, args=(200,))
        thread.start()
        thread.join()
        turns(1000)
        turns(1000)
        return
    for _ in range(5):
        turns(1000)
    os.waitpid(child, 0)
    time.sleep(0.5)  # long enough to be cut into parts of its time


main()
