"""The options `--checkpoint`, `--resume` and `--every` of `run`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checker.errors import InputError
from checker.execution.engine_choice import EngineName
from traces.storage import Location, RemotePath

DEFAULT_EVERY = "10m"

_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class CheckpointOptions:
    """The folder of a run's checkpoints; `must_resume`: it holds one already. `every`: as in the command, or None."""

    folder: Location
    must_resume: bool = False
    every: str | None = None

    @property
    def option(self) -> str:
        """The option that named the folder."""
        return "--resume" if self.must_resume else "--checkpoint"

    @property
    def resume_words(self) -> list[str]:
        """The words of a command that resumes the run."""
        return ["--resume", str(self.folder), *(["--every", self.every] if self.every is not None else [])]

    @property
    def seconds(self) -> float:
        """The time between two checkpoints in seconds; raises InputError if the text is wrong."""
        return seconds_of(self.every or DEFAULT_EVERY)

    def check(self, engine: EngineName, runs: int) -> None:
        """Raise InputError if the options do not fit an engine or a number of runs."""
        if engine not in ("native", "spark"):
            raise InputError(f"{self.option} needs --engine native or spark")
        if engine == "spark" and self.every is not None:
            raise InputError("--every needs --engine native: Spark keeps every level")
        if engine == "native" and isinstance(self.folder, RemotePath):
            raise InputError(f"{self.option} {self.folder}: a URL needs --engine spark")
        if runs != 1:
            raise InputError(f"{self.option} keeps one exploration, but there are {runs} runs: name one SPEC/SCENARIO")
        if self.seconds <= 0:
            raise InputError(f"--every {self.every}: the time must be above 0")


def checkpoint_options(
    checkpoint: Location | None, resume: Location | None, every: str | None
) -> CheckpointOptions | None:
    """Return the options of a command, or None if it keeps no checkpoints; raise InputError if they contradict."""
    if checkpoint is not None and resume is not None:
        raise InputError("--resume DIR also keeps the checkpoints of the resumed run in DIR: omit --checkpoint")
    folder = checkpoint if resume is None else resume
    if folder is None:
        if every is not None:
            raise InputError("--every needs --checkpoint DIR or --resume DIR")
        return None
    return CheckpointOptions(folder, resume is not None, every)


def seconds_of(text: str) -> float:
    """Return a duration such as 30s, 10m or 2h in seconds; raise InputError if it is written in another way."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text, re.ASCII)
    if match is None:
        raise InputError(f"--every {text}: write a number and a unit, as in 30s, 10m or 2h")
    return float(match[1]) * _SECONDS[match[2]]
