package faultline;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;

/** What came with JDK 22, compiled apart and reached by name, so that the rest runs on 17. */
final class Foreign {
    private Foreign() {}

    static Methods.Way segment(Job job) throws IOException {
        if (Runtime.version().feature() < 22) {
            throw new Job.Unavailable("MemorySegment needs JDK 22 or later; this is " + System.getProperty("java.version") + ". Install a newer one, or name it with --java");
        }
        return (Methods.Way) call("of", Job.class, job);
    }

    static void lock(ByteBuffer mapping) throws IOException {
        needsLock();
        call("lock", ByteBuffer.class, mapping);
    }

    /** For methods without a mapping of their own: maps a range on the side and locks its pages, until the process ends. */
    static void lockAside(Job job) throws IOException {
        needsLock();
        call("lockAside", Job.class, job);
    }

    private static void needsLock() {
        if (Runtime.version().feature() < 22) {
            throw new Job.Unavailable("state locked needs mlock(2), which Java can call from JDK 22 on; this is " + System.getProperty("java.version"));
        }
    }

    private static Object call(String name, Class<?> type, Object argument) throws IOException {
        try {
            Method method = Class.forName("faultline.Segment").getDeclaredMethod(name, type);
            return method.invoke(null, argument);
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof RuntimeException cause) throw cause;
            if (thrown.getCause() instanceof IOException cause) throw cause;
            throw new IOException("MemorySegment: " + thrown.getCause(), thrown.getCause());
        } catch (ReflectiveOperationException error) {
            throw new Job.Unavailable("the classes for JDK 22 and later are not there: " + error);
        }
    }
}
