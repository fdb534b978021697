package org.apache.kafka.controller;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.metadata.*;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.*;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.EligibleLeaderReplicasVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.TopicIdPartition;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Gives events to Kafka's ReplicationControlManager and the managers that it needs, and replays their records.
 *
 * <p>controller_state.py beside this file describes the calls and answers. A call is a whole sequence of events, and the
 * controller is taken back to what the sequence has in common with the one before.
 */
public class ControllerBridge {
    /** After how many answers a new controller is made. */
    private static final int RENEWAL = 200;

    private static final String TOPIC = "t";
    private static final Uuid TOPIC_ID = new Uuid(7, 7);
    private static final String MIN_ISR = "min.insync.replicas";
    private static final String UNCLEAN = "unclean.leader.election.enable";
    private static final String ELR = EligibleLeaderReplicasVersion.FEATURE_NAME;
    private static final MetadataVersion METADATA = MetadataVersion.latestProduction();
    private static final ControllerRequestContext CONTEXT = new ControllerRequestContext(
        new RequestHeaderData().setRequestApiVersion((short) 3), KafkaPrincipal.ANONYMOUS, OptionalLong.empty());

    /** An answer of the controller that is an error: `mark` is - if it is an expected one, and ! if it is not. */
    private static class AnswerException extends RuntimeException {
        AnswerException(char mark, String message) {
            super(mark + message);
        }
    }

    /** The events that `current` has handled; with none, a new controller is made. */
    private static final List<String> EVENTS = new ArrayList<>();
    private static ControllerBridge current;
    private static long answers;

    private final SnapshotRegistry registry;
    private final FeatureControlManager features;
    private final ConfigurationControlManager configuration;
    private final ClusterControlManager cluster;
    private final ReplicationControlManager replication;
    private final int brokers;

    public static void main(String[] arguments) throws IOException {
        BridgeLoop.run(ControllerBridge::answer);
    }

    private static String answer(String call) {
        List<String> events = List.of(call.split(";"));
        int common = 0;
        while (common < Math.min(EVENTS.size(), events.size()) && EVENTS.get(common).equals(events.get(common))) {
            common++;
        }
        // A snapshot keeps what was made after it, so that the controller becomes slow.
        takeBack(++answers % RENEWAL == 0 ? 0 : common);
        common = EVENTS.size();
        try {
            for (String event : events.subList(common, events.size())) {
                // What an event that fails has done is taken back as well.
                EVENTS.add(event);
                if (EVENTS.size() == 1) {
                    current = new ControllerBridge(event.split(" "));
                } else {
                    current.registry.idempotentCreateSnapshot(EVENTS.size() - 1);
                    current.handle(event);
                }
            }
            return current.text();
        } catch (AnswerException answer) {
            takeBack(EVENTS.size() - 1);
            return answer.getMessage().replace('\n', ' ');
        } catch (RuntimeException | ReflectiveOperationException thrown) {
            takeBack(EVENTS.size() - 1);
            Throwable error = thrown instanceof InvocationTargetException ? thrown.getCause() : thrown;
            String text = place(error) + ": " + error.toString().replace('\n', ' ');
            if (text.startsWith(ControllerBridge.class.getSimpleName())) {
                throw new Error(text, error); // The bridge is wrong, and not the controller.
            }
            return (error instanceof ApiException ? "-" : "!") + text;
        }
    }

    /** Lets the controller forget all events but the first ones, as one that loses its leadership and gets it back. */
    private static void takeBack(int count) {
        if (count == EVENTS.size()) {
            return;
        }
        EVENTS.subList(count, EVENTS.size()).clear();
        if (count > 0) {
            current.registry.revertToSnapshot(count);
            // The sessions of the brokers are in no snapshot.
            current.cluster.deactivate();
            current.cluster.activate();
        }
    }

    private static String place(Throwable error) {
        return Arrays.stream(error.getStackTrace()).filter(frame -> frame.getClassName().startsWith("org.apache.kafka"))
            .map(frame -> frame.getClassName().replaceAll(".*[.]", "") + "." + frame.getMethodName()).findFirst()
            .orElse(ControllerBridge.class.getSimpleName());
    }

