"""System calls that Python has no name for, or makes while it holds the interpreter's lock. Through ctypes, which lets it go."""

import os
import resource

from faultline.job import Unavailable

try:
    import ctypes
except ImportError as error:
    raise Unavailable(f"this Python has no ctypes: {error}")

_LIBC = ctypes.CDLL(None, use_errno=True)


class _Buffer(ctypes.Structure):
    """Py_buffer. `from_buffer` is for memory that may be written alone, and a mapping may be of a file that may not."""

    _fields_ = [
        ("address", ctypes.c_void_p),
        ("object", ctypes.py_object),
        ("bytes", ctypes.c_ssize_t),
        ("item_bytes", ctypes.c_ssize_t),
        ("is_readonly", ctypes.c_int),
        ("dimensions", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


def address(memory):
    """Where it lies, and how many bytes it has; it stays there as long as it is neither closed nor resized."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(memory), ctypes.byref(buffer), 0)
    try:
        return buffer.address, buffer.bytes
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))


def _call(function, memory, *more):
    at, count = address(memory)
    if function(ctypes.c_void_p(at), ctypes.c_size_t(count), *more) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def advise(memory, advice):
    """madvise(2) of a whole mapping."""
    _call(_LIBC.madvise, memory, ctypes.c_int(advice))


def lock(memory):
    """mlock(2) of a whole mapping."""
    try:
        _call(_LIBC.mlock, memory)
    except OSError as error:
        limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        said = "unlimited" if limit == resource.RLIM_INFINITY else f"{limit} bytes"
        what = f"{address(memory)[1]} bytes could not be locked in memory: mlock(2): {error.strerror}"
        raise Unavailable(f"{what}; RLIMIT_MEMLOCK is {said} (ulimit -l)")


def aligned(count):
    """A bytearray, and where in it `count` bytes begin that lie in whole pages, as the buffers of every worker do. Its pages
    are there: it was filled with zeros."""
    page = resource.getpagesize()
    array = bytearray(count + page)
    return array, -address(array)[0] % page


def leave_descriptors():
    """Takes the calling thread out of the process's table of file descriptors, but for the first three: as long as a table has one
    user, the kernel need not count who uses a file during a call. Nothing changes before Linux 5.9, or where it is not allowed."""
    CLOSE_RANGE, UNSHARE = 436, 2
    _LIBC.syscall(ctypes.c_long(CLOSE_RANGE), ctypes.c_uint(3), ctypes.c_uint(0xFFFFFFFF), ctypes.c_uint(UNSHARE))
