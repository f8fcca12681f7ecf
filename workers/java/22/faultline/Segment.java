package faultline;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * MemorySegment with a confined Arena, or with a shared one where a pass has several threads: one mapping of any size, unmapped
 * when the Arena is closed. JDK 22 and later.
 */
final class Segment extends Access {
    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final StructLayout CAPTURED = Linker.Option.captureStateLayout();
    private static final VarHandle ERRNO = CAPTURED.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private final Arena arena;
    private final MemorySegment segment;
    private final long start;
    private final Loop loop;
    private final int againBytes;

    private Segment(Job job, Loop loop, Opened beside) throws IOException {
        start = job.offset;
        this.loop = loop;
        againBytes = (int) Math.min(job.blockBytes, 32 << 10);
        if (beside instanceof Segment other) {
            arena = other.arena;
            segment = other.segment;
            return;
        }
        arena = job.threads > 1 ? Arena.ofShared() : Arena.ofConfined();
        try (FileChannel channel = FileChannel.open(Path.of(job.file), StandardOpenOption.READ)) {
            segment = channel.map(FileChannel.MapMode.READ_ONLY, job.offset, job.bytes, arena);
            advise(segment, job.option("advice", "normal"));
            advise(segment, job.option("populate", "no"));
        } catch (Throwable error) {
            arena.close();
            throw error;
        }
    }

    static Methods.Way of(Job job) {
        Loop loop = Loop.of(job);
        return (it, beside) -> new Segment(it, loop, beside);
    }

    static void lock(ByteBuffer mapping) {
        lock(MemorySegment.ofBuffer(mapping));
    }

    static void lockAside(Job job) throws IOException {
        try (FileChannel channel = FileChannel.open(Path.of(job.file), StandardOpenOption.READ)) {
            lock(channel.map(FileChannel.MapMode.READ_ONLY, job.offset, job.bytes, Arena.global()));
        }
    }

    private static void lock(MemorySegment pages) {
        int errno = call("mlock", pages, (errnoAt, from, bytes) -> (int) Mlock.CALL.invokeExact(errnoAt, from, bytes));
        if (errno != 0) {
            throw new Job.Unavailable("mlock(2) of " + pages.byteSize() + " bytes was refused (errno " + errno + "): raise the limit with `ulimit -l`, or run as root");
        }
    }

    @Override
    boolean lock() {
        lock(segment);
        return true;
    }

    @Override
    long take(long offset, int length, int use) {
        return loop.all(segment, offset - start, use);
    }

    @Override
    long again() {
        return loop.all(segment, 0, againBytes);
    }

    @Override
    public void close() {
        arena.close();
    }

    private static void advise(MemorySegment segment, String word) {
        // include/uapi/asm-generic/mman-common.h
        int advice = switch (word) {
            case "random" -> 1;
            case "sequential" -> 2;
            case "willneed" -> 3;
            case "hugepage" -> 14;
            case "populate-read" -> 22;
            default -> 0;
        };
        if (advice == 0) return;
        int errno = call("madvise", segment, (errnoAt, pages, bytes) -> (int) Madvise.CALL.invokeExact(errnoAt, pages, bytes, advice));
        if (errno != 0) throw new Job.Unavailable("madvise(2) " + word + " was refused: errno " + errno);
    }

    /** Looked up once, as the warm-up file is opened: opening is timed. */
    private static final class Madvise {
        static final MethodHandle CALL = function("madvise", ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT);
    }

    private static final class Mlock {
        static final MethodHandle CALL = function("mlock", ValueLayout.ADDRESS, ValueLayout.JAVA_LONG);
    }

    private static MethodHandle function(String name, MemoryLayout... takes) {
        Linker linker = Linker.nativeLinker();
        FunctionDescriptor shape = FunctionDescriptor.of(ValueLayout.JAVA_INT, takes);
        return linker.downcallHandle(linker.defaultLookup().find(name).orElseThrow(), shape, Linker.Option.captureCallState("errno"));
    }

    private interface Call {
        int of(MemorySegment errnoAt, MemorySegment pages, long bytes) throws Throwable;
    }

    /** A call about the pages of a segment: 0, or errno. */
    private static int call(String name, MemorySegment segment, Call call) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment captured = arena.allocate(CAPTURED);
            // A mapping begins at a page; a range of the file within one need not.
            long within = segment.address() % Usage.pageBytes();
            int result = call.of(captured, MemorySegment.ofAddress(segment.address() - within), segment.byteSize() + within);
            return result == 0 ? 0 : (int) ERRNO.get(captured, 0L);
        } catch (Throwable error) {
            throw new Job.Unavailable(name + "(2) cannot be called: " + error);
        }
    }

    /** As Consume, over segments: one class for each word, loops over pieces. */
    private abstract static class Loop {
        static Loop of(Job job) {
            switch (job.consume) {
                case "touch": return new Touch();
                case "sum": return new Sum();
                case "lines": return new Lines();
                case "sum-bytes": return new SumBytes();
                default: return new InArray(Consume.of(job), new byte[(int) job.blockBytes]);
            }
        }

        long all(MemorySegment bytes, long start, int length) {
            long sum = 0;
            for (int at = 0; at < length; at += Consume.PIECE) {
                sum += piece(bytes, start + at, Math.min(Consume.PIECE, length - at));
            }
            return sum;
        }

        abstract long piece(MemorySegment bytes, long at, int length);
    }

    private static final class Touch extends Loop {
        long piece(MemorySegment bytes, long at, int length) {
            long sum = 0;
            for (int i = 0; i < length; i += Consume.TOUCHED) sum += bytes.get(ValueLayout.JAVA_BYTE, at + i) & 0xFF;
            return sum;
        }
    }

    private static final class Sum extends Loop {
        long piece(MemorySegment bytes, long at, int length) {
            return sum(bytes, at, length);
        }

        private static long sum(MemorySegment b, long at, int length) {
            long sum = 0;
            int i = 0;
            for (int words = length & -8; i < words; i += 8) sum += b.get(WORD, at + i);
            for (int shift = 0; i < length; i++, shift += 8) sum += (b.get(ValueLayout.JAVA_BYTE, at + i) & 0xFFL) << shift;
            return sum;
        }
    }

    private static final class Lines extends Loop {
        long piece(MemorySegment bytes, long at, int length) {
            return lines(bytes, at, length);
        }

        private static int lines(MemorySegment b, long at, int length) {
            int count = 0;
            for (int i = 0; i < length; i++) if (b.get(ValueLayout.JAVA_BYTE, at + i) == '\n') count++;
            return count;
        }
    }

    private static final class SumBytes extends Loop {
        long piece(MemorySegment bytes, long at, int length) {
            return sum(bytes, at, length);
        }

        private static long sum(MemorySegment b, long at, int length) {
            int sum = 0;
            for (int i = 0; i < length; i++) sum += b.get(ValueLayout.JAVA_BYTE, at + i) & 0xFF;
            return sum;
        }
    }

    private static final class InArray extends Loop {
        private final Consume consume;
        private final byte[] array;

        InArray(Consume consume, byte[] array) {
            this.consume = consume;
            this.array = array;
        }

        @Override
        long all(MemorySegment bytes, long start, int length) {
            MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, start, array, 0, length);
            return consume.array(array, length);
        }

        long piece(MemorySegment bytes, long at, int length) {
            throw new AssertionError();
        }
    }
}
