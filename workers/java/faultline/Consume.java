package faultline;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * What happens to each block. One class for each word, so that a JVM only ever loads the one it uses and calls it directly.
 *
 * The loops stand in small static methods over pieces of a block: those are called often enough to be compiled whole within
 * the warm-up. One loop over a large block is compiled while it runs, entered in its middle, and was seen at half the speed
 * for good. Smaller pieces cost more than their calls: of 4 KiB, a sum over a mapping took 1.3 times as long as of 64 KiB.
 */
abstract class Consume {
    private static final VarHandle WORDS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle KEPT;
    private static Object kept;

    static {
        try {
            KEPT = MethodHandles.lookup().findStaticVarHandle(Consume.class, "kept", Object.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** Of whole words, and of whole pages. */
    static final int PIECE = 64 << 10;
    /** The distance between the bytes that `touch` looks at. */
    static final int TOUCHED = 4096;

    static Consume of(Job job) {
        switch (job.consume) {
            case "touch": return new Touch();
            case "sum": return new Sum();
            case "lines": return new Lines();
            case "sum-bytes": return new SumBytes();
            case "copy": return new Copy((int) job.blockBytes);
            case "decode-lines": return new DecodeLines((int) job.blockBytes);
            default: throw new Job.Unavailable("the JVM worker has no consume " + job.consume);
        }
    }

    /**
     * Stores a value that is not used otherwise, so that the compiler keeps the code that makes it: an opaque store is not
     * dropped, and costs no more than a plain one (Lea, "Using JDK 9 Memory Order Modes"). After a volatile one x86 has a full
     * fence, which in a loop over lines is timed with each, and the native loop has none.
     */
    static void keep(Object made) {
        KEPT.setOpaque(made);
    }

    /** The first `length` bytes of an array: memory of the caller's own. */
    long array(byte[] bytes, int length) {
        long sum = 0;
        for (int at = 0; at < length; at += PIECE) sum += piece(bytes, at, Math.min(length, at + PIECE));
        return sum;
    }

    /** Bytes of a buffer, which may be the file itself. */
    long buffer(ByteBuffer bytes, int start, int length) {
        long sum = 0;
        for (int at = 0; at < length; at += PIECE) sum += piece(bytes, start + at, start + Math.min(length, at + PIECE));
        return sum;
    }

    /** The first bytes of a buffer that is memory of the caller's own. */
    long own(ByteBuffer bytes, int length) {
        return buffer(bytes, 0, length);
    }

    abstract long piece(byte[] bytes, int at, int end);

    abstract long piece(ByteBuffer bytes, int at, int end);

    static final class Touch extends Consume {
        long piece(byte[] bytes, int at, int end) {
            long sum = 0;
            for (; at < end; at += TOUCHED) sum += bytes[at] & 0xFF;
            return sum;
        }

        long piece(ByteBuffer bytes, int at, int end) {
            long sum = 0;
            for (; at < end; at += TOUCHED) sum += bytes.get(at) & 0xFF;
            return sum;
        }
    }

    /**
     * The end of the whole words is computed beforehand: `i + 8 <= end` may overflow, so that C2 makes no counted loop of it, and
     * neither unrolls it nor drops the checks of bounds. With JDK 25 it took four times as long over a mapping.
     */
    static final class Sum extends Consume {
        long piece(byte[] bytes, int at, int end) {
            return sum(bytes, at, end);
        }

        long piece(ByteBuffer bytes, int at, int end) {
            return sum(bytes, at, end);
        }

        private static long sum(byte[] b, int i, int end) {
            long sum = 0;
            for (int words = i + (end - i & -8); i < words; i += 8) sum += (long) WORDS.get(b, i);
            for (int shift = 0; i < end; i++, shift += 8) sum += (b[i] & 0xFFL) << shift;
            return sum;
        }

        private static long sum(ByteBuffer b, int i, int end) {
            long sum = 0;
            for (int words = i + (end - i & -8); i < words; i += 8) sum += b.getLong(i);
            for (int shift = 0; i < end; i++, shift += 8) sum += (b.get(i) & 0xFFL) << shift;
            return sum;
        }
    }

    static final class Lines extends Consume {
        long piece(byte[] bytes, int at, int end) {
            return lines(bytes, at, end);
        }

        long piece(ByteBuffer bytes, int at, int end) {
            return lines(bytes, at, end);
        }

        private static int lines(byte[] b, int i, int end) {
            int count = 0;
            for (; i < end; i++) if (b[i] == '\n') count++;
            return count;
        }

        private static int lines(ByteBuffer b, int i, int end) {
            int count = 0;
            for (; i < end; i++) if (b.get(i) == '\n') count++;
            return count;
        }
    }

    static final class SumBytes extends Consume {
        long piece(byte[] bytes, int at, int end) {
            return sum(bytes, at, end);
        }

        long piece(ByteBuffer bytes, int at, int end) {
            return sum(bytes, at, end);
        }

        private static long sum(byte[] b, int i, int end) {
            int sum = 0;
            for (; i < end; i++) sum += b[i] & 0xFF;
            return sum;
        }

        private static long sum(ByteBuffer b, int i, int end) {
            int sum = 0;
            for (; i < end; i++) sum += b.get(i) & 0xFF;
            return sum;
        }
    }

    /** What is done to a whole block at once, in an array. */
    abstract static class Whole extends Consume {
        final byte[] copy;

        Whole(int block) {
            copy = new byte[block];
        }

        @Override
        long buffer(ByteBuffer bytes, int start, int length) {
            bytes.get(start, copy, 0, length);
            return array(copy, length);
        }

        long piece(byte[] bytes, int at, int end) {
            throw new AssertionError();
        }

        long piece(ByteBuffer bytes, int at, int end) {
            throw new AssertionError();
        }
    }

    static final class Copy extends Whole {
        Copy(int block) {
            super(block);
        }

        @Override
        long array(byte[] bytes, int length) {
            return length == 0 ? 0 : (bytes[0] & 0xFF) + (bytes[length - 1] & 0xFF);
        }

        @Override
        long own(ByteBuffer bytes, int length) {
            return length == 0 ? 0 : (bytes.get(0) & 0xFF) + (bytes.get(length - 1) & 0xFF);
        }
    }

    static final class DecodeLines extends Whole {
        private static final VarHandle OWN;
        /** Of each thread its own: they would pass one cache line to each other with every line. */
        private Object own;

        static {
            try {
                OWN = MethodHandles.lookup().findVarHandle(DecodeLines.class, "own", Object.class);
            } catch (ReflectiveOperationException impossible) {
                throw new ExceptionInInitializerError(impossible);
            }
        }

        DecodeLines(int block) {
            super(block);
        }

        @Override
        long array(byte[] bytes, int length) {
            long count = 0;
            int start = 0;
            for (int end; (end = next(bytes, start, length)) < length; start = end + 1) {
                OWN.setOpaque(this, (Object) new String(bytes, start, end + 1 - start, StandardCharsets.UTF_8));
                count++;
            }
            if (start < length) OWN.setOpaque(this, (Object) new String(bytes, start, length - start, StandardCharsets.UTF_8));
            return count;
        }

        private static int next(byte[] b, int i, int end) {
            while (i < end && b[i] != '\n') i++;
            return i;
        }
    }
}
