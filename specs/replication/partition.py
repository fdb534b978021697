"""Replication of one partition, message by message."""

from checker.language import Arrow, Drawing, Lane, Log
from specs.replication.reading import Reading
from specs.replication.state import Replica


class Partition(Reading):
    """One partition: its brokers, the messages between them, the controller, and failures of all of them.

    The parts are classes of their own, each with the variables and actions of its subject: `leader_epochs`,
    `acknowledging`, `isr_changes`, `fetching`, `roles`, `elections`, `failures`. Their bool constants are rules that
    Kafka has had, or has; `versions` has the rules of each version. By default they are those of Kafka 4.0.

    Source: as in each part; docs/replication-messages.md.
    """

    draws = Drawing(
        Lane("producer", boxes={"acked": "acknowledged records"}),
        Lane(
            "controller",
            crowned={"quorum.leader": "leader in the metadata"},
            members={"quorum.isr": "ISR", "eligible": "ELR"},
            facts={"quorum.leader": "leader", "quorum.isr": "ISR", "fenced": "fenced"},
        ),
        Lane(
            "replica",
            each=Replica,
            logs=(Log("log", markers={"high_watermark": "HW"}, colour="epoch"),),
            crowned={"presumes_leadership": "takes itself for the leader"},
            members={"isr": "ISR"},
            facts={
                "is_alive": "alive",
                "leader_epoch": "leader epoch",
                "leader": "its leader",
                "remote_end": "others have fetched up to",
                "pending": "asks for",
            },
        ),
        arrows=(
            Arrow("leader_append", "'producer'", "leader", "append"),
            Arrow(
                "leader_handle_fetch",
                "follower",
                "fetches[follower].leader",
                "{fetches[follower]}",
                "fetches[follower]",
            ),
            Arrow("follower_receive", "leader[follower]", "follower", "{answers[follower]}", "answers[follower]"),
            Arrow(
                "leader_answer_epoch_end",
                "follower",
                "questions[follower].leader",
                "{questions[follower]}",
                "questions[follower]",
            ),
            Arrow(
                "follower_truncate", "leader[follower]", "follower", "{epoch_ends[follower]}", "epoch_ends[follower]"
            ),
            Arrow(
                "controller_handle_alter_partition", "leader", "'controller'", "{pending[leader]}", "pending[leader]"
            ),
            Arrow("leader_learn_isr", "'controller'", "leader", "{quorum.isr}", "quorum"),
            Arrow("become_leader", "'controller'", "requests[epoch].leader", "leader epoch {epoch}", "requests[epoch]"),
            Arrow("become_follower", "'controller'", "follower", "leader epoch {epoch}", "requests[epoch]"),
        ),
    )

    def is_alive(self, replica: Replica):
        """Return whether a broker runs."""
        return replica in self.alive
