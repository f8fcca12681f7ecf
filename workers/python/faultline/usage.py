"""What this process has spent, by getrusage(2), and what the collector of cycles did."""

import gc
import resource
from time import perf_counter_ns

NAMES = ("user_ns", "system_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")


def now():
    used = resource.getrusage(resource.RUSAGE_SELF)
    times = (round(used.ru_utime * 1e9), round(used.ru_stime * 1e9))
    return times + (used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw)


def since(before):
    return {name: after - then for name, after, then in zip(NAMES, now(), before)}


def clock_ns():
    """What reading the clock once takes."""
    times = 4096
    begun = perf_counter_ns()
    for _ in range(times):
        last = perf_counter_ns()
    return (last - begun) // times


class Collections:
    """How often the collector ran since it is watched, and for how long."""

    def __init__(self):
        self.count = self.ns = self._begun = 0
        gc.callbacks.append(self._see)

    def _see(self, phase, _):
        if phase == "start":
            self._begun = perf_counter_ns()
        else:
            self.count += 1
            self.ns += perf_counter_ns() - self._begun

    def since(self, before):
        return {"collections": self.count - before[0], "collection_ns": self.ns - before[1]}

    def now(self):
        return self.count, self.ns
