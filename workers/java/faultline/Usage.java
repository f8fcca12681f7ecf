package faultline;

import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What the thread that makes the passes spent, times in the kernel's ticks; and, apart from it, what the JVM's own threads
 * did meanwhile.
 */
final class Usage {
    private static final long TICK_NS = 10_000_000;
    private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();
    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();
    private final long user, system, minor, major, voluntary, involuntary, compiledNs, collections, collectedNs;

    Usage() throws IOException {
        String stat = Files.readString(Path.of("/proc/thread-self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        minor = Long.parseLong(fields[7]);
        major = Long.parseLong(fields[9]);
        user = Long.parseLong(fields[11]) * TICK_NS;
        system = Long.parseLong(fields[12]) * TICK_NS;
        long[] switches = new long[2];
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/status"))) {
            if (line.startsWith("voluntary_ctxt")) switches[0] = Long.parseLong(line.split("\\s+")[1]);
            if (line.startsWith("nonvoluntary_ctxt")) switches[1] = Long.parseLong(line.split("\\s+")[1]);
        }
        voluntary = switches[0];
        involuntary = switches[1];
        compiledNs = compiledNs();
        long count = 0, ms = 0;
        for (GarbageCollectorMXBean collector : COLLECTORS) {
            count += Math.max(0, collector.getCollectionCount());
            ms += Math.max(0, collector.getCollectionTime());
        }
        collections = count;
        collectedNs = ms * 1_000_000;
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

    String since(Usage before) {
        return "{\"user_ns\":" + (user - before.user) + ",\"system_ns\":" + (system - before.system)
            + ",\"minor_faults\":" + (minor - before.minor) + ",\"major_faults\":" + (major - before.major)
            + ",\"voluntary_switches\":" + (voluntary - before.voluntary)
            + ",\"involuntary_switches\":" + (involuntary - before.involuntary) + "}";
    }

    String engineSince(Usage before) {
        return "\"collections\":" + (collections - before.collections) + ",\"collection_ns\":" + (collectedNs - before.collectedNs)
            + ",\"compile_ns\":" + (compiledNs - before.compiledNs);
    }
}
