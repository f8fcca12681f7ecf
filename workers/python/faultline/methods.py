"""Every method, by name: the module and the class that does it. A module is loaded when a job asks for it."""

from importlib import import_module

from faultline.job import Unavailable

READING = {
    "read": ("reading", "Read"),
    "pread": ("reading", "Pread"),
    "readinto": ("reading", "Readinto"),
    "preadv": ("reading", "Preadv"),
    "buffered": ("reading", "Buffered"),
    "lines": ("lines", "Lines"),
    "direct": ("reading", "Direct"),
    "mmap": ("mapped", "Mapped"),
    "fromfile": ("reading", "Fromfile"),
    "memmap": ("mapped", "Memmap"),
}
WRITING = {"pwrite": ("writing", "Pwrite"), "mmap-store": ("writing", "MmapStore")}
NAMES = [*READING, *WRITING]


def of(job):
    """How one thread does the job."""
    found = (WRITING if job.writes else READING).get(job.method)
    if found is None:
        raise Unavailable(f"the Python worker has no method {job.method} for workload {job.workload}")
    module, name = found
    return getattr(import_module(f"faultline.{module}"), name)(job)
