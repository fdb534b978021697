import java.util.Properties;
import java.util.Scanner;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A producer that reads its commands from standard input, and prints the result of each future.
 *
 * <p>Arguments: the topic, then NAME=VALUE settings of the producer. Input lines: "send NAME" sends a record with this
 * value to partition 0; "close" waits for all futures and ends. Output lines: "sent NAME", "acknowledged NAME OFFSET
 * MILLISECONDS", "failed NAME EXCEPTION MILLISECONDS".
 */
public class RecordedProducer {
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        for (int i = 1; i < arguments.length; i++) {
            String[] parts = arguments[i].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        String topic = arguments[0];
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings); Scanner input = new Scanner(System.in)) {
            while (input.hasNextLine()) {
                String[] words = input.nextLine().trim().split(" ");
                if (words[0].equals("close")) {
                    break;
                }
                send(producer, topic, words[1]);
            }
            producer.flush();
        }
        print("closed");
    }

    private static void send(KafkaProducer<String, String> producer, String topic, String name) {
        long begun = System.currentTimeMillis();
        try {
            producer.send(new ProducerRecord<>(topic, 0, null, name), (metadata, failure) -> {
                long after = System.currentTimeMillis() - begun;
                if (failure == null) {
                    print("acknowledged " + name + " " + metadata.offset() + " " + after);
                } else {
                    print("failed " + name + " " + failure.getClass().getSimpleName() + " " + after);
                }
            });
            print("sent " + name);
        } catch (RuntimeException failure) {
            print("failed " + name + " " + failure.getClass().getSimpleName() + " 0");
        }
    }

    private static synchronized void print(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