    /** Makes a controller. The words: start, brokers, replicas, min ISR, ELR, unclean elections, directories. */
    private ControllerBridge(String[] start) throws ReflectiveOperationException {
        // Kafka 4.4 has moved the class of the argument.
        var constructor = Arrays.stream(SnapshotRegistry.class.getConstructors())
            .filter(each -> each.getParameterCount() == 1).findFirst().orElseThrow();
        registry = (SnapshotRegistry) constructor.newInstance(
            constructor.getParameterTypes()[0].getDeclaredConstructor().newInstance());
        var supported = QuorumFeatures.defaultSupportedFeatureMap(true);
        features = new FeatureControlManager.Builder().setSnapshotRegistry(registry)
            .setQuorumFeatures(new QuorumFeatures(0, supported, List.of(0))).build();
        ConfigDef options = new ConfigDef()
            .define(MIN_ISR, ConfigDef.Type.INT, 1, ConfigDef.Importance.LOW, "")
            .define(UNCLEAN, ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.LOW, "");
        KafkaConfigSchema schema = new KafkaConfigSchema(
            Map.of(ConfigResource.Type.TOPIC, options, ConfigResource.Type.BROKER, options),
            Map.of(MIN_ISR, List.of(new ConfigSynonym(MIN_ISR)), UNCLEAN, List.of(new ConfigSynonym(UNCLEAN))));
        configuration = new ConfigurationControlManager.Builder().setSnapshotRegistry(registry)
            .setFeatureControl(features).setKafkaConfigSchema(schema).setStaticConfig(Map.of(MIN_ISR, "1")).build();
        var builder = new ClusterControlManager.Builder().setClusterId("c").setSnapshotRegistry(registry)
            .setSessionTimeoutNs(1).setFeatureControlManager(features).setBrokerShutdownHandler(this::handleShutdown);
        for (Method method : builder.getClass().getDeclaredMethods()) {
            if (method.getName().equals("setMetrics")) { // since 4.1
                method.invoke(builder, method.getParameterTypes()[0].getConstructors()[0].newInstance(
                    Optional.empty(), Time.SYSTEM, 0));
            }
        }
        cluster = builder.build();
        replication = new ReplicationControlManager.Builder().setSnapshotRegistry(registry)
            .setConfigurationControl(configuration).setClusterControl(cluster).setFeatureControl(features).build();
        cluster.activate();
        brokers = Integer.parseInt(start[1]);
        replay(List.of(level(MetadataVersion.FEATURE_NAME, METADATA.featureLevel()), level(ELR, Integer.parseInt(start[4]))));
        for (int broker = 1; broker <= brokers; broker++) {
            handle("register " + broker + " unclean " + start[6]);
            handle("unfence " + broker);
        }
        List<Integer> replicas = numbers(start[2]);
        replay(List.of(
            record(0, new TopicRecord().setName(TOPIC).setTopicId(TOPIC_ID)), setting(MIN_ISR, start[3]),
            setting(UNCLEAN, start[5].equals("1") ? "true" : "false"),
            record(2, new PartitionRecord().setTopicId(TOPIC_ID).setPartitionId(0).setReplicas(replicas).setIsr(replicas)
                .setLeader(replicas.get(0)).setLeaderEpoch(0).setPartitionEpoch(0)
                .setDirectories(replicas.stream().map(broker -> directory(broker, 'A')).toList()))));
    }

    private void handleShutdown(int broker, boolean isClean, List<ApiMessageAndVersion> records) {
        replication.handleBrokerShutdown(broker, isClean, records);
    }

    private static ApiMessageAndVersion record(int version, ApiMessage message) {
        return new ApiMessageAndVersion(message, (short) version);
    }

    private static ApiMessageAndVersion level(String feature, int level) {
        return record(0, new FeatureLevelRecord().setName(feature).setFeatureLevel((short) level));
    }

