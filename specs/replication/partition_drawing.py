"""How a trace of the message-level model is drawn: its lanes, and an arrow for each message."""

from checker.language import Arrow, Drawing, Lane, Log
from specs.replication.state import Replica

DRAWING = Drawing(
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
        Arrow("follower_truncate", "leader[follower]", "follower", "{epoch_ends[follower]}", "epoch_ends[follower]"),
        Arrow("controller_handle_alter_partition", "leader", "'controller'", "{pending[leader]}", "pending[leader]"),
        Arrow("leader_learn_isr", "'controller'", "leader", "{quorum.isr}", "quorum"),
        Arrow("become_leader", "'controller'", "requests[epoch].leader", "leader epoch {epoch}", "requests[epoch]"),
        Arrow("become_follower", "'controller'", "follower", "leader epoch {epoch}", "requests[epoch]"),
    ),
)
