package faultline;

import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * FileChannel with O_DIRECT, at explicit offsets (at the channel's own position the JDK adds an lseek to each read). Where
 * a job does not fit the alignment the method is unavailable: reading more than was asked for would be another method.
 */
final class Direct extends Access {
    private final FileChannel channel;
    private final Room room;
    private final int align;

    private Direct(Job job, Room room, int align, Opened beside) throws IOException {
        channel = beside instanceof Direct other ? other.channel : open(job.file);
        this.room = room;
        this.align = align;
    }

    static Methods.Way of(Job job) throws IOException {
        Path path = Path.of(job.file);
        long align = storeOf(path).getBlockSize();
        String needs = "O_DIRECT through a FileChannel needs blocks and offsets in multiples of " + align + " bytes";
        boolean toTheEnd = job.offset + job.bytes == Files.size(path);
        boolean one = job.blockBytes == job.bytes && toTheEnd;
        boolean fits = job.offset % align == 0 && (job.blockBytes % align == 0 || one) && (job.aligned || one || job.workload.equals("scan"));
        if (!fits || !(job.bytes % align == 0 || toTheEnd)) throw new Job.Unavailable(needs);
        ByteBuffer whole = Room.aligned(whole(job.blockBytes, (int) align));
        Room room = new Room(job, null, whole);
        try (FileChannel channel = open(job.file)) {
            // No more than it takes to see: a cache below the kernel holds what was read just before a pass.
            channel.read(whole.clear().limit((int) align), job.offset);
        } catch (IOException | UnsupportedOperationException refused) {
            throw new Job.Unavailable("O_DIRECT is not possible here: " + refused.getMessage());
        }
        return (it, beside) -> new Direct(it, room, (int) align, beside);
    }

    /**
     * The JDK looks a file's store up by the name that its path leads to. What /proc/PID/fd/N leads to may have none (an
     * unnamed file, as of a dry run); the folder that the link names is on the same file system.
     */
    private static FileStore storeOf(Path path) throws IOException {
        try {
            return Files.getFileStore(path);
        } catch (NoSuchFileException unnamed) {
            if (!Files.isSymbolicLink(path)) throw unnamed;
            Path folder = Files.readSymbolicLink(path).getParent();
            if (folder == null) throw unnamed;
            return Files.getFileStore(folder);
        }
    }

    /** Of whole sectors: the kernel reads those, and stops at the end of the file. */
    private static int whole(long bytes, int align) {
        return (int) ((bytes + align - 1) / align * align);
    }

    private static FileChannel open(String file) throws IOException {
        return FileChannel.open(Path.of(file), StandardOpenOption.READ, ExtendedOpenOption.DIRECT);
    }

    @Override
    long take(long offset, int length, int use) throws IOException {
        // The last block of a range may be shorter than the others.
        int read = channel.read(room.buffer.clear().limit(whole(length, align)), offset);
        if (read < length) throw tooShort(offset);
        return room.consume(use);
    }

    @Override
    long again() {
        return room.again();
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
