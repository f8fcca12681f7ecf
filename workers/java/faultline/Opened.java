package faultline;

import java.io.IOException;

/** A file that a method has open. */
abstract class Opened implements AutoCloseable {
    /** A thread's share of a pass, counted. */
    abstract void pass(Job job, int thread, Count count) throws IOException;

    /** Locks the pages of its own mapping; false where it has none. */
    boolean lock() throws IOException {
        return false;
    }

    @Override
    public abstract void close() throws IOException;

    /** What a pass did. */
    static final class Count {
        long ops, bytes, checksum;
        /** Of an update: until the block is there, its change, until it is written. */
        long readNs, loopNs, writeNs;

        void add(Count other) {
            ops += other.ops;
            bytes += other.bytes;
            checksum += other.checksum;
            readNs += other.readNs;
            loopNs += other.loopNs;
            writeNs += other.writeNs;
        }
    }
}
