"""The message-level model of replication; the modules to read, in order, are listed at `Partition`."""

from checker.language import Arrow, Drawing, Lane, Log
from specs.replication.reading import Reading
from specs.replication.state import Replica


class Partition(Reading):
    """One partition: its brokers, the messages between them, the controller, and their failures.

    The model is one spec in ten layers, each a class in a module with the variables, actions and properties of its
    subject. A layer uses the layers before it. Read them in this order:

    1. `state`: logs, high watermarks, leader epochs, metadata; the properties of the published models.
    2. `switches`: every rule, setting and event as a constant, with Kafka's class and version.
    3. `leader_epochs`: the leader-epoch cache, and where a follower truncates.
    4. `acknowledging`: appends, the high watermark over the maximal ISR, acknowledgements.
    5. `isr_changes`: AlterPartition between leader and controller.
    6. `fetching`: fetch requests and responses.
    7. `roles`: becoming leader or follower, OffsetsForLeaderEpoch.
    8. `elections`: fencing, elections, eligible leader replicas.
    9. `failures`: crashes, power failures, shutdowns, restarts.
    10. `reading`: a consumer.

    A later layer extends three methods of earlier ones: `write_isr` (`isr_changes`) by `elections`, `may_fetch`
    (`fetching`) by `roles`, and `init` (`roles`) by `failures`. `versions` has the switches of each Kafka version.

    Source: see each layer; docs/replication-messages.md.
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
            crowned={"presumes_leadership": "believes that it leads"},
            members={"isr": "ISR"},
            facts={
                "is_alive": "alive",
                "leader_epoch": "leader epoch",
                "leader": "its leader",
                "remote_end": "fetched by the others",
                "pending": "requested ISR",
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
