/*
 * One pass of a published program in Java, with its mistakes mended, in a JVM of its own: an independent check of what the
 * studies say about time.
 *
 *   java Study.java FILE METHOD WORK BLOCK OPS WARM [CONSUME [held]]
 *
 *   METHOD    stream (FileInputStream), channel (FileChannel, direct buffer), heap (FileChannel, heap buffer),
 *             mapped (bulk get), get (byte by byte); writing: channel, mapped
 *   WORK      scan or overwrite: OPS blocks in ascending order (0: the whole file)
 *   WARM      another file of a block or more, for passes of half a second before the clock starts: the loops are compiled by
 *             then, and what is copied to is in a cache, as in the study (the first copies of 64 MiB take a third longer)
 *   CONSUME   copy (into memory of the program's own), lines, touch (one byte every 4096)
 *   held      the same pass was made before, by the same channel or mapping (what it wrote is on the disk); its time alone counts
 *
 * It leaves the page cache as it is: fill.c brings the file there. The time is from open to close, and a mapping is unmapped in
 * it: left to the collector, it would be paid for after the clock.
 */
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

public class Study {
    static final int WARM_MS = 500, WARM_BYTES = 4 << 20;

    final String method, consume;
    final int block;
    final byte[] array;
    final ByteBuffer direct, heap;
    boolean held;
    /** Of the last pass, without opening and unmapping. */
    long begun, ended;

    Study(String method, String consume, int block) {
        this.method = method;
        this.consume = consume;
        this.block = block;
        array = new byte[block];
        // At a page, as the study: processors may copy several times slower to just behind the beginning of one.
        direct = ByteBuffer.allocateDirect((block + 4095) / 4096 * 4096 + 4096).alignedSlice(4096).limit(block).slice();
        heap = ByteBuffer.allocate(block);
        for (int i = 0; i < block; i++) {
            array[i] = (byte) (i * 31);
            direct.put(i, array[i]);
        }
    }

    public static void main(String[] args) throws IOException {
        String file = args[0], work = args[2], warm = args[5];
        Study study = new Study(args[1], args.length > 6 ? args[6] : "copy", Integer.parseInt(args[3]));
        long ops = Long.parseLong(args[4]);
        boolean writes = work.equals("overwrite");
        long until = System.nanoTime() + WARM_MS * 1_000_000L, check = 0;
        long ofWarm = Math.max(1, WARM_BYTES / study.block);
        while (System.nanoTime() < until) check += writes ? study.overwrite(warm, ofWarm) : study.scan(warm, ofWarm);
        study.held = args.length > 7 && args[7].equals("held");
        long begun = System.nanoTime();
        check += writes ? study.overwrite(file, ops) : study.scan(file, ops);
        long ns = study.held ? study.ended - study.begun : System.nanoTime() - begun;
        System.out.println("{\"ns\":" + ns + ",\"check\":\"" + check + "\"}");
    }

    long scan(String file, long ops) throws IOException {
        if (method.equals("stream")) {
            try (FileInputStream stream = new FileInputStream(file)) {
                long check = 0, left = ops == 0 ? Long.MAX_VALUE : ops;
                for (int got; left-- > 0 && (got = stream.readNBytes(array, 0, block)) > 0; ) check += take(array, got);
                return check;
            }
        }
        try (FileChannel channel = FileChannel.open(Path.of(file), StandardOpenOption.READ)) {
            long blocks = blocks(channel, ops), check = 0;
            if (method.equals("mapped") || method.equals("get")) {
                MappedByteBuffer map = channel.map(MapMode.READ_ONLY, 0, blocks * block);
                for (int pass = first(); pass < 2; pass++) {
                    map.position(0);
                    begun = System.nanoTime();
                    for (long i = 0; i < blocks; i++) check += fromMapping(map);
                    ended = System.nanoTime();
                }
                unmap(map);
                return check;
            }
            ByteBuffer buffer = method.equals("heap") ? heap : direct;
            for (int pass = first(); pass < 2; pass++) {
                channel.position(0);
                begun = System.nanoTime();
                for (long i = 0; i < blocks; i++) {
                    buffer.clear();
                    while (buffer.hasRemaining() && channel.read(buffer) >= 0) { }
                    buffer.flip();
                    check += buffer.hasArray() ? take(array(buffer), buffer.limit()) : take(buffer);
                }
                ended = System.nanoTime();
            }
            return check;
        }
    }

