"""How a trace of the message-level model is drawn: its lanes, and an arrow for each message."""

from checker.language import Arrow, Drawing, Event, Lane
from specs.replication.state import LOG, Replica

_RECORD = (
    "('record ' + str(answers[follower].record) + ', ' if answers[follower].record is not None else '')"
    " + 'HW ' + str(answers[follower].high_watermark)}"
)
_ANSWER = (
    "{'out of range' if answers[follower].diverging is not None and answers[follower].diverging.epoch < 0 else"
    " 'logs diverge: epoch ' + str(answers[follower].diverging.epoch) + ' ends at '"
    " + str(answers[follower].diverging.end) if answers[follower].diverging is not None else " + _RECORD
)
"""The label of an answer to a fetch: the record and the high watermark, or where the logs diverge."""

_GETS_ANSWER = (
    "{'its fetch is out of range, and its log is not longer, so it truncates nothing and will fetch again'"
    " if answers[follower].diverging is not None"
    " and is_out_of_range_within_the_log(follower, answers[follower].diverging) else"
    " 'its fetch is out of range, so it truncates to the log end ' + str(answers[follower].diverging.end)"
    " if answers[follower].diverging is not None and answers[follower].diverging.epoch < 0 else"
    " 'the logs diverge, epoch ' + str(answers[follower].diverging.epoch) + ' ends at offset '"
    " + str(answers[follower].diverging.end) + ' there' if answers[follower].diverging is not None else " + _RECORD
)
"""The part of a sentence about a follower that gets an answer: what it says, and what the follower does with it."""

_OUT_OF_RANGE = (
    "{', but does not know epoch ' + str(fetches[follower].last_epoch) + ', the last one of ' + str(follower)"
    " + ', and so cannot tell where it ends' if fetches[follower].last_epoch >= 0 and"
    " end_offset_for(fetches[follower].leader, fetches[follower].last_epoch).end < 0 else ''}"
)
"""The part of a sentence about a leader that does not have the last leader epoch of its follower."""

_STILL = (
    "{', still in epoch ' + str(leader_epoch[follower]) + ',' if leader_epoch[follower] < len(requests) - 1 else ''}"
)
"""The part of a sentence about a follower that has not heard of the newest leader epoch."""

_FROM_THE_FILE = (
    "{'. But it appends what the file of ' + str(leader[follower]) + ' has at this offset by now, '"
    " + (str(log[leader[follower]][len(log[follower])])"
    " if len(log[follower]) < len(log[leader[follower]]) else 'nothing')"
    " if sends_lazily and answers[follower].record is not None and log[leader[follower]][len(log[follower]):"
    "len(log[follower]) + 1] != [answers[follower].record] else ''}"
)
"""The end of a sentence if a leader sends what its file has when it sends, and that is another record by now."""

_OTHER_RECORD = (
    "{'not ' + str(answers[follower].record) + ': the file has changed'"
    " if sends_lazily and answers[follower].record is not None and log[leader[follower]][len(log[follower]):"
    "len(log[follower]) + 1] != [answers[follower].record] else ''}"
)

_BROKER_EPOCH = (
    "{', broker epoch ' + str(broker_epoch[broker]) + ' → ' + str(broker_epoch[broker] + 1)"
    " if checks_broker_epochs and not (acts_before_registration and broker not in unregistered) else ''}"
)

_STAYS = (
    "{'. The controller did not see that it was down, and leaves it in the ISR' if controller == 'kraft'"
    " and not registration_leaves_isr and not acts_before_registration and not eligible_leader_replicas"
    " and broker in quorum.isr and broker not in fenced else ''}"
)
"""The end of a sentence about a broker that registers before its former process was fenced (KAFKA-18106)."""

_AT_FOLLOWING = (
    "{' as before, so it truncates nothing' if follows_by_leader_id and leader[follower] == requests[epoch].leader"
    " else ', after it has truncated its log to its high watermark ' + str(high_watermark[follower])"
    " + (', as it knows no leader epoch' if truncation != 'high_watermark' else '')"
    " if len(log[follower]) > high_watermark[follower]"
    " and (truncation == 'high_watermark' or latest_epoch(follower) < 0) else ''}"
)
"""The end of a sentence about a follower of a new leader epoch: what it truncates before it fetches."""

