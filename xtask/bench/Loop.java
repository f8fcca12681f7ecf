/*
 * Scans a file in memory again and again, as one would write it by hand: java Loop FILE BYTES BLOCK METHOD CONSUME SCANS.
 * Prints the nanoseconds that a block takes, the median of passes of so many scans after the first two. A scan that looks at one
 * byte of each page leaves those cache lines in the last-level cache for the next one, so the last 64 MiB are read in between, as
 * before a worker's.
 *
 *   METHOD    mapped (MappedByteBuffer), channel (FileChannel at an offset, direct buffer), file (RandomAccessFile, byte[])
 *   CONSUME   touch, sum, lines, copy
 */
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.util.Arrays;

public class Loop {
    static final VarHandle WORDS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    static final int PASSES = 9, FIRST = 2;

    static long touch(ByteBuffer bytes, int from, int to) {
        long sum = 0;
        for (int i = from; i < to; i += 4096) sum += bytes.get(i);
        return sum;
    }

    static long sum(ByteBuffer bytes, int from, int to) {
        long sum = 0;
        for (int i = from; i < to; i += 8) sum += bytes.getLong(i);
        return sum;
    }

    static long lines(ByteBuffer bytes, int from, int to) {
        long count = 0;
        for (int i = from; i < to; i++) if (bytes.get(i) == '\n') count++;
        return count;
    }

    static long touch(byte[] bytes) {
        long sum = 0;
        for (int i = 0; i < bytes.length; i += 4096) sum += bytes[i];
        return sum;
    }

    static long sum(byte[] bytes) {
        long sum = 0;
        for (int i = 0; i < bytes.length; i += 8) sum += (long) WORDS.get(bytes, i);
        return sum;
    }

    static long lines(byte[] bytes) {
        long count = 0;
        for (byte it : bytes) if (it == '\n') count++;
        return count;
    }

    public static void main(String[] args) throws IOException {
        long size = Long.parseLong(args[1]);
        int block = Integer.parseInt(args[2]), scans = Integer.parseInt(args[5]);
        String method = args[3], consume = args[4];
        RandomAccessFile file = new RandomAccessFile(args[0], "r");
        FileChannel channel = file.getChannel();
        ByteBuffer map = channel.map(MapMode.READ_ONLY, 0, size).order(ByteOrder.LITTLE_ENDIAN);
        // In whole pages, as a worker has it: how fast the kernel copies depends on where a buffer begins.
        ByteBuffer direct = ByteBuffer.allocateDirect(block + 4096).alignedSlice(4096).limit(block).slice().order(ByteOrder.LITTLE_ENDIAN);
        byte[] array = new byte[block];
        double[] passes = new double[PASSES];
        long check = 0;
        for (int pass = 0; pass < PASSES; pass++) {
            if (consume.equals("touch")) check += lines(map, (int) (size - (64 << 20)), (int) size);
            long begun = System.nanoTime();
            for (int scan = 0; scan < scans; scan++) {
                for (long at = 0; at < size; at += block) {
                    check += switch (method) {
                        case "mapped" -> mapped(map, (int) at, consume, array);
                        case "channel" -> channel(channel, at, consume, direct);
                        default -> file(file, at, consume, array);
                    };
                }
            }
            passes[pass] = (System.nanoTime() - begun) / (double) (scans * (size / block));
        }
        double[] steady = Arrays.copyOfRange(passes, FIRST, PASSES);
        Arrays.sort(steady);
        if (check == 1) System.err.println();
        System.out.println(steady[steady.length / 2]);
    }

    static long mapped(ByteBuffer map, int at, String consume, byte[] array) {
        int to = at + array.length;
        switch (consume) {
            case "touch": return touch(map, at, to);
            case "sum": return sum(map, at, to);
            case "lines": return lines(map, at, to);
            default:
                map.get(at, array, 0, array.length);
                return array[0] + array[array.length - 1];
        }
    }

    static long channel(FileChannel channel, long at, String consume, ByteBuffer direct) throws IOException {
        if (channel.read(direct.clear(), at) < direct.capacity()) throw new IOException("too short");
        int to = direct.capacity();
        switch (consume) {
            case "touch": return touch(direct, 0, to);
            case "sum": return sum(direct, 0, to);
            case "lines": return lines(direct, 0, to);
            default: return direct.get(0) + direct.get(to - 1);
        }
    }

    static long file(RandomAccessFile file, long at, String consume, byte[] array) throws IOException {
        file.seek(at);
        file.readFully(array);
        switch (consume) {
            case "touch": return touch(array);
            case "sum": return sum(array);
            case "lines": return lines(array);
            default: return array[0] + array[array.length - 1];
        }
    }
}
