"""KIP-848 as Jack Vanlightly specified it in TLA+, for a comparison of counts with TLC.

Source: Vanlightly/kafka-tlaplus at 823615e, groupprotocol/consumer_group_protocol_kip_848_v2.tla and network.tla. The
text describes the state machine of Kafka 3.7 (`specs.consumer.consumer_protocol` with reconciliation "3.7").
Every action here has the name of an action of that text, and its fairness in LivenessSpec. Member ids and connection
ids start at 1; 0 is none.
"""

import enum

from checker.language import (
    Constant,
    Domain,
    Map,
    Option,
    Range,
    SetOf,
    Spec,
    Struct,
    action,
    invariant,
    leads_to,
    replace,
    require,
    step_invariant,
)


class Client(Domain):
    size, prefix = "clients", "c"


class Topic(Range):
    low, high = 0, "topics - 1"


class Partition(Range):
    low, high = 0, "topics * partitions_per_topic - 1"


class MemberId(Range):
    low, high = 0, "clients + perturbations"


class ConnectionId(Range):
    low, high = 0, "clients + perturbations"


class Epoch(Range):
    low, high = -1, "clients + 2 * perturbations"


class Status(enum.Enum):
    """The status of a client."""

    JOINING = "joining"
    STABLE = "stable"
    RECONCILING = "reconciling"
    ACKNOWLEDGING = "acknowledging"
    PREPARE_LEAVING = "prepare leaving"
    LEAVING = "leaving"
    UNSUBSCRIBED = "unsubscribed"


class MemberStatus(enum.Enum):
    """The status of a member at the coordinator."""

    STABLE = "stable"
    REVOKING = "revoking"
    ASSIGNING = "assigning"


class GroupStatus(enum.Enum):
    EMPTY = "empty"
    STABLE = "stable"
    ASSIGNING = "assigning"
    RECONCILING = "reconciling"


class Fault(enum.Enum):
    NONE = "none"
    FENCED = "FENCED_MEMBER_EPOCH"
    UNKNOWN = "UNKNOWN_MEMBER_ID"


class ClientState(Struct):
    connection_id: ConnectionId
    member_id: MemberId
    member_epoch: Epoch
    status: Status
    subscribed: SetOf(Topic)
    current: SetOf(Partition)
    target: SetOf(Partition)
    last_sent: Option(SetOf(Partition))
    in_flight: bool


class GroupMember(Struct):
    host: Client
    member_epoch: Epoch
    target_epoch: Epoch
    subscribed: SetOf(Topic)
    status: MemberStatus
    assigned: SetOf(Partition)
    to_revoke: SetOf(Partition)
    to_assign: SetOf(Partition)
    reported: Option(SetOf(Partition))


class Reconciliation(Struct):
    epoch_on_start: Epoch
    assignment: SetOf(Partition)


class Request(Struct):
    member_id: MemberId
    member_epoch: Epoch
    subscribed: SetOf(Topic)
    partitions: Option(SetOf(Partition))
    connection_id: ConnectionId
    source: Client


class Response(Struct):
    fault: Fault
    member_epoch: Epoch
    member_id: MemberId
    assignment: Option(SetOf(Partition))
    connection_id: ConnectionId
    dest: Client


NEW_TARGET = Map(Partition, MemberId)
IN_TRANSIT = "clients + perturbations"


