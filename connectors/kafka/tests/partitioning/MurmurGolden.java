import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.common.utils.Utils;

/**
 * Makes murmur2.txt, from Kafka's own class: "<key> <murmur2, unsigned> <partition of 1> <of 12> <of 1000>" on each line.
 * A key is in hexadecimal; "*n" behind it repeats it. The empty key is "*1".
 *
 * java -cp kafka-clients-3.9.1.jar:slf4j-api.jar MurmurGolden.java > murmur2.txt
 */
public class MurmurGolden {
    public static void main(String[] args) {
        for (byte[] key : keys())
            print(key, 1);
        // Of about 10 kB, with each number of bytes behind the last whole word.
        Random random = new Random(8);
        for (int[] shape : new int[][] {{251, 40}, {73, 137}, {7, 1430}, {257, 39}}) {
            byte[] part = new byte[shape[0]];
            random.nextBytes(part);
            print(part, shape[1]);
        }
    }

    static void print(byte[] part, int times) {
        byte[] key = new byte[part.length * times];
        for (int each = 0; each < times; each++)
            System.arraycopy(part, 0, key, each * part.length, part.length);
        int hash = Utils.murmur2(key);
        System.out.print(HexFormat.of().formatHex(part) + (times == 1 && part.length > 0 ? "" : "*" + times));
        System.out.print(" " + Integer.toUnsignedString(hash));
        for (int partitions : new int[] {1, 12, 1000})
            System.out.print(" " + Utils.toPositive(hash) % partitions);
        System.out.println();
    }

    static List<byte[]> keys() {
        List<byte[]> keys = new ArrayList<>();
        Random random = new Random(7);
        for (int length = 0; length < 70; length++)
            for (int each = 0; each < (length < 17 ? 6 : 2); each++) {
                byte[] key = new byte[length];
                random.nextBytes(key);
                keys.add(key);
            }
        for (int value = 0; value < 256; value++)
            keys.add(new byte[] {(byte) value});
        for (int length : new int[] {127, 128, 129, 255, 256, 257, 258}) {
            byte[] key = new byte[length];
            random.nextBytes(key);
            keys.add(key);
        }
        byte[] all = new byte[256];
        for (int value = 0; value < 256; value++)
            all[value] = (byte) value;
        keys.add(all);
        for (String text : new String[] {"a", "order-17", "Zürich", "München", "東京", "🙂", "naïve café", "\0", "\0\0\0\0", "key\n"})
            keys.add(text.getBytes(StandardCharsets.UTF_8));
        return keys;
    }
}
