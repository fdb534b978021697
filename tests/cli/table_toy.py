"""A family with a table: a counter that may be reset, or refuses its settings."""

from checker.language.tables import Cell, Check, Note, Row, Table
from tests.toy import Counter


class Steps(Counter):
    """Counts, and may be reset."""


def cell(resets, limit, documented=None):
    return Cell((Check(Steps, dict(resets=resets, limit=limit), ("never_falls",)),), documented, ("deeper",))


tables = [
    Table(
        "counters",
        {"falls": "falls"},
        (
            Row({"resets": "no", "limit": "1"}, {"falls": cell(False, 1, False)}),
            Row({"resets": "no", "limit": "2"}, {"falls": cell(False, 2, False)}),
            Row({"resets": "yes", "limit": "1"}, {"falls": cell(True, 1, True)}),
            Row({"resets": "yes", "limit": "2"}, {"falls": cell(True, 2)}),
            Row({"resets": "twice", "limit": "1"}, refused="a counter is reset once"),
            Row({"resets": "twice", "limit": "2"}, refused="a counter is reset once"),
        ),
        {"deeper": Note("It reaches two.", (Check(Steps, dict(limit=2), ("below_limit", "deadlock")),))},
        ("Counters count up.",),
    )
]
