"""Scans a file in memory again and again, as one would write it by hand: loop.py FILE BYTES BLOCK METHOD CONSUME SCANS.

Prints the nanoseconds that a block takes, the median of passes of so many scans after the first two. A scan that looks at one byte of each page
leaves those cache lines in the last-level cache for the next one, so the last 64 MiB are read in between, as before a worker's."""

import ctypes
import mmap
import os
import statistics
import sys
import time
import zlib

path, size, block, method, consume = sys.argv[1], *map(int, sys.argv[2:4]), *sys.argv[4:6]
fd = os.open(path, os.O_RDONLY)
mapping = mmap.mmap(fd, size, prot=mmap.PROT_READ)
offsets = range(0, size, block)
# In whole pages of the heap, as a worker has it: how fast the kernel copies depends on where a buffer begins and on what its pages
# are, and an anonymous mapping of Python's is shared memory.
heap = bytearray(block + 4096)
skew = -ctypes.addressof(ctypes.c_char.from_buffer(heap)) % 4096
own = memoryview(heap)[skew : skew + block]


def preadv_touch():
    total, into = 0, own
    view, buffers = memoryview(into), [into]
    for at in offsets:
        os.preadv(fd, buffers, at)
        total += sum(view[::4096]) if block > 4096 else view[0]
    return total


def read_touch():
    total = 0
    os.lseek(fd, 0, os.SEEK_SET)
    for _ in offsets:
        read = os.read(fd, block)
        total += sum(read[::4096]) if block > 4096 else read[0]
    return total


def read_lines():
    total = 0
    os.lseek(fd, 0, os.SEEK_SET)
    for _ in offsets:
        total += os.read(fd, block).count(b"\n")
    return total


def mmap_touch():
    total = 0
    for at in offsets:
        part = mapping[at : at + block]
        total += sum(part[::4096]) if block > 4096 else part[0]
    return total


def view_touch():
    total, view = 0, memoryview(mapping)
    for at in offsets:
        total += sum(view[at : at + block : 4096]) if block > 4096 else view[at]
    return total


def view_copy():
    total, view, copy = 0, memoryview(mapping), memoryview(own)
    for at in offsets:
        copy[:] = view[at : at + block]
        total += copy[0] + copy[-1]
    return total


def numpy_sum():
    import numpy

    total, words, reduce = 0, numpy.frombuffer(mapping, "<u8"), numpy.add.reduce
    for at in offsets:
        total += int(reduce(words[at >> 3 : at + block >> 3]))
    return total


def preadv_sum():
    import numpy

    total, into, reduce = 0, own, numpy.add.reduce
    words, buffers = numpy.frombuffer(into, "<u8"), [into]
    for at in offsets:
        os.preadv(fd, buffers, at)
        total += int(reduce(words))
    return total


scan = globals()[f"{method}_{consume}"]
passes = []
last = memoryview(mapping)[-64 << 20 :]
for _ in range(9):
    if consume == "touch":
        zlib.crc32(last)
    # A worker waits for its pass to begin, and a processor that idled takes up to twice as long for the first ms.
    time.sleep(0.001)
    began = time.perf_counter_ns()
    for _ in range(int(sys.argv[6])):
        scan()
    passes.append((time.perf_counter_ns() - began) / (int(sys.argv[6]) * len(offsets)))
print(statistics.median(passes[2:]))
