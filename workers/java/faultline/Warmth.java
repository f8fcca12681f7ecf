package faultline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Random;

/**
 * Passes over a warm-up file until compilation has ended. The measured file is not touched, so its state stays as the controller
 * made it; but with O_DIRECT, where the warm-up file is on tmpfs before Linux 6.6, which has none: then its first bytes are read. The first pass shows a cold JVM; the last ones show what this JVM has compiled, which differs between JVMs.
 */
final class Warmth {
    private static final int WARM_UP_BYTES = 4 << 20, QUIET_PASSES = 3;
    /** So many blocks in a pass have their code compiled; more of small ones only take longer. */
    private static final int WARM_UP_BLOCKS = 8192;
    /** Of random bytes, again and again: drawing four million of them takes 50 ms before the generator is compiled. */
    private static final int PATTERN_BYTES = 64 << 10;
    /** A pass may take a millisecond, and a method many to compile: no news for so long, too. */
    private static final long QUIET_NS = 60_000_000, LIMIT_NS = 3_000_000_000L;
    /** A sync waits for the device; so many are enough to have its code compiled as far as it ever will be. */
    private static final int SYNCED_OPS = 16;
    /** Of the consume's loop by itself. The fastest stretch counts, because interference only makes others slower. */
    private static final int STRETCH_BYTES = 1 << 20, STRETCHES = 8;
    final long passes, firstNs, warmNs, ops;
    final boolean quiet;
    /** How fast the consume's loop is by itself, over bytes in the CPU cache; 0 where that is not asked for, or not possible. */
    final long loopBytesPerS;
    private static long sink;

    Warmth(Job job, Team real) throws IOException {
        String nameless = given("warm-up");
        FileChannel open = FileChannel.open(Path.of(nameless), StandardOpenOption.READ, StandardOpenOption.WRITE);
        try {
            byte[] pattern = new byte[PATTERN_BYTES];
            int size = size(job);
            new Random(job.seed).nextBytes(pattern);
            // A little at a time: what a channel writes from an array goes through direct memory, of which there may be little.
            for (int at = 0; at < size; at += PATTERN_BYTES) {
                for (ByteBuffer rest = ByteBuffer.wrap(pattern, 0, Math.min(PATTERN_BYTES, size - at)); rest.hasRemaining(); ) open.write(rest);
            }
            Job same = new Job(job, nameless, size, job.durability.equals("sync-each") ? SYNCED_OPS : Long.MAX_VALUE);
            if (job.method.equals("channel-odirect") && !opens(new Team(same, real))) {
                // The temporary folder may be in memory. Around the page cache, the real file stays as it is.
                same = new Job(job, job.file, Math.min(job.bytes, WARM_UP_BYTES), Long.MAX_VALUE);
            }
            long begin = System.nanoTime(), news = begin, last = -1, first = 0, fastest = Long.MAX_VALUE, now = begin;
            int pass = 0, still = 0;
            Team team = new Team(same, real);
            team.begin();
            for (; pass == 0 || !job.untimed && (still < QUIET_PASSES || now - news < QUIET_NS) && now - begin < LIMIT_NS; pass++) {
                // Opening is executed a few times, as in a program; hundreds of times would keep the compiler busy with it.
                if (pass > 0 && pass <= QUIET_PASSES) {
                    team.end();
                    team.begin();
                }
                Team.Part made = team.pass(false);
                made.check();
                // It is compiled meanwhile, so that nothing of it is while a pass is timed.
                if (job.timesItsLoop) stretch(team.open(), job);
                now = System.nanoTime();
                long compiled = Usage.compiledNs();
                still = compiled == last ? still + 1 : 0;
                if (still == 0) news = now;
                last = compiled;
                if (pass == 0) first = made.workNs();
                // Of the quiet ones alone: before, it was other code.
                fastest = still == 0 ? made.workNs() : Math.min(fastest, made.workNs());
            }
            long fastestLoop = 0;
            for (int i = 0; job.timesItsLoop && i < STRETCHES; i++) fastestLoop = Math.max(fastestLoop, stretch(team.open(), job));
            loopBytesPerS = fastestLoop;
            team.end();
            passes = pass;
            quiet = still >= QUIET_PASSES && now - news >= QUIET_NS;
            firstNs = first;
            warmNs = fastest;
            ops = same.ops;
        } finally {
            // Its pages would leave the cache during the passes, and make room where memory is limited.
            open.truncate(0);
            open.close();
        }
    }

    /** The bytes per second of one stretch; 0 of a method that cannot consume without reading. */
    private static long stretch(Opened it, Job job) {
        if (!(it instanceof Access access)) return 0;
        long bytes = Math.min(job.blockBytes, 32 << 10), times = Math.max(1, STRETCH_BYTES / bytes), sum = 0;
        long begin = System.nanoTime();
        for (long i = 0; i < times; i++) sum += access.again();
        // Used, so that it is computed. Once: a store for each block would be timed with it.
        sink = sum;
        // In picoseconds for each block: a tiny one takes a few nanoseconds.
        return bytes * 1_000_000_000_000L / Math.max(1, (System.nanoTime() - begin) * 1000 / times);
    }

    /** With a last block as short as the real one's: what only happens at the end should be compiled too. */
    private static int size(Job job) {
        // Of whole pages at least, because O_DIRECT and mappings come in those.
        long most = job.untimed ? PATTERN_BYTES : Math.min(WARM_UP_BYTES, Math.max(PATTERN_BYTES, WARM_UP_BLOCKS * job.blockBytes));
        if (job.bytes <= most) return (int) job.bytes;
        long tail = job.bytes % job.blockBytes;
        return (int) (job.blockBytes < most / 2 ? (most - tail) / job.blockBytes * job.blockBytes + tail : most);
    }

    private static boolean opens(Team team) {
        try {
            team.begin();
            team.end();
            return true;
        } catch (IOException | RuntimeException refused) {
            return false;
        }
    }

    /**
     * The path of a file that never has a name: who started this JVM made it, and says its descriptor, device and inode. Another
     * file under that number, as one of the JDK, is not written.
     */
    static String given(String usedAs) throws IOException {
        String[] said = System.getProperty("faultline." + usedAs, "").split(":");
        if (said.length != 3 || !said[0].matches("[0-9]+")) throw new IOException("-Dfaultline." + usedAs + " names no file");
        String path = "/proc/self/fd/" + said[0];
        Map<String, Object> is = Files.readAttributes(Path.of(path), "unix:dev,ino,nlink");
        boolean same = said[1].equals(is.get("dev").toString()) && said[2].equals(is.get("ino").toString());
        if (!same || !is.get("nlink").equals(0)) throw new IOException(path + " is not the file that was given for " + usedAs);
        return path;
    }
}
