"""Work in sub-interpreters, in the main thread and in threads, made there or elsewhere.

    subinterpreters.py SECONDS [shared|isolated]

Every thread takes turns between work of its own, work in a sub-interpreter, and sleep there. Each
says how long it was where, and on the way there and back: {"thread": name, place: seconds, …}.
SECONDS `-`: until stdin ends. `isolated`: with a GIL of their own, from 3.12 on. "nested": an interpreter inside another one.
"lent": one that another thread made; until 3.11 CPython itself takes the two threads for one.
"""
import json
import select
import sys
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

clock = time.perf_counter
seconds = sys.argv[1] != "-" and float(sys.argv[1])
kind = sys.argv[2] if len(sys.argv) > 2 else "shared"
# Their code has the name of this file, too.
INSIDE = """
source = '''
import json
import time

clock = time.perf_counter
spent = {}

def inner_spin(until):
    while clock() < until:
        pass

def inner_work(seconds):
    start = clock()
    inner_spin(start + seconds)
    spent["inner_work"] = spent.get("inner_work", 0) + clock() - start

def inner_sleep(seconds):
    start = clock()
    time.sleep(seconds)
    spent["inner_sleep"] = spent.get("inner_sleep", 0) + clock() - start

def tell(told):
    told = {**json.loads(told), **spent}
    told["between"] -= sum(spent.values())
    print(json.dumps(told), flush=True)
'''
exec(compile(source, FILE, "exec"))
""".replace("FILE", repr(__file__))
NESTED = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def middle(script):
    interpreters.run_string(nested, script)

nested = NEW
interpreters.run_string(nested, INSIDE)
"""


def new_call():
    if sys.version_info >= (3, 13):
        return f"interpreters.create({'isolated' if kind == 'isolated' else 'legacy'!r})"
    if sys.version_info >= (3, 9):
        return f"interpreters.create(isolated={kind == 'isolated'})"
    return "interpreters.create()"


def new_interpreter():
    made = eval(new_call())
    interpreters.run_string(made, INSIDE)
    return made


def new_nested():
    made = eval(new_call())
    script = NESTED.replace("INSIDE", repr(INSIDE)).replace("NEW", new_call())
    exec_in = f"exec(compile({script!r}, {__file__!r}, 'exec'))"
    interpreters.run_string(made, exec_in)
    return made


def outer_spin(until):
    while clock() < until:
        pass


def run_inside(made, script):
    interpreters.run_string(made, script)


def turns(name, made, wrap="{}"):
    """Takes turns between here and there until the time is over."""
    spent = {"thread": name, "outer_spin": 0.0, "between": 0.0}
    begin = clock()
    while clock() - begin < seconds if seconds else not select.select([0], [], [], 0)[0]:
        start = clock()
        outer_spin(start + 0.02)
        spent["outer_spin"] += clock() - start
        for call in ("inner_work(0.05)", "inner_sleep(0.03)"):
            start = clock()
            run_inside(made, wrap.format(call))
            spent["between"] += clock() - start
    run_inside(made, wrap.format(f"tell({json.dumps(spent)!r})"))


def own_thread():
    turns("own", new_interpreter())


def nested_thread():
    turns("nested", new_nested(), "middle({!r})")


def main():
    threads = [
        threading.Thread(target=own_thread, name="own"),
        threading.Thread(target=nested_thread, name="nested"),
    ]
    if sys.version_info >= (3, 12):
        lent = ("lent", new_interpreter())
        threads.append(threading.Thread(target=turns, args=lent, name="lent"))
    for thread in threads:
        thread.start()
    turns("main", new_interpreter())
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
