"""A producer that sends a record again when it hears nothing."""

from checker.language import Range, Seq, Spec, action, invariant, require


class Retry(Spec):
    """One partition; records 0 and 1; a lost acknowledgement is a record sent once more."""

    log = Seq(Range(0, 1), 3)
    acknowledged = Range(0, 2)

    @action
    def send(self):
        require(self.acknowledged < 2 and len(self.log) < 3)
        self.log.append(self.acknowledged)

    @action
    def acknowledge(self):
        require(self.acknowledged in self.log)
        self.acknowledged += 1

    @invariant(says="record {record} is in the log {self.log.count(record)} times")
    def no_duplicate(self):
        return all(self.log.count(record) == 1 for record in self.log)
