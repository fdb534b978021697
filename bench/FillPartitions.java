import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * An idempotent producer that fills the partitions of a topic in turn, without compression.
 *
 * <p>Arguments: bootstrap servers, topic, number of partitions, number of records, bytes of a record. It prints the
 * number of acknowledged records and ends with status 1 if a record failed.
 */
public class FillPartitions {
    public static void main(String[] arguments) {
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        long records = Long.parseLong(arguments[3]);
        byte[] value = new byte[Integer.parseInt(arguments[4])];
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        settings.put("linger.ms", "5");
        settings.put("batch.size", "65536");
        settings.put("buffer.memory", "67108864");
        AtomicReference<Exception> failure = new AtomicReference<>();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            for (long i = 0; i < records; i++) {
                byte[] copy = value.clone();
                for (int at = 0; at < 8 && at < copy.length; at++) {
                    copy[at] = (byte) (i >>> (8 * at));
                }
                producer.send(new ProducerRecord<>(topic, (int) (i % partitions), null, copy), (metadata, error) -> {
                    if (error != null) {
                        failure.compareAndSet(null, error);
                    }
                });
            }
        }
        if (failure.get() != null) {
            System.err.println(failure.get());
            System.exit(1);
        }
        System.out.println(records);
    }
}
