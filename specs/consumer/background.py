"""A consumer with a background thread that commits: the client of the consumer protocol (KIP-848).

Scenarios: entries C12, C14 and C15 of docs/consumer.md.
Sources: AsyncKafkaConsumer (poll, collectFetch), ApplicationEventProcessor, CommitRequestManager (maybeAutoCommitAsync,
autoCommitSyncBeforeRebalanceWithRetries), SubscriptionState.allConsumed of Apache Kafka 3.9.1, 4.1.1, 4.2.0 and 4.3.1.
"""

from checker.language import Bug, Constant, Event, Option, Range, action, reachable, require
from specs.consumer.commits import AT_LEAST_ONCE, PollLoop
from specs.consumer.consumer import Offset


class BackgroundCommits(PollLoop):
    """`PollLoop` with enable.auto.commit, where another thread reads the position and commits it.

    Poll advances the position when it takes records from the buffer. `commits`: the background thread commits the
    position at "any_time" after auto.commit.interval.ms (3.7 to 3.9); when it handles an event of the current poll,
    "before_fetching": poll takes no records until then (4.0 and 4.1); or when it handles that event, "while_polling":
    poll does not wait (since 4.2).

    Before a rebalance the background thread commits in the same way, and retries a commit that fails. `retries_with`
    "latest" reads the position again, "same" sends the same offset.
    """

    draws = PollLoop.draws.with_events(
        Event("poll",
            "The poll {'does not wait for that commit: it ' * event_sent}returns {count} record{'s'[:count - 1]} from "
                "offset {position} on", at="'consumer'"),
        Event("begin_poll", "The application polls again: the background thread is to commit first", at="'consumer'"),
        Event("commit_position", "The background thread commits the position {position}, of which the application has "
            "processed {len(processed)} record{'' if len(processed) == 1 else 's'}", "commit {position}", "'consumer'"),
        Event("fail_commit", "Before a rebalance, the commit of position {position} fails, and will be retried",
            "commit fails", "'consumer'", "refusal"),
        Event("retry_commit", "The background thread retries the commit, with the {'latest position ' + str(position) "
            "if retries_with == 'latest' else 'same offset ' + str(retried)}", "retry", "'consumer'"))  # fmt: skip

    commit = Constant("auto", one_of=("auto",))
    commits = Constant("before_fetching", one_of=("any_time", "before_fetching", "while_polling"))
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
        require(self.commits != "any_time")
        require(self.position is not None and len(self.in_hand) == 0 and not self.event_sent)
        # Without anything to commit, an event that poll waits for changes nothing.
        require(self.committed != self.position or self.commits == "while_polling")
        self.event_sent = True

    def next_records(self, count):
        """Return the next records for poll; the background thread may have to read the position first."""
        require(not self.event_sent or self.commits == "while_polling")
        return super().next_records(count)

    @action
    def commit_position(self):
        """The background thread commits the position."""
        require(self.event_sent or self.commits == "any_time")
        require(self.position is not None and self.committed != self.position)
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
    Bug("c12_commit_at_any_time", BackgroundCommits, violates={"no_gap": 5}, faulty=dict(commits="any_time"),
        fixed=dict(commits="before_fetching"), larger=LARGER, promises=AT_LEAST_ONCE,
        description="C12, KAFKA-18641: poll takes record 0, the other thread commits 1, and the process dies.",
        remedy="C12 fixed in 4.0: poll takes no records before the other thread has read the position."),
    Bug("c14_commit_while_polling", BackgroundCommits, violates={"no_gap": 6}, faulty=dict(commits="while_polling"),
        fixed=dict(commits="before_fetching"), promises=AT_LEAST_ONCE,
        description="C14: C12 again since 4.2: poll does not wait until the other thread has handled its event.",
        remedy="C14: the rule of 4.0 and 4.1."),
    Bug("c15_retried_with_the_latest_position", BackgroundCommits, violates={"no_gap": 7}, size=dict(retries=1),
        faulty=dict(retries_with="latest"), fixed=dict(retries_with="same"), larger=dict(LARGER, retries=2),
        promises=[*AT_LEAST_ONCE, "a_commit_is_retried"],
        description="C15: a commit before a rebalance fails; its retry commits the position of records in processing.",
        remedy="C15: the retry commits the offset of the first attempt."),
]  # fmt: skip
