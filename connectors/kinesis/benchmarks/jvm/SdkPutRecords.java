// PutRecords by the KinesisAsyncClient of AWS's SDK for Java, which Flink's KinesisStreamsSink sends by.
//
//   java -cp "JARS/*" SdkPutRecords.java URL SIZE BATCHES IN_FLIGHT
//
// Each row becomes a PutRecordsRequestEntry, as in that sink; its buffer, its limiter and the rest of Flink are not here.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.http.Protocol;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;
import software.amazon.awssdk.services.kinesis.model.PutRecordsRequest;
import software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry;

public class SdkPutRecords {
    static final int BATCH = 10_000, REQUEST = 500;

    final AtomicReference<Throwable> failed = new AtomicReference<>();
    final byte[][] values = new byte[BATCH][];
    final String[] keys = new String[BATCH];
    final KinesisAsyncClient client;
    final int inFlight;

    SdkPutRecords(String url, int size, int inFlight) {
        this.inFlight = inFlight;
        client = KinesisAsyncClient.builder()
                .endpointOverride(URI.create(url))
                .region(Region.EU_WEST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("AKIDEXAMPLE", "bench")))
                .httpClientBuilder(NettyNioAsyncHttpClient.builder().protocol(Protocol.HTTP1_1).maxConcurrency(inFlight))
                .build();
        Random random = new Random(7);
        for (int row = 0; row < BATCH; row++) {
            values[row] = new byte[size];
            for (int at = 0; at < size; at++) values[row][at] = (byte) (' ' + random.nextInt(90));
            keys[row] = String.format("user-%06d", random.nextInt(5000));
        }
    }

    void send(int batches) throws Exception {
        Semaphore slots = new Semaphore(inFlight);
        for (int batch = 0; batch < batches; batch++) {
            for (int start = 0; start < BATCH; start += REQUEST) {
                slots.acquire();
                List<PutRecordsRequestEntry> entries = new ArrayList<>(REQUEST);
                for (int row = start; row < start + REQUEST; row++)
                    entries.add(PutRecordsRequestEntry.builder()
                            .data(SdkBytes.fromByteArray(values[row])).partitionKey(keys[row]).build());
                PutRecordsRequest request = PutRecordsRequest.builder().streamName("bench").records(entries).build();
                client.putRecords(request).whenComplete((answer, error) -> {
                    if (error != null) failed.set(error);
                    else if (answer.failedRecordCount() != 0)
                        failed.set(new IllegalStateException("records were not stored"));
                    slots.release();
                });
            }
        }
        slots.acquire(inFlight);
        if (failed.get() != null) throw new IllegalStateException(failed.get());
    }

    public static void main(String[] arguments) throws Exception {
        SdkPutRecords peer =
                new SdkPutRecords(arguments[0], Integer.parseInt(arguments[1]), Integer.parseInt(arguments[3]));
        int batches = Integer.parseInt(arguments[2]);
        // Says that it is ready, and for each line it reads sends the batches and tells seconds and processor seconds.
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        peer.send(batches);
        System.out.println("ready");
        while (asked.readLine() != null) {
            long used = system.getProcessCpuTime(), start = System.nanoTime();
            peer.send(batches);
            System.out.println((System.nanoTime() - start) / 1e9 + " " + (system.getProcessCpuTime() - used) / 1e9);
        }
        System.exit(0);
    }
}
