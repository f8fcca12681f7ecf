package faultline;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the whole process spent, the compiler's and the collector's threads included; times in the kernel's ticks of 10 ms. */
final class Usage {
    private final long[] values = new long[4];

    Usage() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        values[0] = Long.parseLong(fields[11]) * 10_000_000;
        values[1] = Long.parseLong(fields[12]) * 10_000_000;
        values[2] = Long.parseLong(fields[7]);
        values[3] = Long.parseLong(fields[9]);
    }

    /** Switches are those of the thread that made the pass. */
    static long[] switches() throws IOException {
        long[] found = new long[2];
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/status"))) {
            if (line.startsWith("voluntary_ctxt")) found[0] = Long.parseLong(line.split("\\s+")[1]);
            if (line.startsWith("nonvoluntary_ctxt")) found[1] = Long.parseLong(line.split("\\s+")[1]);
        }
        return found;
    }

    String since(Usage before, long[] then, long[] now) {
        return String.format(
            "{\"user_ns\":%d,\"system_ns\":%d,\"minor_faults\":%d,\"major_faults\":%d,\"voluntary_switches\":%d,\"involuntary_switches\":%d}",
            values[0] - before.values[0], values[1] - before.values[1], values[2] - before.values[2],
            values[3] - before.values[3], now[0] - then[0], now[1] - then[1]);
    }
}
