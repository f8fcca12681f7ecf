package faultline;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The conversation: one JSON object per line on stdin and stdout (docs/FORMATS.md). */
public final class Worker {
    private static Session session;
    private static long pass;

    public static void main(String[] arguments) throws IOException {
        PrintStream replies = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        // Whatever a library prints must not look like a reply.
        System.setOut(System.err);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = requests.readLine()) != null; ) {
            if (line.isEmpty()) continue;
            if (line.startsWith("{\"bye\"")) break;
            try {
                replies.println(answer(line));
            } catch (Job.Unavailable refusal) {
                replies.println("{\"unavailable\":{\"pass\":" + pass + ",\"reason\":" + Json.quote(refusal.getMessage()) + "}}");
            } catch (InternalError error) {
                fail(replies, "a mapped page could not be had: the file was truncated, or a read from the device failed (InternalError: " + error.getMessage() + ")");
            } catch (IOException | RuntimeException error) {
                fail(replies, String.valueOf(error.getMessage() == null ? error : error.getMessage()));
            }
        }
        if (session != null) session.end();
    }

    private static void fail(PrintStream replies, String message) {
        String during = session == null ? "prepare" : session.during;
        replies.println("{\"failed\":{\"pass\":" + pass + ",\"during\":\"" + during + "\",\"errno\":null,\"message\":" + Json.quote(message) + "}}");
    }

    private static String answer(String line) throws IOException {
        Map<?, ?> request = Json.read(line) instanceof Map<?, ?> map ? map : Map.of();
        if (request.containsKey("hello")) {
            return "{\"hello\":{\"protocol\":1,\"runtime\":" + Json.quote("jvm " + System.getProperty("java.version"))
                + ",\"methods\":[\"" + String.join("\",\"", Methods.NAMES) + "\"],\"thread\":" + thread() + ",\"about\":{\"vm\":"
                + Json.quote(System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"))
                + ",\"home\":" + Json.quote(System.getProperty("java.home"))
                + ",\"flags\":" + Json.quote(flags())
                + ",\"processors\":\"" + Runtime.getRuntime().availableProcessors() + "\"}}}";
        }
        if (request.get("prepare") instanceof Map<?, ?> job) {
            if (session != null) session.end();
            session = null;
            if (job.get("pass") instanceof Long given && given >= 0) pass = given;
            session = new Session(new Job(job));
            return "{\"prepared\":{\"pass\":" + pass + ",\"pid\":" + ProcessHandle.current().pid() + "}}";
        }
        if (request.get("go") instanceof Map<?, ?> go && go.get("pass") instanceof Long given && given >= 0) {
            pass = given;
            if (session == null) throw new IllegalStateException("go before prepare: there is no job");
            return session.pass(go.get("warm") instanceof Long warm ? (int) (long) warm : 0);
        }
        throw new IllegalArgumentException("not a request: " + line.substring(0, Math.min(120, line.length())));
    }

    /** Its number in the kernel. The launcher runs main in a thread of its own, and the process's first one only waits. */
    private static String thread() throws IOException {
        return Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
    }

    /** As given on the command line and, by the user, in the environment. */
    private static String flags() throws IOException {
        StringBuilder flags = new StringBuilder();
        for (String word : Files.readString(Path.of("/proc/self/cmdline")).split("\0")) {
            // The numbers of descriptors are other ones in each process.
            boolean ours = word.equals("-cp") || word.startsWith("-Dfaultline.");
            if (word.startsWith("-") && !ours) flags.append(flags.length() == 0 ? "" : " ").append(word);
        }
        for (String name : new String[] {"JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"}) {
            if (System.getenv(name) != null) flags.append(" (").append(name).append(": ").append(System.getenv(name)).append(')');
        }
        return flags.toString();
    }

    private static Object unsafe;
    private static volatile Method cleaner;

    /** Looked up once, when the warm-up file is closed: closing is timed. */
    static void unmap(ByteBuffer mapping) throws ReflectiveOperationException {
        if (cleaner == null) {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            var field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            unsafe = field.get(null);
            cleaner = type.getMethod("invokeCleaner", ByteBuffer.class);
        }
        cleaner.invoke(unsafe, mapping);
    }
}
