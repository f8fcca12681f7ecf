package faultline;

import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * A second thread that stops the world about every millisecond while a pass is timed, and the JVM's own log of how long
 * it took until every thread stood still.
 *
 * What it asks for is the search for deadlocks among monitors (VM_FindDeadlocks): a VM operation that is only made at a
 * safepoint, that leaves no garbage and walks no stack, so that the world goes on at once. The delay is not timed here: it is
 * "Reaching safepoint" in the JVM's log (-Xlog:safepoint, JDK 17 and later), which begins when the VM's own thread is there to
 * stop the others and so has no waiting for a processor of ours in it.
 */
final class Safepoints {
    private static final long PAUSE_NS = 1_000_000, PATIENCE_NS = 2_000_000_000L;
    private static final String OURS = "FindDeadlocks";
    private static final int REHEARSALS = 3;
    /** One for the life of the JVM, which does not let go of a log that it has begun. */
    private static Safepoints one;
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final FileInputStream log;
    /** Of the log: what was read and is no whole line yet. */
    private String rest = "";
    private volatile boolean on;
    /** What the log was read by since `start`. */
    long readCalls, readBytes;
    /** In this pass; and how many of them nobody has looked up in the log yet. */
    private long asked, unread;
    private Thread asker;

    static Safepoints of(Job job) throws IOException {
        if (!job.option("meanwhile", "alone").equals("safepoints")) return null;
        if (one == null) one = new Safepoints();
        return one;
    }

    /** Makes the JVM keep its log in a file without a name, like the warm-up file: nothing is left, however the worker ends. */
    private Safepoints() throws IOException {
        String nameless = Warmth.given("safepoints");
        log = new FileInputStream(nameless);
        String[] what = {"output=" + nameless, "what=safepoint=info", "decorators=none", "output_options=filecount=0"};
        try {
            String said = String.valueOf(ManagementFactory.getPlatformMBeanServer().invoke(
                new ObjectName("com.sun.management:type=DiagnosticCommand"), "vmLog", new Object[] {what},
                new String[] {String[].class.getName()}));
            if (!said.isBlank()) throw new Job.Unavailable("this JVM keeps no log of its safepoints: " + said.strip());
        } catch (JMException refused) {
            throw new Job.Unavailable("this JVM cannot be told to log its safepoints: " + refused);
        }
        // The first one loads what it needs.
        for (int i = 0; i < REHEARSALS; i++) threads.findMonitorDeadlockedThreads();
        String[] lines = lines(REHEARSALS);
        if (Delays.of(lines, OURS).ns.length < REHEARSALS) throw new Job.Unavailable("this JVM does not log the safepoints that it is asked for");
    }

    /** From here on, until `stop`. */
    void start() throws IOException {
        readCalls = readBytes = 0;
        // After a pass that failed, the log was not read.
        ended();
        lines(unread);
        on = true;
        asked = unread = 0;
        asker = new Thread(() -> {
            while (true) {
                LockSupport.parkNanos(PAUSE_NS);
                if (!on) return;
                asked++;
                unread++;
                threads.findMonitorDeadlockedThreads();
            }
        }, "asks for safepoints");
        asker.setDaemon(true);
        asker.start();
    }

    void stop() {
        on = false;
    }

    /** What the JVM logged between the two, as readings; or why there is nothing. */
    String readings() throws IOException {
        ended();
        try {
            String[] lines = lines(asked);
            unread = 0;
            Delays delays = Delays.of(lines, OURS);
            if (delays.ns.length != asked) return absent(delays.ns.length + " of " + asked + " safepoints are in the JVM's log");
            if (asked == 0) return absent("the pass was over before a safepoint was asked for");
            return ",\"safepoints\":" + asked + ",\"safepoint_median_ns\":" + delays.rank(50) + ",\"safepoint_p99_ns\":" + delays.rank(99)
                + ",\"safepoint_max_ns\":" + delays.rank(100) + ",\"safepoint_stopped_ns\":" + delays.stoppedNs;
        } catch (IllegalArgumentException odd) {
            return absent(odd.getMessage());
        }
    }

