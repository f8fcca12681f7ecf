package faultline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;

/** Workloads that change the file, which is one of faultline's own. What is written stands in docs/FORMATS.md. */
abstract class Writing extends Opened {
    private static final int STRETCH = 256;
    /** A block's worth of the generator's words, in memory of the process's own. */
    final ByteBuffer source;
    final boolean syncsEach, syncsAtEnd;

    Writing(Job job, ByteBuffer source) {
        this.source = source;
        syncsEach = job.durability.equals("sync-each");
        syncsAtEnd = job.durability.equals("sync-end");
    }

    static Methods.Way of(Job job) throws IOException {
        ByteBuffer source = Room.aligned((int) job.blockBytes);
        Offsets words = Offsets.words(job.seed);
        for (int at = 0; at < source.capacity(); at += 8) {
            long word = words.output();
            for (int i = at; i < Math.min(source.capacity(), at + 8); i++, word >>>= 8) source.put(i, (byte) word);
        }
        switch (job.method) {
            case "channel-write": {
                boolean byFlag = !job.option("sync", "force").equals("force");
                if (byFlag && !job.durability.equals("sync-each")) {
                    throw new Job.Unavailable("a file opened with SYNC or DSYNC syncs every write: that is durability sync-each");
                }
                // What is read to be changed, allocated before the clock starts: a block of 64 MiB is 16,384 faults.
                ByteBuffer changed = job.workload.equals("update") ? Room.aligned((int) job.blockBytes) : null;
                return (it, beside) -> new ByChannel(it, source, changed);
            }
            case "mapped-put":
                Access.Mapped.stride(job);
                return (it, beside) -> new ByMapping(it, source);
            default: throw new Job.Unavailable("method " + job.method + " only reads");
        }
    }

    /** A block, whole: the source from its start. */
    abstract void put(long offset, int length) throws IOException;

    /** A block is there to be changed: by `change`, and then `store`. */
    abstract void load(long offset, int length) throws IOException;

    abstract void change(long offset, int length);

    abstract void store(long offset, int length) throws IOException;

    abstract void finish() throws IOException;

    @Override
    final void pass(Job job, int thread, Count count) throws IOException {
        Offsets offsets = new Offsets(job, thread);
        boolean updates = job.workload.equals("update");
        for (long left = job.ops; left > 0; left -= STRETCH) {
            int blocks = (int) Math.min(left, STRETCH);
            if (updates) updateSome(blocks, offsets, count); else putSome(blocks, offsets, count);
        }
        long finishing = System.nanoTime();
        if (syncsAtEnd) {
            finish();
            count.writeNs += System.nanoTime() - finishing;
        }
        count.ops = job.ops;
    }

    private void putSome(int blocks, Offsets offsets, Count count) throws IOException {
        for (int i = 0; i < blocks; i++) {
            long offset = offsets.next();
            int length = offsets.length(offset);
            source.clear();
            if (length >= 8) source.putLong(0, offset);
            else for (int at = 0; at < length; at++) source.put(at, (byte) (offset >>> (8 * at)));
            put(offset, length);
            count.bytes += length;
        }
    }

    private void updateSome(int blocks, Offsets offsets, Count count) throws IOException {
        for (int i = 0; i < blocks; i++) {
            long offset = offsets.next();
            int length = offsets.length(offset);
            long begun = System.nanoTime();
            load(offset, length);
            long loaded = System.nanoTime();
            change(offset, length);
            long changed = System.nanoTime();
            store(offset, length);
            count.readNs += loaded - begun;
            count.loopNs += changed - loaded;
            count.writeNs += System.nanoTime() - changed;
            count.bytes += length;
        }
    }

    private static void addFive(ByteBuffer bytes, int at, int end) {
        for (; at < end; at++) bytes.put(at, (byte) (((bytes.get(at) & 0xFF) + 5) % 250));
    }

    /** FileChannel.write at the channel's own position, from a direct buffer. */
    private static final class ByChannel extends Writing {
        private final FileChannel channel;
        private final ByteBuffer changed;
        private final boolean forces;
        private long position;

        ByChannel(Job job, ByteBuffer source, ByteBuffer changed) throws IOException {
            super(job, source);
            this.changed = changed;
            Set<OpenOption> flags = new HashSet<>(Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE));
            String sync = job.option("sync", "force");
            if (sync.equals("o-dsync")) flags.add(StandardOpenOption.DSYNC);
            if (sync.equals("o-sync")) flags.add(StandardOpenOption.SYNC);
            forces = syncsEach && sync.equals("force");
            channel = FileChannel.open(Path.of(job.file), flags);
        }

        private void all(ByteBuffer bytes, long offset, int length) throws IOException {
            goTo(offset);
            bytes.clear().limit(length);
            while (bytes.hasRemaining()) channel.write(bytes);
            position = offset + length;
            if (forces) channel.force(false);
        }

        private void goTo(long offset) throws IOException {
            if (offset != position) channel.position(offset);
        }

        void put(long offset, int length) throws IOException {
            all(source, offset, length);
        }

        void load(long offset, int length) throws IOException {
            goTo(offset);
            changed.clear().limit(length);
            while (changed.hasRemaining()) if (channel.read(changed) <= 0) throw Access.tooShort(offset);
            position = offset + length;
        }

        void change(long offset, int length) {
            addFive(changed, 0, length);
        }

        void store(long offset, int length) throws IOException {
            all(changed, offset, length);
        }

        void finish() throws IOException {
            channel.force(false);
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    /** MappedByteBuffer.put, and force where the durability asks for it: nothing else brings a store to the device. */
    private static final class ByMapping extends Writing {
        private final MappedByteBuffer[] windows;
        private final long start, stride;

        ByMapping(Job job, ByteBuffer source) throws IOException {
            super(job, source);
            start = job.offset;
            stride = Access.Mapped.stride(job);
            // Mapping beyond the end makes the file longer first: that is how an append through a mapping is done.
            windows = Access.Mapped.map(job, stride, FileChannel.MapMode.READ_WRITE);
        }

        private MappedByteBuffer window(long offset) {
            return windows[(int) ((offset - start) / stride)];
        }

        private int within(long offset) {
            return (int) ((offset - start) % stride);
        }

        void put(long offset, int length) {
            window(offset).put(within(offset), source, 0, length);
            store(offset, length);
        }

        void load(long offset, int length) {}

        void change(long offset, int length) {
            addFive(window(offset), within(offset), within(offset) + length);
        }

        void store(long offset, int length) {
            if (syncsEach) window(offset).force(within(offset), length);
        }

        void finish() {
            for (MappedByteBuffer window : windows) window.force();
        }

        @Override
        boolean lock() throws IOException {
            for (MappedByteBuffer window : windows) Foreign.lock(window);
            return true;
        }

        @Override
        public void close() throws IOException {
            Access.Mapped.unmap(windows);
        }
    }
}