    private static ApiMessageAndVersion setting(String name, String value) {
        return record(0, new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id()).setResourceName(TOPIC)
            .setName(name).setValue(value));
    }

    private void replay(List<ApiMessageAndVersion> records) {
        for (ApiMessageAndVersion record : records) {
            ApiMessage message = record.message();
            if (message instanceof PartitionChangeRecord each) replication.replay(each);
            else if (message instanceof PartitionRecord each) replication.replay(each);
            else if (message instanceof TopicRecord each) replication.replay(each);
            else if (message instanceof RemoveTopicRecord each) replication.replay(each);
            else if (message instanceof ClearElrRecord each) replication.replay(each);
            else if (message instanceof ConfigRecord each) configuration.replay(each);
            else if (message instanceof FeatureLevelRecord each) features.replay(each);
            else if (message instanceof RegisterBrokerRecord each) cluster.replay(each, each.brokerEpoch());
            else if (message instanceof BrokerRegistrationChangeRecord each) cluster.replay(each);
            else throw new Error("the bridge does not replay " + message);
        }
    }

    /** Lets the controller handle an event, and replays its records. */
    private void handle(String event) throws ReflectiveOperationException {
        String[] words = event.split(" ");
        int broker = words.length > 1 && words[1].length() == 1 ? words[1].charAt(0) - '0' : -1;
        BrokerRegistration registration = cluster.registration(broker);
        List<ApiMessageAndVersion> records = new ArrayList<>();
        switch (words[0]) {
            case "stop" -> {
                replication.handleBrokerInControlledShutdown(broker, registration.epoch(), records);
                replay(records);
                records = new ArrayList<>();
                replication.handleBrokerFenced(broker, records);
            }
            case "fence" -> replication.handleBrokerFenced(broker, records);
            case "unfence" -> replication.handleBrokerUnfenced(broker, registration.epoch(), records);
            case "register" -> records = register(broker, words[2].equals("clean"), words[3], registration);
            case "isr" -> records = alterPartition(numbers(words[1]));
            case "assign" -> records = assign(broker, words[2].charAt(0), registration);
            case "offline" -> replication.handleDirectoriesOffline(
                broker, registration.epoch(), directories(broker, words[2]), records);
            case "reassign" -> records = reassign(words[1].equals("cancel") ? null : numbers(words[1]));
            case "min-isr" -> records = set(MIN_ISR, words[1]);
            case "elr" -> records = setElr(Short.parseShort(words[1]));
            case "delete" -> replication.deleteTopic(CONTEXT, TOPIC_ID, records);
            case "settle" -> {
                var partition = List.of(new TopicIdPartition(TOPIC_ID, 0)).iterator();
                replication.generateLeaderAndIsrUpdates("settle", -1, -1, -1, records, partition);
                replay(records);
                records = new ArrayList<>();
                replication.electLeader(TOPIC, 0, ElectionType.PREFERRED, records);
                replay(records);
                records = replication.maybeElectUncleanLeaders().records();
            }
            default -> throw new Error("the bridge has no event " + event);
        }
        replay(records);
    }

    private List<ApiMessageAndVersion> register(int broker, boolean isClean, String directories, BrokerRegistration before) {
        long epoch = 1000 + (before == null ? broker : before.epoch());
        var request = new BrokerRegistrationRequestData().setBrokerId(broker).setClusterId("c")
            .setIncarnationId(new Uuid(3, epoch)).setLogDirs(directories(broker, directories))
            .setPreviousBrokerEpoch(isClean ? before.epoch() : -1);
        request.features().add(new BrokerRegistrationRequestData.Feature().setName(MetadataVersion.FEATURE_NAME)
            .setMinSupportedVersion(METADATA.featureLevel()).setMaxSupportedVersion(METADATA.featureLevel()));
        request.features().add(new BrokerRegistrationRequestData.Feature().setName(ELR)
            .setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1));
        request.listeners().add(new BrokerRegistrationRequestData.Listener()
            .setName("P").setHost("h").setPort(9000 + broker).setSecurityProtocol((short) 0));
        Map<String, Short> levels = new HashMap<>(Map.of(MetadataVersion.FEATURE_NAME, METADATA.featureLevel()));
        if (features.isElrFeatureEnabled()) {
            levels.put(ELR, (short) 1);
        }
        return cluster.registerBroker(request, epoch, new FinalizedControllerFeatures(levels, 1), true).records();
    }

    private List<ApiMessageAndVersion> alterPartition(List<Integer> isr) {
        PartitionRegistration before = partition();
        var part = new AlterPartitionRequestData.PartitionData().setPartitionIndex(0).setLeaderEpoch(before.leaderEpoch)
            .setPartitionEpoch(before.partitionEpoch).setLeaderRecoveryState((byte) 0)
            .setNewIsrWithEpochs(isr.stream().map(broker -> new AlterPartitionRequestData.BrokerState()
                .setBrokerId(broker).setBrokerEpoch(cluster.registration(broker).epoch())).toList());
        var topic = new AlterPartitionRequestData.TopicData().setTopicId(TOPIC_ID).setPartitions(List.of(part));
        var answer = replication.alterPartition(CONTEXT, new AlterPartitionRequestData().setBrokerId(before.leader)
            .setBrokerEpoch(cluster.registration(before.leader).epoch()).setTopics(List.of(topic)));
        // A reassignment that the request completes is answered with an error, and its records count.
        if (answer.records().isEmpty()) {
            short error = answer.response().topics().get(0).partitions().get(0).errorCode();
            throw new AnswerException('-', Errors.forCode(error).name());
        }
        return answer.records();
    }

    private List<ApiMessageAndVersion> reassign(List<Integer> target) {
        var part = new AlterPartitionReassignmentsRequestData.ReassignablePartition()
            .setPartitionIndex(0).setReplicas(target);
        var topic = new AlterPartitionReassignmentsRequestData.ReassignableTopic()
            .setName(TOPIC).setPartitions(List.of(part));
        var answer = replication.alterPartitionReassignments(
            new AlterPartitionReassignmentsRequestData().setTopics(List.of(topic)));
        var result = answer.response().responses().get(0).partitions().get(0);
        check(new ApiError(Errors.forCode(result.errorCode()), result.errorMessage()));
        return answer.records();
    }

    private List<ApiMessageAndVersion> assign(int broker, char letter, BrokerRegistration registration) {
        var part = new AssignReplicasToDirsRequestData.PartitionData().setPartitionIndex(0);
        var topic = new AssignReplicasToDirsRequestData.TopicData().setTopicId(TOPIC_ID).setPartitions(List.of(part));
        var place = new AssignReplicasToDirsRequestData.DirectoryData().setId(directory(broker, letter))
            .setTopics(List.of(topic));
        return replication.handleAssignReplicasToDirs(new AssignReplicasToDirsRequestData().setBrokerId(broker)
            .setBrokerEpoch(registration.epoch()).setDirectories(List.of(place))).records();
    }

    @SuppressWarnings("unchecked")
    private List<ApiMessageAndVersion> set(String name, String value) throws ReflectiveOperationException {
        var change = Map.of(new ConfigResource(ConfigResource.Type.TOPIC, TOPIC), Map.of(name, Map.entry(OpType.SET, value)));
        var answer = (ControllerResult<Map<ConfigResource, ApiError>>) invoke(
            configuration, "incrementalAlterConfigs", change, false, false);
        answer.response().values().forEach(ControllerBridge::check);
        return answer.records();
    }

    @SuppressWarnings("unchecked")
    private List<ApiMessageAndVersion> setElr(short level) throws ReflectiveOperationException {
        var type = level == 0 ? UpgradeType.SAFE_DOWNGRADE : UpgradeType.UPGRADE;
        // The caller, QuorumController, passes through the manager of the configuration: it sets min.insync.replicas.
        var answer = (ControllerResult<ApiError>) invoke(
            configuration, "updateFeatures", Map.of(ELR, level), Map.of(ELR, type), false, 0);
        check(answer.response());
        return answer.records();
    }

    /** Calls a method of which other releases have fewer arguments. */
    private static Object invoke(Object object, String name, Object... arguments) throws ReflectiveOperationException {
        Method method = Arrays.stream(object.getClass().getDeclaredMethods())
            .filter(each -> each.getName().equals(name)).findFirst().orElseThrow();
        return method.invoke(object, Arrays.copyOf(arguments, method.getParameterCount()));
    }

    private static void check(ApiError error) {
        if (error.isFailure()) {
            char mark = error.error() == Errors.UNKNOWN_SERVER_ERROR ? '!' : '-';
            throw new AnswerException(mark, error.error() + ": " + error.message());
        }
    }

    private PartitionRegistration partition() {
        return replication.getPartition(TOPIC_ID, 0);
    }

    private String text() {
        PartitionRegistration now = partition();
        var states = IntStream.rangeClosed(1, brokers).mapToObj(this::brokerText).collect(Collectors.joining(","));
        var settings = configuration.currentTopicConfig(TOPIC);
        String shared = String.join(";", states, features.isElrFeatureEnabled() ? "1" : "0");
        if (now == null) {
            return shared;
        }
        String places = IntStream.range(0, now.replicas.length)
            .mapToObj(i -> letter(now.replicas[i], now.directories[i])).collect(Collectors.joining());
        return String.join(";", shared, settings.get(MIN_ISR), numbers(now.replicas), places, numbers(now.isr),
            numbers(now.elr), numbers(now.lastKnownElr), now.leader < 0 ? "" : String.valueOf(now.leader),
            numbers(now.addingReplicas), numbers(now.removingReplicas),
            now.leaderRecoveryState == LeaderRecoveryState.RECOVERING ? "1" : "0");
    }

    /** The state of a broker, its online directories, and how many partitions brokersToElrs has for it. */
    private String brokerText(int broker) {
        BrokerRegistration registration = cluster.registration(broker);
        char state = registration.fenced() ? 'f' : registration.inControlledShutdown() ? 's' : 'a';
        int count = 0;
        for (var all = replication.brokersToElrs().partitionsWithBrokerInElr(broker); all.hasNext(); all.next()) {
            count++;
        }
        return state + registration.directories().stream().map(each -> letter(broker, each))
            .sorted().collect(Collectors.joining()) + count;
    }

    private static List<Uuid> directories(int broker, String letters) {
        return letters.chars().mapToObj(letter -> directory(broker, (char) letter)).toList();
    }

    private static Uuid directory(int broker, char letter) {
        return new Uuid(100 + letter, broker);
    }

    private static String letter(int broker, Uuid directory) {
        return Stream.of("A", "B").filter(each -> directory(broker, each.charAt(0)).equals(directory)).findFirst()
            .orElse(directory.equals(DirectoryId.UNASSIGNED) ? "U" : "?");
    }

    private static String numbers(int[] brokers) {
        return Arrays.stream(brokers).mapToObj(String::valueOf).collect(Collectors.joining(","));
    }

    private static List<Integer> numbers(String text) {
        return Arrays.stream(text.split(",")).map(Integer::valueOf).toList();
    }
}
