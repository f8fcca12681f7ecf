"""Workloads that change the file, which is one of faultline's own. What is written stands in docs/FORMATS.md."""

import mmap
import os
import struct
from time import perf_counter_ns

from faultline.job import Unavailable, Wrong
from faultline.mapped import mapped, whole_pages
from faultline.offsets import words
from faultline.reading import filled
from faultline.way import Opened, Way, aligned

CHANGED = bytes((byte + 5) % 250 for byte in range(256))
PAGE = mmap.ALLOCATIONGRANULARITY


def opened_to_write(job, flags=0):
    """For reading and writing: the file that the job permits to write. Whatever else the path leads to by now is closed again as it
    is."""
    fd = os.open(job.file, os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY | flags)
    about = os.fstat(fd)
    if (about.st_dev, about.st_ino) != job.writable:
        os.close(fd)
        raise Wrong(f"{job.file} is not the file that the job may write")
    return fd


def sync(job):
    """Brings what was written before the clock starts to the device."""
    fd = opened_to_write(job)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class WritingWay(Way):
    """Blocks come from memory in whole pages that is filled before the clock starts."""

    # Of the block at `at`, in the file.
    offset = "at"

    def __init__(self, job):
        super().__init__(job)
        self._own = aligned(job.block)[2]
        if job.workload != "update":
            count = -(-job.block // 8)
            source = b"".join(word.to_bytes(8, "little") for word in words(job.seed, count))
            self._own[:] = source[: job.block]

    def loop(self, job, length):
        own = {
            "length": length,
            "own": self._own[:length],
            "stamp": struct.Struct("<Q").pack_into,
            "base": self.base(job),
            "clock": perf_counter_ns,
            "CHANGED": CHANGED,
        }
        names, parts = [*own, *self.uses], ["reading", "changing", "storing"]
        return self._loops.of(names, " = ".join(parts) + " = 0", self._body(job, length), ", ".join(parts)), own

    def _body(self, job, length):
        syncs = self.sync_lines() if job.durability == "sync-each" else []
        if job.workload != "update":
            short = f"own[:] = ({self.offset}).to_bytes(8, 'little')[:length]"
            return [f"stamp(own, 0, {self.offset})" if length >= 8 else short, *self.store_lines("own"), *syncs]
        return [
            "begun = clock()",
            *self.load_lines(),
            "loaded = clock()",
            "changed = block.translate(CHANGED)",
            "altered = clock()",
            *self.store_lines("changed"),
            *syncs,
            "reading += loaded - begun",
            "changing += altered - loaded",
            "storing += clock() - altered",
        ]

    def work(self, job, opened, stretches, count):
        for stretch in stretches:
            loop, own = self.ready(job, stretch.length)
            count.add_parts(*loop(stretch, **own, **opened.names(stretch.length)))
        if job.durability == "sync-end":
            begun = perf_counter_ns()
            opened.finish()
            count.add_parts(0, 0, perf_counter_ns() - begun)

    def alone(self, job, opened, length):
        raise AssertionError("only what reads times its loop alone")


class PwriteOpened(Opened):
    def __init__(self, job, flags):
        self.fd = opened_to_write(job, flags)

    def names(self, length):
        calls = {"pread": os.pread, "pwrite": os.pwrite, "fdatasync": os.fdatasync}
        return {**calls, "fd": self.fd, "rest": self._rest, "more": self._more}

    def _rest(self, bytes_, at, done):
        while done < len(bytes_):
            done += os.pwrite(self.fd, memoryview(bytes_)[done:], at + done)

    def _more(self, block, length, at):
        return block + filled(lambda most, done: os.pread(self.fd, most, at + done), length, len(block))

    def finish(self):
        os.fdatasync(self.fd)

    def close(self):
        os.close(self.fd)


class Pwrite(WritingWay):
    """os.pwrite at an explicit offset; os.fdatasync, or a flag of open, where durability is asked for."""

    uses = ("pread", "pwrite", "fdatasync", "fd", "rest", "more")
    FLAGS = {"fdatasync": 0, "o-dsync": os.O_DSYNC, "o-sync": os.O_SYNC}

    def __init__(self, job):
        self._flags = self.FLAGS[job.option("sync", "fdatasync")]
        if self._flags and job.durability != "sync-each":
            raise Unavailable("a file opened with O_SYNC or O_DSYNC syncs every write, which is durability sync-each")
        super().__init__(job)

    def open(self, job, beside):
        return PwriteOpened(job, self._flags)

    def store_lines(self, what):
        return [f"done = pwrite(fd, {what}, at)", f"if done != length: rest({what}, at, done)"]

    def load_lines(self):
        return ["block = pread(fd, length, at)", "if len(block) != length: block = more(block, length, at)"]

    def sync_lines(self):
        return [] if self._flags else ["fdatasync(fd)"]


class StoreOpened(Opened):
    def __init__(self, job):
        fd = opened_to_write(job)
        try:
            # What is beyond the end cannot be stored to: a program that appends through a mapping makes the file longer first.
            if job.workload == "append":
                os.ftruncate(fd, job.offset + job.bytes)
            self.map = mapped(fd, job, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        finally:
            os.close(fd)

    def names(self, length):
        return {"map": self.map, "flush": self.map.flush}

    def finish(self):
        self.map.flush()

    def lock(self):
        from faultline import system

        system.lock(self.map)
        return True

    def close(self):
        self.map.close()


class MmapStore(WritingWay):
    """Assignment to a slice of a mapping; flush where durability is asked for: nothing else brings a store to the device."""

    uses = ("map", "flush")
    offset = "at + base"

    def base(self, job):
        return whole_pages(job)

    def open(self, job, beside):
        return StoreOpened(job)

    def store_lines(self, what):
        return [f"map[at:at + length] = {what}"]

    def load_lines(self):
        return ["block = map[at:at + length]"]

    def sync_lines(self):
        # msync(2) is of whole pages.
        return [f"flush(at - at % {PAGE}, length + at % {PAGE})"]
