"""Which producers are idempotent, by the version of the client and its settings.

Scenarios: entry P10 of docs/producer.md.
"""

from checker.language import Bug, Constant, Scenario, action, invariant, require
from specs.kafka_releases import OLDEST_SUPPORTED, RELEASES
from specs.kafka_versions import IDEMPOTENT_BY_DEFAULT, MAX_IN_FLIGHT_WITH_IDEMPOTENCE, REFUSES_DEFAULT_IN_CONFLICT
from specs.producer.plain.producer import PlainProducer
from specs.producer.plain.sender import RecordId

VERSIONS = RELEASES[RELEASES.index(OLDEST_SUPPORTED) :]
IDEMPOTENT_VERSIONS = tuple(version for version in VERSIONS if IDEMPOTENT_BY_DEFAULT.applies_to(version))
REFUSING_VERSIONS = tuple(version for version in VERSIONS if REFUSES_DEFAULT_IN_CONFLICT.applies_to(version))


class ConfiguredProducer(PlainProducer):
    """A producer that is idempotent depending on its version and settings.

    `acks` and `enable_idempotence` may be unset. `retries` 0 and `max_in_flight` above 5 are explicit settings.
    Brokers check the sequences of an idempotent producer as in `SequenceCheckedProducer`.
    Source: ProducerConfig.postProcessAndValidateIdempotenceConfigs; KAFKA-13598, KAFKA-13673, KAFKA-17927.
    """

    version = Constant("3.2.0", one_of=VERSIONS)
    enable_idempotence = Constant("unset", one_of=("unset", "true", "false"))
    acks = Constant("unset", one_of=("unset", "0", "1", "all"))
    max_in_flight = Constant(5, at_least=1)
    retries = Constant(2, at_least=0)
    restarts = Constant(0, at_most=0)
    resends = Constant(0, at_most=0)

    def conflicts(self):
        """Return whether a setting is incompatible with idempotence; the default of acks never is."""
        return (
            self.acks == "0"
            or self.acks == "1"
            or self.retries == 0
            or self.max_in_flight > MAX_IN_FLIGHT_WITH_IDEMPOTENCE
        )

    def applies_default(self):
        """Return whether the client is idempotent by default."""
        return self.version in IDEMPOTENT_VERSIONS

    def is_refused(self):
        """Return whether the producer cannot be constructed (ConfigException).

        Since 4.0 too many requests in flight are refused even if idempotence is only the default.
        """
        refuses_default = self.version in REFUSING_VERSIONS and self.max_in_flight > MAX_IN_FLIGHT_WITH_IDEMPOTENCE
        return (self.enable_idempotence == "true" and self.conflicts()) or (
            self.enable_idempotence == "unset" and refuses_default
        )

    def is_sequence_checked(self):
        """Return whether the producer is idempotent. A conflict turns the default off, which only the log reports."""
        is_wanted = self.enable_idempotence == "true" or (self.enable_idempotence == "unset" and self.applies_default())
        return is_wanted and not self.conflicts()

    @action
    def application_send(self, record: RecordId):
        """The application sends the next record, if the producer could be constructed."""
        require(not self.is_refused())
        super().application_send(record)

    def reenqueue(self, batch):
        """Put a retry into the queue. Source: RecordAccumulator.reenqueue."""
        if self.is_sequence_checked():
            self.insert_in_order(batch)
        else:
            super().reenqueue(batch)

    @invariant
    def refused_sends_nothing(self):
        """A refused producer sends nothing."""
        return not self.is_refused() or self.sent == 0


FAULTS = dict(refusals=1, disconnects=1)
GUARANTEES = ["no_reorder", "no_duplicate"]
BROKEN = {"no_duplicate": 7, "no_reorder": 10}
"""The violations of a producer that is not idempotent, under `FAULTS`."""

scenarios = [
    Bug("p10_default_of_3_0_0", ConfiguredProducer, BROKEN, size=FAULTS, larger=dict(records=3, **FAULTS),
        faulty=dict(version="3.0.0"), fixed=dict(version="3.0.1"), deadlock=True,
        fixed_name="p10_fixed_default_of_3_0_1",
        description="P10 (KAFKA-13598): 3.0.0 declares idempotence on by default and leaves it off.",
        remedy="P10: since 3.0.1 the default is applied."),
    Scenario(ConfiguredProducer, "p10_fixed_set_in_3_0_0", dict(version="3.0.0", enable_idempotence="true", **FAULTS),
        deadlock=True, description="P10: in 3.0.0 an explicit enable.idempotence=true takes effect."),
    Bug("p10_acks_1_turns_it_off", ConfiguredProducer, BROKEN, size=dict(acks="1", **FAULTS),
        fixed=dict(enable_idempotence="true"), promises=[*GUARANTEES, "refused_sends_nothing"],
        fixed_name="p10_acks_1_refused_where_set",
        description="P10 (KAFKA-13673): acks=1 turns the default off, which only the log reports.",
        remedy="P10: with an explicit enable.idempotence=true, a conflicting setting is refused."),
    Bug("p10_in_flight_6_turns_it_off", ConfiguredProducer, BROKEN, size=dict(max_in_flight=6, **FAULTS),
        fixed=dict(version="4.0.0"), promises=[*GUARANTEES, "refused_sends_nothing"],
        fixed_name="p10_fixed_in_flight_6_in_4_0",
        description="P10 (KAFKA-13673): six requests in flight turn the default off.",
        remedy="P10 (KAFKA-17927): since 4.0 such a producer is refused."),
]  # fmt: skip
