"""Which bytes the threads of a pass reach, in which order, as docs/FORMATS.md says under "Offsets". All of it is made before the
clock starts: making one takes longer than some reads."""

from itertools import chain, repeat

from faultline.job import Unavailable

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB
# Between the bytes of a block that `touch` looks at; no page is smaller.
TOUCH_BYTES = 4096
# More are minutes of preparing.
MOST_BLOCKS = 1 << 24
MOST_STRETCHES = 1 << 20


def words(seed, count):
    """The first outputs of the generator started at a seed."""
    state = seed & MASK
    for _ in range(count):
        state = state + GAMMA & MASK
        z = (state ^ state >> 30) * FIRST & MASK
        z = (z ^ z >> 27) * SECOND & MASK
        yield z ^ z >> 31


def share(job, thread):
    """How many blocks a thread has, and how many those before it have together."""
    each, rest = divmod(job.ops, job.threads)
    return each + (thread < rest), each * thread + min(thread, rest)


class Stretch:
    """Blocks of one length, by the places where they begin: a list or a range, perhaps several times over."""

    def __init__(self, places, length, times=1):
        self.places = places
        self.length = length
        self.times = times
        self.count = len(places) * times

    def __iter__(self):
        return iter(self.places) if self.times == 1 else chain.from_iterable(repeat(self.places, self.times))


class Places:
    """Of all threads, as a way counts them: those of a mapping begin where it does."""

    def __init__(self, job, way):
        self.job = job
        self.base, self.unit, self.keeps_position = way.base(job), way.unit, way.keeps_position
        self.timed = self._all()
        # Those of warm passes take the memory of the first: a state with a limit counts what a worker has when it is prepared.
        self.warm = self._all() if job.hold == "open" else None

    def of(self, warm):
        """Of the timed pass, or of a warm one, by its number from 1."""
        if warm == 0:
            return self.timed
        if self.warm is None:
            self.warm = self._all()
        if self.job.is_random:
            for thread, (stretch,) in enumerate(self.warm):
                self._draw(stretch.places, self.job.seed + (warm << 16) + thread)
        return self.warm

    def _all(self):
        job = self.job
        if job.is_random:
            if job.ops > MOST_BLOCKS:
                raise Unavailable(f"{job.ops} random blocks in one pass; the Python worker makes at most {MOST_BLOCKS}")
            return [[self._random(thread)] for thread in range(job.threads)]
        return [list(self._ascending(thread)) for thread in range(job.threads)]

    def _random(self, thread):
        places = [0] * share(self.job, thread)[0]
        self._draw(places, self.job.seed + thread)
        return Stretch(places, self.job.block)

    def _draw(self, places, seed):
        job, (state,) = self.job, words(seed, 1)
        slots, stride = (max(1, job.bytes // job.block), job.block) if job.aligned else (job.bytes - job.block + 1, 1)
        start, stride = (job.offset - self.base) // self.unit, stride // self.unit
        for place in range(len(places)):
            state = state + GAMMA & MASK
            z = (state ^ state >> 30) * FIRST & MASK
            z = (z ^ z >> 27) * SECOND & MASK
            places[place] = start + ((z ^ z >> 31) * slots >> 64) * stride

    def _ascending(self, thread):
        """Whole blocks, the short one at the end of the range, whole ones again from its start."""
        job = self.job
        left, before = share(job, thread)
        whole, tail = divmod(job.bytes, job.block)
        at, made = before % job.blocks, 0
        while left > 0:
            made += 1
            if made > MOST_STRETCHES:
                raise Unavailable(f"{job.ops} blocks of a range of {job.blocks}; the Python worker does not start over so often")
            many = min(left, whole - at)
            if at == 0 and many == whole and tail == 0 and not self.keeps_position:
                times = left // whole
                yield Stretch(self._places(0, whole), job.block, times)
                left -= times * whole
                continue
            if many > 0:
                yield Stretch(self._places(at, at + many), job.block)
                left -= many
            if left > 0 and tail:
                yield Stretch(self._places(whole, whole + 1), tail)
                left -= 1
            at = 0

    def _places(self, first, end):
        """Of these blocks of the range."""
        start, step = (self.job.offset - self.base) // self.unit, self.job.block // self.unit
        return range(start + first * step, start + end * step, step)

    def reached(self, page):
        """Bytes and pages of the file that the timed pass reaches, each once."""
        job = self.job
        reached = Reached(job, page)
        if job.is_random:
            starts = set().union(*(stretch.places for (stretch,) in self.timed))
            for place in sorted(starts):
                reached.add(place * self.unit + self.base, job.block)
            return reached
        covered, block, start = min(job.bytes, job.ops * job.block), job.block, job.offset
        # Whole blocks leave no gap: all but the last one are one interval.
        joined = (covered - 1) // block * block
        if job.percent == 100 and joined:
            reached.add_joined(start, start + joined - block, block)
            reached.add(start + joined, covered - joined)
        elif covered > MOST_BLOCKS * block:
            raise Unavailable(f"parts of {covered // block} blocks in one pass; the Python worker counts at most {MOST_BLOCKS}")
        else:
            for at in range(0, covered, block):
                reached.add(start + at, min(block, covered - at))
        return reached


class Reached:
    """Starts ascend, so that each interval adds what lies beyond the one before it."""

    def __init__(self, job, page):
        self.bytes = self.blocks = self.pages = self._bytes_end = self._blocks_end = self._pages_end = 0
        self._job, self._page = job, page
        self._looks_every = TOUCH_BYTES if job.consume == "touch" and not job.writes else 1

    def add(self, start, length):
        self.add_joined(start, start, length)

    def add_joined(self, first, last, length):
        """Blocks without a gap between them, from the start of the first to the end of the last."""
        self.blocks += max(0, last + length - max(first, self._blocks_end))
        self._blocks_end = max(self._blocks_end, last + length)
        use = self._job.use(length)
        if use == 0:
            return
        end = last + use
        self.bytes += max(0, end - max(first, self._bytes_end))
        self._bytes_end = max(self._bytes_end, end)
        pages_end = (last + (use - 1) // self._looks_every * self._looks_every) // self._page + 1
        self.pages += max(0, pages_end - max(first // self._page, self._pages_end))
        self._pages_end = max(self._pages_end, pages_end)