class Kip848Draft(Spec):
    """The group of the TLA+ text. `bookkeeping` "compared" takes MaybeUpdatePartitionEpochs, "owned" its version 2."""

    clients = Constant(1, at_least=1)
    topics = Constant(1, at_least=1)
    partitions_per_topic = Constant(1, at_least=1)
    perturbations = Constant(0, at_least=0)
    bookkeeping = Constant("owned", one_of=("compared", "owned"))

    members = Map(MemberId, Option(GroupMember))
    group_epoch = Epoch
    group_status = GroupStatus
    target_epoch = Epoch
    target = Map(MemberId, Option(SetOf(Partition)))  # None: outside the domain of the target assignment
    partition_epoch = Map(Partition, Epoch)
    client = Map(Client, ClientState)
    reconciliation = Map(Client, Option(Reconciliation))
    leaving = Map(Client, Option(SetOf(Partition)))
    requests = SetOf(Request, IN_TRANSIT)
    responses = SetOf(Response, IN_TRANSIT)
    last_request = Option(Request)  # messages_last_discard
    last_response = Option(Response)
    last_member_id = MemberId
    last_connection_id = ConnectionId
    perturbed = Range(0, "perturbations")

    def init(self):
        self.group_epoch = 0
        self.target_epoch = 0
        for partition in Partition:
            self.partition_epoch[partition] = 0
        for client in Client:
            self.client[client] = self.new_client()

    def new_client(self):
        return ClientState(
            connection_id=0,
            member_id=0,
            member_epoch=0,
            status=Status.JOINING,
            subscribed=set(Topic),
            current=set(),
            target=set(),
            last_sent=None,
            in_flight=False,
        )

    def converged(self):
        return (
            self.group_status == GroupStatus.STABLE
            and all(
                self.client[client].status == Status.STABLE
                and self.client[client].member_epoch == self.group_epoch
                and self.members[self.client[client].member_id] is not None
                for client in Client
            )
            and all(
                self.members[member] is None
                or (
                    self.members[member].status == MemberStatus.STABLE
                    and self.members[member].member_epoch == self.group_epoch
                )
                for member in MemberId
            )
        )

    # Clients.

    @action(fair="weak", for_each="client")
    def send_heartbeat_request(self, client: Client, topics: SetOf(Topic)):
        require(not self.client[client].in_flight and not self.converged())
        before = self.client[client]
        if self.perturbed == self.perturbations:
            require(topics == before.subscribed)
        else:
            require(len(topics) > 0)
        sends = before.last_sent is None or before.last_sent != before.current or before.current != before.target
        connection = self.last_connection_id + 1 if before.connection_id == 0 else before.connection_id
        self.client[client] = replace(
            before,
            status=self.status_after_sending(before),
            subscribed=topics,
            last_sent=before.current if sends else before.last_sent,
            connection_id=connection,
            in_flight=True,
        )
        if before.status == Status.LEAVING:
            self.client[client].member_id = 0
            self.client[client].member_epoch = 0
        request = Request(
            member_id=before.member_id,
            member_epoch=before.member_epoch,
            subscribed=topics,
            partitions=before.current if sends else None,
            connection_id=connection,
            source=client,
        )
        self.requests.add(request)
        self.last_request = None
        self.last_response = None
        self.last_connection_id = max(connection, self.last_connection_id)
        if topics != before.subscribed:
            self.perturbed += 1

    def status_after_sending(self, client):
        if client.status == Status.UNSUBSCRIBED:
            return Status.JOINING
        if client.status == Status.ACKNOWLEDGING:
            return Status.STABLE if client.target == client.current else Status.RECONCILING
        return Status.UNSUBSCRIBED if client.status == Status.LEAVING else client.status

    @action
    def start_leave_group(self, client: Client):
        require(self.perturbed < self.perturbations and self.client[client].member_epoch > 0)
        require(self.client[client].status not in (Status.UNSUBSCRIBED, Status.PREPARE_LEAVING, Status.LEAVING))
        self.leaving[client] = self.client[client].current
        self.client[client].status = Status.PREPARE_LEAVING
        self.perturbed += 1

    @action(fair="weak")
    def complete_leave_group(self, client: Client):
        require(self.leaving[client] is not None)
        self.leaving[client] = None
        if self.client[client].status == Status.PREPARE_LEAVING:
            self.client[client] = replace(
                self.client[client],
                status=Status.LEAVING,
                member_epoch=-1,
                subscribed=set(),
                current=set(),
                target=set(),
                last_sent=None,
            )

    @action(fair="weak")
    def complete_reconciliation(self, client: Client):
        require(self.reconciliation[client] is not None)
        process = self.reconciliation[client]
        self.reconciliation[client] = None
        before = self.client[client]
        if before.status == Status.RECONCILING and process.epoch_on_start == before.member_epoch:
            self.client[client].status = Status.ACKNOWLEDGING
            self.client[client].current = process.assignment

    @action(fair="weak", for_each="client")
    def receive_error_response(self, client: Client, response: Response):
        require(response in self.responses)
        require(response.dest == client)
        require(response.fault != Fault.NONE and self.is_connected(response))
        before = self.client[response.dest]
        if before.status == Status.UNSUBSCRIBED:
            self.client[response.dest].in_flight = False
        else:
            leaves = before.status in (Status.PREPARE_LEAVING, Status.LEAVING)
            self.client[response.dest] = replace(
                before,
                member_id=0,
                member_epoch=0,
                in_flight=False,
                current=set(),
                target=set(),
                last_sent=None,
                status=Status.UNSUBSCRIBED if leaves else Status.JOINING,
            )
        self.discard_response(response)

    def is_connected(self, response):
        return self.client[response.dest].connection_id == response.connection_id

    def discard_response(self, response):
        self.responses.remove(response)
        self.last_request = None
        self.last_response = response

    @action(fair="weak", for_each="client")
    def receive_success_response(self, client: Client, response: Response):
        require(response in self.responses)
        require(response.dest == client)
        require(response.fault == Fault.NONE and self.is_connected(response))
        client = response.dest
        before = self.client[client]
        self.client[client].in_flight = False
        self.discard_response(response)
        if before.status in (Status.UNSUBSCRIBED, Status.PREPARE_LEAVING, Status.LEAVING):
            return
        self.client[client].member_id = response.member_id
        self.client[client].member_epoch = response.member_epoch
        if response.assignment is None:
            if before.target == before.current:
                self.client[client].status = Status.STABLE
            elif before.status == Status.RECONCILING and self.reconciliation[client] is None:
                self.start_reconciliation(client)
        elif response.assignment == before.current:
            if before.status in (Status.JOINING, Status.RECONCILING):
                self.client[client].status = Status.STABLE
        else:
            self.client[client].target = response.assignment
            self.start_reconciliation(client)

    def start_reconciliation(self, client):
        if self.reconciliation[client] is None:
            self.client[client].status = Status.RECONCILING
            self.reconciliation[client] = Reconciliation(
                epoch_on_start=self.client[client].member_epoch, assignment=self.client[client].target
            )

    @action
    def client_crash(self, client: Client):
        require(self.perturbed < self.perturbations and self.client[client].member_epoch > 0)
        self.client[client] = self.new_client()
        self.reconciliation[client] = None
        self.leaving[client] = None
        self.perturbed += 1

    # The coordinator.

    def reply(self, request, response):
        self.requests.remove(request)
        if self.is_connected(response):
            self.responses.add(response)
        self.last_request = request
        self.last_response = None

    def is_unknown(self, request):
        return request.member_id != 0 and self.members[request.member_id] is None

    def is_stale(self, request):
        member = self.members[request.member_id]
        return member is not None and request.member_epoch != -1 and member.member_epoch != request.member_epoch

    def is_leaving(self, request):
        return self.members[request.member_id] is not None and request.member_epoch == -1

    @action(fair="weak", for_each="client")
    def receive_bad_heartbeat_request(self, client: Client, request: Request):
        require(request in self.requests)
        require(request.source == client)
        require(self.is_unknown(request) or self.is_stale(request))
        fault = Fault.UNKNOWN if self.is_unknown(request) else Fault.FENCED
        if self.is_stale(request):
            self.fence(request.member_id)
        response = Response(
            fault=fault,
            member_epoch=0,
            member_id=0,
            assignment=None,
            connection_id=request.connection_id,
            dest=request.source,
        )
        self.reply(request, response)

    @action(fair="weak", for_each="client")
    def receive_leave_heartbeat_request(self, client: Client, request: Request):
        require(request in self.requests)
        require(request.source == client)
        require(self.is_leaving(request))
        self.fence(request.member_id)
        response = Response(
            fault=Fault.NONE,
            member_epoch=-1,
            member_id=request.member_id,
            assignment=None,
            connection_id=request.connection_id,
            dest=request.source,
        )
        self.reply(request, response)

    def is_regular(self, request):
        return not self.is_unknown(request) and not self.is_stale(request) and not self.is_leaving(request)

    @action(fair="weak", for_each="client")
    def receive_regular_heartbeat_request(self, client: Client, request: Request, owners: NEW_TARGET):
        """`owners` is the new target assignment, if the heartbeat creates one; else each owner is 0."""
        require(request in self.requests)
        require(request.source == client)
        require(self.is_regular(request))
        member_id = request.member_id
        stored = self.new_member(request)
        if self.epoch_after(request) > self.target_epoch:
            self.group_epoch = self.epoch_after(request)
            if request.member_id == 0:
                self.last_member_id += 1
                member_id = self.last_member_id
            self.create_target(member_id, request, owners)
        else:
            require(all(owners[partition] == 0 for partition in Partition))
        if request.member_id != 0:
            stored = replace(self.members[request.member_id])
        self.take_heartbeat(request, member_id, stored)

    def new_member(self, request):
        return GroupMember(
            host=request.source,
            member_epoch=0,
            target_epoch=0,
            subscribed=request.subscribed,
            status=MemberStatus.STABLE,
            assigned=set(),
            to_revoke=set(),
            to_assign=set(),
            reported=None,
        )

    def epoch_after(self, request):
        """The group epoch after the heartbeat."""
        changes = request.member_id == 0 or self.members[request.member_id].subscribed != request.subscribed
        return self.group_epoch + 1 if changes else self.group_epoch

    def create_target(self, new, request, owners):
        """CreateNewAssignment: each partition goes to a member that subscribes to its topic."""
        for partition in Partition:
            owner = owners[partition]
            require(owner == new or self.members[owner] is not None)
            subscribed = request.subscribed if owner == new else self.members[owner].subscribed
            require(partition // self.partitions_per_topic in subscribed)
        self.target_epoch = self.group_epoch
        for member in MemberId:
            if member == new or self.members[member] is not None:
                self.target[member] = {partition for partition in Partition if owners[partition] == member}
            else:
                self.target[member] = None

    def take_heartbeat(self, request, member_id, stored):
        """The rest of ReceiveRegularHeartbeatRequest: reconcile the member and answer."""
        reported = stored.reported if request.partitions is None else request.partitions
        if request.member_id == 0:
            reported = None
        before = replace(stored, subscribed=request.subscribed, reported=reported)
        after = self.reconciled(before, self.target[member_id])
        self.update_partition_epochs(member_id, after)
        self.members[member_id] = after
        self.update_group_status(self.group_epoch)
        shows = request.partitions is not None or request.member_epoch == 0 or after != before
        response = Response(
            fault=Fault.NONE,
            member_epoch=after.member_epoch,
            member_id=member_id,
            assignment=after.assigned if shows else None,
            connection_id=request.connection_id,
            dest=request.source,
        )
        self.reply(request, response)

    def reconciled(self, member, target):
        """ComputeCurrentAssignment, if the member is not reconciled yet."""
        if member.target_epoch != self.group_epoch:
            return self.restarted(member, target)
        if member.status == MemberStatus.REVOKING:
            is_done = len(member.to_revoke) == 0 or (member.reported is not None and member.assigned == member.reported)
            return self.with_free_partitions(member) if is_done else member
        if member.status == MemberStatus.ASSIGNING and len(self.free(member.to_assign)) > 0:
            return self.with_free_partitions(member)
        return member

    def restarted(self, member, target):
        """TransitionToNewTargetAssignmentState."""
        held = member.assigned | member.to_revoke
        kept = held & target
        next_member = replace(
            member, target_epoch=self.group_epoch, assigned=kept, to_revoke=held - kept, to_assign=target - kept
        )
        if held != kept:
            return replace(next_member, status=MemberStatus.REVOKING)
        return self.with_free_partitions(next_member)

    def free(self, partitions):
        return {partition for partition in partitions if self.partition_epoch[partition] == 0}

    def with_free_partitions(self, member):
        """Give the member its free partitions and the target epoch."""
        free = self.free(member.to_assign)
        waits_for = member.to_assign - free
        return replace(
            member,
            status=MemberStatus.ASSIGNING if len(waits_for) > 0 else MemberStatus.STABLE,
            member_epoch=self.group_epoch,
            target_epoch=self.group_epoch,
            assigned=member.assigned | free,
            to_revoke=set(),
            to_assign=waits_for,
        )

    def update_partition_epochs(self, member_id, after):
        """MaybeUpdatePartitionEpochs, or its version 2."""
        before = self.members[member_id]
        if before is None:
            self.set_epochs(after.assigned | after.to_revoke, after.member_epoch)
        elif self.bookkeeping == "owned":
            self.set_epochs(before.assigned | before.to_revoke, 0)
            self.set_epochs(after.assigned | after.to_revoke, after.member_epoch)
        else:
            if before.assigned != after.assigned:
                self.set_epochs(before.assigned, 0)
                self.set_epochs(after.assigned, after.member_epoch)
            if before.to_revoke != after.to_revoke:
                self.set_epochs(before.to_revoke, 0)
                self.set_epochs(after.to_revoke, after.member_epoch)

    def set_epochs(self, partitions, epoch):
        for partition in Partition:
            if partition in partitions:
                self.partition_epoch[partition] = epoch

    def update_group_status(self, target_epoch):
        """MaybeUpdateGroupState."""
        if all(self.members[member] is None for member in MemberId):
            self.group_status = GroupStatus.EMPTY
        elif self.group_epoch > target_epoch:
            self.group_status = GroupStatus.ASSIGNING
        elif any(
            self.members[member] is not None
            and (
                self.members[member].status != MemberStatus.STABLE or self.members[member].target_epoch != target_epoch
            )
            for member in MemberId
        ):
            self.group_status = GroupStatus.RECONCILING
        else:
            self.group_status = GroupStatus.STABLE

    def fence(self, member):
        """FenceMember."""
        self.set_epochs(self.members[member].assigned | self.members[member].to_revoke, 0)
        self.members[member] = None
        self.group_epoch += 1
        self.update_group_status(self.target_epoch)

    @action(fair="weak", for_each=())
    def dead_member_expired(self, member: MemberId):
        require(self.members[member] is not None)
        host = self.client[self.members[member].host]
        require(host.member_id not in (0, member) and host.status != Status.JOINING)
        self.fence(member)

    @action
    def live_member_expired(self, member: MemberId):
        require(self.perturbed < self.perturbations)
        require(self.members[member] is not None)
        self.fence(member)
        self.perturbed += 1

    # Properties. The text's TypeOK is the types above.

    @invariant
    def legal_target_assignment(self):
        return self.target_epoch == 0 or all(
            sum(1 for member in MemberId if self.is_target(member, partition)) == 1 for partition in Partition
        )

    def is_target(self, member, partition):
        return self.target[member] is not None and partition in self.target[member]

    @invariant
    def no_double_client_assignment(self):
        return all(
            sum(
                1
                for client in Client
                if self.members[self.client[client].member_id] is not None and partition in self.client[client].current
            )
            <= 1
            for partition in Partition
        )

    @invariant
    def valid_member_epoch(self):
        return all(
            self.client[client].member_epoch != self.target_epoch
            or not any(
                any(
                    member != self.client[client].member_id and self.is_target(member, partition) for member in MemberId
                )
                for partition in self.client[client].current
            )
            for client in Client
        )

    @invariant
    def valid_stable_group_state(self):
        return self.group_status != GroupStatus.STABLE or all(
            self.members[member] is None
            or (
                self.members[member].status == MemberStatus.STABLE
                and self.members[member].member_epoch == self.group_epoch
                and len(self.members[member].to_revoke) == 0
                and self.members[member].assigned == self.target[member]
            )
            for member in MemberId
        )

    @invariant
    def valid_partition_epoch(self):
        return all(
            self.partition_epoch[partition] != 0
            or not any(
                self.members[member] is not None
                and (partition in self.members[member].assigned or partition in self.members[member].to_revoke)
                for member in MemberId
            )
            for partition in Partition
        )

    @step_invariant
    def client_side_member_epoch_is_monotonic(self, old):
        return all(
            self.client[client] == old.client[client]
            or self.client[client].member_epoch <= 0
            or self.client[client].member_epoch >= old.client[client].member_epoch
            for client in Client
        )

    @step_invariant
    def gc_side_member_epoch_is_monotonic(self, old):
        return all(
            old.client[client].member_id == 0
            or self.client[client].member_id == 0
            or old.members[old.client[client].member_id] is None
            or self.members[self.client[client].member_id] is None
            or self.members[self.client[client].member_id].member_epoch
            >= old.members[old.client[client].member_id].member_epoch
            for client in Client
        )

    def has_not_converged(self):
        return not self.converged()

    @leads_to("has_not_converged")
    def eventually_converges(self):
        return self.converged()
