package org.apache.kafka.controller;

import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.server.common.MetadataVersion;

/** Answers calls of Kafka's PartitionChangeBuilder. registration.py beside this file describes the lines. */
public class PartitionBridge {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
    private static final MethodHandle BUILDER;
    private static final MethodHandle ENABLE_ELR;

    static {
        try {
            // In newer releases the last argument of the constructor turns eligible leader replicas on; before, a method.
            Constructor<?> constructor = PartitionChangeBuilder.class.getConstructors()[0];
            boolean takesElr = constructor.getParameterCount() == 7;
            MethodHandle builder = LOOKUP.unreflectConstructor(constructor);
            BUILDER = takesElr ? builder : MethodHandles.dropArguments(builder, 6, boolean.class);
            ENABLE_ELR = takesElr ? null : LOOKUP.unreflect(
                PartitionChangeBuilder.class.getMethod("setEligibleLeaderReplicasEnabled", boolean.class));
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    public static void main(String[] arguments) throws IOException {
        BridgeLoop.run(PartitionBridge::answer);
    }

    private static String answer(String call) {
        String[] fields = call.split(";", -1);
        try {
            PartitionRegistration before = registration(fields);
            var change = builder(before, fields).build();
            return text(before, change.isEmpty() ? before : before.merge((PartitionChangeRecord) change.get().message()));
        } catch (Throwable error) {
            return "!" + error.toString().replace('\n', ' ');
        }
    }

    private static PartitionRegistration registration(String[] fields) {
        int[] replicas = numbers(fields[0]);
        return new PartitionRegistration.Builder()
            .setReplicas(replicas).setDirectories(DirectoryId.unassignedArray(replicas.length))
            .setIsr(numbers(fields[1])).setElr(numbers(fields[2])).setLastKnownElr(numbers(fields[3]))
            .setLeader(fields[4].isEmpty() ? -1 : Integer.parseInt(fields[4]))
            .setAddingReplicas(numbers(fields[5])).setRemovingReplicas(numbers(fields[6]))
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED).setLeaderEpoch(0).setPartitionEpoch(0).build();
    }

    private static PartitionChangeBuilder builder(PartitionRegistration before, String[] fields) throws Throwable {
        Set<Integer> inactive = new HashSet<>(list(fields[7]));
        // As ReplicationControlManager.LeaderAcceptor: it asks for the directory of an active broker, which throws if that is no replica.
        IntPredicate mayLead = broker -> !inactive.contains(broker) && before.directory(broker) != null;
        int minIsr = Integer.parseInt(fields[8]);
        boolean hasElr = fields[9].equals("1");
        var builder = (PartitionChangeBuilder) BUILDER.invoke(
            before, Uuid.ZERO_UUID, 0, mayLead, MetadataVersion.latestProduction(), minIsr, hasElr);
        if (ENABLE_ELR != null) {
            ENABLE_ELR.invoke(builder, hasElr);
        }
        builder.setUseLastKnownLeaderInBalancedRecovery(true).setDefaultDirProvider(broker -> DirectoryId.UNASSIGNED);
        builder.setElection(PartitionChangeBuilder.Election.valueOf(fields[10]));
        if (!fields[11].equals("=")) {
            builder.setTargetIsr(list(fields[11]));
        }
        if (!fields[12].isEmpty()) {
            builder.setUncleanShutdownReplicas(list(fields[12]));
        }
        if (!fields[13].isEmpty()) {
            assign(before, builder, list(fields[13]));
        }
        return builder;
    }

    /** Starts a reassignment as ReplicationControlManager.changePartitionReassignment does. */
    private static void assign(PartitionRegistration before, PartitionChangeBuilder builder, List<Integer> target) {
        var reassignment = new PartitionReassignmentReplicas(assignment(list(before.replicas)), assignment(target));
        if (!reassignment.replicas().equals(list(before.replicas))) {
            builder.setTargetReplicas(reassignment.replicas());
        }
        if (!reassignment.removing().isEmpty()) {
            builder.setTargetRemoving(reassignment.removing());
        }
        if (!reassignment.adding().isEmpty()) {
            builder.setTargetAdding(reassignment.adding());
        }
    }

    private static PartitionAssignment assignment(List<Integer> replicas) {
        return new PartitionAssignment(replicas, broker -> DirectoryId.UNASSIGNED);
    }

    private static String text(PartitionRegistration before, PartitionRegistration after) {
        return String.join(";", text(after.replicas), text(after.isr), text(after.elr), text(after.lastKnownElr),
            after.leader < 0 ? "" : String.valueOf(after.leader), text(after.addingReplicas), text(after.removingReplicas),
            after.leaderEpoch > before.leaderEpoch ? "1" : "0", after.partitionEpoch > before.partitionEpoch ? "1" : "0");
    }

    private static String text(int[] brokers) {
        return Arrays.stream(brokers).mapToObj(String::valueOf).collect(Collectors.joining(","));
    }

    private static int[] numbers(String text) {
        return text.isEmpty() ? new int[0] : Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    private static List<Integer> list(String text) {
        return list(numbers(text));
    }

    private static List<Integer> list(int[] brokers) {
        return Arrays.stream(brokers).boxed().collect(Collectors.toCollection(ArrayList::new));
    }
}
