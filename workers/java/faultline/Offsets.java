package faultline;

import java.util.Arrays;

/** Which bytes a thread of a pass reads, in which order, as docs/FORMATS.md says under "Offsets". */
final class Offsets {
    private final boolean random;
    private final long start, end, block, slots, stride;
    /** How many blocks this thread reads. */
    final long blocks;
    private long state, next;

    Offsets(Job job, int thread) {
        random = isRandom(job);
        start = job.offset;
        end = job.offset + job.bytes;
        block = job.blockBytes;
        slots = job.aligned ? Math.max(1, job.bytes / block) : job.bytes - block + 1;
        stride = job.aligned ? block : 1;
        state = job.seed + thread;
        state = output();
        long each = job.ops / job.threads, rest = job.ops % job.threads;
        blocks = each + (thread < rest ? 1 : 0);
        long before = each * thread + Math.min(thread, rest);
        next = start + before % ((job.bytes + block - 1) / block) * block;
    }

    private Offsets(long seed) {
        random = false;
        start = end = block = slots = stride = blocks = 0;
        state = seed;
    }

    /** The generator alone, started at a seed. */
    static Offsets words(long seed) {
        return new Offsets(seed);
    }

    private static boolean isRandom(Job job) {
        switch (job.workload) {
            case "random": case "overwrite-random": return true;
            case "scan": case "overwrite": case "append": case "update": return false;
            default: throw new Job.Unavailable("the JVM worker has no workload " + job.workload);
        }
    }

    long output() {
        state += 0x9E3779B97F4A7C15L;
        long z = state;
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        return z ^ z >>> 31;
    }

    long next() {
        if (random) {
            long output = output();
            // The unsigned high half: Math.unsignedMultiplyHigh came with JDK 18.
            return start + (Math.multiplyHigh(output, slots) + (output < 0 ? slots : 0)) * stride;
        }
        long here = next >= end ? start : next;
        next = here + block;
        return here;
    }

    int length(long offset) {
        return (int) Math.min(block, end - offset);
    }

    /** What a pass reaches of its file, each byte and each page once: a replay, made outside the timed phases. */
    static final class Reached {
        /** Between the bytes of a block that `touch` looks at; no page is smaller. */
        private static final long TOUCH_BYTES = 4096;
        /** Blocks: bytes of the whole blocks, unless all of each is consumed. */
        long bytes, blocks, pages;
        private long bytesEnd, blocksEnd, pagesEnd;
        private final long page, looksEvery;
        private final int percent;

        Reached(Job job, long page) {
            this.page = page;
            percent = job.percent;
            looksEvery = job.consume.equals("touch") && !job.writes() ? TOUCH_BYTES : 1;
            if (isRandom(job)) random(job); else ascending(job);
        }

        private void random(Job job) {
            if (job.ops > 1 << 24) throw new Job.Unavailable(job.ops + " random blocks in one pass; the JVM worker counts at most 16777216");
            long[] all = new long[(int) job.ops];
            int count = 0;
            for (int thread = 0; thread < job.threads; thread++) {
                Offsets offsets = new Offsets(job, thread);
                for (long left = offsets.blocks; left > 0; left--) all[count++] = offsets.next();
            }
            Arrays.sort(all);
            for (long offset : all) block(offset, job.blockBytes);
        }

        private void ascending(Job job) {
            long covered = job.ops > job.bytes / job.blockBytes ? job.bytes : job.ops * job.blockBytes, offset = job.offset;
            // Whole blocks leave no gap: all but the last one are one interval.
            long joined = (covered - 1) / job.blockBytes * job.blockBytes;
            if (percent == 100 && joined > 0) {
                offset += joined;
                add(job.offset, offset, offset - job.blockBytes + (job.blockBytes - 1) / looksEvery * looksEvery);
            }
            for (long end = job.offset + covered; offset < end; offset += job.blockBytes) block(offset, Math.min(job.blockBytes, end - offset));
        }

        private void block(long offset, long length) {
            blocks += Math.max(0, offset + length - Math.max(offset, blocksEnd));
            blocksEnd = Math.max(blocksEnd, offset + length);
            long consumed = length * percent / 100;
            if (consumed > 0) add(offset, offset + consumed, offset + (consumed - 1) / looksEvery * looksEvery);
        }

        /** Starts and ends ascend, so that each interval adds what lies beyond the one before it. */
        private void add(long start, long end, long last) {
            bytes += Math.max(0, end - Math.max(start, bytesEnd));
            bytesEnd = Math.max(bytesEnd, end);
            long pageEnd = last / page + 1;
            pages += Math.max(0, pageEnd - Math.max(start / page, pagesEnd));
            pagesEnd = Math.max(pagesEnd, pageEnd);
        }
    }
}
