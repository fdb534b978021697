import java.util.Properties;
import java.util.Scanner;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A producer that reads its commands from standard input, and prints the result of each future.
 *
 * <p>Arguments: the topic, then NAME=VALUE settings of the producer. With a transactional.id it calls initTransactions at
 * first. Input lines: "send NAME PARTITION" sends a record with this value to a partition; "begin", "commit" and "abort"
 * call these methods of a transactional producer; "close" waits for all futures and ends. Output lines: "sent NAME",
 * "acknowledged NAME OFFSET MILLISECONDS", "failed NAME EXCEPTION MILLISECONDS"; "done METHOD" and "refused METHOD
 * EXCEPTION" for a call.
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
            if (settings.containsKey("transactional.id")) {
                call("initialize", producer::initTransactions);
            }
            while (input.hasNextLine()) {
                String[] words = input.nextLine().trim().split(" ");
                if (words[0].equals("close")) {
                    break;
                }
                switch (words[0]) {
                    case "begin" -> call("begin", producer::beginTransaction);
                    case "commit" -> call("commit", producer::commitTransaction);
                    case "abort" -> call("abort", producer::abortTransaction);
                    default -> send(producer, topic, words[1], Integer.parseInt(words[2]));
                }
            }
            producer.flush();
        }
        print("closed");
    }

    private static void call(String method, Runnable body) {
        try {
            body.run();
            print("done " + method);
        } catch (RuntimeException failure) {
            print("refused " + method + " " + failure.getClass().getSimpleName());
        }
    }

    private static void send(KafkaProducer<String, String> producer, String topic, String name, int partition) {
        long begun = System.currentTimeMillis();
        try {
            ProducerRecord<String, String> record = new ProducerRecord<>(topic, partition, null, name);
            // Without it a second small record fits into the slack of a batch of batch.size=1.
            record.headers().add("padding", new byte[16]);
            producer.send(record, (metadata, failure) -> {
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
