"""A copy of docs/ in which every link leads to a file of the copy."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from checker.errors import InputError

INDEX = "index.md"

_LINK = re.compile(r"(?P<head>\]\(|^\[[^\]]+\]: +)(?P<path>[^)#\s:]+)(?P<tail>#[^)\s]*)?(?=\)|\s|$)", re.MULTILINE)
_FILE_NAME = re.compile(r"(?<=\[)([\w-]+)\.md(?=\]\()")
_TERMS = re.compile(r"^\| term \|.*\n\|.*\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE)
_FENCE = re.compile(r"^ *```", re.MULTILINE)

ELSEWHERE = "files"
"""The folder of the copies of files that are not in docs/."""


class StagedDocs:
    """Copies the pages of a checkout, and the files to which they link, into a folder.

    A page of docs/ keeps its path. Other files, such as a spec or a notebook, are copied to the folder `files`. If
    docs/ has no index.md, README.md is the index.
    """

    def __init__(self, docs: Path, stage: Path):
        self._docs, self._stage = docs.resolve(), stage
        self._checkout = self._docs.parent
        self._copies: dict[Path, Path] = {}
        self._pages: list[tuple[Path, Path]] = []

    def copy(self) -> list[Path]:
        """Copy everything and return the paths of the pages in the copy, without the index.

        Raises:
            InputError: a page links to a file that does not exist.
        """
        index = self._docs / INDEX
        self._add(index if index.exists() else self._checkout / "README.md", Path(INDEX))
        for path in sorted(self._docs.rglob("*.md")):
            self._copy_of(path)
        done = 0
        while done < len(self._pages):
            source, target = self._pages[done]
            self._write(source, target)
            done += 1
        return [target for _, target in self._pages[1:]]

    def _copy_of(self, path: Path) -> Path:
        """Return the path of the copy of a file, which is made if it does not exist."""
        if path not in self._copies:
            is_page = path.is_relative_to(self._docs)
            self._add(path, path.relative_to(self._docs) if is_page else ELSEWHERE / path.relative_to(self._checkout))
        return self._copies[path]

    def _add(self, path: Path, target: Path) -> None:
        self._copies[path] = target
        if path.suffix == ".md":
            self._pages.append((path, target))
            return
        (self._stage / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, self._stage / target)

    def add_examples(self) -> None:
        """Put the examples of README.md into the copied index, before its first heading."""
        readme, index = self._checkout / "README.md", self._stage / INDEX
        if readme in (source for source, _ in self._pages[1:]):
            sections = re.split(r"^(?=## )", readme.read_text(encoding="utf-8"), flags=re.MULTILINE)
            examples = "".join(each for each in sections if each.startswith("## Your "))
            head, rest = index.read_text(encoding="utf-8").split("\n## ", 1)
            index.write_text(f"{head}\n{self._with_links(examples, readme, Path(INDEX))}## {rest}", encoding="utf-8")

    def _write(self, source: Path, target: Path) -> None:
        file = self._stage / target
        file.parent.mkdir(parents=True, exist_ok=True)
        text = self._with_links(source.read_text(encoding="utf-8"), source, target)
        file.write_text(_TERMS.sub(_with_index, text), encoding="utf-8")

    def _with_links(self, text: str, source: Path, target: Path) -> str:
        """Return the text of a page with links that lead to copies, from the page `target`."""

        def replaced(link: re.Match[str]) -> str:
            path = (source.parent / link["path"]).resolve()
            if not path.is_file() or not path.is_relative_to(self._checkout):
                raise InputError(f"{source}: the link {link['path']} does not lead to a file of the repository")
            place = os.path.relpath(self._copy_of(path), target.parent)
            return f"{link['head']}{Path(place).as_posix()}{link['tail'] or ''}"

        # A reader of the site sees pages, not files: [consumer.md](consumer.md) is "consumer" there.
        return "".join(
            part if is_code else _LINK.sub(replaced, _FILE_NAME.sub(r"\1", part)) for part, is_code in split_code(text)
        )


def _with_index(table: re.Match[str]) -> str:
    """Return a table of a glossary below its terms as entries of the index, which a search shows first."""
    terms = ", ".join(row.split("|")[1].strip() for row in table["rows"].splitlines()).split(", ")
    return f"```{{index}} {', '.join(f'! {term}' for term in terms)}\n```\n\n{table[0]}"


def split_code(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a page in their order, each with whether it is a block of code."""
    is_code, part = False, ""
    for line in text.splitlines(keepends=True):
        if _FENCE.match(line) is None:
            part += line
            continue
        yield (part + line, True) if is_code else (part, False)
        part, is_code = ("", False) if is_code else (line, True)
    yield part, is_code
