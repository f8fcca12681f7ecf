package faultline;

import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What a thread that makes passes spent; and, apart from it, what the JVM's own threads did meanwhile.
 *
 * How its time divides into user and system time is in /proc/thread-self/stat alone, each of them cut to whole ticks since the
 * thread began. Of a thread that was there long before a pass, the difference of two looks is too long as often as too short. Of
 * one that begins with the pass it is always too short, by up to a tick each; so its time is that of the scheduler's clock.
 */
final class Usage {
    private static final long AT_PAGESZ = 6;
    private static final long TICK_NS = 10_000_000;
    private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();
    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final String[] NAMES = {"user_ns", "system_ns", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches"};
    private static final int USER = 0, SYSTEM = 1;
    /** More than either file has in it, so that one call reads all. */
    private static final int FILE_BYTES = 8192;
    /** In the order of their names. */
    private final long[] spent;
    /** What the looks at /proc read themselves: calls, and bytes. */
    private final long calls, bytes;
    /** By the scheduler's clock, on that side of the look on which the pass is. */
    private final long cpu;

    private Usage(long[] spent, long cpu, long calls, long bytes) {
        this.spent = spent;
        this.cpu = cpu;
        this.calls = calls;
        this.bytes = bytes;
    }

    private static long page;

    /** The size of a page of memory. It is read once, before any pass: reads in a pass would be counted with it. */
    static long pageBytes() throws IOException {
        if (page == 0) page = readPageBytes();
        return page;
    }

    /** AT_PAGESZ of the auxiliary vector, see getauxval(3). */
    private static long readPageBytes() throws IOException {
        ByteBuffer vector = ByteBuffer.wrap(Files.readAllBytes(Path.of("/proc/self/auxv"))).order(ByteOrder.nativeOrder());
        while (vector.remaining() >= 2 * Long.BYTES) {
            long type = vector.getLong(), value = vector.getLong();
            if (type == AT_PAGESZ && value > 0) return value;
        }
        throw new IOException("/proc/self/auxv does not give the size of a page");
    }

    /**
     * What /proc has of the thread that asks, before a pass or after it. Memory that the look itself needs is a fault of the
     * thread, too: it is allocated first, and what was read becomes numbers when the pass is over. The file with the faults is
     * the last one before the pass and the first one after it.
     */
    static final class Look {
        private final byte[] stat = new byte[FILE_BYTES], status = new byte[FILE_BYTES];
        private final int statBytes, statusBytes;
        private final long cpu;

        private Look(boolean isBefore) throws IOException {
            if (isBefore) {
                statusBytes = whole("/proc/thread-self/status", status);
                statBytes = whole("/proc/thread-self/stat", stat);
                cpu = cpuNs();
            } else {
                cpu = cpuNs();
                statBytes = whole("/proc/thread-self/stat", stat);
                statusBytes = whole("/proc/thread-self/status", status);
            }
        }

        private Usage usage() {
            String stat = text(this.stat, statBytes), status = text(this.status, statusBytes);
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            long voluntary = 0, involuntary = 0;
            for (String line : status.split("\n")) {
                if (line.startsWith("voluntary_ctxt")) voluntary = Long.parseLong(line.split("\\s+")[1]);
                if (line.startsWith("nonvoluntary_ctxt")) involuntary = Long.parseLong(line.split("\\s+")[1]);
            }
            long[] spent = {Long.parseLong(fields[11]) * TICK_NS, Long.parseLong(fields[12]) * TICK_NS,
                Long.parseLong(fields[7]), Long.parseLong(fields[9]), voluntary, involuntary};
            return new Usage(spent, cpu, 2, statBytes + statusBytes);
        }

        private static String text(byte[] bytes, int length) {
            return new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
        }
    }

    static Look before() throws IOException {
        return new Look(true);
    }

    static Look after() throws IOException {
        return new Look(false);
    }

    /** CLOCK_THREAD_CPUTIME_ID; below 0 where the JVM does not have it. */
    private static long cpuNs() {
        return THREADS.isCurrentThreadCpuTimeSupported() ? THREADS.getCurrentThreadCpuTime() : -1;
    }

    /** By one call; the kernel makes such a file when it is read, and its name of a thread may have any byte in it. */
    private static int whole(String path, byte[] bytes) throws IOException {
        try (FileInputStream file = new FileInputStream(path)) {
            return Math.max(0, file.read(bytes));
        }
    }

    /** Of a thread that was there before the pass. */
    static Usage between(Look before, Look after) {
        return after.usage().with(before.usage(), -1);
    }

    /** Of a thread that began with the pass. What no tick tells of its time is as likely either. */
    static Usage sinceItBegan(Look before, Look after) {
        Usage since = between(before, after);
        if (before.cpu < 0 || after.cpu < 0) return since;
        long cpu = Math.max(0, after.cpu - before.cpu), untold = cpu - since.spent[USER] - since.spent[SYSTEM];
        since.spent[USER] = Math.max(0, Math.min(since.spent[USER] + untold / 2, cpu));
        since.spent[SYSTEM] = cpu - since.spent[USER];
        return since;
    }

    Usage and(Usage other) {
        return with(other, 1);
    }

    private Usage with(Usage other, int sign) {
        long[] sum = spent.clone();
        for (int i = 0; i < sum.length; i++) sum[i] += sign * other.spent[i];
        return new Usage(sum, cpu, calls + other.calls, bytes + other.bytes);
    }

    /** With what the thread read for itself before the pass, by one call. */
    Usage alsoRead(long bytes) {
        return new Usage(spent, cpu, calls + 1, this.bytes + bytes);
    }

    /** Both looks are made between `go` and `done`, and so are those at the log of safepoints, where there is one. */
    String ownReads(Safepoints log) {
        long logCalls = log == null ? 0 : log.readCalls, logBytes = log == null ? 0 : log.readBytes;
        return "{\"calls\":" + (calls + logCalls) + ",\"bytes\":" + (bytes + logBytes) + "}";
    }

    @Override
    public String toString() {
        StringBuilder json = new StringBuilder();
        for (int i = 0; i < spent.length; i++) json.append(i == 0 ? "{\"" : ",\"").append(NAMES[i]).append("\":").append(spent[i]);
        return json.append('}').toString();
    }

    /** By all compiler threads, since the JVM started. */
    static long compiledNs() {
        return COMPILER == null || !COMPILER.isCompilationTimeMonitoringSupported() ? 0 : COMPILER.getTotalCompilationTime() * 1_000_000;
    }

    /** What reading the clock once takes. */
    static long clockNs() {
        int times = 4096;
        long begun = System.nanoTime(), last = 0;
        for (int i = 0; i < times; i++) last = System.nanoTime();
        return (last - begun) / times;
    }

    /** What the JVM's own threads have done since it started. */
    static final class Engine {
        private final long compiledNs = compiledNs(), collections, collectedMs;

        Engine() {
            long count = 0, ms = 0;
            for (GarbageCollectorMXBean collector : COLLECTORS) {
                count += Math.max(0, collector.getCollectionCount());
                ms += Math.max(0, collector.getCollectionTime());
            }
            collections = count;
            collectedMs = ms;
        }

        String since(Engine before) {
            return "\"collections\":" + (collections - before.collections) + ",\"collection_ns\":" + (collectedMs - before.collectedMs) * 1_000_000
                + ",\"compile_ns\":" + (compiledNs - before.compiledNs);
        }
    }
}
