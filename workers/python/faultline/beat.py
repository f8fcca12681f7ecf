"""A second thread beside a pass: it has a deadline every millisecond and records how late it is for each, counted from the
deadline's own time. One that cannot run for 200 ms was late for 200 deadlines, and not for one (docs/FORMATS.md, "Beats")."""

import threading
import time
from time import perf_counter_ns

from faultline.job import Unavailable

PERIOD_NS = 1_000_000
# After the pass, while nothing else is at work.
IDLE_DEADLINES = 100
# Before `prepared`: the interpreter adapts the code of a loop while it executes it.
REHEARSED = 8
BINS = 513


def beside(job):
    """What the job asks for; nothing where that is nothing."""
    if job.beside == "nothing":
        return None
    if job.beside != "beat":
        raise Unavailable(f"the Python worker has no {job.beside} beside a pass")
    return Beat()


class Counters:
    def __init__(self):
        self.bins = [0] * BINS
        self.clear()

    def clear(self):
        self.deadlines = self.wake_ups = self.max_ns = 0
        for at in range(BINS):
            self.bins[at] = 0

    def add(self, late):
        """One deadline, so many nanoseconds late."""
        self.deadlines += 1
        if late > self.max_ns:
            self.max_ns = late
        parts = late * 16 // 1000
        at = 0
        if parts >= 16:
            doubling = parts.bit_length() - 5
            at = min(1 + 16 * doubling + (parts >> doubling & 15), BINS - 1)
        self.bins[at] += 1

    def lateness(self):
        used = max((at + 1 for at in range(BINS) if self.bins[at]), default=0)
        return {"deadlines": self.deadlines, "wake_ups": self.wake_ups, "max_ns": self.max_ns, "bins": self.bins[:used]}


class Beat:
    """The thread and its counters, which exist before the pass. Between two deadlines it sleeps; its loop makes no object but
    numbers, takes no lock but the interpreter's, and has no file open, so that the calls of the pass take no longer because of it."""

    def __init__(self):
        self._pass, self._idle = Counters(), Counters()
        self._began = 0
        # Nanoseconds from the beginning to the end of the pass, once it has ended.
        self._ended = None
        self._idles = IDLE_DEADLINES
        self._leaves = False
        self._go, self._counted = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as refused:
            raise Unavailable(f"the thread of the beat could not be started: {refused}")
        self._idles = REHEARSED
        self.begin()
        self.end()
        self._idles = IDLE_DEADLINES

    def begin(self):
        """From here on, until `end`."""
        self._ended = None
        self._began = perf_counter_ns()
        self._go.release()

    def end(self):
        """The pass is over: what was counted, once the idle deadlines are, too."""
        self._ended = perf_counter_ns() - self._began
        self._counted.acquire()
        return {"period_ns": PERIOD_NS, **self._pass.lateness(), "idle": self._idle.lateness()}

    def leave(self):
        self._leaves = True
        self._go.release()
        self._thread.join()

    def _run(self):
        try:
            from faultline.system import leave_descriptors
        except Unavailable:
            # It costs each call of the pass some 50 ns then.
            pass
        else:
            leave_descriptors()
        while True:
            self._go.acquire()
            if self._leaves:
                return
            self._pass.clear()
            self._idle.clear()
            self._beat()
            self._counted.release()

    def _beat(self):
        began = self._began
        of_pass, idle = self._pass, self._idle
        next_ns = PERIOD_NS
        while True:
            self._sleep_until(began + next_ns)
            of_pass.wake_ups += 1
            # Before the clock, so that what has ended by then ended before it.
            end = self._ended
            now = perf_counter_ns() - began
            until = now if end is None else min(now, end)
            while next_ns <= until:
                of_pass.add(now - next_ns)
                next_ns += PERIOD_NS
            if end is not None:
                break
        next_ns = now + PERIOD_NS
        left = self._idles
        while left > 0:
            self._sleep_until(began + next_ns)
            idle.wake_ups += 1
            now = perf_counter_ns() - began
            while left > 0 and next_ns <= now:
                idle.add(now - next_ns)
                next_ns += PERIOD_NS
                left -= 1

    @staticmethod
    def _sleep_until(at):
        left = at - perf_counter_ns()
        if left > 0:
            time.sleep(left / 1e9)
