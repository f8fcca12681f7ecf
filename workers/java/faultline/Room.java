package faultline;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** What a method reads into, allocated and written to before the clock starts, and what is done with it there. */
final class Room {
    final Consume consume;
    final byte[] array;
    final ByteBuffer buffer;
    /** So much of a block is consumed once more to time the loop alone: what a first-level cache holds. */
    final int againBytes;

    Room(Job job, byte[] array, ByteBuffer buffer) {
        consume = Consume.of(job);
        againBytes = (int) Math.min(job.blockBytes, 32 << 10);
        this.array = array;
        this.buffer = buffer;
    }

    static Room of(Job job) throws IOException {
        int size = (int) job.blockBytes;
        switch (job.method) {
            case "channel-direct": case "channel-positional": return new Room(job, null, aligned(size));
            case "channel-heap": {
                byte[] array = new byte[size];
                return new Room(job, array, ByteBuffer.wrap(array));
            }
            default: {
                boolean inPlace = job.method.equals("mapped") && job.option("use", "in-place").equals("in-place");
                return new Room(job, inPlace ? null : new byte[size], null);
            }
        }
    }

    /** Page-aligned, as the native buffers are; allocateDirect fills with zeros, so its pages are there. */
    static ByteBuffer aligned(int size) throws IOException {
        int page = (int) Usage.pageBytes();
        // alignedSlice cuts at both ends.
        ByteBuffer room = ByteBuffer.allocateDirect((size + page - 1) / page * page + page).alignedSlice(page);
        return room.limit(size).slice().order(ByteOrder.LITTLE_ENDIAN);
    }

    /** The first bytes of what was read. */
    long consume(int use) {
        return array != null ? consume.array(array, use) : consume.own(buffer, use);
    }

    long again() {
        if (buffer != null) buffer.clear();
        return consume(againBytes);
    }
}
