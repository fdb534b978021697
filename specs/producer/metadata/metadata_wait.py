"""The wait for metadata: `send` needs to know a topic's partitions, and waits until the sender thread has asked."""

from checker.language import Constant, Drawing, Enum, Event, Lane, Map, Range, Scenario, Spec
from checker.language.roles import action, invariant, reachable, require, step_invariant
from specs.producer.values import Thread


class Version(Range):
    """How many metadata responses the producer has had: at most one for each request for an update."""

    low, high = 0, "max_version"


class At(Enum):
    """The position of a thread in `waitOnMetadata`."""

    LOOKING = "looking"  # at the cached metadata
    ASKING = "asking"  # about to request an update
    ASKED = "asked"  # an update is requested, the sender not yet woken
    ABOUT_TO_WAIT = "about to wait"
    WAITING = "waiting"  # in Object.wait: runs again only when notified
    NOTIFIED = "notified"
    DONE = "done"
    FAILED = "failed"


class Sender(Enum):
    """The state of the sender thread; its check before a poll may be out of date when it sleeps."""

    CHECKING = "checking"
    ABOUT_TO_POLL = "about to poll"
    ASLEEP = "asleep"


class Request(Enum):
    """The metadata request in flight, and the broker's answer."""

    NONE = "none"
    SENT = "sent"
    TOPIC_KNOWN = "topic known"
    TOPIC_UNKNOWN = "topic unknown"


