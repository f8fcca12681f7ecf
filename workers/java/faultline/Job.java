package faultline;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** One arm under one condition. */
final class Job {
    /** More are a typing mistake. */
    private static final int MOST_THREADS = 4096;
    final long pass, blockBytes, offset, bytes, ops, seed;
    final int percent, threads;
    final String method, workload, consume, file, hold, durability, descriptor, beside;
    final boolean aligned, timesItsLoop, untimed;
    private final Map<?, ?> options;
    /** Device and inode of the one file that may be written; null where none may. */
    private final Map<?, ?> writable;

    Job(Map<?, ?> it) {
        pass = number(it, "pass");
        if (pass < 0) throw new IllegalArgumentException("no pass has the number " + pass);
        method = word(it, "method");
        options = it.get("options") instanceof Map<?, ?> given ? given : Map.of();
        workload = word(it, "workload");
        consume = word(it, "consume");
        file = word(it, "file");
        hold = word(it, "hold");
        durability = it.containsKey("durability") ? word(it, "durability") : "none";
        Map<?, ?> range = (Map<?, ?>) it.get("range");
        offset = number(range, "offset");
        bytes = number(range, "bytes");
        ops = number(it, "ops");
        seed = number(it, "seed");
        aligned = (Boolean) it.get("aligned");
        percent = it.containsKey("consumed_percent") ? (int) number(it, "consumed_percent") : 100;
        timesItsLoop = Boolean.TRUE.equals(it.get("times_its_loop"));
        untimed = Boolean.TRUE.equals(it.get("untimed"));
        beside = it.containsKey("beside") ? word(it, "beside") : "nothing";
        if (!beside.equals("nothing") && !beside.equals("beat")) throw new Unavailable("the JVM worker has no " + beside + " beside a pass");
        writable = it.get("permit") instanceof Map<?, ?> permit && permit.get("write") instanceof Map<?, ?> file ? file : null;
        descriptor = it.containsKey("descriptor") ? word(it, "descriptor") : "per-thread";
        long team = number(it, "threads");
        if (team < 1 || team > MOST_THREADS) throw new IllegalArgumentException(team + " threads; expected 1 to " + MOST_THREADS);
        threads = (int) team;
        if (threads > 1 && writes()) throw new Unavailable("workloads that write have one thread");
        if (bytes <= 0 || offset < 0 || ops <= 0) throw new IllegalArgumentException("the range or the pass is empty: there is nothing to read");
        if (percent < 1 || percent > 100) throw new IllegalArgumentException(percent + " % of a block cannot be consumed");
        long block = number(it, "block_bytes");
        if (block <= 0 || block > 1 << 30) throw new Unavailable("a block of " + block + " bytes; the JVM worker takes 1 byte to 1 GiB at once");
        blockBytes = Math.min(block, bytes);
    }

    /** A warm pass of the same work, by its number from 1: with offsets of its own (docs/FORMATS.md, "Offsets"). */
    Job(Job job, int warm) {
        this(job, job.file, job.offset, job.bytes, job.blockBytes, job.ops, job.seed + ((long) warm << 16), job.hold);
    }

    /** The same work on so many bytes of another file. */
    Job(Job job, String file, long bytes, long opsAtMost) {
        this(job, file, 0, bytes, Math.min(job.blockBytes, bytes),
            Math.max(1, Math.min(opsAtMost, Math.min(job.ops, blocks(bytes, Math.min(job.blockBytes, bytes))))), job.seed, "no");
    }

    private Job(Job job, String file, long offset, long bytes, long blockBytes, long ops, long seed, String hold) {
        pass = job.pass;
        method = job.method;
        options = job.options;
        workload = job.workload;
        consume = job.consume;
        durability = job.durability;
        this.hold = hold;
        this.file = file;
        this.offset = offset;
        this.bytes = bytes;
        this.blockBytes = blockBytes;
        this.ops = ops;
        this.seed = seed;
        aligned = job.aligned;
        percent = job.percent;
        threads = job.threads;
        descriptor = job.descriptor;
        writable = null;
        timesItsLoop = false;
        untimed = job.untimed;
        beside = "nothing";
    }

    private static long blocks(long bytes, long blockBytes) {
        return (bytes + blockBytes - 1) / blockBytes;
    }

    /**
     * A file is opened for writing by a descriptor of the controller's, which leads to the same file however often it is opened:
     * by a name, it could become another one between this look and any of them.
     */
    void checkPermit() throws IOException {
        if (!writes()) return;
        if (writable == null) throw new IOException("the job writes, and has no permission to");
        Map<String, Object> is = Files.readAttributes(Path.of(file), "unix:dev,ino");
        boolean same = is.get("dev").equals(writable.get("device")) && is.get("ino").equals(writable.get("inode"));
        if (!file.matches("/proc/[0-9]+/fd/[0-9]+") || !same) {
            throw new IOException(file + " is not the file that the job may write");
        }
    }

    boolean writes() {
        return !workload.equals("scan") && !workload.equals("random");
    }

    /** Several threads use one open file. A single thread has no one to share with. */
    boolean shares() {
        return threads > 1 && descriptor.equals("shared");
    }

    /** What an option is set to; every option comes with every job. */
    String option(String name, String usual) {
        return options.get(name) instanceof String word ? word : usual;
    }

    long option(String name, long usual) {
        return options.get(name) instanceof Long number ? number : usual;
    }

    private static long number(Map<?, ?> map, String key) {
        if (map != null && map.get(key) instanceof Long number) return number;
        throw new IllegalArgumentException("the job has no number " + key);
    }

    private static String word(Map<?, ?> map, String key) {
        if (map.get(key) instanceof String word) return word;
        throw new IllegalArgumentException("the job has no word " + key);
    }

    /** The arm cannot do this here. */
    static final class Unavailable extends RuntimeException {
        Unavailable(String reason) {
            super(reason);
        }
    }
}
