"""region(), timed() and mark(): what a program says of itself while something records it.

    with cairn.region("load"): …
    @cairn.timed                   # a region of the function's name, for each call
    @cairn.timed("load")
    cairn.mark("frame", number=17)

Threads may share what region() returned; tasks of one thread need one each.
`cairn run`, `cairn attach` and cairn.profile() record them. Where nothing does they cost some tens
of nanoseconds; where there is no extension module for this Python, they do nothing.
"""
import functools

try:
    from cairn._exact import Timed, mark, region, regions
except ImportError:
    regions = None

    class _Region:
        def __enter__(self):
            return self

        def __exit__(self, *failure):
            return None

    _nothing = _Region()

    def region(name):
        if not isinstance(name, str):
            raise TypeError(f"a region's name is a str, not {type(name).__name__}")
        return _nothing

    def mark(name="mark", /, **values):
        if not isinstance(name, str):
            raise TypeError("mark() takes a name, a str, and values by their names")


def timed(function):
    """A decorator, with or without a name in parentheses."""
    if isinstance(function, str):
        return functools.partial(_time, name=function)
    return _time(function, None)


def _time(function, name):
    import inspect  # brings much along, and those who name regions do not need it
    import types

    if not callable(function):
        raise TypeError(f"timed() decorates functions; {function!r} is none")
    if inspect.isasyncgenfunction(function):
        raise TypeError("an asynchronous generator: use `with cairn.region(name):` inside it")
    if name is None:
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def timed(*args, **kwargs):
            with region(name):
                return await function(*args, **kwargs)

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def timed(*args, **kwargs):
            with region(name):
                return (yield from function(*args, **kwargs))

        inner = function
        while isinstance(inner, functools.partial):
            inner = inner.func
        if inner.__code__.co_flags & inspect.CO_ITERABLE_COROUTINE:
            timed = types.coroutine(timed)  # it may be awaited, as what it calls
    elif regions is None:
        timed = function
    else:
        timed = functools.update_wrapper(Timed(function, regions, name), function)
    return timed
