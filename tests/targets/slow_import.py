"""Makes the import of a module slow, as where the files lie on a slow disk."""
import sys
import time


class Slow:
    def __init__(self, name, seconds):
        self.name, self.seconds = name, seconds

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            time.sleep(self.seconds)


def of(name, seconds):
    sys.meta_path.insert(0, Slow(name, seconds))
