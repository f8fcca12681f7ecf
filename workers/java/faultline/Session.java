package faultline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Everything that one `prepare` made. */
final class Session {
    /** Larger than the last-level cache of most machines, small enough to be swept before every pass; as the native worker does. */
    private static final long SWEEP_BYTES = 64 << 20;
    private final Job job;
    private final Team team;
    private final Offsets.Reached reached;
    private final Warmth warmth;
    /** What reading the clock once takes, where a pass reads it. */
    private final long clockNs;
    /** Only where the arm wants them. */
    private final Safepoints safepoints;
    private final Beat beat;
    String during = "prepare";

    Session(Job job) throws IOException {
        this.job = job;
        job.checkPermit();
        Path file = Path.of(job.file);
        if (!Files.isRegularFile(file)) throw new IOException(job.file + " is no regular file");
        long size = Files.size(file);
        if (!job.workload.equals("append")) {
            if (size == 0) throw new IOException("the file is empty: there is nothing to read");
            if (job.bytes > size - job.offset) {
                throw new IOException("a range of " + job.bytes + " bytes at " + job.offset + " ends beyond the file's " + size + " bytes");
            }
        }
        team = teamOf(job);
        reached = new Offsets.Reached(job, Usage.pageBytes());
        // Before the warm-up, which then runs until what this loads and compiles is done too.
        safepoints = Safepoints.of(job);
        warmth = new Warmth(job, team);
        clockNs = job.workload.equals("update") ? Usage.clockNs() : 0;
        if (job.hold.equals("open")) team.begin();
        if (job.hold.equals("warm") || job.hold.equals("locked")) {
            team.hold();
            if (job.writes()) syncFile(); else if (!job.method.equals("channel-odirect") && !sweeps()) sweep();
        }
        beat = Beat.of(job);
    }

    private static Team teamOf(Job job) throws IOException {
        try {
            return new Team(job);
        } catch (OutOfMemoryError refused) {
            throw new Job.Unavailable("a JVM has no room for " + job.threads + " times " + job.blockBytes + " bytes (OutOfMemoryError: "
                + refused.getMessage() + "); its heap has at most " + Runtime.getRuntime().maxMemory() + " bytes");
        }
    }

    /** Whether a pass does itself what a sweep would: it looks at every byte up to the end of a range that is as large. */
    private boolean sweeps() {
        boolean looksAtAll = !job.consume.equals("touch") && job.percent == 100;
        boolean reachesTheEnd = job.bytes >= SWEEP_BYTES && job.ops >= (job.bytes - 1) / job.blockBytes + 1;
        return job.workload.equals("scan") && looksAtAll && reachesTheEnd;
    }

    /** The processor's caches should not hold exactly the blocks of the pass before. */
    private void sweep() throws IOException {
        ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
        try (FileChannel channel = FileChannel.open(Path.of(job.file), StandardOpenOption.READ)) {
            long end = job.offset + job.bytes;
            for (long at = Math.max(job.offset, end - SWEEP_BYTES); at < end; ) {
                buffer.clear().limit((int) Math.min(buffer.capacity(), end - at));
                int read = channel.read(buffer, at);
                if (read <= 0) throw Access.tooShort(at);
                at += read;
            }
        }
    }

    /** Writes back what was written before the clock starts. */
    private void syncFile() throws IOException {
        try (FileChannel channel = FileChannel.open(Path.of(job.file), StandardOpenOption.WRITE)) {
            channel.force(true);
        }
    }

    /** The timed pass, or the given warm one before it (from 1). */
    String pass(int warm) throws IOException {
        if (warm > 0) return warm(warm);
        try {
            return timed();
        } finally {
            if (safepoints != null) safepoints.stop();
        }
    }

    /** What it reached is not said: its offsets are its own. */
    private String warm(int warm) throws IOException {
        during = "open";
        Team.Part all = team.pass(new Job(job, warm), true, null);
        during = all.during;
        all.check();
        return done(all, 0, "", null) + "}}";
    }

    private String done(Team.Part all, long distinctBytes, String distinct, Safepoints log) {
        Opened.Count count = all.count;
        // The controller reads the written bytes after this pass.
        long checksum = job.writes() ? 0 : count.checksum;
        String digits = Long.toHexString(checksum);
        return "{\"done\":{\"pass\":" + job.pass
            + ",\"phases\":" + all.times() + ",\"tally\":{\"ops\":" + count.ops + ",\"bytes\":" + count.bytes + ",\"distinct_bytes\":" + distinctBytes
            + distinct
            + ",\"checksum\":\"" + "0".repeat(16 - digits.length()) + digits + "\",\"threads\":" + job.threads + ",\"queue_depth\":1},\"usage\":"
            + all.usage + ",\"own_reads\":" + all.usage.ownReads(log);
    }

    private String timed() throws IOException {
        Usage.Engine before = new Usage.Engine();
        if (safepoints != null) safepoints.start();
        during = "open";
        Team.Part all;
        Usage.Engine after;
        String beats = "";
        try {
            all = team.pass(job, true, beat);
        } finally {
            if (safepoints != null) safepoints.stop();
            // Before the deadlines that follow the pass, beside which the compiler may go on.
            after = new Usage.Engine();
            if (beat != null) beats = ",\"beats\":" + beat.end();
        }
        during = all.during;
        all.check();
        String delays = safepoints == null ? "" : safepoints.readings();
        during = "close";
        String blocks = job.percent < 100 ? ",\"distinct_block_bytes\":" + reached.blocks : "";
        return done(all, reached.bytes, blocks + ",\"distinct_pages\":" + reached.pages, safepoints)
            + parts(all.count)
            + beats
            + ",\"seen\":{" + after.since(before) + warmth() + delays + "}}}";
    }

    private String parts(Opened.Count count) {
        if (!job.workload.equals("update")) return "";
        return ",\"parts\":{\"read_ns\":" + count.readNs + ",\"loop_ns\":" + count.loopNs + ",\"write_ns\":" + count.writeNs
            + ",\"clock_ns\":" + clockNs + "}";
    }

    /** A tiny block takes a few nanoseconds, so whole ones would make two alike of which one takes half as long again. */
    private String warmth() {
        return ",\"warm_up_passes\":" + warmth.passes + ",\"warm_up_quiet\":" + (warmth.quiet ? 1 : 0)
            + ",\"first_pass_ns_per_op\":" + (double) warmth.firstNs / warmth.ops
            + ",\"warm_pass_ns_per_op\":" + (double) warmth.warmNs / warmth.ops
            + (warmth.loopBytesPerS == 0 ? "" : ",\"loop_bytes_per_s\":" + warmth.loopBytesPerS);
    }

    void end() throws IOException {
        if (safepoints != null) safepoints.stop();
        if (beat != null) beat.leave();
        team.end();
    }
}
