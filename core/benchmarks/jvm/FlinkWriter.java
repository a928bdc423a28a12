// Flink's own AsyncSinkWriter with a destination that does nothing: the peer of core/benchmarks/writer.py.
//
//   java -cp "<site-packages>/pyflink/lib/*" org.codehaus.janino.SimpleCompiler FlinkWriter.java FlinkWriter ENTRIES HOW
//
// HOW is "made" if the converter makes an entry of each element, as those of Flink's connectors do, and "taken" if the
// element is the entry: the least that its writer can cost.
//
// The compiler is the one that Flink itself brings, so that a runtime without javac is enough. It makes no bridge
// methods and knows no lambdas: hence raw types and named classes.
//
// Warms up, says "ready", and then for each line it reads writes ENTRIES entries of 100 bytes through a new writer and
// answers with the nanoseconds that one took. It lives as long as its standard input, so that runs of both sides can
// take turns while this one keeps what its compiler has learned.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobInfo;
import org.apache.flink.api.common.TaskInfo;
import org.apache.flink.api.common.operators.MailboxExecutor;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.connector.base.sink.writer.AsyncSinkWriter;
import org.apache.flink.connector.base.sink.writer.ElementConverter;
import org.apache.flink.connector.base.sink.writer.ResultHandler;
import org.apache.flink.connector.base.sink.writer.config.AsyncSinkWriterConfiguration;
import org.apache.flink.metrics.groups.SinkWriterMetricGroup;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.util.UserCodeClassLoader;
import org.apache.flink.util.function.ThrowingRunnable;

public class FlinkWriter {
    static final int BATCH = 500;
    static final int WARM_UP = 8;
    static final byte[][] PAYLOADS = new byte[10_000][100];

    /** The task's mailbox: answers wait here until the task looks. */
    static class Mailbox implements MailboxExecutor {
        final ArrayDeque mails = new ArrayDeque();

        public void execute(MailOptions options, ThrowingRunnable mail, String format, Object[] arguments) {
            mails.add(mail);
        }

        public void yield() {
            if (!tryYield()) throw new IllegalStateException("the mailbox is empty: this would wait for ever");
        }

        public boolean tryYield() {
            ThrowingRunnable mail = (ThrowingRunnable) mails.poll();
            if (mail == null) return false;
            try {
                mail.run();
            } catch (Throwable error) {
                throw new RuntimeException(error);
            }
            return true;
        }

        public boolean shouldInterrupt() {
            return false;
        }
    }

    /** A real timer, as a task manager has: the writer sets one for the age of its entries and for each deadline. */
    static class Timer implements ProcessingTimeService {
        static final ScheduledThreadPoolExecutor THREAD = new ScheduledThreadPoolExecutor(1, new Daemons());
        static final Runnable NOTHING = new Nothing();

        static {
            THREAD.setRemoveOnCancelPolicy(true);
        }

        public long getCurrentProcessingTime() {
            return System.currentTimeMillis();
        }

        public ScheduledFuture registerTimer(long at, ProcessingTimeCallback callback) {
            // What it would do when it rings is left out: no run lasts until then.
            long delay = Math.max(0, at - System.currentTimeMillis());
            return THREAD.schedule(NOTHING, delay, TimeUnit.MILLISECONDS);
        }
    }

    static class Daemons implements ThreadFactory {
        public Thread newThread(Runnable task) {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        }
    }

    static class Nothing implements Runnable {
        public void run() { }
    }

    static class InitContext implements WriterInitContext {
        final Mailbox mailbox = new Mailbox();
        final Timer timer = new Timer();
        final SinkWriterMetricGroup metrics = UnregisteredMetricsGroup.createSinkWriterMetricGroup();

        public UserCodeClassLoader getUserCodeClassLoader() {
            return null;
        }

        public MailboxExecutor getMailboxExecutor() {
            return mailbox;
        }

        public ProcessingTimeService getProcessingTimeService() {
            return timer;
        }

