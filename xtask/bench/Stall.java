import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/** How late a second thread is while a thread reads blocks of 4 KiB at random places of a file: Stall FILE BYTES READS call|map [stops] */
public final class Stall {
    private static final int BLOCK = 4096;
    private static final long PERIOD = 1_000_000;
    private static final long[] late = new long[1 << 20];
    private static int deadlines;
    private static volatile boolean isDone;

    public static void main(String[] arguments) throws Exception {
        long bytes = Long.parseLong(arguments[1]), reads = Long.parseLong(arguments[2]), blocks = bytes / BLOCK;
        boolean isMap = arguments[3].equals("map"), stops = arguments.length > 4;
        FileChannel file = FileChannel.open(Path.of(arguments[0]));
        ByteBuffer map = isMap ? file.map(FileChannel.MapMode.READ_ONLY, 0, bytes) : null;
        ByteBuffer buffer = ByteBuffer.allocateDirect(BLOCK);
        // Compiled before it counts: by pages that are in memory afterwards, so it is of the first page alone.
        long sum = read(file, map, buffer, 200_000, 1);
        long start = System.nanoTime();
        // Each deadline that has passed counts, from its own time.
        Thread other = new Thread(() -> {
            long due = start + PERIOD;
            while (!isDone) {
                LockSupport.parkNanos(due - System.nanoTime());
                for (long at = System.nanoTime(); due <= at && deadlines < late.length; due += PERIOD) late[deadlines++] = at - due;
            }
        });
        other.start();
        // A thread dump stops the world.
        Thread dumps = new Thread(() -> {
            while (!isDone) {
                Thread.getAllStackTraces();
                LockSupport.parkNanos(PERIOD);
            }
        });
        if (stops) dumps.start();
        sum += read(file, map, buffer, reads, blocks);
        long took = System.nanoTime() - start;
        isDone = true;
        other.join();
        long[] all = Arrays.copyOf(late, deadlines);
        Arrays.sort(all);
        long stalled = Arrays.stream(all).filter(it -> it > 2 * PERIOD).count();
        int n = all.length;
        System.out.printf(Locale.ROOT, "{\"took_ms\": %.1f, \"deadlines\": %d, \"median_ms\": %.3f, \"p99_ms\": %.3f, \"worst_ms\": %.3f, \"stalled\": %.4f, \"sum\": %d}%n",
            took / 1e6, n, all[n / 2] / 1e6, all[n * 99 / 100] / 1e6, all[n - 1] / 1e6, (double) stalled / n, sum);
    }

    private static long read(FileChannel file, ByteBuffer map, ByteBuffer buffer, long reads, long blocks) throws Exception {
        long seed = 88172645463325252L, sum = 0;
        for (long i = 0; i < reads; i++) {
            seed ^= seed << 13;
            seed ^= seed >>> 7;
            seed ^= seed << 17;
            long offset = Long.remainderUnsigned(seed, blocks) * BLOCK;
            if (map != null) {
                sum += map.get((int) offset);
            } else {
                buffer.clear();
                file.read(buffer, offset);
                sum += buffer.get(0);
            }
        }
        return sum;
    }
}
