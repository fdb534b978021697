/*
 * Counts how often a consumer's automatic commit is after a record that is still in processing.
 *
 *     java -cp 'KAFKA_CLIENTS_AND_DEPENDENCIES:.' EarlyCommit.java SERVERS TOPIC GROUP PROTOCOL RECORDS [halt]
 *
 * TOPIC has one partition with at least RECORDS records, PROTOCOL is consumer or classic. With `halt` the process ends
 * at the first such commit, as if it were killed; a second run with the same GROUP, after the session timeout of 45 s,
 * prints the first record that its successor gets.
 */

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

public class EarlyCommit {
    private static final long PROCESSING_MS = 20;

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        TopicPartition partition = new TopicPartition(arguments[1], 0);
        String group = arguments[2];
        int records = Integer.parseInt(arguments[4]);
        boolean halts = arguments.length > 5;

        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        Properties consumerSettings = new Properties();
        consumerSettings.putAll(settings);
        consumerSettings.put("group.id", group);
        consumerSettings.put("group.protocol", arguments[3]);
        consumerSettings.put("enable.auto.commit", "true");
        consumerSettings.put("auto.commit.interval.ms", "100");
        consumerSettings.put("auto.offset.reset", "earliest");
        consumerSettings.put("max.poll.records", "1");
        String deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        consumerSettings.put("key.deserializer", deserializer);
        consumerSettings.put("value.deserializer", deserializer);

        int seen = 0;
        int early = 0;
        Admin admin = Admin.create(settings);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(consumerSettings);
        consumer.subscribe(List.of(partition.topic()));
        while (seen < records) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                if (seen == 0) {
                    System.out.println("first record: " + record.offset());
                }
                seen++;
                Thread.sleep(PROCESSING_MS);
                OffsetAndMetadata committed =
                    admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(partition);
                if (committed != null && committed.offset() > record.offset()) {
                    early++;
                    if (halts) {
                        System.out.println("in processing: " + record.offset() + ", committed: " + committed.offset());
                        Runtime.getRuntime().halt(1);
                    }
                }
            }
        }
        System.out.println(early + " of " + seen + " records were committed while they were in processing");
        Runtime.getRuntime().halt(0);
    }
}
