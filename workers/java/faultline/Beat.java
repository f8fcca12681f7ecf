package faultline;

import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;

/**
 * A second thread beside a pass: it has a deadline every millisecond and records how late it is for each, counted from the
 * deadline's own time. One that cannot run for 200 ms was late for 200 deadlines, and not for one (docs/FORMATS.md, "Beats").
 *
 * The thread and its counters exist before the pass. Between two deadlines it parks, which is as fine in every JDK as a sleep
 * is in the newest; its loop neither allocates nor locks.
 */
final class Beat {
    private static final long PERIOD_NS = 1_000_000;
    /** After the pass, while nothing else is at work. */
    private static final int IDLE_DEADLINES = 100;
    /** Before `prepared`: what the loop uses is loaded when it first runs. */
    private static final int REHEARSED = 8;
    private static final int BINS = 513;
    /** Instead of the pass's end, until it has one. */
    private static final long GOES_ON = -1;
    private final Counters pass = new Counters(), idle = new Counters();
    private final Semaphore go = new Semaphore(0), counted = new Semaphore(0);
    private volatile long began, endedNs;
    private volatile int idles = REHEARSED;
    private volatile boolean leaves;
    /** Only the thread that makes the pass asks. */
    private boolean goes;

    /** What the job asks for; null where that is nothing. */
    static Beat of(Job job) {
        return job.beside.equals("beat") ? new Beat() : null;
    }

    private Beat() {
        Thread thread = new Thread(this::run, "beat");
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError refused) {
            throw new Job.Unavailable("the thread of the beat could not be started: " + refused.getMessage());
        }
        begin();
        end();
        idles = IDLE_DEADLINES;
    }

    /** From here on, until `over`. */
    void begin() {
        goes = true;
        endedNs = GOES_ON;
        began = System.nanoTime();
        go.release();
    }

    /** The pass is over. */
    void over() {
        if (goes && endedNs == GOES_ON) endedNs = System.nanoTime() - began;
    }

    /** What was counted, once the idle deadlines are, too; nothing of a pass that failed before it began. */
    String end() {
        if (!goes) return "null";
        over();
        goes = false;
        counted.acquireUninterruptibly();
        return "{\"period_ns\":" + PERIOD_NS + "," + pass + ",\"idle\":{" + idle + "}}";
    }

    void leave() {
        leaves = true;
        go.release();
    }

    private void run() {
        while (true) {
            go.acquireUninterruptibly();
            if (leaves) return;
            pass.clear();
            idle.clear();
            beat(began);
            counted.release();
        }
    }

    private void beat(long began) {
        long next = PERIOD_NS, now;
        while (true) {
            parkUntil(began + next);
            pass.wakeUps++;
            // Before the clock, so that what has ended by then ended before it.
            long end = endedNs;
            now = System.nanoTime() - began;
            long until = end == GOES_ON ? now : Math.min(now, end);
            for (; next <= until; next += PERIOD_NS) pass.add(now - next);
            if (end != GOES_ON) break;
        }
        next = now + PERIOD_NS;
        for (int left = idles; left > 0; ) {
            parkUntil(began + next);
            idle.wakeUps++;
            now = System.nanoTime() - began;
            for (; left > 0 && next <= now; next += PERIOD_NS, left--) idle.add(now - next);
        }
    }

    /** A thread may be unparked for no reason. */
    private static void parkUntil(long at) {
        for (long left; (left = at - System.nanoTime()) > 0; ) LockSupport.parkNanos(left);
    }

    private static final class Counters {
        long deadlines, wakeUps, maxNs;
        final long[] bins = new long[BINS];

        void clear() {
            deadlines = wakeUps = maxNs = 0;
            Arrays.fill(bins, 0);
        }

        void add(long late) {
            deadlines++;
            maxNs = Math.max(maxNs, late);
            long parts = late * 16 / 1000;
            int at = 0;
            if (parts >= 16) {
                int doubling = 59 - Long.numberOfLeadingZeros(parts);
                at = Math.min(1 + 16 * doubling + (int) (parts >> doubling & 15), BINS - 1);
            }
            bins[at]++;
        }

        @Override
        public String toString() {
            int used = BINS;
            while (used > 0 && bins[used - 1] == 0) used--;
            return "\"deadlines\":" + deadlines + ",\"wake_ups\":" + wakeUps + ",\"max_ns\":" + maxNs
                + ",\"bins\":" + Arrays.toString(Arrays.copyOf(bins, used)).replace(" ", "");
        }
    }
}
