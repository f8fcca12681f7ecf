"""The threads of a pass: the worker's own and `threads - 1` more. Phases begin when the first thread begins them and end when the
last one ends them; between phases all threads wait for each other."""

import threading
from time import perf_counter_ns

from faultline import usage


class Count:
    """What one thread did, and when."""

    def __init__(self):
        self.checksum = 0
        # Of an update: until the block is there, its change, until it is written.
        self.parts = [0, 0, 0]
        self.phases = {}

    def add_parts(self, *more):
        self.parts = [a + b for a, b in zip(self.parts, more)]


class Alone:
    """One thread has nobody to wait for."""

    def wait(self):
        pass

    def abort(self):
        pass


class Failure(Exception):
    """An error, with the phase that it was in."""

    def __init__(self, during, error):
        super().__init__(str(error))
        self.during, self.error = during, error


class Team:
    def __init__(self, job, ways, held=None):
        self._job, self._ways, self._held = job, ways, held
        self._barrier = Alone() if len(ways) == 1 else threading.Barrier(len(ways))
        # What the first thread opened: where the descriptor is shared, it is everybody's.
        self._common = None
        self._opened = [None] * len(ways)
        self._failures = []
        self.counts = [Count() for _ in ways]
        self.usage = None

    def run(self, stretches):
        """A pass over these blocks, a list for each thread.

        Every thread is there before the first of them begins: one that cannot be started would be waited for."""
        others = [threading.Thread(target=self._thread, args=(thread, stretches[thread])) for thread in range(1, len(self._ways))]
        started = []
        try:
            for other in others:
                other.start()
                started.append(other)
            self._thread(0, stretches[0])
        except RuntimeError as refused:
            self._fail("open", RuntimeError(f"a thread could not be started: {refused}"))
        for other in started:
            other.join()
        self._close_what_failed()
        if self._failures:
            raise self._failures[0]
        return self

    def _thread(self, thread, stretches):
        self.counts[thread].during = "open"
        try:
            self._barrier.wait()
            before = usage.now() if thread == 0 else None
            self._barrier.wait()
            self._phases(thread, stretches)
            self._barrier.wait()
            if thread == 0:
                self.usage = usage.since(before)
        except threading.BrokenBarrierError:
            # Another thread failed, and says why.
            pass
        except BaseException as error:
            self._fail(self.counts[thread].during, error)

    def _fail(self, during, error):
        self._failures.append(Failure(during, error))
        self._barrier.abort()

    def _phases(self, thread, stretches):
        count = self.counts[thread]
        if self._held is not None:
            self._work(thread, self._held[thread], stretches)
            return
        waits_for_first = self._job.shares
        if waits_for_first and thread > 0:
            self._barrier.wait()
        begun = perf_counter_ns()
        opened = self._opened[thread] = self._open(thread)
        count.phases["open"] = begun, perf_counter_ns()
        if waits_for_first and thread == 0:
            self._barrier.wait()
        self._barrier.wait()
        self._work(thread, opened, stretches)
        self._barrier.wait()
        count.during = "close"
        self._opened[thread] = None
        begun = perf_counter_ns()
        opened.close()
        count.phases["close"] = begun, perf_counter_ns()

    def _open(self, thread):
        opened = self._ways[thread].open(self._job, self._common)
        if thread == 0 and self._job.shares:
            self._common = opened
        return opened

    def _work(self, thread, opened, stretches):
        count = self.counts[thread]
        count.during = "work"
        begun = perf_counter_ns()
        self._ways[thread].work(self._job, opened, stretches, count)
        count.phases["work"] = begun, perf_counter_ns()

    def _close_what_failed(self):
        for opened in self._opened:
            if opened is not None:
                try:
                    opened.close()
                except BufferError:
                    # The error still holds a part of the mapping, which goes with it.
                    pass

    def open_all(self):
        """For all passes: what each thread works with."""
        opened = []
        try:
            for thread in range(len(self._ways)):
                opened.append(self._open(thread))
        except BaseException:
            close_all(opened)
            raise
        return opened

    def elapsed(self, phase):
        """Nothing of a phase that lay outside of the pass."""
        spans = [count.phases[phase] for count in self.counts if phase in count.phases]
        return max(end for _, end in spans) - min(begin for begin, _ in spans) if spans else None

    @property
    def checksum(self):
        return sum(count.checksum for count in self.counts) & (1 << 64) - 1

    @property
    def parts(self):
        return [sum(part) for part in zip(*(count.parts for count in self.counts))]


def close_all(opened):
    # What shares a file or a mapping goes before what owns it.
    for it in reversed(opened):
        it.close()