_AT_LEADING = (
    "{'. It missed an epoch, and trusts the offsets that it knows of its followers' if epoch > leader_epoch["
    "requests[epoch].leader] + 1 and keeps_followers_in(requests[epoch].leader, epoch) else ''}"
)
"""The end of a sentence about a leader that does not forget how far its followers were."""

_JOINS = (
    "{'; ' + str(follower) + ' has every record below the high watermark '"
    " + str(high_watermark[fetches[follower].leader]) + ', so ' + str(fetches[follower].leader)"
    " + ' asks the controller to add it to the ISR' if not asks_to_join_later"
    " and (counts_diverging_fetch or diverging(fetches[follower].leader, fetches[follower]) is None)"
    " and may_join(fetches[follower].leader, follower,"
    " min(fetches[follower].offset, len(log[fetches[follower].leader]))) else ''}"
)
"""The end of a sentence about a leader that asks for another ISR after a fetch."""

_NOT_IN_CACHE = (
    "{'. Its cache has no epoch ' + str(questions[follower].epoch)"
    " + (', as its records carry none' if not records_carry_epochs else '')"
    " + (', so it answers for epoch '"
    " + str(end_offset_for(questions[follower].leader, questions[follower].epoch).epoch) + ', the newest before it'"
    " if 0 <= end_offset_for(questions[follower].leader, questions[follower].epoch).epoch < questions[follower].epoch"
    " else '')"
    " if any(record.epoch == questions[follower].epoch for record in log[questions[follower].leader])"
    " and not any(known.epoch == questions[follower].epoch for known in epoch_starts[questions[follower].leader])"
    " else ''}"
)
"""The end of a sentence about a leader that has records of an epoch and does not know where it ends."""

_EPOCH_END = "{str(epoch_ends[follower]) if epoch_ends[follower].end >= 0 else 'unknown'}"
"""The answer of a leader to the question where an epoch ends (UNDEFINED_EPOCH_OFFSET: unknown)."""

