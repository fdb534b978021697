"""A small spec with lassos, with a drawing: batches that are sent, lost, retried and delivered."""

from checker.language import (
    Constant,
    Domain,
    Drawing,
    Enum,
    Lane,
    Map,
    Scenario,
    Spec,
    action,
    eventually,
    eventually_always,
    leads_to,
    require,
)


class Batch(Domain):
    size, prefix = "batches", "p"


class Progress(Enum):
    NEW = "new"
    SENT = "sent"
    LOST = "lost"
    DONE = "done"


class Sending(Spec):
    """Batches are sent, may be lost, and are sent again."""

    batches = Constant(2, at_least=1)
    progress = Map(Batch, Progress)
    draws = Drawing(Lane("batch", each=Batch, facts={"progress": "progress"}))

    @action(fair="weak")
    def send(self, batch: Batch):
        """Send a batch for the first time."""
        require(self.progress[batch] == Progress.NEW)
        self.progress[batch] = Progress.SENT

    @action
    def lose(self, batch: Batch):
        """The network loses a batch."""
        require(self.progress[batch] == Progress.SENT)
        self.progress[batch] = Progress.LOST

    @action(fair="weak")
    def retry(self, batch: Batch):
        """Send a lost batch again."""
        require(self.progress[batch] == Progress.LOST)
        self.progress[batch] = Progress.SENT

    @action(fair="strong")
    def deliver(self, batch: Batch):
        """The broker appends a batch."""
        require(self.progress[batch] == Progress.SENT)
        self.progress[batch] = Progress.DONE

    def is_sent(self, batch):
        return self.progress[batch] == Progress.SENT

    @leads_to("is_sent", says="{batch} is {self.progress[batch]} for ever")
    def is_done(self, batch: Batch):
        """Every batch that is sent is delivered."""
        return self.progress[batch] == Progress.DONE

    @eventually
    def all_done(self):
        return all(self.progress[batch] == Progress.DONE for batch in Batch)

    @eventually_always
    def stays_sent(self, batch: Batch):
        return self.progress[batch] != Progress.LOST


class Lossless(Sending):
    """The same, with a network that loses nothing."""

    @action
    def lose(self, batch: Batch):
        require(False)


class Patient(Sending):
    """The same, and `deliver` is only weakly fair."""

    @action(fair="weak")
    def deliver(self, batch: Batch):
        require(self.progress[batch] == Progress.SENT)
        self.progress[batch] = Progress.DONE


class Restless(Patient):
    """The same as `Patient`, with a counter that never returns."""

    rounds = Map(Batch, Progress)

    @action(fair="weak")
    def retry(self, batch: Batch):
        require(self.progress[batch] == Progress.LOST)
        require(self.rounds[batch] == Progress.NEW)
        self.progress[batch] = Progress.SENT
        self.rounds[batch] = Progress.DONE


class Unrelated(Patient):
    """The same as `Patient`, without the property."""

    is_done = None


WEAK = {"deliver": "weak"}

scenarios = [
    Scenario(Sending, "delivered", properties=("is_done", "all_done")),
    Scenario(Sending, "single", {"batches": 1}, properties=("is_done",)),
    Scenario(Sending, "starved", fair=WEAK, expect={"is_done": 3, "all_done": 3, "stays_sent": 3}),
    Scenario(Sending, "never_retried", fair={"retry": None}, properties=("all_done",), expect={"all_done": 5}),
]
