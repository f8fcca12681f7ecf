package faultline;

import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A way to reach the bytes of one open file. */
abstract class Access implements AutoCloseable {
    static final String[] METHODS =
        {"stream", "random-access-file", "channel-direct", "channel-heap", "channel-positional", "mapped"};

    /** Reaches a block and consumes its first `use` bytes. */
    abstract long take(long offset, int length, int use, Consume consume) throws IOException;

    @Override
    public abstract void close() throws IOException;

    /** What a method reads into, allocated and written to before the clock starts. */
    static Object room(Job job) {
        int size = (int) job.blockBytes;
        switch (job.method) {
            case "stream": case "random-access-file": return new byte[size];
            case "channel-heap": return ByteBuffer.wrap(new byte[size]);
            case "channel-direct": case "channel-positional": {
                // Page-aligned, as the native buffers are; allocateDirect fills with zeros, so its pages are there.
                // alignedSlice cuts at both ends.
                ByteBuffer room = ByteBuffer.allocateDirect((size + 4095) / 4096 * 4096 + 4096).alignedSlice(4096);
                return room.limit(size).slice().order(ByteOrder.LITTLE_ENDIAN);
            }
            case "mapped": return null;
            default: throw new Job.Unavailable("the JVM worker has no method " + job.method);
        }
    }

    static Access open(Job job, Object room) throws IOException {
        switch (job.method) {
            case "stream": return new Stream(job, (byte[]) room);
            case "random-access-file": return new RandomAccess(job, (byte[]) room);
            case "mapped": return new Mapped(job);
            default: return new Channel(job, (ByteBuffer) room);
        }
    }

    static final class Stream extends Access {
        private final FileInputStream in;
        private final byte[] room;
        private long position;

        Stream(Job job, byte[] room) throws IOException {
            in = new FileInputStream(job.file);
            this.room = room;
        }

        long take(long offset, int length, int use, Consume consume) throws IOException {
            if (offset != position) in.skip(offset - position);
            for (int done = 0; done < length; ) {
                int read = in.read(room, done, length - done);
                if (read <= 0) throw new EOFException("the file ends within the block at " + offset);
                done += read;
            }
            position = offset + length;
            return consume.array(room, use);
        }

        public void close() throws IOException {
            in.close();
        }
    }

    static final class RandomAccess extends Access {
        private final RandomAccessFile file;
        private final byte[] room;
        private long position;

        RandomAccess(Job job, byte[] room) throws IOException {
            file = new RandomAccessFile(job.file, "r");
            this.room = room;
        }

        long take(long offset, int length, int use, Consume consume) throws IOException {
            if (offset != position) file.seek(offset);
            file.readFully(room, 0, length);
            position = offset + length;
            return consume.array(room, use);
        }

        public void close() throws IOException {
            file.close();
        }
    }

    static final class Channel extends Access {
        private final FileChannel channel;
        private final ByteBuffer room;
        private final boolean positional;
        private long position;

        Channel(Job job, ByteBuffer room) throws IOException {
            channel = FileChannel.open(Path.of(job.file), StandardOpenOption.READ);
            this.room = room;
            positional = job.method.equals("channel-positional");
        }

        long take(long offset, int length, int use, Consume consume) throws IOException {
            room.clear().limit(length);
            if (!positional && offset != position) channel.position(offset);
            while (room.hasRemaining()) {
                int read = positional ? channel.read(room, offset + room.position()) : channel.read(room);
                if (read <= 0) throw new EOFException("the file ends within the block at " + offset);
            }
            position = offset + length;
            return room.hasArray() ? consume.array(room.array(), use) : consume.buffer(room, 0, use);
        }

        public void close() throws IOException {
            channel.close();
        }
    }

    /** Windows that overlap by a block, because one buffer ends at 2 GiB: no block lies across two. */
    static final class Mapped extends Access {
        private static final long STRIDE = 1L << 29;
        private final long start;
        private final MappedByteBuffer[] windows;

        Mapped(Job job) throws IOException {
            start = job.offset;
            windows = new MappedByteBuffer[(int) ((job.bytes + STRIDE - 1) / STRIDE)];
            try (FileChannel channel = FileChannel.open(Path.of(job.file), StandardOpenOption.READ)) {
                for (int i = 0; i < windows.length; i++) {
                    long bytes = Math.min(STRIDE + job.blockBytes, job.bytes - i * STRIDE);
                    windows[i] = channel.map(FileChannel.MapMode.READ_ONLY, start + i * STRIDE, bytes);
                    windows[i].order(ByteOrder.LITTLE_ENDIAN);
                }
            }
        }

        long take(long offset, int length, int use, Consume consume) {
            long within = offset - start;
            return consume.buffer(windows[(int) (within / STRIDE)], (int) (within % STRIDE), use);
        }

        /** Now, not when the collector comes: a page that is mapped cannot be evicted. */
        public void close() throws IOException {
            try {
                for (MappedByteBuffer window : windows) Worker.unmap(window);
            } catch (ReflectiveOperationException error) {
                throw new IOException("the mapping cannot be released: " + error);
            }
        }
    }
}
