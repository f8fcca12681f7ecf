"""Calls that read into memory of the process's own."""

import os

from faultline import consume
from faultline.job import Unavailable
from faultline.way import Opened, Way, aligned, became_shorter

READ = os.O_RDONLY | os.O_CLOEXEC


def filled(read, length, done):
    """The rest of a block, by as many calls as it takes: `read` gives at most so many bytes from so far into the block on."""
    parts = []
    while done < length:
        part = read(length - done, done)
        if not part:
            raise became_shorter()
        parts.append(part)
        done += len(part)
    return b"".join(parts)


class Descriptor(Opened):
    """By its number, as `os` takes it."""

    def __init__(self, job, beside, flags=READ):
        self.fd = beside.fd if beside else os.open(job.file, flags)
        self._owns = not beside

    def close(self):
        if self._owns:
            os.close(self.fd)


class ReadOpened(Descriptor):
    def names(self, length):
        return {"read": os.read, "lseek": os.lseek, "fd": self.fd, "more": self._more}

    def go_to(self, place):
        os.lseek(self.fd, place, os.SEEK_SET)

    def _more(self, block, length):
        return block + filled(lambda most, _: os.read(self.fd, most), length, len(block))


class Read(Way):
    """os.read at the descriptor's own position; os.lseek when the workload jumps."""

    uses = ("read", "lseek", "fd", "more")
    keeps_position = True

    def open(self, job, beside):
        return ReadOpened(job, beside)

    def reach(self, is_random):
        jump = ["lseek(fd, at, 0)"] if is_random else []
        return [*jump, "block = read(fd, length)", "if len(block) != length: block = more(block, length)"]


class PreadOpened(Descriptor):
    def names(self, length):
        return {"pread": os.pread, "fd": self.fd, "more": self._more}

    def _more(self, block, length, at):
        return block + filled(lambda most, done: os.pread(self.fd, most, at + done), length, len(block))


class Pread(Way):
    """os.pread at an explicit offset."""

    uses = ("pread", "fd", "more")

    def open(self, job, beside):
        return PreadOpened(job, beside)

    def reach(self, is_random):
        return ["block = pread(fd, length, at)", "if len(block) != length: block = more(block, length, at)"]


class IntoWay(Way):
    """Into a buffer in whole pages, which is there before the clock starts."""

    kind = consume.Room()
    room_uses = ("into", "array", "skew", "numbers")

    def __init__(self, job):
        super().__init__(job)
        self._consumed = job.use
        self.array, self.skew, self._whole = aligned(self.room_bytes(job))

    def room_bytes(self, job):
        return job.block

    def room(self, length):
        return self._whole[:length]

    def room_names(self, length, into):
        words = into[: self._consumed(length) & -8]
        numbers = self.numpy.frombuffer(words, "<u8") if self.numpy and len(words) else None
        return {"into": into, "array": self.array, "skew": self.skew, "numbers": numbers}

    def fill(self, read, length, done):
        """As `filled`, into the rest of the room."""
        while done < length:
            part = read(self.room(length)[done:], done)
            if not part:
                raise became_shorter()
            done += part


class ReadintoOpened(Opened):
    def __init__(self, way, job):
        self._way = way
        self._file = open(job.file, "rb", buffering=0)

    def names(self, length):
        into = self._way.room(length)
        return {"readinto": self._file.readinto, "seek": self._file.seek, "fill": self._rest, **self._way.room_names(length, into)}

    def go_to(self, place):
        self._file.seek(place)

    def _rest(self, length, done):
        self._way.fill(lambda into, _: self._file.readinto(into), length, done)

    def close(self):
        self._file.close()


class Readinto(IntoWay):
    """FileIO.readinto at the file's own position; seek when the workload jumps."""

    uses = ("readinto", "seek", "fill", *IntoWay.room_uses)
    keeps_position = True

    def open(self, job, beside):
        return ReadintoOpened(self, job)

    def reach(self, is_random):
        jump = ["seek(at)"] if is_random else []
        return [*jump, "done = readinto(into)", "if done != length: fill(length, done)"]


class PreadvOpened(Descriptor):
    def __init__(self, way, job, beside):
        super().__init__(job, beside)
        self._way = way

    def names(self, length):
        into = self._way.room(length)
        return {"preadv": os.preadv, "fd": self.fd, "parts": [into], "fill": self._rest, **self._way.room_names(length, into)}

    def _rest(self, length, done, at):
        self._way.fill(lambda into, done: os.preadv(self.fd, [into], at + done), length, done)


