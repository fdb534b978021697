"""The commands about random walks; the command line finds them by the entry point `tidemark.commands`."""

from __future__ import annotations

from checker.cli.declaration import CommandEntry, CommandGroup

_PLACE = "spark_analysis.commands"

app = CommandGroup(
    "Random walks.",
    [
        CommandEntry("simulate", "Take random walks of a spec, also millions.", f"{_PLACE}.simulate:simulate"),
        CommandEntry(
            "report", "Analyse random walks: violation rates, causes, counterexamples.", f"{_PLACE}.report:report"
        ),
        CommandGroup(
            "Replay a random walk.",
            [
                CommandEntry(
                    "replay", "Replay one random walk and show it as a trace.", f"{_PLACE}.traces_replay:replay"
                )
            ],
            name="traces",
        ),
    ],
)
