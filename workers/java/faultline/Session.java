package faultline;

import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/** Everything that one `prepare` made. */
final class Session {
    private static final int TWIN_BYTES = 4 << 20, WARM_PASSES_MAX = 30;
    private static final long WARM_NS_MAX = 3_000_000_000L;
    private final Job job;
    private final Object room;
    private final Consume consume;
    private final long distinct;
    private Access held;
    String during = "prepare";

    Session(Job job) throws IOException {
        this.job = job;
        long size = Files.size(Path.of(job.file));
        if (!Files.isRegularFile(Path.of(job.file))) throw new IOException(job.file + " is no regular file");
        if (size == 0) throw new IOException("the file is empty: there is nothing to read");
        if (job.bytes > size - job.offset) {
            throw new IOException("a range of " + job.bytes + " bytes at " + job.offset + " ends beyond the file's " + size + " bytes");
        }
        if (job.hold.equals("locked")) throw new Job.Unavailable("state locked needs mlock(2), which the JVM worker has not got");
        room = Access.room(job);
        consume = new Consume(job);
        distinct = Offsets.distinct(job);
        warmUp();
        if (job.hold.equals("warm")) {
            held = Access.open(job, room);
            drive(held, job, consume, new long[3]);
        }
    }

    /** On a twin file, so that the state of the real one stays what the controller made it; until compilation is quiet. */
    private void warmUp() throws IOException {
        Path twin = Files.createTempFile("faultline-twin", null);
        FileInputStream open = null;
        try {
            byte[] bytes = new byte[(int) Math.min(TWIN_BYTES, job.bytes)];
            new Random(job.seed).nextBytes(bytes);
            Files.write(twin, bytes);
            open = new FileInputStream(twin.toFile());
            String nameless = nameless(twin);
            Files.delete(twin);
            Job same = new Job(job, nameless, bytes.length);
            var compiler = ManagementFactory.getCompilationMXBean();
            long begin = System.nanoTime(), last = -1;
            int quiet = 0;
            for (int pass = 0; pass < WARM_PASSES_MAX && quiet < 3 && System.nanoTime() - begin < WARM_NS_MAX; pass++) {
                try (Access access = Access.open(same, room)) {
                    drive(access, same, consume, new long[3]);
                }
                long compiled = compiler == null ? 0 : compiler.getTotalCompilationTime();
                quiet = compiled == last ? quiet + 1 : 0;
                last = compiled;
            }
        } finally {
            Files.deleteIfExists(twin);
            if (open != null) open.close();
        }
    }

    /** A path to an open file that outlives its name: nothing is left behind, however the worker ends. */
    private static String nameless(Path file) throws IOException {
        try (var descriptors = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    if (Files.readSymbolicLink(descriptor).equals(file)) return descriptor.toString();
                } catch (IOException gone) {
                    // The descriptor of this very listing, or another thread's.
                }
            }
        }
        throw new IOException("the twin file has no descriptor in /proc/self/fd");
    }

    private static void drive(Access access, Job job, Consume consume, long[] count) throws IOException {
        Offsets offsets = new Offsets(job);
        long bytes = 0, checksum = 0;
        for (long left = job.ops; left > 0; left--) {
            long offset = offsets.next();
            int length = offsets.length(offset);
            int use = job.percent == 100 ? length : (int) ((long) length * job.percent / 100);
            bytes += use;
            checksum += access.take(offset, length, use, consume);
        }
        count[0] = job.ops;
        count[1] = bytes;
        count[2] = checksum;
    }

    String pass() throws IOException {
        long[] count = new long[3];
        long[] then = Usage.switches();
        Usage before = new Usage();
        String open = "null", close = "null";
        long work;
        if (held != null) {
            during = "work";
            long begin = System.nanoTime();
            drive(held, job, consume, count);
            work = System.nanoTime() - begin;
        } else {
            during = "open";
            long begin = System.nanoTime();
            Access access = Access.open(job, room);
            long opened = System.nanoTime(), worked;
            try {
                during = "work";
                drive(access, job, consume, count);
                worked = System.nanoTime();
            } finally {
                access.close();
            }
            long closed = System.nanoTime();
            open = Long.toString(opened - begin);
            work = worked - opened;
            close = Long.toString(closed - worked);
        }
        String usage = new Usage().since(before, then, Usage.switches());
        return String.format(
            "{\"done\":{\"pass\":%d,\"phases\":{\"open_ns\":%s,\"work_ns\":%d,\"close_ns\":%s},\"tally\":{\"ops\":%d,\"bytes\":%d,"
                + "\"distinct_bytes\":%d,\"checksum\":\"%016x\",\"threads\":1,\"queue_depth\":1},\"usage\":%s}}",
            job.pass, open, work, close, count[0], count[1], distinct, count[2], usage);
    }

    void end() throws IOException {
        if (held != null) held.close();
    }
}
