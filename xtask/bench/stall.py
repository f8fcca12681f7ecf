"""How late a second thread is while a thread reads blocks of 4 KiB at random places of a file: stall.py FILE BYTES READS call|map"""

import json
import mmap
import os
import random
import sys
import threading
import time

BLOCK, PERIOD = 4096, 1_000_000


def beat(start, is_done, late):
    """Each deadline that has passed counts, from its own time."""
    due = start + PERIOD
    while not is_done.is_set():
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        at = time.monotonic_ns()
        while due <= at:
            late.append(at - due)
            due += PERIOD


def main():
    path, size, reads, how = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    sys.setswitchinterval(100e-6)
    file = os.open(path, os.O_RDONLY)
    mapping = mmap.mmap(file, size, prot=mmap.PROT_READ) if how == "map" else None
    draw = random.Random(7)
    offsets = [draw.randrange(size // BLOCK) * BLOCK for _ in range(reads)]
    buffer, late, is_done = bytearray(BLOCK), [], threading.Event()
    start = time.monotonic_ns()
    other = threading.Thread(target=beat, args=(start, is_done, late))
    other.start()
    total = 0
    for offset in offsets:
        if mapping:
            total += mapping[offset : offset + BLOCK][0]
        else:
            os.preadv(file, [buffer], offset)
            total += buffer[0]
    took = time.monotonic_ns() - start
    is_done.set()
    other.join()
    late.sort()
    number = len(late)
    print(json.dumps({
        "took_ms": took / 1e6, "deadlines": number, "median_ms": late[number // 2] / 1e6, "p99_ms": late[number * 99 // 100] / 1e6,
        "worst_ms": late[-1] / 1e6, "stalled": sum(it > 2 * PERIOD for it in late) / number, "sum": total,
    }))


main()
