"""The audit of partition folders, in worker processes or on Spark."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from checker.errors import InputError, MissingExtraError
from checker.output import styled_lines
from checker.output.output_files import STANDARD_OUTPUT, check_outputs, open_for_writing
from checker.run.interrupts import interruptible
from checker.run.request import EXIT_OK, EXIT_STOPPED, EXIT_VIOLATED
from checker.run.workers import default_workers

if TYPE_CHECKING:
    from kafka_tools.audit.audit import Runner


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """The folders, how they are read, and the destinations of the result."""

    folders: tuple[Path, ...]
    checks_crc: bool
    is_compacted: bool
    workers: int | None = None
    engine: str | None = None
    master: str | None = None
    json: str = ""
    html: Path | None = None


def audit_logs(settings: AuditSettings) -> int:
    """Audit folders and return the exit status; raise UserError if a path is no log or an output is wrong."""
    require_crc32c()
    from kafka_tools.audit.audit import AuditTask, audit
    from kafka_tools.audit.audit_text import report_data, report_lines

    if settings.master is not None and settings.engine == "native":
        raise InputError("--master needs --engine spark")
    outputs = {"--json": settings.json, "--html": settings.html}
    check_outputs(outputs, [])
    for option, name in outputs.items():
        if name and str(name) != STANDARD_OUTPUT and _is_inside(Path(name), settings.folders):
            raise InputError(f"{option} {name} is inside an audited folder, where the audit never writes: name another")
    task = AuditTask(settings.folders, settings.checks_crc, settings.is_compacted)
    begun = time.monotonic()
    with interruptible() as cancelled, _runner(settings, cancelled) as run:
        report = audit(task, run)
    seconds = time.monotonic() - begun
    if settings.json:
        text = json.dumps(report_data(report), indent=2) + "\n"
        if settings.json == STANDARD_OUTPUT:
            sys.stdout.write(text)
        else:
            with open_for_writing(Path(settings.json)) as stream:
                stream.write(text)
    if settings.html is not None:
        from kafka_tools.audit.audit_page import audit_page

        with open_for_writing(settings.html) as stream:
            stream.write(audit_page(report, seconds))
    if settings.json != STANDARD_OUTPUT:
        styled_lines.write(list(report_lines(report, seconds)), sys.stdout)
    if not report.is_sound:
        return EXIT_VIOLATED
    return EXIT_OK if report.is_complete else EXIT_STOPPED


@contextmanager
def _runner(settings: AuditSettings, cancelled: threading.Event) -> Iterator[Runner]:
    """Yield the function that audits parts: in worker processes, or in a Spark session that ends with the block."""
    from kafka_tools.audit.audit import in_processes, on_spark

    if settings.engine != "spark" and settings.master is None:
        yield in_processes(settings.workers or default_workers(), cancelled)
        return
    from spark_analysis.session import is_connect, master_url, opened

    if is_connect(master_url(settings.master)):
        raise InputError("audit needs a master such as spark://HOST:PORT: it does not run on Spark Connect")
    with opened(settings.master, name="tidemark audit") as spark:
        yield on_spark(spark, cancelled)


def require_crc32c() -> None:
    """Raise MissingExtraError unless the package of the extra `audit` is installed."""
    try:
        import crc32c  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError(
            "audit needs crc32c, which is not installed: pip install 'tidemark[audit]', "
            "or pip install -e '.[audit]' in a checkout"
        ) from None


def _is_inside(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
