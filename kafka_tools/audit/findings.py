"""What an audit found: the kinds of findings, and a finding with its place."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The kinds of findings. A note does not change the exit status: healthy logs have such places too."""

    UNREADABLE = "unreadable batch"
    CHECKSUM = "wrong checksum"
    CUT_OFF = "segment cut off"
    WRONG_FILE = "damaged file"
    OFFSET_GAP = "offsets missing"
    OFFSET_BACK = "offset goes back"
    RECORD_COUNT = "wrong number of records"
    LEADER_EPOCH = "leader epoch"
    INDEX = "index"
    SEQUENCE_GAP = "sequence numbers missing"
    SEQUENCE_BACK = "sequence goes back"
    DUPLICATE_SEQUENCE = "batch appended twice"
    DUPLICATE_BATCH = "repeated batch"
    EPOCH_BACK = "producer epoch goes back"
    SNAPSHOT = "producer snapshot"
    TRANSACTION = "transaction"
    ABORTED_INDEX = "index of aborted transactions"
    BOUNDS = "high watermark or log start"
    COPIES = "copies differ"
    BEING_WRITTEN = "incomplete last batch"
    EXPIRED_PRODUCER = "sequence restarts after producer state may have expired"
    OPEN_TRANSACTION = "transaction open at the end of the log"
    UNCHECKED = "not checked"

    @property
    def is_note(self) -> bool:
        """Whether healthy logs have such places too."""
        return self in _NOTES


_NOTES = frozenset({Kind.BEING_WRITTEN, Kind.EXPIRED_PRODUCER, Kind.OPEN_TRANSACTION, Kind.UNCHECKED})


@dataclass(frozen=True)
class AuditFinding:
    """A finding: the folder and file, the byte position in the file, the first offset that it concerns.

    `position` and `offset` are None where the finding has none.
    """

    kind: Kind
    text: str
    folder: str
    file: str = ""
    position: int | None = None
    offset: int | None = None

    @property
    def place(self) -> str:
        """The file, position and offset as text."""
        parts = [self.file] if self.file else []
        if self.position is not None:
            parts.append(f"byte {self.position}")
        if self.offset is not None:
            parts.append(f"offset {self.offset}")
        return ", ".join(parts)
