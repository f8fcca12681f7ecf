package faultline;

import java.io.IOException;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The threads of a pass: the worker's own and `threads - 1` more. Phases begin when the first thread begins them and end when
 * the last one ends them; between phases all threads wait for each other. A single thread makes no call for it.
 */
final class Team {
    private final Job job;
    /** Of each thread, with its own room. */
    private final Methods.Way[] ways;
    /** Open between passes; nothing if each pass opens the file itself. */
    private Opened[] held;
    /** With a shared descriptor: what the first thread opened. */
    private volatile Opened common;

    Team(Job job) throws IOException {
        this.job = job;
        ways = new Methods.Way[job.threads];
        for (int thread = 0; thread < ways.length; thread++) ways[thread] = Methods.of(job);
    }

    /** The same threads, with the same rooms, for another job. */
    Team(Job job, Team same) {
        this.job = job;
        ways = same.ways;
    }

    /** Opens the file for all passes. */
    void begin() throws IOException {
        held = new Opened[ways.length];
        for (int thread = 0; thread < ways.length; thread++) held[thread] = ways[thread].open(job, job.shares() ? held[0] : null);
    }

    /** The same; locks its pages if that is wanted, and makes a pass: what it needs is mapped then. */
    void hold() throws IOException {
        begin();
        for (int thread = 0; thread < ways.length; thread++) {
            boolean locks = job.hold.equals("locked") && (thread == 0 || !job.shares());
            // One mapping on the side is enough for all that have none.
            if (locks && !held[thread].lock() && thread == 0) Foreign.lockAside(job);
            held[thread].pass(job, thread, new Opened.Count());
        }
    }

    void end() throws IOException {
        if (held == null) return;
        for (int thread = 0; thread < held.length; thread++) if (held[thread] != null && closes(thread)) held[thread].close();
        held = null;
    }

    private boolean closes(int thread) {
        return thread == 0 || !job.shares();
    }

    /** An open file of this pass, or of another that makes the same. */
    Opened open() throws IOException {
        return held != null ? held[0] : ways[0].open(job, null);
    }

    void close(Opened it) throws IOException {
        if (held == null) it.close();
    }

    /** What each thread uses is looked up if `counts`. */
    Part pass(boolean counts) throws IOException {
        Part[] parts = new Part[ways.length];
        Meeting meeting = new Meeting(parts.length);
        for (int thread = 0; thread < parts.length; thread++) parts[thread] = new Part(thread, meeting, counts);
        Thread[] others = new Thread[ways.length - 1];
        for (int i = 0; i < others.length; i++) others[i] = started(parts[i + 1]);
        parts[0].run();
        try {
            for (Thread other : others) if (other != null) other.join();
        } catch (InterruptedException nobodyDoes) {
            throw new IllegalStateException(nobodyDoes);
        }
        for (int thread = 1; thread < parts.length; thread++) parts[0].add(parts[thread]);
        return parts[0];
    }

    /** Nothing if there can be no more threads, which the part then says. */
    private static Thread started(Part part) {
        try {
            Thread thread = new Thread(part, "pass-" + part.thread);
            thread.start();
            return thread;
        } catch (OutOfMemoryError refused) {
            part.leave(new IOException("a thread could not be started: " + refused.getMessage()));
            return null;
        }
    }

    /** Where the threads of a pass wait for each other, unless one has left: an error may come at any place in it. */
    private static final class Meeting {
        private static final long LOOK_MS = 50;
        private final Phaser phaser;
        private volatile boolean over;

        Meeting(int threads) {
            phaser = new Phaser(threads);
        }

        void meet() {
            int phase = phaser.arrive();
            while (phaser.getPhase() == phase) {
                if (over) throw new LeftAlone();
                try {
                    phaser.awaitAdvanceInterruptibly(phase, LOOK_MS, TimeUnit.MILLISECONDS);
                } catch (TimeoutException stillWaiting) {
                    continue;
                } catch (InterruptedException nobodyDoes) {
                    throw new IllegalStateException(nobodyDoes);
                }
            }
        }
    }

