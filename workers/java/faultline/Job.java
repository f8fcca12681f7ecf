package faultline;

import java.util.Map;

/** One arm under one condition. */
final class Job {
    final long pass, blockBytes, offset, bytes, ops, seed;
    final int percent;
    final String method, workload, consume, file, hold;
    final boolean aligned;

    Job(Map<?, ?> it) {
        pass = number(it, "pass");
        method = word(it, "method");
        workload = word(it, "workload");
        consume = word(it, "consume");
        file = word(it, "file");
        hold = word(it, "hold");
        Map<?, ?> range = (Map<?, ?>) it.get("range");
        offset = number(range, "offset");
        bytes = number(range, "bytes");
        ops = number(it, "ops");
        seed = number(it, "seed");
        aligned = (Boolean) it.get("aligned");
        percent = it.containsKey("consumed_percent") ? (int) number(it, "consumed_percent") : 100;
        if (number(it, "threads") != 1) throw new Unavailable("the JVM worker uses one thread");
        if (bytes <= 0 || offset < 0 || ops <= 0) throw new IllegalArgumentException("the range or the pass is empty: there is nothing to read");
        if (percent < 1 || percent > 100) throw new IllegalArgumentException(percent + " % of a block cannot be consumed");
        long block = number(it, "block_bytes");
        if (block <= 0 || block > 1 << 30) throw new Unavailable("a block of " + block + " bytes; the JVM worker reads 1 byte to 1 GiB at once");
        blockBytes = Math.min(block, bytes);
    }

    /** The same work on another file. */
    Job(Job job, String file, long bytes) {
        pass = job.pass;
        method = job.method;
        workload = job.workload;
        consume = job.consume;
        hold = "no";
        this.file = file;
        offset = 0;
        this.bytes = bytes;
        blockBytes = Math.min(job.blockBytes, bytes);
        ops = Math.max(1, Math.min(job.ops, bytes / blockBytes));
        seed = job.seed;
        aligned = job.aligned;
        percent = job.percent;
    }

    private static long number(Map<?, ?> map, String key) {
        if (map.get(key) instanceof Long) return (Long) map.get(key);
        throw new IllegalArgumentException("the job has no number " + key);
    }

    private static String word(Map<?, ?> map, String key) {
        if (map.get(key) instanceof String) return (String) map.get(key);
        throw new IllegalArgumentException("the job has no word " + key);
    }

    /** The arm cannot do this here. */
    static final class Unavailable extends RuntimeException {
        Unavailable(String reason) {
            super(reason);
        }
    }
}
