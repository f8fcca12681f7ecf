"""Everything that one `prepare` made."""

import os
import resource
import sys

from faultline import beat, methods, usage
from faultline.job import Unavailable
from faultline.offsets import Places
from faultline.team import Team, close_all
from faultline.warmth import Warmth

# Larger than the last-level cache of most machines, small enough to be swept before every pass; as the native worker does.
SWEEP_BYTES = 64 << 20
SWEEP_PIECE = 1 << 20


def has_lock():
    """Whether this process has the interpreter's lock."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


class Session:
    def __init__(self, job, collections):
        self.job, self._collections = job, collections
        self._held = self._pinned = self._beat = None
        job.check_file()
        self._use_interpreter()
        self._ways = [methods.of(job) for _ in range(job.threads)]
        self._places = Places(job, self._ways[0])
        self._reached = self._places.reached(resource.getpagesize())
        self._bytes = sum(job.use(it.length) * it.count for thread in self._places.timed for it in thread)
        for way in self._ways:
            for length in {it.length for thread in self._places.timed for it in thread}:
                way.ready(job, length)
        self._warmth = Warmth(job, self._ways)
        self._clock_ns = usage.clock_ns() if job.workload == "update" else 0
        try:
            self._hold()
            self._beat = beat.beside(job)
        except BaseException:
            self.end()
            raise

    def _use_interpreter(self):
        job = self.job
        if job.option("gil", "on") == "off" and has_lock():
            version = sys.version.split()[0]
            raise Unavailable(f"Python {version} has a GIL always; name a free-threaded build (3.13 or later) with --python")
        sys.setswitchinterval(job.option("switch_us", 5000) / 1e6)

    def _hold(self):
        job = self.job
        if job.hold in ("no", "rehearse"):
            # The warm-up was the rehearsal.
            return
        if job.hold == "open" and job.writes:
            raise Unavailable("a workload that writes has no warm passes of its own")
        self._held = Team(job, self._ways).open_all()
        if job.hold == "open":
            return
        owners = self._held[:1] if job.shares else self._held
        if job.hold == "locked" and not all([it.lock() for it in owners]) and not job.writes:
            self._pin()
        self._run(0)
        if job.writes:
            from faultline import writing

            writing.sync(job)
        elif not self._sweeps() and not self._ways[0].is_direct:
            self._sweep(owners)

    def _pin(self):
        """One mapping on the side is enough for all that have none."""
        import mmap

        from faultline import mapped, reading, system

        fd = os.open(self.job.file, reading.READ)
        try:
            self._pinned = mapped.mapped(fd, self.job, mmap.MAP_SHARED, mmap.PROT_READ)
        finally:
            os.close(fd)
        system.lock(self._pinned)

    def _sweeps(self):
        """Whether a pass does itself what a sweep would: it looks at every byte up to the end of a range that is as large."""
        job = self.job
        looks_at_all = job.consume != "touch" and job.percent == 100
        return job.workload == "scan" and looks_at_all and job.bytes >= SWEEP_BYTES and job.ops >= job.blocks

    def _sweep(self, owners):
        """The processor's caches should not hold exactly the blocks of the pass before."""
        job = self.job
        end = job.offset + job.bytes
        start = max(job.offset, end - SWEEP_BYTES)
        if all([it.sweep(start) for it in owners]):
            return
        room = bytearray(SWEEP_PIECE)
        fd = os.open(job.file, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for at in range(start, end, SWEEP_PIECE):
                os.preadv(fd, [memoryview(room)[: end - at]], at)
        finally:
            os.close(fd)

    def _run(self, warm):
        return Team(self.job, self._ways, self._held).run(self._places.of(warm))

    def go(self, warm):
        """The timed pass, or the given warm one before it (from 1): what `done` says."""
        beside, beats = None if warm else self._beat, None
        before = self._collections.now()
        if beside is not None:
            beside.begin()
        try:
            done = self._run(warm)
            # Before the deadlines that follow the pass.
            seen = self._collections.since(before)
        finally:
            if beside is not None:
                beats = beside.end()
        tally = {
            "ops": self.job.ops,
            "bytes": self._bytes,
            # Where a warm pass goes is its own affair.
            "distinct_bytes": 0 if warm else self._reached.bytes,
            # The controller reads the written bytes after this pass.
            "checksum": f"{0 if self.job.writes else done.checksum:016x}",
            "threads": self.job.threads,
            "queue_depth": 1,
        }
        phases = {f"{phase}_ns": done.elapsed(phase) for phase in ("open", "work", "close")}
        answer = {"pass": self.job.number, "phases": phases, "tally": tally, "usage": done.usage}
        if warm:
            return answer
        tally["distinct_pages"] = self._reached.pages
        if self.job.percent < 100:
            tally["distinct_block_bytes"] = self._reached.blocks
        if self.job.workload == "update":
            answer["parts"] = {**dict(zip(("read_ns", "loop_ns", "write_ns"), done.parts)), "clock_ns": self._clock_ns}
        if beats is not None:
            answer["beats"] = beats
        return {**answer, "seen": {**self._warmth.readings(), **seen}}

    def end(self):
        """Releases everything."""
        beside, self._beat = self._beat, None
        if beside is not None:
            beside.leave()
        held, self._held = self._held, None
        close_all(held or [])
        pinned, self._pinned = self._pinned, None
        if pinned is not None:
            pinned.close()