    private static Object unsafe;
    private static Method cleaner;

    /** Looked up in the warm-up. */
    static void unmap(MappedByteBuffer map) {
        try {
            if (cleaner == null) {
                Class<?> type = Class.forName("sun.misc.Unsafe");
                Field field = type.getDeclaredField("theUnsafe");
                field.setAccessible(true);
                unsafe = field.get(null);
                cleaner = type.getMethod("invokeCleaner", ByteBuffer.class);
            }
            cleaner.invoke(unsafe, map);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Held: a pass before the one that counts, over the same channel or mapping. */
    int first() {
        return held ? 0 : 1;
    }

    static byte[] array(ByteBuffer buffer) {
        return buffer.array();
    }

    long blocks(FileChannel channel, long ops) throws IOException {
        long all = channel.size() / block;
        return ops == 0 ? all : Math.min(ops, all);
    }

    /** Bytes that a call has copied already are the program's own. */
    long take(byte[] bytes, int length) {
        switch (consume) {
            case "lines": {
                long lines = 0;
                for (int i = 0; i < length; i++) if (bytes[i] == '\n') lines++;
                return lines;
            }
            case "touch": {
                long sum = 0;
                for (int i = 0; i < length; i += 4096) sum += bytes[i];
                return sum;
            }
            default:
                return bytes[0] + bytes[length - 1];
        }
    }

    long take(ByteBuffer bytes) {
        int length = bytes.limit();
        switch (consume) {
            case "lines": {
                long lines = 0;
                for (int i = 0; i < length; i++) if (bytes.get(i) == '\n') lines++;
                return lines;
            }
            case "touch": {
                long sum = 0;
                for (int i = 0; i < length; i += 4096) sum += bytes.get(i);
                return sum;
            }
            default:
                return bytes.get(0) + bytes.get(length - 1);
        }
    }

    long fromMapping(MappedByteBuffer map) {
        if (consume.equals("lines")) {
            // By index, as the study: a relative get() stores a position with each byte.
            long lines = 0;
            int start = map.position();
            for (int i = 0; i < block; i++) if (map.get(start + i) == '\n') lines++;
            map.position(start + block);
            return lines;
        }
        if (method.equals("get")) {
            for (int i = 0; i < block; i++) array[i] = map.get();
        } else {
            map.get(array, 0, block);
        }
        return array[0] + array[block - 1];
    }

    long overwrite(String file, long ops) throws IOException {
        try (FileChannel channel = FileChannel.open(Path.of(file), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            long blocks = blocks(channel, ops);
            if (method.equals("mapped")) {
                MappedByteBuffer map = channel.map(MapMode.READ_WRITE, 0, blocks * block);
                for (int pass = first(); pass < 2; pass++) {
                    map.position(0);
                    begun = System.nanoTime();
                    for (long i = 0; i < blocks; i++) map.put(array, 0, block);
                    ended = System.nanoTime();
                    if (pass == 0) channel.force(true);
                }
                unmap(map);
            } else {
                for (int pass = first(); pass < 2; pass++) {
                    channel.position(0);
                    begun = System.nanoTime();
                    for (long i = 0; i < blocks; i++) {
                        direct.clear();
                        while (direct.hasRemaining()) channel.write(direct);
                    }
                    ended = System.nanoTime();
                    if (pass == 0) channel.force(true);
                }
            }
            return blocks;
        }
    }
}
