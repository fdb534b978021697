"""A family with a table: a counter that may be reset, or refuses its settings."""

from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeNote, GuaranteeRow, Table
from tests.toy import Counter


class Steps(Counter):
    """Counts, and may be reset."""


def cell(resets, limit, documented=None):
    return GuaranteeCell(
        (GuaranteeCheck(Steps, dict(resets=resets, limit=limit), ("never_falls",)),), documented, ("deeper",)
    )


tables = [
    Table(
        "counters",
        {"falls": "falls"},
        (
            GuaranteeRow({"resets": "no", "limit": "1"}, {"falls": cell(False, 1, False)}),
            GuaranteeRow({"resets": "no", "limit": "2"}, {"falls": cell(False, 2, False)}),
            GuaranteeRow({"resets": "yes", "limit": "1"}, {"falls": cell(True, 1, True)}),
            GuaranteeRow({"resets": "yes", "limit": "2"}, {"falls": cell(True, 2)}),
            GuaranteeRow({"resets": "twice", "limit": "1"}, refused="a counter is reset once"),
            GuaranteeRow({"resets": "twice", "limit": "2"}, refused="a counter is reset once"),
        ),
        {
            "deeper": GuaranteeNote(
                "It reaches two.", (GuaranteeCheck(Steps, dict(limit=2), ("below_limit", "deadlock")),)
            )
        },
        ("Counters count up.",),
    )
]
