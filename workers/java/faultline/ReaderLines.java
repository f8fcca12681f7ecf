package faultline;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/**
 * BufferedReader.readLine until there is nothing left: every line decoded and made a string. What it counts is ends of lines,
 * as `lines` does; to Java a carriage return alone is one too.
 */
final class ReaderLines extends Opened {
    private final FileInputStream in;
    private final Charset charset;
    private boolean atStart = true;

    private ReaderLines(Job job) throws IOException {
        in = new FileInputStream(job.file);
        charset = job.option("charset", "latin1").equals("utf-8") ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1;
    }

    static Methods.Way of(Job job) {
        if (!job.workload.equals("scan") || !(job.consume.equals("lines") || job.consume.equals("decode-lines"))) {
            throw new Job.Unavailable("reader-lines makes lines of a file from its start on: workload scan, consume lines or decode-lines");
        }
        if (job.percent != 100) throw new Job.Unavailable("reader-lines looks at every byte");
        if (job.offset != 0) throw new Job.Unavailable("reader-lines begins at the start of the file");
        if (job.threads > 1) throw new Job.Unavailable("reader-lines reads from one position, as one thread does");
        return (it, beside) -> new ReaderLines(it);
    }

    @Override
    void pass(Job job, int thread, Count count) throws IOException {
        for (long left = job.ops; left > 0; ) {
            if (!atStart) in.getChannel().position(0);
            atStart = false;
            long blocks = Math.min(left, (job.bytes + job.blockBytes - 1) / job.blockBytes);
            Bounded part = new Bounded(in, Math.min(blocks * job.blockBytes, job.bytes));
            long bytes = part.left;
            BufferedReader reader = new BufferedReader(new InputStreamReader(part, charset));
            // A part may end within a line, of which readLine returns what is there.
            count.checksum += lines(reader) - (part.last == '\n' ? 0 : 1);
            if (part.left > 0) throw Access.tooShort(bytes - part.left);
            count.bytes += bytes;
            left -= blocks;
        }
        count.ops = job.ops;
    }

    private static long lines(BufferedReader reader) throws IOException {
        long lines = 0;
        for (int few = 1; few > 0; lines += few) few = few(reader);
        return lines;
    }

    /** Called often, and so compiled whole. */
    private static int few(BufferedReader reader) throws IOException {
        int lines = 0;
        for (String line; lines < 256 && (line = reader.readLine()) != null; lines++) Consume.keep(line);
        return lines;
    }

    @Override
    public void close() throws IOException {
        in.close();
    }

    /** So many bytes and then the end. */
    private static final class Bounded extends InputStream {
        private final InputStream in;
        long left;
        byte last;

        Bounded(InputStream in, long bytes) {
            this.in = in;
            left = bytes;
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) == 1 ? one[0] & 0xFF : -1;
        }

        @Override
        public int read(byte[] into, int at, int length) throws IOException {
            if (left == 0) return -1;
            int read = in.read(into, at, (int) Math.min(length, left));
            if (read > 0) {
                left -= read;
                last = into[at + read - 1];
            }
            return read;
        }
    }
}
