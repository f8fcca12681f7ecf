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

    static long distinct(Job job) {
        long whole;
        if (!isRandom(job)) {
            whole = job.ops > job.bytes / job.blockBytes ? job.bytes : job.ops * job.blockBytes;
        } else {
            if (job.ops > 1 << 24) throw new Job.Unavailable(job.ops + " random blocks in one pass; the JVM worker counts at most 16777216");
            long[] all = new long[(int) job.ops];
            int count = 0;
            for (int thread = 0; thread < job.threads; thread++) {
                Offsets offsets = new Offsets(job, thread);
                for (long left = offsets.blocks; left > 0; left--) all[count++] = offsets.next();
            }
            Arrays.sort(all);
            whole = 0;
            long reached = 0;
            for (long offset : all) {
                whole += Math.max(0, offset + job.blockBytes - Math.max(reached, offset));
                reached = offset + job.blockBytes;
            }
        }
        return job.percent == 100 ? whole : whole / 100 * job.percent + whole % 100 * job.percent / 100;
    }
}