    private void ended() throws IOException {
        try {
            if (asker != null) asker.join();
        } catch (InterruptedException nobody) {
            throw new IOException("interrupted", nobody);
        }
    }

    private static String absent(String why) {
        String reason = "{\"unavailable\":" + Json.quote(why) + "}";
        StringBuilder all = new StringBuilder();
        for (String name : new String[] {"safepoints", "safepoint_median_ns", "safepoint_p99_ns", "safepoint_max_ns", "safepoint_stopped_ns"}) {
            all.append(",\"").append(name).append("\":").append(reason);
        }
        return all.toString();
    }

    /** Whole lines since the last time, once there are so many of our own: the JVM writes them after it has let the threads go on. */
    private String[] lines(long wanted) throws IOException {
        long deadline = System.nanoTime() + PATIENCE_NS;
        while (true) {
            rest += more();
            int end = rest.lastIndexOf('\n') + 1;
            String[] lines = end == 0 ? new String[0] : rest.substring(0, end).split("\n");
            long ours = Arrays.stream(lines).filter(line -> line.startsWith("Safepoint \"" + OURS + "\"")).count();
            if (ours >= wanted || System.nanoTime() > deadline) {
                rest = rest.substring(end);
                return lines;
            }
            LockSupport.parkNanos(PAUSE_NS);
        }
    }

    /** Up to the log's end, by calls that are counted. */
    private String more() throws IOException {
        ByteArrayOutputStream more = new ByteArrayOutputStream();
        byte[] chunk = new byte[8192];
        for (int read; ; more.write(chunk, 0, read)) {
            read = log.read(chunk);
            readCalls++;
            if (read <= 0) return more.toString(StandardCharsets.UTF_8);
            readBytes += read;
        }
    }

    /** What lines of the log say. */
    static final class Delays {
        /** Until all threads stood still, in ascending order. */
        final long[] ns;
        /** From the wish to stop them until they went on, all together. */
        final long stoppedNs;

        private Delays(long[] ns, long stoppedNs) {
            this.ns = ns;
            this.stoppedNs = stoppedNs;
        }

        /**
         * Of the safepoints for one operation.
         *
         * @throws IllegalArgumentException with the first line that does not describe a safepoint
         */
        static Delays of(String[] lines, String operation) {
            long[] ns = new long[lines.length];
            int count = 0;
            long stopped = 0;
            for (String line : lines) {
                String[] parts = line.split(", ");
                if (!parts[0].startsWith("Safepoint \"") || !parts[0].endsWith("\"")) throw odd(line);
                long reaching = field(line, parts, "Reaching safepoint: "), total = field(line, parts, "Total: ");
                if (reaching > total) throw odd(line);
                if (!parts[0].equals("Safepoint \"" + operation + "\"")) continue;
                ns[count++] = reaching;
                stopped += total;
            }
            ns = Arrays.copyOf(ns, count);
            Arrays.sort(ns);
            return new Delays(ns, stopped);
        }

        private static long field(String line, String[] parts, String name) {
            String found = null;
            for (String part : parts) {
                if (!part.startsWith(name)) continue;
                if (found != null) throw odd(line);
                found = part.substring(name.length());
            }
            // Digits alone, of a time below three years.
            if (found == null || !found.matches("[0-9]{1,17} ns")) throw odd(line);
            return Long.parseLong(found.substring(0, found.length() - 3));
        }

        private static IllegalArgumentException odd(String line) {
            return new IllegalArgumentException("the JVM's log of safepoints has a line that does not describe one: " + line.substring(0, Math.min(120, line.length())));
        }

        /** The smallest value that so many per cent do not exceed. */
        long rank(int percent) {
            return ns[(int) (((long) ns.length * percent + 99) / 100) - 1];
        }
    }
}