class Preadv(IntoWay):
    """os.preadv at an explicit offset."""

    uses = ("preadv", "fd", "parts", "fill", *IntoWay.room_uses)

    def open(self, job, beside):
        return PreadvOpened(self, job, beside)

    def reach(self, is_random):
        return ["done = preadv(fd, parts, at)", "if done != length: fill(length, done, at)"]


class DirectOpened(Descriptor):
    def __init__(self, way, job, beside):
        super().__init__(job, beside, READ | way.flags(job))
        self._way = way

    def names(self, length):
        # Whole sectors: the kernel reads those, and stops at the end of the file.
        whole = -(-length // self._way.align) * self._way.align
        into = self._way.room(length)
        parts = [self._way.room(whole)]
        return {"preadv": os.preadv, "fd": self.fd, "parts": parts, "fill": self._short, **self._way.room_names(length, into)}

    @staticmethod
    def _short():
        raise became_shorter()


class Direct(IntoWay):
    """os.preadv of a file opened with O_DIRECT. Where a job does not fit the alignment the method is unavailable: reading more than
    was asked for would be another method."""

    uses = ("preadv", "fd", "parts", "fill", *IntoWay.room_uses)
    is_direct = True
    # Sufficient for all known disks; Python has no statx(2), which says what one needs.
    ALIGNMENT = 4096

    def __init__(self, job):
        about = os.stat(job.file)
        self.align = min(about.st_blksize or self.ALIGNMENT, self.ALIGNMENT)
        self._check(job, about.st_size)
        super().__init__(job)
        self._file = job.file
        try:
            fd = os.open(job.file, READ | os.O_DIRECT)
            try:
                os.preadv(fd, [self.room(self.align)], job.offset)
            finally:
                os.close(fd)
        except OSError as refused:
            raise Unavailable(f"O_DIRECT is not possible here: {refused.strerror}")

    def _check(self, job, size):
        align, end = self.align, job.offset + job.bytes
        to_the_end = end == size
        is_one = job.block == job.bytes and to_the_end
        fits = job.offset % align == 0 and (job.block % align == 0 or is_one) and (job.aligned or is_one or not job.is_random)
        if not fits or not (end % align == 0 or to_the_end):
            raise Unavailable(f"O_DIRECT in Python needs blocks and offsets in multiples of {align} bytes")

    def room_bytes(self, job):
        return -(-job.block // self.align) * self.align

    def flags(self, job):
        # The file of the warm-up is in memory, where not every kernel takes the flag.
        return os.O_DIRECT if job.file == self._file else 0

    def open(self, job, beside):
        return DirectOpened(self, job, beside)

    def reach(self, is_random):
        return ["if preadv(fd, parts, at) < length: fill()"]


class BufferedOpened(Opened):
    def __init__(self, job):
        self._file = open(job.file, "rb")

    def names(self, length):
        return {"read": self._file.read, "seek": self._file.seek, "short": became_shorter}

    def go_to(self, place):
        # A place that lies in its buffer is found there, and a pass would begin with what the one before has read. The end is
        # always looked up.
        self._file.seek(0, 2)
        self._file.seek(place)

    def close(self):
        self._file.close()


class Buffered(Way):
    """BufferedReader.read, with the buffer that `open` makes; seek when the workload jumps."""

    uses = ("read", "seek", "short")
    keeps_position = True

    def open(self, job, beside):
        return BufferedOpened(job)

    def reach(self, is_random):
        jump = ["seek(at)"] if is_random else []
        return [*jump, "block = read(length)", "if len(block) != length: raise short()"]


class FromfileOpened(BufferedOpened):
    def __init__(self, job, fromfile):
        super().__init__(job)
        self._fromfile = fromfile

    def names(self, length):
        return {"fromfile": self._fromfile, "file": self._file, "seek": self._file.seek, "short": became_shorter}


class Fromfile(Way):
    """numpy.fromfile from the file's position on; seek when the workload jumps."""

    kind = consume.OwnArray()
    uses = ("fromfile", "file", "seek", "short")
    keeps_position = True

    def open(self, job, beside):
        return FromfileOpened(job, self.numpy.fromfile)

    def reach(self, is_random):
        jump = ["seek(at)"] if is_random else []
        return [*jump, "block = fromfile(file, BYTE, length)", "if len(block) != length: raise short()"]
