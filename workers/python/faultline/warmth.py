"""Passes over a file in memory that nothing else knows. The interpreter adapts the code of a loop while it executes it, and the
first blocks of a process wait for memory of its own. The measured file is not touched, so its state stays as the controller
made it."""

import os
from time import perf_counter_ns

from faultline.offsets import Places
from faultline.team import Team, close_all

BYTES = 1 << 20
LEAST_BYTES = 64 << 10
# Of random bytes, again and again: to draw all of them takes longer than a pass.
PATTERN = os.urandom(64 << 10)
BLOCKS = 256
# The first, and as many as were steady in every version from 3.9 to 3.13.
PASSES = 4
# A sync waits for the device.
SYNCED_OPS = 16
# Of the consume's loop by itself: what a first-level cache holds. The fastest stretch counts, because interference only makes
# others slower.
LOOP_BYTES = 32 << 10
STRETCH_BYTES = 1 << 20
STRETCHES = 8


class Warmth:
    def __init__(self, job, ways):
        fd = os.memfd_create("faultline", os.MFD_CLOEXEC)
        try:
            twin = self._twin(job, fd)
            self.ops = twin.ops
            self.passes = [self._pass(twin, ways) for _ in range(1 if job.untimed else PASSES)]
            self.loop_bytes_per_s = self._loop_alone(job, twin, ways[0]) if job.times_its_loop else None
        finally:
            os.close(fd)

    @staticmethod
    def _twin(job, fd):
        """The same work on as many bytes, with a last block as short as the real one's: what only happens at the end has code of
        its own."""
        most = min(BYTES, max(LEAST_BYTES, BLOCKS * job.block))
        tail = job.bytes % job.block
        count = job.bytes if job.bytes <= most else (most - tail) // job.block * job.block + tail if job.block < most // 2 else most
        for at in range(0, count, len(PATTERN)):
            os.write(fd, PATTERN[: count - at])
        about = os.fstat(fd)
        block = min(job.block, count)
        blocks = min(-(-count // block), SYNCED_OPS if job.durability == "sync-each" else BLOCKS)
        return job.but(
            file=f"/proc/{os.getpid()}/fd/{fd}",
            writable=(about.st_dev, about.st_ino),
            offset=0,
            bytes=count,
            block=block,
            ops=max(min(job.ops, blocks), job.threads),
            hold="no",
        )

    @staticmethod
    def _pass(twin, ways):
        places = Places(twin, ways[0])
        return Team(twin, ways).run(places.of(0)).elapsed("work")

    @staticmethod
    def _loop_alone(job, twin, way):
        """How fast it is over bytes in the processor's caches; a line is no block and has none."""
        if way.alone is None:
            return None
        opened = way.open(twin, None)
        try:
            length = min(twin.block, LOOP_BYTES)
            times = max(1, STRETCH_BYTES // length)
            loop = way.alone(job, opened, length)
            fastest = None
            for _ in range(STRETCHES):
                begun = perf_counter_ns()
                loop(times)
                took = perf_counter_ns() - begun
                fastest = took if fastest is None else min(fastest, took)
            del loop
            return job.use(length) * times * 1e9 / max(1, fastest)
        finally:
            close_all([opened])

    def readings(self):
        first, *later = self.passes
        found = {
            "warm_up_passes": len(self.passes),
            "first_pass_ns_per_op": first / self.ops,
            "warm_pass_ns_per_op": min(later, default=first) / self.ops,
        }
        return found if self.loop_bytes_per_s is None else {**found, "loop_bytes_per_s": self.loop_bytes_per_s}
