"""A program to be profiled from the command line. Ends as its words say: exit, fail, main or well."""
import sys


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
        return len(self.items)


def words(text):
    for word in text.split():
        yield word.strip()


def work():
    stack = Stack()
    for word in words("a cairn is a pile of stones"):
        stack.push(word)
    print(fibonacci(10), sorted(stack.items, key=lambda word: (len(word), word)))
    print(sys.argv[1:], __name__)


work()
if "main" in sys.argv:  # until 3.13 cProfile's answer is no
    print(sys.modules["__main__"].__dict__ is globals())
if "exit" in sys.argv:
    sys.exit(7)
if "fail" in sys.argv:
    [].pop()
