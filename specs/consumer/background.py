"""A consumer with a background thread that commits: the client of the consumer protocol (KIP-848).

Scenarios: entry C12 of docs/consumer.md.
Sources: AsyncKafkaConsumer (poll, collectFetch), ApplicationEventProcessor, CommitRequestManager (maybeAutoCommitAsync,
autoCommitSyncBeforeRebalanceWithRetries), SubscriptionState.allConsumed of Apache Kafka 3.9.1, 4.1.1, 4.2.0 and 4.3.1.
"""

from checker.language import Bug, Constant, Option, Range, action, reachable, require
from specs.consumer.commits import AT_LEAST_ONCE, PollLoop
from specs.consumer.consumer import Offset


class BackgroundCommits(PollLoop):
    """`PollLoop` with enable.auto.commit, where another thread reads the position and commits it.

    The thread of the application sends an event to the background thread when it polls. The background thread then
    commits the position if auto.commit.interval.ms has passed. Poll advances the position when it takes records from
    the buffer. `waits_for_commit`: poll takes no records until the background thread has read the position.

    Before a rebalance the background thread commits in the same way, and retries a commit that fails. `retries_with`
    "latest" reads the position again, "same" sends the same offset.
    """

    commit = Constant("auto", one_of=("auto",))
    waits_for_commit = Constant(True)  # KAFKA-18641
    retries = Constant(0, at_least=0)
    retries_with = Constant("latest", one_of=("latest", "same"))

    event_sent = bool  # the background thread has yet to handle the event of the current poll
    retried = Option(Offset)  # the offset of a commit that failed and is retried
    retries_left = Range(0, "retries")

    def init(self):
        """The consumer starts; `retries` commits may fail."""
        super().init()
        self.retries_left = self.retries

    @action
    def begin_poll(self):
        """The application polls again, as it has processed all returned records."""
        require(self.position is not None and len(self.in_hand) == 0 and not self.event_sent)
        # Without anything to commit, an event that poll waits for changes nothing.
        require(self.committed != self.position or not self.waits_for_commit)
        self.event_sent = True

    def next_records(self, count):
        """Return the next records for poll; the background thread may have to read the position first."""
        require(not (self.event_sent and self.waits_for_commit))
        return super().next_records(count)

    @action
    def commit_position(self):
        """The background thread handles the event and commits the position."""
        require(self.event_sent and self.position is not None)
        self.event_sent = False
        self.committed = self.position

    @action
    def fail_commit(self):
        """The background thread handles the event; the commit fails with an error that can be retried."""
        require(self.event_sent and self.position is not None)
        require(self.retries_left > 0 and self.retried is None)
        self.retries_left -= 1
        self.event_sent = False
        self.retried = self.position

    @action
    def retry_commit(self):
        """The background thread retries the commit."""
        require(self.retried is not None and self.position is not None)
        self.committed = self.position if self.retries_with == "latest" else self.retried
        self.retried = None

    def stop(self):
        """Leave the partition without an owner; the background thread ends too."""
        super().stop()
        self.event_sent = False
        self.retried = None

    @reachable
    def a_commit_is_retried(self):
        """If commits may fail, one is retried and the consumer reaches the end of the log."""
        return self.retries == 0 or (self.retries_left == 0 and self.retried is None and self.committed == self.records)


LARGER = dict(records=4, max_poll_records=3, crashes=3)

scenarios = [
    Bug(
        "c12_commit_while_polling",
        BackgroundCommits,
        violates={"no_gap": 6},
        faulty=dict(waits_for_commit=False),
        fixed=dict(waits_for_commit=True),
        larger=LARGER,
        promises=AT_LEAST_ONCE,
        description="C12, KAFKA-18641: poll takes record 0, the other thread commits 1, and the process dies.",
        remedy="C12: poll takes no records before the other thread has read the position.",
    ),
    Bug(
        "c12_retried_with_the_latest_position",
        BackgroundCommits,
        violates={"no_gap": 7},
        size=dict(retries=1),
        faulty=dict(retries_with="latest"),
        fixed=dict(retries_with="same"),
        larger=dict(LARGER, retries=2),
        promises=[*AT_LEAST_ONCE, "a_commit_is_retried"],
        description="C12: a commit before a rebalance fails; its retry commits the position of records in processing.",
        remedy="C12: the retry commits the offset of the first attempt.",
    ),
]
