package faultline;

import java.io.IOException;
import java.util.concurrent.Phaser;
import java.util.concurrent.locks.LockSupport;

/**
 * The threads of a pass: the worker's own and `threads - 1` more. Phases begin when the first thread begins them and end when
 * the last one ends them; between phases all threads wait for each other.
 */
final class Team {
    private final Job job;
    /** Of each thread, with its own room. */
    private final Methods.Way[] ways;
    /** Open between passes; nothing if each pass opens the file itself. */
    private Opened[] held;
    /** What the first thread opened last: where the descriptor is shared, it is everybody's. */
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
        for (int thread = 0; thread < ways.length; thread++) held[thread] = open(thread);
    }

    /** The same; locks its pages if that is wanted, and makes a pass: what it needs is mapped then. */
    void hold() throws IOException {
        begin();
        for (int thread = 0; thread < ways.length; thread++) {
            boolean locks = job.hold.equals("locked") && owns(thread);
            // One mapping on the side is enough for all that have none. Calls that write begin with the pages in the cache.
            if (locks && !held[thread].lock() && thread == 0 && !job.writes()) Foreign.lockAside(job);
            held[thread].pass(job, thread, new Opened.Count());
        }
    }

    void end() throws IOException {
        if (held == null) return;
        for (int thread = 0; thread < held.length; thread++) if (held[thread] != null && owns(thread)) held[thread].close();
        held = null;
    }

    private boolean owns(int thread) {
        return thread == 0 || !job.shares();
    }

    private Opened open(int thread) throws IOException {
        Opened it = ways[thread].open(job, owns(thread) ? null : common);
        if (thread == 0) common = it;
        return it;
    }

    /** The first thread's file, between `begin` and `end`. */
    Opened open() {
        return held[0];
    }

    /** What each thread uses is looked up if `counts`. */
    Part pass(boolean counts) throws IOException {
        return pass(job, counts, null);
    }

    /** The same for a job with other offsets, or beside a beat. */
    Part pass(Job job, boolean counts, Beat beat) throws IOException {
        Part[] parts = new Part[ways.length];
        Phaser together = new Phaser(parts.length);
        for (int thread = 0; thread < parts.length; thread++) {
            parts[thread] = new Part(job, thread, together, parts, counts, thread == 0 ? beat : null);
        }
        Thread[] others = new Thread[ways.length - 1];
        for (int i = 0; i < others.length; i++) others[i] = started(parts[i + 1]);
        parts[0].run();
        try {
            for (Thread other : others) if (other != null) other.join();
        } catch (InterruptedException nobodyDoes) {
            throw new IllegalStateException(nobodyDoes);
        }
        // After a failure; not before nobody reads from it any more.
        for (Part part : parts) if (part.open != null && owns(part.thread)) part.open.close();
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

    private static final class LeftAlone extends RuntimeException {
        LeftAlone() {
            super("another thread of the pass failed");
        }
    }

    /** What one thread does, or all of them together. */
    final class Part implements Runnable {
        final Opened.Count count = new Opened.Count();
        Usage usage;
        /** The phase that it is in, or failed in. */
        String during = "open";
        private Throwable failure;
        private Opened open;
        private final Job job;
        private final int thread;
        private final Phaser together;
        private final Part[] team;
        private final boolean counts;
        /** Of the first thread, where a pass has one beside it. */
        private final Beat beat;
        /** Who runs it; nothing before it begins. */
        private volatile Thread runs;
        private long openedFrom, openedTo, workedFrom, workedTo, closedFrom, closedTo;

        Part(Job job, int thread, Phaser together, Part[] team, boolean counts, Beat beat) {
            this.job = job;
            this.beat = beat;
            this.thread = thread;
            this.together = together;
            this.team = team;
            this.counts = counts;
        }

        private void await() {
            if (together.arriveAndAwaitAdvance() < 0) throw new LeftAlone();
        }

        /**
         * After a failure: releases all threads from the barrier. The error of a page that could not be had is thrown anywhere,
         * also in the barrier, between the place where it takes a thread off its queue and the place where it wakes it: nobody
         * would wake that thread again.
         */
        private void leave(Throwable error) {
            failure = error;
            together.forceTermination();
            for (Part part : team) LockSupport.unpark(part.runs);
        }

        @Override
        public void run() {
            runs = Thread.currentThread();
            try {
                long ownBytes = ways[thread].begin();
                await();
                Usage.Look before = counts ? Usage.before() : null;
                // Before any of them begins.
                if (beat != null) beat.begin();
                await();
                phases();
                await();
                if (beat != null) beat.over();
                if (counts) {
                    Usage.Look after = Usage.after();
                    Usage spent = thread == 0 ? Usage.between(before, after) : Usage.sinceItBegan(before, after);
                    usage = ownBytes == 0 ? spent : spent.alsoRead(ownBytes);
                }
            } catch (Throwable error) {
                // Also what a mapped page that could not be had becomes: the JVM throws that some time later, anywhere.
                leave(error);
            }
        }

        private void phases() throws IOException {
            if (held != null) {
                work(held[thread]);
                return;
            }
            // What is shared is there first.
            if (!owns(thread)) await();
            openedFrom = System.nanoTime();
            open = open(thread);
            openedTo = System.nanoTime();
            if (job.shares() && thread == 0) await();
            await();
            work(open);
            await();
            during = "close";
            Opened it = open;
            open = null;
            closedFrom = System.nanoTime();
            if (owns(thread)) it.close();
            closedTo = System.nanoTime();
        }

        private void work(Opened it) throws IOException {
            during = "work";
            workedFrom = System.nanoTime();
            it.pass(job, thread, count);
            workedTo = System.nanoTime();
        }

        private void add(Part other) {
            count.add(other.count);
            if (other.failure != null && (failure == null || failure instanceof LeftAlone)) {
                failure = other.failure;
                during = other.during;
            }
            if (usage != null && other.usage != null) usage = usage.and(other.usage);
            openedFrom = Math.min(openedFrom, other.openedFrom);
            openedTo = Math.max(openedTo, other.openedTo);
            workedFrom = Math.min(workedFrom, other.workedFrom);
            workedTo = Math.max(workedTo, other.workedTo);
            closedFrom = Math.min(closedFrom, other.closedFrom);
            closedTo = Math.max(closedTo, other.closedTo);
        }

        /** @throws Error where the pass failed with one, as with a truncated mapping */
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
