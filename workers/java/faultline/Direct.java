package faultline;

import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * FileChannel with O_DIRECT, at explicit offsets (at the channel's own position the JDK adds an lseek to each read). Where
 * a job does not fit the alignment the method is unavailable: reading more than was asked for would be another method.
 */
final class Direct extends Access {
    private final FileChannel channel;
    private final Room room;

    private Direct(Job job, Room room, Opened beside) throws IOException {
        channel = beside instanceof Direct other ? other.channel : open(job.file);
        this.room = room;
    }

    static Methods.Way of(Job job) throws IOException {
        Path path = Path.of(job.file);
        long align = Files.getFileStore(path).getBlockSize();
        String needs = "O_DIRECT through a FileChannel needs blocks and offsets in multiples of " + align + " bytes";
        boolean toTheEnd = job.offset + job.bytes == Files.size(path);
        boolean one = job.blockBytes == job.bytes && toTheEnd;
        boolean fits = job.offset % align == 0 && (job.blockBytes % align == 0 || one) && (job.aligned || one || job.workload.equals("scan"));
        if (!fits || !(job.bytes % align == 0 || toTheEnd)) throw new Job.Unavailable(needs);
        // Of whole sectors: the kernel reads those, and stops at the end of the file.
        ByteBuffer whole = Room.aligned((int) ((job.blockBytes + align - 1) / align * align));
        Room room = new Room(job, null, whole);
        try (FileChannel channel = open(job.file)) {
            channel.read(whole.clear(), job.offset);
        } catch (IOException | UnsupportedOperationException refused) {
            throw new Job.Unavailable("O_DIRECT is not possible here: " + refused.getMessage());
        }
        return (it, beside) -> new Direct(it, room, beside);
    }

    private static FileChannel open(String file) throws IOException {
        return FileChannel.open(Path.of(file), StandardOpenOption.READ, ExtendedOpenOption.DIRECT);
    }

    @Override
    long take(long offset, int length, int use) throws IOException {
        int read = channel.read(room.buffer.clear(), offset);
        if (read < length) throw tooShort(offset);
        return room.consume(use);
    }

    @Override
    Long again() {
        return room.again();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
