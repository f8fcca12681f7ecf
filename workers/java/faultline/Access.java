package faultline;

import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A way to reach the bytes of one open file, block by block. */
abstract class Access extends Opened {
    /** Blocks between two looks at the count: the loop over them is called often, and so compiled whole. */
    private static final int STRETCH = 256;

    /** Reaches a block and consumes its first `use` bytes. */
    abstract long take(long offset, int length, int use) throws IOException;

    /** Consumes a block once more that was reached already. */
    abstract long again();

    @Override
    final void pass(Job job, int thread, Count count) throws IOException {
        Offsets offsets = new Offsets(job, thread);
        for (long left = offsets.blocks; left > 0; left -= STRETCH) {
            stretch((int) Math.min(left, STRETCH), offsets, job.percent, count);
        }
        count.ops = offsets.blocks;
    }

    private void stretch(int blocks, Offsets offsets, int percent, Count count) throws IOException {
        long bytes = 0, checksum = 0;
        for (int i = 0; i < blocks; i++) {
            long offset = offsets.next();
            int length = offsets.length(offset);
            int use = percent == 100 ? length : (int) ((long) length * percent / 100);
            bytes += use;
            checksum += take(offset, length, use);
        }
        count.bytes += bytes;
        count.checksum += checksum;
    }

    static final class Stream extends Access {
        private final FileInputStream in;
        private final Room room;
        private long position;

        Stream(Job job, Room room) throws IOException {
            in = new FileInputStream(job.file);
            this.room = room;
        }

        long take(long offset, int length, int use) throws IOException {
            if (offset != position) in.skip(offset - position);
            for (int done = 0; done < length; ) {
                int read = in.read(room.array, done, length - done);
                if (read <= 0) throw tooShort(offset);
                done += read;
            }
            position = offset + length;
            return room.consume.array(room.array, use);
        }

        @Override
        long again() {
            return room.again();
        }

        public void close() throws IOException {
            in.close();
        }
    }

    static final class RandomAccess extends Access {
        private final RandomAccessFile file;
        private final Room room;
        private long position;

        RandomAccess(Job job, Room room) throws IOException {
            file = new RandomAccessFile(job.file, "r");
            this.room = room;
        }

        long take(long offset, int length, int use) throws IOException {
            if (offset != position) file.seek(offset);
            for (int done = 0; done < length; ) {
                int read = file.read(room.array, done, length - done);
                if (read <= 0) throw tooShort(offset);
                done += read;
            }
            position = offset + length;
            return room.consume.array(room.array, use);
        }

        @Override
        long again() {
            return room.again();
        }

        public void close() throws IOException {
            file.close();
        }
    }

    static final class Channel extends Access {
        private final FileChannel channel;
        private final Room room;
        private final boolean positional;
        private long position;

        Channel(Job job, Room room, Opened beside) throws IOException {
            channel = beside instanceof Channel other ? other.channel : FileChannel.open(Path.of(job.file), StandardOpenOption.READ);
            this.room = room;
            positional = job.method.equals("channel-positional");
        }

        long take(long offset, int length, int use) throws IOException {
            ByteBuffer buffer = room.buffer;
            buffer.clear().limit(length);
            if (!positional && offset != position) channel.position(offset);
            while (buffer.hasRemaining()) {
                int read = positional ? channel.read(buffer, offset + buffer.position()) : channel.read(buffer);
                if (read <= 0) throw tooShort(offset);
            }
            position = offset + length;
            return room.consume(use);
        }

        @Override
        long again() {
            return room.again();
        }

        public void close() throws IOException {
            channel.close();
        }
    }

    /** Windows that overlap by a block, because one buffer ends at 2 GiB: no block lies across two. */
    static final class Mapped extends Access {
        private final long start, stride;
        private final MappedByteBuffer[] windows;
        private final boolean gets;
        private final Room room;

        Mapped(Job job, Room room, Opened beside) throws IOException {
            this.room = room;
            start = job.offset;
            gets = job.option("use", "in-place").equals("get");
            stride = stride(job);
            if (beside instanceof Mapped other) {
                windows = other.windows;
                return;
            }
            windows = map(job, stride, FileChannel.MapMode.READ_ONLY);
            if (job.option("load", "no").equals("load")) for (MappedByteBuffer window : windows) window.load();
        }

        static long stride(Job job) {
            long stride = job.option("window_mib", 512) << 20;
            if (stride + job.blockBytes > Integer.MAX_VALUE) {
                throw new Job.Unavailable("a window of " + (stride >> 20) + " MiB and a block more are beyond 2 GiB, where a MappedByteBuffer ends");
            }
            return stride;
        }

        static MappedByteBuffer[] map(Job job, long stride, FileChannel.MapMode mode) throws IOException {
            StandardOpenOption[] flags = mode == FileChannel.MapMode.READ_ONLY
                ? new StandardOpenOption[] {StandardOpenOption.READ}
                : new StandardOpenOption[] {StandardOpenOption.READ, StandardOpenOption.WRITE};
            MappedByteBuffer[] windows = new MappedByteBuffer[(int) ((job.bytes + stride - 1) / stride)];
            try (FileChannel channel = FileChannel.open(Path.of(job.file), flags)) {
                for (int i = 0; i < windows.length; i++) {
                    long bytes = Math.min(stride + job.blockBytes, job.bytes - i * stride);
                    windows[i] = channel.map(mode, job.offset + i * stride, bytes);
                    windows[i].order(java.nio.ByteOrder.LITTLE_ENDIAN);
                }
            }
            return windows;
        }

        long take(long offset, int length, int use) {
            long within = offset - start;
            ByteBuffer window = windows[(int) (within / stride)];
            int at = (int) (within % stride);
            if (!gets) return room.consume.buffer(window, at, use);
            window.get(at, room.array, 0, length);
            return room.consume.array(room.array, use);
        }

        @Override
        long again() {
            return gets ? room.again() : room.consume.buffer(windows[0], 0, room.againBytes);
        }

        @Override
        boolean lock() throws IOException {
            for (MappedByteBuffer window : windows) Foreign.lock(window);
            return true;
        }

        public void close() throws IOException {
            unmap(windows);
        }

        /** Now, not when the collector comes: a page that is mapped cannot be evicted. */
        static void unmap(MappedByteBuffer[] windows) throws IOException {
            try {
                for (MappedByteBuffer window : windows) Worker.unmap(window);
            } catch (ReflectiveOperationException error) {
                throw new IOException("the mapping cannot be released: " + error);
            }
        }
    }

    static EOFException tooShort(long offset) {
        return new EOFException("the file ends within the block at " + offset);
    }
}
