// PutRecords by java.net.http and nothing else: less than any sink on the JVM can do.
//
//   java HttpPutRecords.java URL SIZE BATCHES IN_FLIGHT
//
// Of each request it makes the JSON by hand, with the payloads in base64, and its SHA-256, which a signature covers; it
// signs nothing. The answer counts as read once it begins with FailedRecordCount 0. It is driven by its standard input.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Random;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

public class HttpPutRecords {
    static final int BATCH = 10_000, REQUEST = 500;

    final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    final AtomicReference<Throwable> failed = new AtomicReference<>();
    final byte[][] values = new byte[BATCH][], keys = new byte[BATCH][];
    final int inFlight;
    final URI url;

    HttpPutRecords(String url, int size, int inFlight) {
        this.url = URI.create(url);
        this.inFlight = inFlight;
        Random random = new Random(7);
        for (int row = 0; row < BATCH; row++) {
            values[row] = new byte[size];
            for (int at = 0; at < size; at++) values[row][at] = (byte) (' ' + random.nextInt(90));
            keys[row] = String.format("user-%06d", random.nextInt(5000)).getBytes(StandardCharsets.US_ASCII);
        }
    }

    /** One request's body. */
    byte[] body(int start) {
        byte[] head = ascii("{\"StreamName\":\"bench\",\"Records\":[");
        byte[] data = ascii("{\"Data\":\""), key = ascii("\",\"PartitionKey\":\""), next = ascii("\"},");
        int length = head.length + 2 + REQUEST * (data.length + key.length + next.length);
        for (int row = start; row < start + REQUEST; row++) length += (values[row].length + 2) / 3 * 4 + keys[row].length;
        byte[] body = new byte[length];
        int at = put(body, 0, head);
        Base64.Encoder base64 = Base64.getEncoder();
        for (int row = start; row < start + REQUEST; row++) {
            at = put(body, at, data);
            at = put(body, at, base64.encode(values[row]));
            at = put(body, at, key);
            at = put(body, at, keys[row]);
            at = put(body, at, next);
        }
        at = put(body, at - 1, ascii("]}"));
        return at == length ? body : java.util.Arrays.copyOf(body, at);
    }

    static int put(byte[] into, int at, byte[] bytes) {
        System.arraycopy(bytes, 0, into, at, bytes.length);
        return at + bytes.length;
    }

    static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    void send(int batches) throws Exception {
        Semaphore slots = new Semaphore(inFlight);
        for (int batch = 0; batch < batches; batch++) {
            for (int start = 0; start < BATCH; start += REQUEST) {
                slots.acquire();
                byte[] body = body(start);
                String hash = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(body));
                HttpRequest request = HttpRequest.newBuilder(url)
                        .header("Content-Type", "application/x-amz-json-1.1")
                        .header("X-Amz-Target", "Kinesis_20131202.PutRecords")
                        .header("X-Amz-Content-Sha256", hash)
                        .POST(HttpRequest.BodyPublishers.ofByteArray(body)).build();
                client.sendAsync(request, HttpResponse.BodyHandlers.ofString()).whenComplete((answer, error) -> {
                    if (error != null) failed.set(error);
                    else if (!answer.body().startsWith("{\"FailedRecordCount\":0"))
                        failed.set(new IllegalStateException("records were not stored"));
                    slots.release();
                });
            }
        }
        slots.acquire(inFlight);
        if (failed.get() != null) throw new IllegalStateException(failed.get());
    }

    public static void main(String[] arguments) throws Exception {
        HttpPutRecords peer =
                new HttpPutRecords(arguments[0], Integer.parseInt(arguments[1]), Integer.parseInt(arguments[3]));
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
