"""What happens to the bytes of a block, as docs/FORMATS.md says under "Checksums", in the words of a Python program.

The timed loop is put together as text, from the lines that reach a block and those here, and compiled before the clock starts: a
call for each block would take as long as some reads. Of a block with `length` bytes the first `use` are consumed; `last` is the
place of the last of these, `words` how many whole 64-bit words they are, and `rest` the place of the first byte after those.
"""

from faultline.job import Unavailable
from faultline.offsets import TOUCH_BYTES

CONSUMES = ("touch", "sum", "copy", "lines", "sum-bytes", "decode-lines")


class Kind:
    """In which form a method has the bytes of a block. `of` is what it slices."""

    # They are in memory of the process's own, so that a program that needs a copy has one.
    copied = True
    # They are reached as an array of numpy's.
    is_array = False
    # How newlines are counted; nothing where only numpy can.
    newlines = None

    def byte(self, at):
        """One byte, as a number."""
        return f"{self.of}[{at}]"

    def cut(self, start, end, step=""):
        """A part of the block, as a buffer."""
        return f"{self.of}[{start}:{end}{step}]"

    def part(self, is_whole):
        """All that is consumed."""
        return self.of if is_whole else self.cut("", "use")

    def numbers(self, is_whole):
        """Its whole 64-bit words, as an array."""
        return f"frombuffer({self.part(is_whole)}, WORD, words)"


class Bytes(Kind):
    """`block` is a bytes object."""

    of = "block"
    newlines = 'block.count(b"\\n", 0, use)'

    def part(self, is_whole):
        # Without a copy, as a slice would be one.
        return "block" if is_whole else "memoryview(block)[:use]"


class Room(Kind):
    """`into` is a view of memory that blocks are read into, `array` the bytearray that it is of, from `skew` on."""

    of = "into"
    newlines = "array.count(10, skew, skew + use)"

    def numbers(self, is_whole):
        return "numbers"


class OwnArray(Kind):
    """`block` is an array of bytes."""

    of = "block"
    is_array = True
    newlines = "int(count_nonzero(block[:use] == 10))"

    def byte(self, at):
        return f"block.item({at})"

    def numbers(self, is_whole):
        return "block[:rest].view(WORD)"


class Mapped(Kind):
    """Blocks begin at `at` in a mapping."""

    copied = False

    def byte(self, at):
        return f"{self.of}[{from_block(at)}]"

    def cut(self, start, end, step=""):
        return f"{self.of}[{from_block(start)}:at + {end}{step}]"

    def part(self, is_whole):
        return self.cut("", "use")


class View(Mapped):
    """`view` is a memoryview of the mapping."""

    of = "view"


class MappedArray(Mapped):
    """`octets` is an array of it; `quads` the same as 64-bit words, where all blocks are of whole ones: `at` counts those
    then."""

    of = "octets"
    is_array = True
    newlines = "int(count_nonzero(octets[at:at + use] == 10))"

    def __init__(self, in_words):
        self.in_words = in_words

    def byte(self, at):
        return f"octets.item({from_block(at)})"

    def cut(self, start, end, step=""):
        if self.in_words:
            return f"octets[8 * at + {start}:8 * at + {end}{step}]"
        return super().cut(start, end, step)

    def numbers(self, is_whole):
        return "quads[at:at + words]" if self.in_words else "octets[at:at + rest].view(WORD)"


def from_block(place):
    return f"at + {place}" if place else "at"


def needs_numpy(job, kind):
    """Whether there is no other way that would do the same."""
    if job.writes:
        return False
    return kind.is_array or job.consume == "sum" or (job.consume == "lines" and kind.newlines is None)


def lines(consume, kind, length, use):
    """Those of the loop that consume the first bytes of a block that was reached."""
    if consume not in CONSUMES:
        raise Unavailable(f"the Python worker has no consume {consume}")
    if use == 0:
        return []
    is_whole = length == use
    whole = kind.part(is_whole)
    if consume == "touch":
        first = kind.byte("") if isinstance(kind, Mapped) else kind.byte("0")
        every = kind.cut("", "use", f":{TOUCH_BYTES}")
        return ["checksum += " + (first if use <= TOUCH_BYTES else total(kind, every))]
    if consume == "sum":
        numbers = [f"checksum += int(reduce({kind.numbers(is_whole)}))"] if use >= 8 else []
        rest = kind.cut("rest", "use")
        return numbers + ([f"checksum += from_bytes(bytes({rest}), 'little')"] if use % 8 else [])
    if consume == "copy":
        if kind.copied:
            return [f"checksum += {kind.byte('0')} + {kind.byte('last')}"]
        ends = "copy.item(0) + copy.item(last)" if kind.is_array else "copy[0] + copy[last]"
        return [f"copy[:] = {whole}", f"checksum += {ends}"]
    if consume == "lines":
        by_numpy = f"int(count_nonzero(frombuffer({whole}, BYTE) == 10))"
        return ["checksum += " + (kind.newlines or by_numpy)]
    if consume == "sum-bytes":
        return ["checksum += " + total(kind, whole)]
    return [f"checksum += len(str({whole}, 'utf-8', 'replace').split('\\n')) - 1"]


def total(kind, part):
    """The sum of bytes."""
    return f"int(reduce({part}, 0, WORD))" if kind.is_array else f"sum({part})"


def names(job, kind, length, numpy, memory):
    """What these lines use beside what the method brings; `memory` is where `copy` copies to."""
    use = job.use(length)
    found = {"length": length, "use": use, "last": use - 1, "words": use >> 3, "rest": use & -8, "from_bytes": int.from_bytes}
    if numpy is not None:
        found.update(
            WORD=numpy.dtype("<u8"),
            BYTE=numpy.dtype("u1"),
            reduce=numpy.add.reduce,
            frombuffer=numpy.frombuffer,
            count_nonzero=numpy.count_nonzero,
        )
    if memory is not None and use > 0:
        copy = memory[:use]
        found["copy"] = numpy.frombuffer(copy, numpy.uint8) if kind.is_array else copy
    return found