        public SinkWriterMetricGroup metricGroup() {
            return metrics;
        }

        public SerializationSchema.InitializationContext asSerializationSchemaInitializationContext() {
            return null;
        }

        public boolean isObjectReuseEnabled() {
            return false;
        }

        public TypeSerializer createInputSerializer() {
            return null;
        }

        public OptionalLong getRestoredCheckpointId() {
            return OptionalLong.empty();
        }

        public JobInfo getJobInfo() {
            return null;
        }

        public TaskInfo getTaskInfo() {
            return null;
        }
    }

    static class AsItIs implements ElementConverter {
        public Serializable apply(Object element, SinkWriter.Context context) {
            return (byte[]) element;
        }
    }

    /** What a connector's converter makes of an element. */
    static class Entry implements Serializable {
        final byte[] data;
        final String key;

        Entry(byte[] data, String key) {
            this.data = data;
            this.key = key;
        }
    }

    static class MadeEntries implements ElementConverter {
        public Serializable apply(Object element, SinkWriter.Context context) {
            return new Entry((byte[]) element, "k");
        }
    }

    /** Answers each request at once. */
    static class NoOpWriter extends AsyncSinkWriter {
        long sent;

        NoOpWriter(ElementConverter converter, InitContext context, AsyncSinkWriterConfiguration configuration) {
            super(converter, context, configuration, new ArrayList());
        }

        protected void submitRequestEntries(List entries, ResultHandler handler) {
            sent += entries.size();
            handler.complete();
        }

        protected long getSizeInBytes(Serializable entry) {
            return ((byte[]) entry).length;
        }
    }

    static class NoTime implements SinkWriter.Context {
        public long currentWatermark() {
            return 0;
        }

        public Long timestamp() {
            return null;
        }
    }

    static class EntryWriter extends NoOpWriter {
        EntryWriter(InitContext context, AsyncSinkWriterConfiguration configuration) {
            super(new MadeEntries(), context, configuration);
        }

        protected long getSizeInBytes(Serializable entry) {
            return ((Entry) entry).data.length;
        }
    }

    /** The limits are those that our writer has by default, and Flink's builder as well. */
    static AsyncSinkWriterConfiguration configuration() {
        return AsyncSinkWriterConfiguration.builder()
                .setMaxBatchSize(BATCH)
                .setMaxBatchSizeInBytes(5 << 20)
                .setMaxInFlightRequests(50)
                .setMaxBufferedRequests(10_000)
                .setMaxTimeInBufferMS(5000)
                .setMaxRecordSizeInBytes(1 << 20)
                .build();
    }

    static double nanosecondsAnEntry(int entries, boolean made) throws Exception {
        SinkWriter.Context noTime = new NoTime();
        InitContext context = new InitContext();
        NoOpWriter writer = made
                ? new EntryWriter(context, configuration())
                : new NoOpWriter(new AsItIs(), context, configuration());
        long start = System.nanoTime();
        for (int i = 0; i < entries; i++) {
            writer.write(PAYLOADS[i % PAYLOADS.length], noTime);
            if (i % BATCH == 0) while (context.mailbox.tryYield()) { } // the task looks into its mailbox now and then
        }
        writer.flush(true);
        long took = System.nanoTime() - start;
        if (writer.sent != entries) throw new IllegalStateException("lost " + (entries - writer.sent) + " entries");
        return took / (double) entries;
    }

    public static void main(String[] arguments) throws Exception {
        int entries = Integer.parseInt(arguments[0]);
        boolean made = arguments[1].equals("made");
        for (int i = 0; i < PAYLOADS.length; i++) Arrays.fill(PAYLOADS[i], (byte) 'x');
        for (int run = 0; run < WARM_UP; run++) nanosecondsAnEntry(entries, made);
        System.out.println("ready");
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        while (asked.readLine() != null) System.out.println(nanosecondsAnEntry(entries, made));
    }
}
