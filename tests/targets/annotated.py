"""Module and class with code between annotations, of which the compiler makes code of its own (3.14)."""
first: int = 1


def work(n):
    return n + first


class Box:
    side: int = 2
    area = side * side
    top: int = 3

    def method(self):
        return self.area


between = work(1) + Box().method()
last: int = between
print(last, work.__name__)