DRAWING = Drawing(
    Lane("producer", boxes={"acked": "acknowledged records"}),
    Lane("controller", crowned={"quorum.leader": "leader in the metadata"}, members={"quorum.isr": "ISR",
        "eligible": "ELR"}, facts={"quorum.leader": "leader", "quorum.isr": "ISR", "fenced": "fenced"}),
    Lane("replica", each=Replica, logs=(LOG,), crowned={"presumes_leadership": "believes that it leads"},
        members={"isr": "ISR"}, alive="is_alive", facts={"leader_epoch": "leader epoch", "leader": "its leader",
        "remote_end": "fetched by the others", "pending": "requested ISR"}),
    arrows=(
        Arrow("leader_append", "'producer'", "leader", "record r{next_record_id}"),
        Arrow("leader_handle_fetch", "follower", "fetches[follower].leader", "fetch from {fetches[follower].offset}",
            "fetches[follower]"),
        Arrow("follower_receive", "leader[follower]", "follower", _ANSWER, "answers[follower]"),
        Arrow("leader_answer_epoch_end", "follower", "questions[follower].leader",
            "end of epoch {questions[follower].epoch}?", "questions[follower]"),
        Arrow("follower_truncate", "leader[follower]", "follower", _EPOCH_END, "epoch_ends[follower]"),
        Arrow("controller_handle_alter_partition", "leader", "'controller'", "ISR {str(pending[leader].isr)}?",
            "pending[leader]"),
        Arrow("controller_handle_request_of_dead_leader", "leader", "'controller'", "ISR {str(pending[leader].isr)}?",
            "pending[leader]"),
        Arrow("leader_learn_isr", "'controller'", "leader", "ISR {quorum.isr}", "quorum"),
        Arrow("leader_learn_earlier_isr", "'controller'", "leader", "ISR of v{version}", "changes"),
        Arrow("leader_get_answer", "'controller'", "leader", "ISR {str(pending[leader].isr)}", "changes"),
        Arrow("leader_learn_isr_again", "'controller'", "leader", "ISR {str(isr[leader])}", "changes"),
        Arrow("become_leader", "'controller'", "requests[epoch].leader", "leader epoch {epoch}", "requests[epoch]"),
        Arrow("become_leader_with_earlier_isr", "'controller'", "requests[epoch].leader",
            "leader epoch {epoch}, ISR of v{version}", "changes"),
        Arrow("become_follower", "'controller'", "follower", "leader epoch {epoch}", "requests[epoch]"),
    ),
    item_labels={"acked": "r{}", "consumed": "r{}"},
    gains={"acked": "acknowledges"},
).with_events(
    Event("init", "{quorum.leader} leads in epoch 0, all others follow it, the logs are empty{'; the ISR is ' + "
        "str(quorum.isr) + ' only' if not starts_in_sync else ''}"),
    Event("become_leader", "{requests[epoch].leader} learns that it leads in epoch {epoch}" + _AT_LEADING,
        "leads, epoch {epoch}"),
    Event("become_leader_with_earlier_isr", "{requests[epoch].leader} learns that it leads in epoch {epoch}, with the "
        "ISR of partition epoch {version}", "leads, epoch {epoch}"),
    Event("become_follower", "{follower} learns that {requests[epoch].leader} leads in epoch {epoch}, and follows it" +
        _AT_FOLLOWING, "follows {requests[epoch].leader}"),
    Event("become_leaderless", "{replica} learns that the partition has no leader in epoch {epoch}", "no leader"),
    Event("leader_append", "{leader}{', which still believes that it leads,' if quorum.leader != leader else ''} "
        "appends the producer's record r{next_record_id}"),
    Event("follower_ask_epoch_end", "{follower} asks {leader[follower]} where its last epoch ends"),
    Event("leader_answer_epoch_end",
        "{questions[follower].leader} answers {follower} where epoch {questions[follower].epoch} ends in its log"
            + _NOT_IN_CACHE),
    Event("follower_truncate",
        "{follower} truncates its log by the answer of {leader[follower]}: " + _EPOCH_END + "{', so it truncates to "
            "its high watermark ' + str(high_watermark[follower]) if epoch_ends[follower].end < 0 else ' there, but "
            "at ' + str(truncation_offset(follower, epoch_ends[follower])) + ' in its own log' if "
            "truncation_offset(follower, epoch_ends[follower]) "
            "< min(epoch_ends[follower].end, len(log[follower])) else ''}"),
    Event("follower_fetch",
        "{follower}" + _STILL + " fetches from {leader[follower]}, from offset {len(log[follower])} on"),
    Event("leader_handle_fetch", "{fetches[follower].leader} handles the fetch of {follower} from offset "
        "{fetches[follower].offset}{', sent in epoch ' + str(fetches[follower].leader_epoch) if "
        "fetches[follower].leader_epoch != leader_epoch[fetches[follower].leader] else ''}" + _OUT_OF_RANGE + _JOINS),
    Event("leader_park_fetch", "{fetches[follower].leader} parks the fetch of {follower} from offset "
        "{fetches[follower].offset}, although it has a record there by now", "park the fetch of {follower}"),
    Event("leader_answer_as_read", "{fetches[follower].leader} answers the fetch of {follower} from offset "
        "{fetches[follower].offset} with what it read before: {'a' if has_record else 'no'} record, and high watermark "
        "{committed}", "answer as read, HW {committed}"),
    Event("leader_handle_former_fetch", "{former_fetches[follower][0].leader} handles a fetch of {follower}, which "
        "does not wait for it any more", "count the former fetch of {follower}"),
    Event("leader_answer_parked_fetch", "{fetches[follower].leader} answers the parked fetch of {follower} from offset "
        "{fetches[follower].offset}", "answer the parked fetch"),
    Event("leader_answer_without_record", "{fetches[follower].leader} answers the parked fetch of {follower} without "
        "the record at offset {fetches[follower].offset}", "answer without the record"),
    Event("leader_await_follower",
        "{leader}'s high watermark {'no longer waits' if follower in awaited[leader] else 'waits'} for {follower}, "
            "which is outside the ISR", "{'stop waiting' if follower in awaited[leader] else 'wait'} for {follower}"),
    Event("follower_receive",
        "{follower}" + _STILL + " gets the answer of {leader[follower]}: " + _GETS_ANSWER + _FROM_THE_FILE,
        _OTHER_RECORD),
    Event("follower_take_high_watermark",
        "{follower} adopts the high watermark of an answer that makes it truncate, before it truncates", "take HW"),
    Event("leader_ask_to_shrink_isr", "{leader} asks the controller to remove {follower} from the ISR, because it lags",
        "ask: ISR without {follower}"),
    Event("leader_ask_to_expand_isr", "{leader} asks the controller to add {follower} to the ISR, because it has "
        "caught up", "ask: ISR with {follower}"),
    Event("leader_ask_to_be_alone", "{leader} asks the controller to remove all followers from the ISR, because they "
        "lag", "ask: ISR {leader} alone"),
    Event("leader_drop_request", "{leader} gives up its request for the ISR {str(pending[leader].isr)}, which was "
        "never sent", "drop the request"),
    Event("controller_handle_alter_partition",
        "The controller handles the request of {leader} for the ISR {str(pending[leader].isr)}"),
    Event("broker_lose_disk", "{broker}, which is down, loses its disk", "lose the disk", "broker"),
    Event("leader_move_log", "{leader} moves its log to another directory{'' if moves_epochs_without_records else "
        "', and forgets the epochs that have no record'}", "moves its log{'' if moves_epochs_without_records else "
        "', forgets epochs'}", "leader"),
    Event("operator_change_min_isr", "An operator changes min.insync.replicas", "new min ISR", "'controller'"),
    Event("broker_learn_min_isr", "{broker} learns the new min.insync.replicas", "new min ISR", "broker"),
    Event("leader_learn_isr", "{leader} learns from the metadata that the ISR is {str(quorum.isr)}"),
    Event("leader_learn_earlier_isr", "{leader} learns the ISR of partition epoch {version}, although newer ones exist",
        "learn the ISR of v{version}"),
    Event("leader_get_answer",
        "{leader} learns from the answer to its request that the ISR is {str(pending[leader].isr)}", "learn the ISR"),
    Event("leader_learn_isr_again", "{leader} reads the ISR that it knows in the metadata{', and drops its request for "
        "' + str(pending[leader].isr) if pending[leader] is not None else ''}", "read the ISR again"),
    Event("controller_handle_request_of_dead_leader",
        "The controller grants the request of {leader}, which is down, for the ISR {str(pending[leader].isr)}"),
    Event("controller_fence", "The controller fences {broker}{', which is down' if broker not in alive else ', because "
        "its session has timed out'}", "fence {broker}", "'controller'"),
    Event("controller_elect", "The controller elects {replica} from the ISR {str(quorum.isr)}{', in place of ' + "
        "str(quorum.leader) + ', which runs' if quorum.leader in alive else ''}", "elect {replica}"),
    Event("controller_elect_uncleanly", "The controller elects {replica}, which is not in the ISR (unclean)",
        "unclean election of {replica}", "'controller'", "election"),
    Event("controller_elect_last_known", "The controller elects the last known leader {replica}", "elect {replica}"),
    Event("controller_assign_directory",
        "The controller records that {broker} has the partition on a new disk{', and takes it for a failed one: it is "
            "not in the last registration' if broker in unregistered else ''}", "new disk of {broker}", "'controller'"),
    Event("broker_crash", "The process of {broker} crashes; its log survives", "crash", "broker"),
    Event("broker_lose_power", "The machine of {broker} loses power; only the log below offset {kept} was on disk",
        "power loss", "broker"),
    Event("broker_shut_down", "{broker} shuts down cleanly", "shutdown", "broker", "shutdown"),
    Event("broker_restart", "{broker} restarts{' and registers with the controller' if not acts_before_registration "
        "else ''}" + _BROKER_EPOCH + _STAYS, "restart" + _BROKER_EPOCH),
    Event("broker_register", "The controller registers {broker}" + _BROKER_EPOCH, "register {broker}", "'controller'"),
    Event("broker_checkpoint", "{broker} writes its high watermark {high_watermark[broker]} to disk", "checkpoint"),
    Event("broker_reconnect", "{broker} reaches the controller again, which unfences it", "unfenced"),
    Event("consumer_read", "The consumer reads r{log[replica][len(consumed)].id} at offset {len(consumed)} from "
        "{replica}", "consumer reads r{log[replica][len(consumed)].id}"),
)  # fmt: skip
