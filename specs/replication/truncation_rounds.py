"""4. OffsetsForLeaderEpoch: a follower asks where to truncate, before it fetches (KIP-101, KIP-279)."""

from checker.language.roles import action, require
from specs.replication.partition_state import UNDEFINED, EpochQuestion, PartitionVariables
from specs.replication.state import Replica


class TruncationRounds(PartitionVariables, abstract=True):
    """A follower truncates by its leader's answers. Source: AbstractFetcherThread.maybeTruncate."""

    @action
    def follower_ask_epoch_end(self, follower: Replica):
        """A follower asks its leader where the follower's last epoch ends.

        Source: AbstractFetcherThread.truncateToEpochEndOffsets.
        """
        require(follower in self.alive and follower in self.truncating)
        require(self.epoch_ends[follower] is None)
        question = EpochQuestion(
            leader=self.leader[follower], leader_epoch=self.leader_epoch[follower], epoch=self.latest_epoch(follower)
        )
        require(self.questions[follower] != question)
        self.questions[follower] = question

    @action
    def leader_answer_epoch_end(self, follower: Replica):
        """The leader answers while it leads and, since KIP-320, is in the same epoch.

        Source: Partition.lastOffsetForLeaderEpoch.
        """
        question = self.questions[follower]
        require(question is not None)
        require(self.leads(question.leader))
        require(not self.fences_questions or question.leader_epoch == self.leader_epoch[question.leader])
        self.questions[follower] = None
        self.epoch_ends[follower] = self.end_offset_for(question.leader, question.epoch)

    @action
    def follower_truncate(self, follower: Replica):
        """The follower truncates by the answer; then it fetches, or asks again while the epochs differ.

        Source: AbstractFetcherThread.maybeTruncateToEpochEndOffsets.
        """
        answer = self.epoch_ends[follower]
        require(answer is not None)
        self.epoch_ends[follower] = None
        is_complete = self.is_truncation_complete(follower, answer)
        self.truncate(follower, self.truncation_offset(follower, answer))
        if is_complete or self.latest_epoch(follower) == UNDEFINED:
            self.truncating.discard(follower)

    def truncation_offset(self, follower, answer):
        """Return the offset at which a follower truncates after its leader's answer.

        Source: AbstractFetcherThread.getOffsetTruncationState.
        """
        end = len(self.log[follower])
        if answer.end == UNDEFINED:
            return self.high_watermark[follower]
        if self.truncation == "kip101" or answer.epoch == UNDEFINED:
            return min(answer.end, end)
        own = self.end_offset_for(follower, answer.epoch)
        if own.end == UNDEFINED:
            return min(answer.end, end)
        if own.epoch != answer.epoch:
            return min(own.end, end)
        return min(own.end, answer.end, end)

    def is_truncation_complete(self, follower, answer):
        """Return whether the follower is done; otherwise it asks again with an earlier epoch (KIP-279).

        Source: AbstractFetcherThread.getOffsetTruncationState.
        """
        if self.truncation == "kip101" or answer.end == UNDEFINED or answer.epoch == UNDEFINED:
            return True
        own = self.end_offset_for(follower, answer.epoch)
        return own.end == UNDEFINED or own.epoch == answer.epoch
