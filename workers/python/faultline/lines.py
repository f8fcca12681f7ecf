"""Iteration over a file of text: every line decoded and made a string. What it counts is ends of lines, as consume `lines` does: a
carriage return is none."""

import io
import os

from faultline.job import Unavailable
from faultline.way import Opened, Way, became_shorter


def counted(text):
    """How many ends of lines there are."""
    lines, line = 0, "\n"
    for line in text:
        lines += 1
    # What follows the last end is a line for Python.
    return lines - (line[-1] != "\n")


class Bounded(io.RawIOBase):
    """So many bytes of an open file and then the end."""

    def __init__(self, file, count):
        self._file, self.left = file, count

    def readable(self):
        return True

    def readinto(self, into):
        done = self._file.readinto(memoryview(into)[: self.left])
        self.left -= done
        return done


class LinesOpened(Opened):
    def __init__(self, job, encoding):
        self._how = {"encoding": encoding, "errors": "replace", "newline": "\n"}
        self._text = open(job.file, **self._how)
        self._raw = self._text.buffer.raw
        self._bytes = os.fstat(self._raw.fileno()).st_size

    def lines(self, count):
        """Of the first so many bytes."""
        # As of any buffered file: the start may lie in the buffer still, and the end is always looked up.
        self._text.buffer.seek(0, 2)
        self._text.seek(0)
        if count == self._bytes:
            found = counted(self._text)
            if self._raw.tell() != count:
                raise became_shorter()
            return found
        self._raw.seek(0)
        part = Bounded(self._raw, count)
        found = counted(io.TextIOWrapper(io.BufferedReader(part), **self._how))
        if part.left:
            raise became_shorter()
        return found

    def close(self):
        self._text.close()


class Lines(Way):
    def __init__(self, job):
        if job.workload != "scan" or job.consume not in ("lines", "decode-lines"):
            raise Unavailable("lines makes lines of a file from its start on: workload scan, consume lines or decode-lines")
        if job.percent != 100:
            raise Unavailable("lines looks at every byte")
        if job.offset != 0:
            raise Unavailable("lines begins at the start of the file")
        if job.threads > 1:
            raise Unavailable("lines reads from one position, as one thread does")
        super().__init__(job)
        self._encoding = job.option("charset", "latin1")

    def open(self, job, beside):
        return LinesOpened(job, self._encoding)

    def work(self, job, opened, stretches, count):
        left = job.ops
        while left > 0:
            blocks = min(left, job.blocks)
            count.checksum += opened.lines(min(blocks * job.block, job.bytes))
            left -= blocks

    def loop(self, job, length):
        """None: a line is no block."""

    alone = None
