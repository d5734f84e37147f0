"""Calls a builtin from Python, one from C, and a type; and adds."""
hex(1)
sorted(range(9), key=abs)
int("1") + int("2")