    private static final class LeftAlone extends RuntimeException {
        LeftAlone() {
            super("another thread of the pass failed");
        }
    }

    /** What one thread does, or all of them together. */
    final class Part implements Runnable {
        final Opened.Count count = new Opened.Count();
        Usage usage;
        /** The phase in which it failed, or else its last. */
        String during = "close";
        private Throwable failure;
        private final int thread;
        private final Meeting meeting;
        private final boolean counts;
        private long openedFrom, openedTo, workedFrom, workedTo, closedFrom, closedTo;

        Part(int thread, Meeting meeting, boolean counts) {
            this.thread = thread;
            this.meeting = meeting;
            this.counts = counts;
        }

        private void meet() {
            if (job.threads > 1) meeting.meet();
        }

        private void leave(Throwable error) {
            meeting.over = true;
            fail("work", error);
        }

        @Override
        public void run() {
            try {
                meet();
                Usage before = counts ? Usage.now() : null;
                meet();
                phases();
                meet();
                if (counts) usage = Usage.now().since(before);
            } catch (Throwable error) {
                // Also what a mapped page that could not be had becomes: the JVM throws that some time later, anywhere.
                leave(error);
            }
        }

        /** Every way through it meets the same number of times, also after a failure. */
        private void phases() {
            if (held != null) {
                work(held[thread]);
                return;
            }
            Opened it = opened();
            meet();
            work(it);
            meet();
            closed(it);
        }

        private Opened opened() {
            if (job.shares() && thread > 0) meet();
            openedFrom = System.nanoTime();
            Opened it = null;
            try {
                it = ways[thread].open(job, job.shares() && thread > 0 ? common : null);
                if (thread == 0) common = it;
            } catch (IOException | RuntimeException | Error error) {
                fail("open", error);
            }
            openedTo = System.nanoTime();
            if (job.shares() && thread == 0) meet();
            return it;
        }

        private void work(Opened it) {
            workedFrom = System.nanoTime();
            try {
                if (it != null) it.pass(job, thread, count);
            } catch (IOException | RuntimeException | Error error) {
                fail("work", error);
            }
            workedTo = System.nanoTime();
        }

        private void closed(Opened it) {
            closedFrom = System.nanoTime();
            try {
                if (it != null && closes(thread)) it.close();
            } catch (IOException | RuntimeException error) {
                fail("close", error);
            }
            closedTo = System.nanoTime();
        }

        private void fail(String phase, Throwable error) {
            if (failure != null && !(failure instanceof LeftAlone)) return;
            during = phase;
            failure = error;
        }

        private void add(Part other) {
            count.add(other.count);
            if (other.failure != null) fail(other.during, other.failure);
            if (usage != null && other.usage != null) usage = usage.and(other.usage);
            openedFrom = Math.min(openedFrom, other.openedFrom);
            openedTo = Math.max(openedTo, other.openedTo);
            workedFrom = Math.min(workedFrom, other.workedFrom);
            workedTo = Math.max(workedTo, other.workedTo);
            closedFrom = Math.min(closedFrom, other.closedFrom);
            closedTo = Math.max(closedTo, other.closedTo);
        }

        /** @throws Error as it was met: what a truncated mapping is, is one */
        void check() throws IOException {
            if (failure instanceof IOException error) throw error;
            if (failure instanceof RuntimeException error) throw error;
            if (failure != null) throw (Error) failure;
        }

        long workNs() {
            return workedTo - workedFrom;
        }

        String times() {
            String open = held != null ? "null" : Long.toString(openedTo - openedFrom);
            String close = held != null ? "null" : Long.toString(closedTo - closedFrom);
            return "{\"open_ns\":" + open + ",\"work_ns\":" + workNs() + ",\"close_ns\":" + close + "}";
        }
    }
}
