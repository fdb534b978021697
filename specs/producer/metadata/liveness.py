"""Liveness of the waits for metadata and for the coordinator: every wait ends if the system does not stop.

docs/producer.md, section "Liveness", describes the scenarios.
"""

from checker.language import Bug, Scenario, leads_to
from specs.producer.metadata import metadata_wait
from specs.producer.metadata.metadata_wait import At, MetadataWait, Thread
from specs.producer.metadata.sender_poll import SenderPoll


class MetadataWaitLiveness(MetadataWait):
    """The wait for metadata with the property that it ends. The only promise is that the system does not stop.

    Source: Apache Kafka, KafkaProducer.waitOnMetadata, ProducerMetadata.awaitUpdate.
    """

    fair_next = "weak"

    def waits(self, thread):
        """Return whether a thread waits for an update."""
        return self.at[thread] == At.WAITING

    @leads_to("waits", says="{thread} waits for ever; version {self.version}, sender {self.sender}")
    def wait_ends(self, thread: Thread):
        """A thread that waits gets its metadata, or fails."""
        return self.at[thread] == At.DONE or self.at[thread] == At.FAILED


class VersionReadTooLateLiveness(MetadataWaitLiveness, metadata_wait.VersionReadTooLate):
    """The same if a thread reads the version after its request."""


class WaitWithoutTestLiveness(MetadataWaitLiveness, metadata_wait.WaitWithoutTest):
    """The same if a thread waits without a test of the version."""


class WakeupIsForgottenLiveness(MetadataWaitLiveness, metadata_wait.WakeupIsForgotten):
    """The same if a wake-up before the sleep has no effect."""


class OneIsNotifiedLiveness(MetadataWaitLiveness, metadata_wait.OneIsNotified):
    """The same if an update notifies one thread only."""


class SenderPollLiveness(SenderPoll):
    """The sender with the property that it finds its coordinator. The only promise is that the system does not stop.

    Source: Sender.runOnce, KAFKA-10520.
    """

    fair_next = "weak"

    def is_lookup_due(self):
        """Return whether a coordinator request is due or in flight."""
        return self.lookup_is_due

    @leads_to("is_lookup_due", says="the coordinator request is due for ever; in flight {self.in_flight}")
    def coordinator_is_found(self):
        """A coordinator request that is due is sent and answered."""
        return not self.lookup_is_due


ONE = dict(threads=1, misses=0)
TWO = dict(threads=2, misses=0)
MANY = dict(threads=2, misses=1, losses=1, closes=True)


def lost_update(name, spec, length, size, description):
    """Return a bug after which a thread waits for ever, with Kafka's wait as the remedy."""
    return Bug(name, spec, {"wait_ends": length}, size, fixed_spec=MetadataWaitLiveness, promises=["wait_ends"],
        description=description, remedy="With Kafka's rule the wait ends at the same size.")  # fmt: skip


scenarios = [
    Scenario(MetadataWaitLiveness, "two_threads", MANY, properties=["wait_ends"],
        description="Two threads, an answer without the topic, a lost request, and a close: every wait ends."),
    lost_update("version_read_too_late", VersionReadTooLateLiveness, 13, ONE, "The thread waits for a second update."),
    lost_update("wait_without_test", WaitWithoutTestLiveness, 13, ONE, "The notification comes before the wait."),
    lost_update("wakeup_is_forgotten", WakeupIsForgottenLiveness, 7, ONE, "The sender sleeps with a request to send."),
    lost_update("one_is_notified", OneIsNotifiedLiveness, 19, TWO, "The second of two threads is not notified."),
    Bug("i16_metadata_in_flight", SenderPollLiveness, {"coordinator_is_found": 4}, size=dict(batches=0),
        faulty=dict(polls_without_node=False), promises=["coordinator_is_found"], fixed_name="i16_fixed",
        description="I16: the coordinator request waits for a response that no poll reads.",
        remedy="I16 since 2.7: a round without a free node polls."),
]  # fmt: skip
