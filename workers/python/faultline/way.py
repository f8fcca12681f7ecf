"""What all ways of reading and writing have in common: what is open, and the loop over the blocks."""

import sys

from faultline import consume
from faultline.job import Unavailable, Wrong


def became_shorter():
    return Wrong("the file became shorter after the pass was prepared: it ends within a block")


def aligned(count):
    """A bytearray, where in it so many bytes begin that lie in whole pages, and a view of those."""
    from faultline import system

    array, skew = system.aligned(count)
    return array, skew, memoryview(array)[skew : skew + count]


def numpy_or_refuse(what, instead=""):
    """numpy, which a Python need not have."""
    try:
        import numpy
    except ImportError as error:
        version = sys.version.split()[0]
        missing = isinstance(error, ModuleNotFoundError) and error.name == "numpy"
        why = "has no numpy" if missing else f"cannot import its numpy ({error})"
        raise Unavailable(f"Python {version} {why}, which {what} needs; name one that has it with --python{instead}")
    return numpy


class Opened:
    """A file that is open, for one thread."""

    def names(self, length):
        """What the lines that reach a block of this length use: `Way.uses`."""
        raise NotImplementedError

    def go_to(self, place):
        """Before blocks that follow each other from here on; of ways with a position of their own."""
        raise NotImplementedError

    def lock(self):
        """Locks the pages of its own mapping; false where it has none."""
        return False

    def sweep(self, start):
        """Reads all bytes of its mapping from this offset of the file on; false where it has none."""
        return False

    def close(self):
        raise NotImplementedError


class Loops:
    """Functions of places, and of what their lines use by name. Equal lines are one function: the interpreter adapts its code to
    what it is executed with, and a warm-up must be of the very code that is timed."""

    def __init__(self):
        self._made = {}

    def of(self, names, before, body, result):
        parameters = ", ".join(["places", *sorted(names)])
        lines = [before, "for at in places:", *("    " + line for line in body), f"return {result}"]
        text = "\n    ".join([f"def loop({parameters}):", *lines])
        if text not in self._made:
            space = {}
            exec(compile(text, "loop", "exec", dont_inherit=True), space)
            self._made[text] = space["loop"]
        return self._made[text]


class Way:
    """How a file is opened and a block of it reached, with everything made that is needed before the clock starts: for one
    thread."""

    kind = consume.Bytes()
    uses = ()
    # It reads on from where it is, so that threads cannot share what it has open.
    keeps_position = False
    # Around the page cache.
    is_direct = False
    # Places are counted in steps of so many bytes.
    unit = 1

    def __init__(self, job):
        if job.shares and self.keeps_position:
            raise Unavailable(f"{job.method} keeps one position per open file, so threads cannot share it; pread and preadv can")
        what = job.method if self.kind.is_array else f"consume {job.consume} with {job.method}"
        instead = "" if self.kind.is_array else ", or try --consume touch"
        self.numpy = numpy_or_refuse(what, instead) if consume.needs_numpy(job, self.kind) else None
        self._memory = aligned(job.block)[2] if job.consume == "copy" and not self.kind.copied else None
        self._loops = Loops()
        self._ready = {}

    def base(self, job):
        """Where places are counted from."""
        return 0

    def open(self, job, beside):
        """Shares what another thread of the pass has open, if there is one."""
        raise NotImplementedError

    def reach(self, is_random):
        """The lines of the loop that reach the block at `at`."""
        raise NotImplementedError

    def loop(self, job, length):
        """The function for blocks of one length, and what it uses of this way."""
        own = consume.names(job, self.kind, length, self.numpy, self._memory)
        body = self.reach(job.is_random) + consume.lines(job.consume, self.kind, length, job.use(length))
        return self._loops.of([*own, *self.uses], "checksum = 0", body or ["pass"], "checksum"), own

    def ready(self, job, length):
        """What `loop` gives, kept: to put it together takes as long as a short pass, and must not be timed."""
        key = job, length
        if key not in self._ready:
            self._ready[key] = self.loop(job, length)
        return self._ready[key]

    def work(self, job, opened, stretches, count):
        """A thread's share of a pass."""
        for stretch in stretches:
            if self.keeps_position and not job.is_random:
                opened.go_to(stretch.places[0])
            loop, own = self.ready(job, stretch.length)
            count.checksum += loop(stretch, **own, **opened.names(stretch.length))

    def alone(self, job, opened, length):
        """A function that consumes one block again and again, so many times, and reaches none."""
        own = consume.names(job, self.kind, length, self.numpy, self._memory)
        names = {**own, **opened.names(length), "block": self.sample(length)}
        body = consume.lines(job.consume, self.kind, length, job.use(length))
        loop = self._loops.of(names, "checksum = 0", body or ["pass"], "checksum")
        return lambda times: loop([0] * times, **names)

    def sample(self, length):
        """A block of random bytes, as in other runtimes, as this way has it."""
        import random

        block = random.Random(length).randbytes(length)
        return self.numpy.frombuffer(block, self.numpy.uint8) if self.kind.is_array else block
