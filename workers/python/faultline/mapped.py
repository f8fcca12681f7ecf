"""The file itself, mapped."""

import errno
import mmap
import os

from faultline import consume
from faultline.job import Unavailable
from faultline.reading import READ
from faultline.way import Opened, Way, became_shorter

PAGE = mmap.ALLOCATIONGRANULARITY
# 3.9 has no name for the first, and no version up to 3.13 one for the second.
MAP_POPULATE = getattr(mmap, "MAP_POPULATE", 0x8000)
MADV_POPULATE_READ = 22
ADVICE = {
    "sequential": mmap.MADV_SEQUENTIAL,
    "random": mmap.MADV_RANDOM,
    "willneed": mmap.MADV_WILLNEED,
    "hugepage": getattr(mmap, "MADV_HUGEPAGE", 14),
}
SWEEP_PIECE = 1 << 20


def whole_pages(job):
    """Where a mapping of the range begins: the pages that hold it, and no others."""
    return job.offset // PAGE * PAGE


def mapped(fd, job, flags, protection):
    """The pages that hold the range of a job."""
    base = whole_pages(job)
    length = job.offset + job.bytes - base
    # Python's own check has other words for each of its versions.
    if os.fstat(fd).st_size < base + length:
        raise became_shorter()
    return mmap.mmap(fd, length, flags, protection, offset=base)


class Shared(Opened):
    """What another thread has mapped. It keeps nothing of that, because a mapping is not closed while there are views of it."""

    def __init__(self, owner):
        self._owner = owner

    def names(self, length):
        return self._owner.names(length)

    def close(self):
        pass


class MappedOpened(Opened):
    def __init__(self, way, job):
        self._way, self._job = way, job
        self.map = self._mapped()
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _mapped(self):
        populates = MAP_POPULATE if self._way.populate == "map-populate" else 0
        fd = os.open(self._job.file, READ)
        try:
            return mapped(fd, self._job, mmap.MAP_SHARED | populates, mmap.PROT_READ)
        finally:
            os.close(fd)

    def _prepare(self):
        """Advice and populating, each by exactly one call."""
        self.view = self.array = None
        if self._way.advice != "normal":
            refused_as(f"MADV_{self._way.advice.upper()}", lambda: self.map.madvise(ADVICE[self._way.advice]))
        if self._way.populate == "populate-read":
            refused_as("MADV_POPULATE_READ", lambda: self.map.madvise(MADV_POPULATE_READ))
        if self._way.populate == "populate-ctypes":
            refused_as("MADV_POPULATE_READ", lambda: self._way.system.advise(self.map, MADV_POPULATE_READ))
        if self._way.use == "view":
            self.view = memoryview(self.map)
        if self._way.use == "numpy":
            self.array = self._way.numpy.frombuffer(self.map, self._way.numpy.uint8)

    def names(self, length):
        if self._way.use == "slice":
            return {"map": self.map}
        if self._way.use == "view":
            return {"view": self.view}
        return array_names(self.array)

    def lock(self):
        from faultline import system

        system.lock(self.map)
        return True

    def sweep(self, start):
        for at in range(start - whole_pages(self._job), len(self.map), SWEEP_PIECE):
            self.map[at : at + SWEEP_PIECE]
        return True

    def close(self):
        self.array = None
        if self.view is not None:
            self.view.release()
            self.view = None
        self.map.close()


def array_names(octets):
    """An array of a mapping, and as much of it as is whole words."""
    return {"octets": octets, "quads": octets[: len(octets) & -8].view("<u8")}


def refused_as(name, advise):
    try:
        advise()
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        why = "needs Linux 5.14" if name == "MADV_POPULATE_READ" else "this kernel does not know it"
        raise Unavailable(f"madvise({name}): {why}")


def in_words(job, base):
    """Whether places may be counted in 64-bit words."""
    strides = [job.offset - base, job.block] if job.aligned or not job.is_random else [1]
    return job.consume == "sum" and all(it % 8 == 0 for it in strides)


class Mapped(Way):
    """A mapping of the range: sliced into bytes, by a view, or as an array of numpy's."""

    def __init__(self, job):
        self.use = job.option("use", "slice")
        self.advice = job.option("advice", "normal")
        self.populate = job.option("populate", "no")
        if self.use == "view":
            self.kind, self.uses = consume.View(), ("view",)
        elif self.use == "numpy":
            self.kind, self.uses = consume.MappedArray(in_words(job, self.base(job))), ("octets", "quads")
            self.unit = 8 if self.kind.in_words else 1
        else:
            self.kind, self.uses = consume.Bytes(), ("map",)
        super().__init__(job)
        if self.populate == "populate-ctypes":
            from faultline import system

            self.system = system

    def base(self, job):
        return whole_pages(job)

    def open(self, job, beside):
        return Shared(beside) if beside else MappedOpened(self, job)

    def reach(self, is_random):
        return ["block = map[at:at + length]"] if self.use == "slice" else []


class MemmapOpened(Opened):
    def __init__(self, way, job):
        self._job = job
        if os.stat(job.file).st_size < job.offset + job.bytes:
            raise became_shorter()
        self.array = way.numpy.memmap(job.file, way.numpy.uint8, "r", job.offset, (job.bytes,))

    def names(self, length):
        return array_names(self.array)

    def lock(self):
        from faultline import system

        system.lock(self.array._mmap)
        return True

    def sweep(self, start):
        for at in range(start - self._job.offset, len(self.array), SWEEP_PIECE):
            self.array[at : at + SWEEP_PIECE].tobytes()
        return True

    def close(self):
        # The mapping goes with the last array of it.
        self.array = None


class Memmap(Way):
    """numpy.memmap of the range."""

    uses = ("octets", "quads")

    def __init__(self, job):
        self.kind = consume.MappedArray(in_words(job, self.base(job)))
        self.unit = 8 if self.kind.in_words else 1
        super().__init__(job)

    def base(self, job):
        return job.offset

    def open(self, job, beside):
        return Shared(beside) if beside else MemmapOpened(self, job)

    def reach(self, is_random):
        return []
