package faultline;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Every method, by name. */
final class Methods {
    static final String[] NAMES = {
        "stream", "reader-lines", "random-access-file", "channel-direct", "channel-heap", "channel-positional",
        "channel-odirect", "mapped", "segment", "channel-write", "mapped-put"
    };

    /** What is opened within a pass, with everything that comes before it made already: for one thread. */
    interface Way {
        /** Shares what another thread of a pass has open, if there is one. */
        Opened open(Job job, Opened beside) throws IOException;

        /** What the thread that makes a pass needs of its own, before the clock starts. Returns the bytes that one call read for it; 0: none did. */
        default long begin() throws IOException {
            return 0;
        }
    }

    /**
     * A channel reads into a direct buffer of the JDK's first when it is given one on the heap. The JDK keeps it for the thread
     * (sun.nio.ch.Util), and makes it anew for a larger block: it is made by a read of as many zeros.
     */
    private record Heap(Room room) implements Way {
        @Override
        public Opened open(Job job, Opened beside) throws IOException {
            return new Access.Channel(job, room, beside);
        }

        @Override
        public long begin() throws IOException {
            room.buffer.clear();
            long bytes = zeros().read(room.buffer);
            room.buffer.clear();
            return bytes;
        }

        private static FileChannel zeros;

        /** Open for all passes: what opens and closes it would be calls of each of them. */
        private static synchronized FileChannel zeros() throws IOException {
            if (zeros == null) zeros = FileChannel.open(Path.of("/dev/zero"), StandardOpenOption.READ);
            return zeros;
        }
    }

    /** @throws Job.Unavailable with the reason */
    static Way of(Job job) throws IOException {
        if (job.writes()) return Writing.of(job);
        switch (job.method) {
            case "reader-lines": return ReaderLines.of(job);
            case "channel-odirect": return Direct.of(job);
            case "segment": return Foreign.segment(job);
            default:
        }
        if (job.shares() && !job.method.equals("channel-positional") && !job.method.equals("mapped")) {
            throw new Job.Unavailable(job.method + " keeps one position per open file, so threads cannot share it; channel-positional can");
        }
        Room room = Room.of(job);
        switch (job.method) {
            case "stream": return (it, beside) -> new Access.Stream(it, room);
            case "random-access-file": return (it, beside) -> new Access.RandomAccess(it, room);
            case "channel-heap": return new Heap(room);
            case "channel-direct": case "channel-positional": return (it, beside) -> new Access.Channel(it, room, beside);
            case "mapped":
                Access.Mapped.stride(job);
                return (it, beside) -> new Access.Mapped(it, room, beside);
            default: throw new Job.Unavailable("the JVM worker has no method " + job.method + " for workload " + job.workload);
        }
    }
}
