"""One arm under one condition, checked."""

import os
import stat

MOST_THREADS = 4096
MOST_BLOCK_BYTES = 1 << 30
READING = ("scan", "random")
WRITING = ("overwrite", "overwrite-random", "append", "update")
HOLDS = ("no", "rehearse", "open", "warm", "locked")


class Unavailable(Exception):
    """The arm cannot do this here."""


class Wrong(Exception):
    """The job or the file is not what a pass needs."""


def number(said, key, least=0):
    value = said.get(key)
    if type(value) is not int or not least <= value < 1 << 64:
        raise Wrong(f"the job has no number {key} from {least} on")
    return value


def word(said, key, usual=None):
    value = said.get(key, usual)
    if type(value) is not str:
        raise Wrong(f"the job has no word {key}")
    return value


class Job:
    def __init__(self, said):
        self.number = number(said, "pass")
        self.method = word(said, "method")
        self.options = said.get("options", {})
        self.workload = word(said, "workload")
        self.consume = word(said, "consume")
        self.file = word(said, "file")
        self.hold = word(said, "hold")
        self.durability = word(said, "durability", "none")
        self.descriptor = word(said, "descriptor", "per-thread")
        self.offset = number(said["range"], "offset")
        self.bytes = number(said["range"], "bytes", 1)
        self.ops = number(said, "ops", 1)
        self.seed = number(said, "seed")
        self.aligned = said["aligned"] is True
        self.threads = number(said, "threads", 1)
        self.percent = number(said, "consumed_percent", 1) if "consumed_percent" in said else 100
        self.times_its_loop = said.get("times_its_loop") is True
        self.untimed = said.get("untimed") is True
        self.beside = word(said, "beside", "nothing")
        self.block = number(said, "block_bytes", 1)
        # Device and inode of the one file that may be written.
        permit = said.get("permit", {}).get("write")
        self.writable = permit and (number(permit, "device"), number(permit, "inode"))
        self._check()
        self.block = min(self.block, self.bytes)

    def _check(self):
        if self.workload not in READING + WRITING:
            raise Unavailable(f"the Python worker has no workload {self.workload}")
        if self.hold not in HOLDS:
            raise Unavailable(f"the Python worker does not know hold {self.hold}")
        if self.threads > MOST_THREADS:
            raise Wrong(f"{self.threads} threads; expected 1 to {MOST_THREADS}")
        if self.writes and self.threads > 1:
            raise Unavailable("workloads that write have one thread")
        if self.percent > 100:
            raise Wrong(f"{self.percent} % of a block cannot be consumed; expected 1 to 100")
        if self.block > MOST_BLOCK_BYTES:
            raise Unavailable(f"a block of {self.block} bytes; the Python worker takes 1 byte to 1 GiB at once")

    def check_file(self):
        """Before anything opens it: opening a pipe would wait for its writer."""
        about = os.stat(self.file)
        if not stat.S_ISREG(about.st_mode):
            raise Wrong(f"{self.file} is no regular file")
        if self.writes:
            self._check_permit(about)
        if self.workload == "append":
            return
        if about.st_size == 0:
            raise Wrong("the file is empty: there is nothing to read")
        if self.offset + self.bytes > about.st_size:
            raise Wrong(f"a range of {self.bytes} bytes at {self.offset} ends beyond the file's {about.st_size} bytes")

    def _check_permit(self, about):
        """A file is opened for writing by a descriptor of the controller's, which leads to the same file however often it
        is opened: by a name, it could become another one meanwhile."""
        if self.writable is None:
            raise Wrong("the job writes, and has no permission to")
        parts = self.file.split("/")
        is_in_proc = len(parts) == 5 and parts[:2] + parts[3:4] == ["", "proc", "fd"]
        by_descriptor = is_in_proc and parts[2].isdigit() and parts[4].isdigit()
        if not by_descriptor or (about.st_dev, about.st_ino) != self.writable:
            raise Wrong(f"{self.file} is not the file that the job may write")

    def but(self, **changes):
        """The same with some values of its own."""
        other = object.__new__(Job)
        other.__dict__.update(self.__dict__, **changes)
        return other

    @property
    def writes(self):
        return self.workload in WRITING

    @property
    def is_random(self):
        return self.workload in ("random", "overwrite-random")

    @property
    def blocks(self):
        """Of the range, the last of which may be short."""
        return -(-self.bytes // self.block)

    @property
    def shares(self):
        """Several threads use one open file. A single thread has no one to share with."""
        return self.threads > 1 and self.descriptor == "shared"

    def use(self, length):
        """So many bytes of a block are consumed."""
        return length * self.percent // 100

    def option(self, name, usual):
        """What an option is set to; every option comes with every job."""
        return self.options.get(name, usual)
