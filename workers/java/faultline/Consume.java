package faultline;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** What happens to each block. Small static methods: inlined into a large one, the same loops were seen at half the speed for good. */
final class Consume {
    private static final VarHandle WORDS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    static volatile Object sink;
    private final String what;
    private final byte[] copy;

    Consume(Job job) {
        what = job.consume;
        if (!java.util.List.of("touch", "sum", "copy", "lines", "sum-bytes", "decode-lines").contains(what)) {
            throw new Job.Unavailable("the JVM worker has no consume " + what);
        }
        copy = new byte[what.equals("copy") || what.equals("decode-lines") ? (int) job.blockBytes : 0];
    }

    long array(byte[] bytes, int length) {
        switch (what) {
            case "touch": return touch(bytes, length);
            case "sum": return sum(bytes, length);
            case "lines": return lines(bytes, length);
            case "sum-bytes": return sumBytes(bytes, length);
            case "decode-lines": return decode(bytes, length);
            // The bytes lie in memory of the caller's own already.
            default: return ends(bytes, length);
        }
    }

    long buffer(ByteBuffer bytes, int at, int length) {
        switch (what) {
            case "touch": return touch(bytes, at, length);
            case "sum": return sum(bytes, at, length);
            case "lines": return lines(bytes, at, length);
            case "sum-bytes": return sumBytes(bytes, at, length);
            case "decode-lines":
                bytes.get(at, copy, 0, length);
                return decode(copy, length);
            default:
                bytes.get(at, copy, 0, length);
                return ends(copy, length);
        }
    }

    private static long touch(byte[] b, int n) {
        long sum = 0;
        for (int i = 0; i < n; i += 4096) sum += b[i] & 0xFF;
        return sum;
    }

    private static long touch(ByteBuffer b, int at, int n) {
        long sum = 0;
        for (int i = 0; i < n; i += 4096) sum += b.get(at + i) & 0xFF;
        return sum;
    }

    private static long sum(byte[] b, int n) {
        long sum = 0;
        int i = 0;
        for (; i + 8 <= n; i += 8) sum += (long) WORDS.get(b, i);
        for (int shift = 0; i < n; i++, shift += 8) sum += (b[i] & 0xFFL) << shift;
        return sum;
    }

    private static long sum(ByteBuffer b, int at, int n) {
        long sum = 0;
        int i = 0;
        for (; i + 8 <= n; i += 8) sum += b.getLong(at + i);
        for (int shift = 0; i < n; i++, shift += 8) sum += (b.get(at + i) & 0xFFL) << shift;
        return sum;
    }

    private static long lines(byte[] b, int n) {
        int count = 0;
        for (int i = 0; i < n; i++) if (b[i] == '\n') count++;
        return count;
    }

    private static long lines(ByteBuffer b, int at, int n) {
        int count = 0;
        for (int i = 0; i < n; i++) if (b.get(at + i) == '\n') count++;
        return count;
    }

    private static long sumBytes(byte[] b, int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) sum += b[i] & 0xFF;
        return sum;
    }

    private static long sumBytes(ByteBuffer b, int at, int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) sum += b.get(at + i) & 0xFF;
        return sum;
    }

    private static long ends(byte[] b, int n) {
        return n == 0 ? 0 : (b[0] & 0xFF) + (b[n - 1] & 0xFF);
    }

    private static long decode(byte[] b, int n) {
        long count = 0;
        int start = 0;
        for (int i = 0; i < n; i++) {
            if (b[i] != '\n') continue;
            sink = new String(b, start, i + 1 - start, StandardCharsets.UTF_8);
            start = i + 1;
            count++;
        }
        if (start < n) sink = new String(b, start, n - start, StandardCharsets.UTF_8);
        return count;
    }
}
