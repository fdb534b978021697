"""How a trace of the model in which the replica set changes is drawn."""

from checker.language import Drawing, Event, Lane
from specs.replication.replica_set_state import Broker

_LOG = (
    "{'' if is_deleted else ', which is no replica' if broker not in replicas else ', whose disk is gone, with a new "
    "log' if broker in without_disk else ', which lacks acknowledged records' if broker not in complete else ''}"
)
"""The part of a sentence about a broker that starts: the log that it has."""

DRAWING = Drawing(
    Lane("controller", crowned={"leader": "leader"}, members={"replicas": "replicas", "isr": "ISR", "elr": "ELR"},
        facts={"adding": "adding", "removing": "removing", "last_known": "last known leader",
        "min_isr": "min.insync.replicas"}),
    Lane("broker", each=Broker, alive="is_active", facts={"has_records": "complete log"}),
).with_events(
    Event("init", "{leader} leads, the ISR is {isr}, and every replica has the acknowledged records"),
    Event("produce", "{leader} and the rest of the ISR {isr} get a record with acks=all, and acknowledge it",
        "records, acks=all", "leader"),
    Event("follower_join", "{broker} has copied the log of {leader}, and joins the ISR", "joins the ISR", "broker"),
    Event("leader_shrink_isr", "{leader} removes {broker} from the ISR, because it lags", "leaves the ISR", "broker"),
    Event("broker_stop", "{broker} shuts down cleanly{', and was the last member of the ISR' if isr == {broker} "
        "else ''}", "shutdown", "broker", "shutdown"),
    Event("broker_crash", "The process of {broker} crashes, and the controller fences it; its log survives", "crash",
        "broker", "crash"),
    Event("broker_lose_power", "The machine of {broker} loses power, and its log is lost", "power loss", "broker",
        "power loss"),
    Event("operator_remove_disk", "The disk of {broker}, which is down, fails; an operator takes its directory out of "
        "log.dirs", "disk removed", "broker", "lost state"),
    Event("operator_replace_disk", "The disk of {broker}, which is down, fails; an empty one takes its place",
        "empty disk", "broker", "lost state"),
    Event("broker_start", "{broker} starts" + _LOG, "start", "broker", "restart"),
    Event("operator_reassign", "An operator reassigns the partition to {target}", "reassign to {target}",
        "'controller'"),
    Event("operator_cancel", "An operator cancels the reassignment: {adding} are replicas no more, and delete their "
        "logs", "cancel", "'controller'"),
    Event("operator_move_log", "An operator moves the log of {broker} to another of its directories", "move log",
        "broker"),
    Event("operator_set_min_isr", "An operator sets min.insync.replicas from {min_isr} to {value}{', while the "
        "partition has no leader' if leader is None else ''}", "min.insync.replicas={value}", "'controller'"),
    Event("operator_change_feature", "An operator switches eligible leader replicas {'off' if has_elr else 'on'}{', "
        "while the partition has no leader' if leader is None else ''}", "ELR {'off' if has_elr else 'on'}",
        "'controller'"),
    Event("operator_delete_topic", "An operator deletes the topic", "delete topic", "'controller'"),
)  # fmt: skip
