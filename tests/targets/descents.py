"""Far in and back within microseconds, by calls that C makes: of bound methods with keywords, of
`__str__` and `__add__`, of what `map` and `sorted` are given. Who is called so does next to nothing
itself.

    descents.py [SECONDS]

Prints the legal pairs caller -> callee among its own functions.
"""
import json
import sys
import time

TEXT = "((1+2)*(3+(4*(5+(6*7)))))+((8*(9+1))+(2*(3+(4+5))))*(6+(7*(8+9)))"


class Number:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Number(self.value + other.value)

    def __mul__(self, other):
        return Number(self.value * other.value)

    def __str__(self):
        return str(self.value)


class Parser:
    def begin(self, text):
        self.text = text
        self.at = 0
        return self

    def takes(self, sign):
        if self.text[self.at:self.at + 1] != sign:
            return False
        self.at += 1
        return True

    def sum(self, **options):
        value = self.product(**options)
        while self.takes("+"):
            value = value + self.product(**options)
        return value

    def product(self, **options):
        value = self.atom(**options)
        while self.takes("*"):
            value = value * self.atom(**options)
        return value

    def atom(self, **options):
        if self.takes("("):
            value = self.sum(**options)
            self.takes(")")
            return value
        self.at += 1
        return Number(int(self.text[self.at - 1]))


def parse(text, **options):
    return Parser().begin(text).sum(**options)


def length(text):
    return len(text)


def evaluate(texts, **options):
    return sorted(map(str, (parse(text, **options) for text in texts)), key=length)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        evaluate([TEXT] * 50, strict=True)
    inner = "evaluate.<locals>.<genexpr>"
    legal = [
        ["<module>", "main"],
        ["<module>", "Number"],  # the bodies of the classes
        ["<module>", "Parser"],
        ["main", "evaluate"],
        ["evaluate", inner],
        ["evaluate", "Number.__str__"],
        ["evaluate", "length"],
        [inner, "parse"],
        ["parse", "Parser.begin"],
        ["parse", "Parser.sum"],
        ["Parser.sum", "Parser.product"],
        ["Parser.sum", "Parser.takes"],
        ["Parser.sum", "Number.__add__"],
        ["Parser.product", "Parser.atom"],
        ["Parser.product", "Parser.takes"],
        ["Parser.product", "Number.__mul__"],
        ["Parser.atom", "Parser.takes"],
        ["Parser.atom", "Parser.sum"],
        ["Parser.atom", "Number.__init__"],
        ["Number.__add__", "Number.__init__"],
        ["Number.__mul__", "Number.__init__"],
    ]
    print(json.dumps({"legal": legal}))


if __name__ == "__main__":
    main()
