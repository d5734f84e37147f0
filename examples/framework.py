"""A small framework in the shape of the big ones: Python in front, the engine native.

`Program` keeps a Python mirror of what the engine holds; `sync_with_cpp` renews that mirror, and
it is called more often than its authors think. `Executor.run` calls the engine, a built-in
function named `run` that is bound to the weights, as binding generators make them.
Used by reader.py.
"""
import ctypes

METH_O = 0x0008


class MethodDef(ctypes.Structure):
    """PyMethodDef: what CPython keeps of a function written in C."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def native_method(name, function, bound_to):
    """A built-in function called `name`: calling it with x is the C call function(bound_to, x)."""
    address = ctypes.cast(function, ctypes.c_void_p)
    definition = MethodDef(name.encode(), address, METH_O, None)
    new_function = ctypes.pythonapi.PyCFunction_NewEx
    new_function.restype = ctypes.py_object
    new_function.argtypes = [ctypes.POINTER(MethodDef), ctypes.py_object, ctypes.c_void_p]
    method = new_function(ctypes.byref(definition), bound_to, None)
    # The interpreter keeps a pointer to the definition, not a copy: it has to live as long.
    native_method.definitions.append(definition)
    return method


native_method.definitions = []


class Program:
    """The operators of a network in order, as the engine knows them and as Python sees them."""

    def __init__(self, engine_ops):
        self.engine_ops = engine_ops
        self.ops = []

    def sync_with_cpp(self):
        self.ops = [{"type": op, "index": index} for index, op in enumerate(self.engine_ops)]

    def clone(self):
        copy = Program(list(self.engine_ops))
        copy.sync_with_cpp()
        return copy


def append_backward(program):
    """Adds the gradient of every operator, last one first."""
    program.engine_ops.extend([op + "_grad" for op in reversed(program.engine_ops)])
    program.sync_with_cpp()


class Executor:
    def __init__(self, weights):
        # One product of two long integers is the convolution of their digits, and it is all C.
        self.engine_run = native_method("run", ctypes.pythonapi.PyNumber_Multiply, weights)

    def run(self, program, feed):
        step = program.clone()
        result = self.engine_run(int.from_bytes(bytes(feed), "little"))
        return len(step.ops), result