class MetadataWait(Spec):
    """Threads wait for metadata of a topic; one sender requests them from the brokers, and sleeps when it is idle.

    A thread requests an update and remembers the version that the update replaces, both under the lock of the metadata.
    It wakes the sender and waits, under the lock again, until the version is newer. Then it tests whether the topic is
    cached, and starts again if not. The sender sleeps in `poll`; a wake-up that comes before the sleep is remembered
    (`Selector.wakeup`). Time does not pass: only `timeouts` waits end without a notification, and no poll or backoff
    ends by time. A lost wake-up is therefore a dead end.

    Source: Apache Kafka, KafkaProducer.waitOnMetadata, ProducerMetadata.awaitUpdate, Metadata.requestUpdate and update,
    NetworkClient.wakeup.
    """

    threads = Constant(2, at_least=1)
    misses = Constant(1, at_least=0)  # answers of a broker that does not know the topic yet
    losses = Constant(0, at_least=0)  # requests that are lost with their connection
    timeouts = Constant(0, at_least=0)  # waits that end by max.block.ms
    spurious_wakeups = Constant(0, at_least=0)  # Java's Object.wait may return without a notification
    closes = Constant(False)
    max_version = Constant(6, at_least=1)

    at = Map(Thread, At)
    seen = Map(Thread, Version)
    version = Version
    topic_is_cached = bool
    update_requested = bool
    sender = Sender
    wakeup_pending = bool
    request = Request
    closed = bool
    misses_left = Range(0, "misses")
    losses_left = Range(0, "losses")
    timeouts_left = Range(0, "timeouts")
    spurious_left = Range(0, "spurious_wakeups")

    draws = Drawing(
        Lane("thread", each=Thread, facts={"at": "in send", "seen": "version seen"}),
        Lane("sender", facts={"sender": "thread", "request": "request", "version": "version", "closed": "closed"}),
    ).with_events(
        Event("wake_spuriously", "{thread} runs without a notification, as Java allows", "runs", "thread"),
        Event("time_out", "max.block.ms passes for {thread}, whose send fails", "timeout", "thread", "timeout"),
        Event("lose_request", "The connection closes, and the request is lost", "disconnect", "'sender'", "disconnect"),
        Event("answer_unknown", "A broker does not know the topic yet", "unknown topic", "'sender'", "refusal"),
    )  # fmt: skip

    def init(self):
        self.misses_left = self.misses
        self.losses_left = self.losses
        self.timeouts_left = self.timeouts
        self.spurious_left = self.spurious_wakeups

    # The application's threads.

    def leave(self, thread: Thread, end: At):
        """End the wait."""
        self.at[thread] = end
        self.seen[thread] = 0

    def remember_version(self, thread: Thread):
        """Remember the version that the requested update will replace."""
        self.seen[thread] = self.version

    def wait_or_continue(self, thread: Thread):
        """Test the condition under the lock, and release the lock to wait only if the version is not newer."""
        if self.closed:
            self.leave(thread, At.FAILED)
        elif self.version > self.seen[thread]:
            self.leave(thread, At.LOOKING)
        else:
            self.at[thread] = At.WAITING

    @action
    def look(self, thread: Thread):
        """A thread reads the cached metadata: the topic is cached, or an update is needed."""
        require(self.at[thread] == At.LOOKING)
        self.at[thread] = At.DONE if self.topic_is_cached else At.ASKING

    @action
    def request_update(self, thread: Thread):
        """A thread requests an update and remembers the current version, in one step under the lock."""
        require(self.at[thread] == At.ASKING)
        self.update_requested = True
        self.remember_version(thread)
        self.at[thread] = At.ASKED

    @action
    def wake_sender(self, thread: Thread):
        """A thread wakes the sender."""
        require(self.at[thread] == At.ASKED)
        self.wake_up()
        self.at[thread] = At.ABOUT_TO_WAIT

    @action
    def await_update(self, thread: Thread):
        """A thread waits, unless the update has already arrived."""
        require(self.at[thread] == At.ABOUT_TO_WAIT)
        self.wait_or_continue(thread)

    @action
    def run_again(self, thread: Thread):
        """A notified thread has the lock again and tests the condition again."""
        require(self.at[thread] == At.NOTIFIED)
        self.wait_or_continue(thread)

    @action
    def wake_spuriously(self, thread: Thread):
        """A waiting thread runs without a notification, as Java allows."""
        require(self.at[thread] == At.WAITING and self.spurious_left > 0)
        self.spurious_left -= 1
        self.at[thread] = At.NOTIFIED

    @action
    def time_out(self, thread: Thread):
        """max.block.ms passes: `send` fails with a TimeoutException."""
        require(self.at[thread] == At.WAITING and self.timeouts_left > 0)
        self.timeouts_left -= 1
        self.leave(thread, At.FAILED)

    @action
    def close(self):
        """The producer is closed, and every waiting thread is notified."""
        require(self.closes and not self.closed)
        self.closed = True
        self.notify_waiting()

    def notify_waiting(self):
        """Notify every thread that waits."""
        for thread in Thread:
            if self.at[thread] == At.WAITING:
                self.at[thread] = At.NOTIFIED

    # The sender.

    def wake_up(self):
        """Wake a sleeping sender; a sender that is awake returns from its next poll at once."""
        if self.sender == Sender.ASLEEP:
            self.sender = Sender.CHECKING
        else:
            self.wakeup_pending = True

    @action
    def check(self):
        """The sender sends a metadata request if one is needed and none is in flight, and continues to poll."""
        require(self.sender == Sender.CHECKING)
        if self.update_requested and self.request == Request.NONE:
            self.request = Request.SENT
        self.sender = Sender.ABOUT_TO_POLL

    @action
    def poll(self):
        """The sender sleeps until an event, unless a wake-up came before."""
        require(self.sender == Sender.ABOUT_TO_POLL)
        self.sender = Sender.CHECKING if self.wakeup_pending else Sender.ASLEEP
        self.wakeup_pending = False

    @action
    def lose_request(self):
        """The connection closes: the sender notices it in poll, and the update is still needed."""
        require(self.sender == Sender.ASLEEP and self.request != Request.NONE and self.losses_left > 0)
        self.losses_left -= 1
        self.request = Request.NONE
        self.sender = Sender.CHECKING

    @action
    def answer(self):
        """A broker answers that it knows the topic."""
        require(self.request == Request.SENT)
        self.request = Request.TOPIC_KNOWN

    @action
    def answer_unknown(self):
        """A broker answers that it does not know the topic, which was just created."""
        require(self.request == Request.SENT and self.misses_left > 0)
        self.misses_left -= 1
        self.request = Request.TOPIC_UNKNOWN

    @action
    def receive(self):
        """The answer ends the poll: the version increases, and every waiting thread is notified."""
        require(self.sender == Sender.ASLEEP and not self.closed)
        require(self.request == Request.TOPIC_KNOWN or self.request == Request.TOPIC_UNKNOWN)
        self.topic_is_cached = self.topic_is_cached or self.request == Request.TOPIC_KNOWN
        self.request = Request.NONE
        self.update_requested = False
        self.version += 1
        self.sender = Sender.CHECKING
        self.notify_waiting()

    @action
    def rest(self):
        """Every thread has its metadata or has failed. This step keeps such a state from being a dead end."""
        require(all(self.at[thread] == At.DONE or self.at[thread] == At.FAILED for thread in Thread))

    # Properties.

    @invariant(says="{thread} waits for a version after {self.seen[thread]}, but the version is {self.version}")
    def no_thread_misses_an_update(self):
        """A thread waits only while the version is not newer than the one that it remembered."""
        return all(self.at[thread] != At.WAITING or self.seen[thread] >= self.version for thread in Thread)

    @invariant(says="{thread} waits for an update that was not requested")
    def update_is_requested_while_waiting(self):
        """While a thread waits, an update is requested."""
        return all(self.at[thread] != At.WAITING or self.update_requested or self.closed for thread in Thread)

    @invariant(says="{thread} continues without the topic's metadata")
    def done_means_known(self):
        """A thread continues only if the topic is cached."""
        return all(self.at[thread] != At.DONE or self.topic_is_cached for thread in Thread)

    @invariant
    def no_wake_up_is_lost(self):
        """A sender sleeps with a requested update only if it has sent the request, or a thread is about to wake it."""
        is_needed = self.update_requested and self.request == Request.NONE
        about_to_wake = any(self.at[thread] == At.ASKED for thread in Thread)
        return self.sender != Sender.ASLEEP or not is_needed or about_to_wake

    @step_invariant
    def version_only_grows(self, old):
        """The version never decreases."""
        return self.version >= old.version

    @reachable
    def every_thread_is_done(self):
        """All threads get the metadata."""
        return all(self.at[thread] == At.DONE for thread in Thread)

    @reachable
    def waker_comes_before_sleep(self):
        """A wake-up comes between the sender's check and its sleep."""
        return self.sender == Sender.ABOUT_TO_POLL and self.wakeup_pending

    @reachable
    def update_comes_before_wait(self):
        """The update arrives before the thread begins to wait."""
        return any(self.at[thread] == At.ABOUT_TO_WAIT and self.version > self.seen[thread] for thread in Thread)


