package faultline;

import java.io.IOException;

/** Every method, by name. */
final class Methods {
    static final String[] NAMES = {
        "stream", "reader-lines", "random-access-file", "channel-direct", "channel-heap", "channel-positional",
        "channel-odirect", "mapped", "segment", "channel-write", "mapped-put"
    };

    /** What is opened within a pass, with everything that comes before it made already. */
    interface Way {
        Opened open(Job job) throws IOException;
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
        Room room = Room.of(job);
        switch (job.method) {
            case "stream": return it -> new Access.Stream(it, room);
            case "random-access-file": return it -> new Access.RandomAccess(it, room);
            case "channel-direct": case "channel-heap": case "channel-positional": return it -> new Access.Channel(it, room);
            case "mapped":
                Access.Mapped.stride(job);
                return it -> new Access.Mapped(it, room);
            default: throw new Job.Unavailable("the JVM worker has no method " + job.method + " for workload " + job.workload);
        }
    }
}
