"""The pages of the documentation: fenced blocks, files, commands, and the outputs that they document."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("*/*.md"))]
}

PROGRAM = "python -m checker"

LANGUAGES = {"console", "json", "promela", "properties", "pycon", "python", "rust", "sh", "text", "tla", "toml", "yaml"}
"""The languages of fenced blocks. Commands are in `sh` (commands alone) and `console` (`$ ` commands, and outputs)."""

_FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r' title="([^"]+)"')
_INLINE = re.compile(rf"(?<!`)`({PROGRAM}\s[^`]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A fenced block. `title` is the file that the reader saves it as, "" if it is none."""

    page: str
    line: int
    language: str
    title: str
    text: str


@dataclass(frozen=True)
class DocumentedCommand:
    """A command of a page, and the lines of its documented output, if the page has some."""

    page: str
    line: int
    text: str
    output: tuple[str, ...] = ()
    is_inline: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


def blocks_of(page: str) -> list[Block]:
    """Return the fenced blocks of a page, without their indentation."""
    text = PAGES[page].read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        indent, language, rest, content = match.groups()
        title = _TITLE.search(rest)
        lines = [line.removeprefix(indent) for line in content.splitlines()]
        found.append(
            Block(
                page,
                text.count("\n", 0, match.start()) + 1,
                language,
                title[1] if title else "",
                "".join(f"{line}\n" for line in lines),
            )
        )
    return found


def steps_of(page: str) -> list[Block | DocumentedCommand]:
    """Return what a reader of a page does, in order: save the blocks with a title, and enter the commands."""
    steps: list[Block | DocumentedCommand] = []
    for block in blocks_of(page):
        if block.title:
            steps.append(block)
        elif block.language == "sh":
            steps += _commands_alone(block)
        elif block.language == "console":
            steps += _commands_with_output(block)
    return steps


def commands_of(page: str) -> list[DocumentedCommand]:
    """Return the commands in the blocks of a page."""
    return [step for step in steps_of(page) if isinstance(step, DocumentedCommand)]


def save(block: Block, folder: Path) -> None:
    """Save the file of a block, if it has a title; a block that begins with `scenarios = ` replaces the scenarios."""
    if not block.title:
        return
    path = folder / block.title
    path.parent.mkdir(parents=True, exist_ok=True)
    text = block.text
    if text.startswith("scenarios = ") and path.exists():
        text = path.read_text(encoding="utf-8").partition("scenarios = ")[0] + text
    path.write_text(text, encoding="utf-8")


def without_blocks(text: str) -> str:
    """Return the text of a page without its fenced blocks; the lines keep their numbers."""
    return _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)


def inline_commands(page: str) -> list[DocumentedCommand]:
    """Return the commands in the prose and the tables of a page."""
    prose = without_blocks(PAGES[page].read_text(encoding="utf-8"))
    return [
        DocumentedCommand(page, prose.count("\n", 0, match.start()) + 1, " ".join(match[1].split()), is_inline=True)
        for match in _INLINE.finditer(prose)
    ]


def _commands_alone(block: Block) -> list[DocumentedCommand]:
    """Return the command of each line; a backslash at the end of a line continues it."""
    commands, parts = [], []
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if line.endswith("\\"):
            parts.append(line[:-1].strip())
        elif line.strip():
            commands.append(DocumentedCommand(block.page, number, " ".join([*parts, line.strip()])))
            parts = []
    return commands


def _commands_with_output(block: Block) -> list[DocumentedCommand]:
    """Return each command after `$ `, with the lines up to the next one as its output."""
    found: list[tuple[int, str, list[str]]] = []
    is_continued = False
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if is_continued:
            start, command, output = found[-1]
            found[-1] = (start, " ".join([command, line.removesuffix("\\").strip()]), output)
        elif line.startswith("$ "):
            found.append((number, line[2:].removesuffix("\\").strip(), []))
        else:
            assert found, f"{block.page}:{number}: a console block begins with a command after `$ `"
            found[-1][2].append(line)
        is_continued = line.endswith("\\") and (is_continued or line.startswith("$ "))
    return [
        DocumentedCommand(block.page, number, command, tuple(_without_blank_ends(output)))
        for number, command, output in found
    ]


def _without_blank_ends(lines: list[str]) -> list[str]:
    return "\n".join(lines).strip("\n").split("\n") if any(line.strip() for line in lines) else []


ELLIPSIS = "..."

_TIMES = (
    (re.compile(r"[ (][\d,]+/s\b"), " N/s"),
    (re.compile(r"[\d,]+( \w+)? per second"), "N per second"),
    (re.compile(r"(?<![\w.,])[\d,]+(\.\d+)? s\b"), "N s"),
    # The cache of proved cells outlives a test. The version of the solver is that of the installed package.
    (re.compile(r", \d+ of them in an earlier proof"), ""),
    (re.compile(r"(?<=Z3 )\d+(\.\d+)+"), "N"),
    # The column of seconds in the table of `run`.
    (re.compile(r" +\d+\.\d\d(?= |$)"), "  N"),
)
"""What differs from run to run: times, counts per second, proofs found in the cache, versions of a solver."""


def without_times(line: str) -> str:
    """Return a line of an output with every time and rate replaced."""
    for pattern, replacement in _TIMES:
        line = pattern.sub(replacement, line)
    return line.rstrip()


def difference(documented: tuple[str, ...], printed: str) -> str:
    """Return the first documented line that an output does not have, "" if it has all of them.

    A documented line `...` stands for any lines. Other lines follow each other, from the first to the last one.
    """
    actual = [without_times(line) for line in "\n".join(_without_blank_ends(printed.splitlines())).split("\n")]
    position = 0
    segments = _segments([without_times(line) for line in documented])
    for index, segment in enumerate(segments):
        last_start = len(actual) - len(segment)
        if index == 0:
            # The first lines are at the beginning of the output.
            starts = range(1)
        elif index == len(segments) - 1:
            starts = range(max(position, last_start), last_start + 1)
        else:
            starts = range(position, last_start + 1)
        start = next((start for start in starts if actual[start : start + len(segment)] == segment), None)
        if start is None:
            return _first_missing(segment, actual, starts or range(position, position + 1))
        position = start + len(segment)
    if len(segments) == 1 and position < len(actual):
        return f"not documented: {actual[position]!r}"
    return ""


def _segments(lines: list[str]) -> list[list[str]]:
    """Return the lines between the lines `...`."""
    segments: list[list[str]] = [[]]
    for line in lines:
        if line.strip() == ELLIPSIS:
            segments.append([])
        else:
            segments[-1].append(line)
    return segments


def _first_missing(segment: list[str], actual: list[str], starts: range) -> str:
    """Return a sentence about the longest beginning of a segment that the output has at one of the starts."""
    best, place = 0, starts[0]
    for start in starts:
        count = 0
        while count < len(segment) and actual[start + count : start + count + 1] == [segment[count]]:
            count += 1
        if count > best:
            best, place = count, start
    printed = repr(actual[place + best]) if place + best < len(actual) else "the end of the output"
    return f"documented: {segment[best]!r}\nprinted:    {printed}"