class VersionReadTooLate(MetadataWait):
    """Not Kafka: the version is read when the wait begins, not when the update is requested.

    Metadata.requestUpdate returns the version that it replaces, which prevents this.
    """

    def remember_version(self, thread: Thread):
        """Do nothing: the version is read later."""

    @action
    def await_update(self, thread: Thread):
        """A thread reads the version, then waits for a newer one."""
        require(self.at[thread] == At.ABOUT_TO_WAIT)
        self.seen[thread] = self.version
        self.wait_or_continue(thread)


class WaitWithoutTest(MetadataWait):
    """Not Kafka: a thread waits without a test of the version, and misses an earlier update."""

    @action
    def await_update(self, thread: Thread):
        """A thread waits without a test."""
        require(self.at[thread] == At.ABOUT_TO_WAIT)
        self.at[thread] = At.WAITING


class WaitWithoutLoop(MetadataWait):
    """Not Kafka: a notified thread does not test its condition again."""

    @action
    def run_again(self, thread: Thread):
        """A notified thread continues without a test."""
        require(self.at[thread] == At.NOTIFIED)
        self.leave(thread, At.DONE)


class WakeupIsForgotten(MetadataWait):
    """Not Kafka: a wake-up before the sleep is lost (Selector.wakeup remembers it)."""

    def wake_up(self):
        """Wake a sleeping sender."""
        if self.sender == Sender.ASLEEP:
            self.sender = Sender.CHECKING


class OneIsNotified(MetadataWait):
    """Not Kafka: an update notifies one of the waiting threads (ProducerMetadata.update calls notifyAll)."""

    def notify_waiting(self):
        """Notify the first waiting thread."""
        for thread in Thread:
            if self.at[thread] == At.WAITING:
                self.at[thread] = At.NOTIFIED
                break


SMALL = dict(threads=2)
ONE = dict(threads=1, misses=0)
LARGER = dict(threads=3, misses=2, losses=1)

scenarios = [
    Scenario(MetadataWait, "small", SMALL, deadlock=True,
        description="Two threads wait for a topic that the broker does not know at first, and both get its metadata."),
    Scenario(MetadataWait, "larger", LARGER, deadlock=True,
        description="Three threads, two answers without the topic, one lost request: no thread waits forever."),
    Scenario(MetadataWait, "timeouts_and_spurious_wakeups", SMALL | dict(timeouts=1, spurious_wakeups=1), deadlock=True,
        description="One wait times out, another ends spuriously, and the other threads get the metadata."),
    Scenario(MetadataWait, "closed", SMALL | dict(closes=True), deadlock=True,
        description="The producer is closed while threads wait for metadata, and all of them are notified."),
    Scenario(MetadataWait, "everything_at_once",
        dict(threads=3, misses=1, losses=1, timeouts=1, spurious_wakeups=1, closes=True, max_version=8), deadlock=True,
        description="Three threads and one fault of each kind: no thread waits forever."),
    Scenario(VersionReadTooLate, "update_missed", ONE, properties=["update_is_requested_while_waiting"],
        expect={"update_is_requested_while_waiting": 9, "deadlock": 13}, deadlock=True,
        description="The update precedes the read of the version; the thread waits for another, never requested."),
    Scenario(WaitWithoutTest, "update_missed", ONE, properties=["no_thread_misses_an_update"],
        expect={"no_thread_misses_an_update": 9, "deadlock": 13}, deadlock=True,
        description="The update and its notification come before the wait begins, and no other follows."),
    Scenario(WaitWithoutLoop, "topic_still_unknown", dict(threads=1, misses=1), expect={"done_means_known": 12},
        description="The answer does not have the topic yet, but the thread continues."),
    Scenario(WakeupIsForgotten, "sender_sleeps", ONE, properties=["no_wake_up_is_lost"],
        expect={"no_wake_up_is_lost": 6, "deadlock": 7}, deadlock=True,
        description="The sender is idle, is woken before it sleeps, and sleeps with a request to send."),
    Scenario(OneIsNotified, "other_waits", dict(threads=2, misses=0), properties=["no_thread_misses_an_update"],
        expect={"no_thread_misses_an_update": 15, "deadlock": 19}, deadlock=True,
        description="The update arrives, and only one of two waiting threads is notified."),
]  # fmt: skip
