"""Every command of README.md and docs/ is run as it stands, and its output is compared with the documented one.

A page is run from top to bottom in a folder of its own, with the examples of the checkout: its files are saved, its
commands are called in this process. The slow tests run the commands in `SLOW` too. The pages in `IN_A_SHELL` are also
run by a shell, in a new virtual environment. `NOT_RUN` has the commands that no test runs, with the reasons.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys

import click
import pytest

from checker.cli.app import app, main
from checker.run.request import Request, runs_for
from tests.docs.pages import (
    LANGUAGES,
    PAGES,
    PROGRAM,
    ROOT,
    Block,
    blocks_of,
    commands_of,
    difference,
    inline_commands,
    save,
    steps_of,
    without_blocks,
)

CHECKOUT = ".ci/run runs this line"
SCENARIOS = ".ci/run checks all scenarios, and compares them with the ledger"
LONG = "explores tens of millions of states"
WALKS = "takes many walks; docs/simulate.md has the same commands with fewer walks"
KAFKA = "needs brokers, their jars or their disks"
TIMING = "the order of records depends on the timing of librdkafka"
CLUSTER = "needs a cluster; tests/spark_analysis/test_standalone_cluster.py starts one"
SERVER = "serves a page until Ctrl-C; tests/explorer drives the page"

NOT_RUN = {
    "python3 -m venv .venv && .venv/bin/pip install --quiet -e . && .venv/bin/python -m checker run": CHECKOUT,
    "python3 -m venv .venv && .venv/bin/pip install --quiet -e '.[test]' && "
    ".venv/bin/python -m pytest -n auto --dist loadgroup": CHECKOUT,
    "pip install -e '.[cluster]'": "changes the environment of the tests",
    "pip install -e '.[prove]'": "changes the environment of the tests; docs/tutorial.md has it with a new one",
    "python -m checker run consumer": SCENARIOS,
    "python -m checker run replication": SCENARIOS,
    "python -m checker run replication/partition": SCENARIOS,
    "python -m checker run transactions/transactional_reader transactions/exactly_once_loop": SCENARIOS,
    "python -m checker run replication/kip320 --set log_size=4 --set max_records=4 --checkpoint DIR --every 10m": LONG,
    "python -m checker run replication/kip320 --set max_leader_epoch=4 --store compact --checkpoint DIR": LONG,
    "python3 -m venv environment && environment/bin/pip install venv-pack '.[spark]' && "
    "environment/bin/venv-pack -p environment -o environment.tar.gz": CLUSTER,
    "PYSPARK_PYTHON=./environment/bin/python "
    "PYSPARK_SUBMIT_ARGS='--archives environment.tar.gz#environment pyspark-shell' "
    "python -m checker simulate SPEC --traces 100000000 --out s3://BUCKET/walks --master spark://HOST:7077": CLUSTER,
    "python -m checker explore replication/kip101/fast_elections": SERVER,
    "python -m checker explore replication/kip101 --set replicas=2": SERVER,
    "python -m checker explore path/to/my_spec.py": SERVER,
    "python -m checker explore --from DIR/TRACE.json": SERVER,
    "python -m checker explore replication/kip101/fast_elections --against replication/kip279": SERVER,
    "python -m checker experiment i7-rolling-restart": KAFKA,
    "python -m checker experiment i7-rolling-restart --out DIR": KAFKA,
    "python -m checker audit DIR/cluster/broker2/data/experiment-0": KAFKA,
    "python -m checker experiment i7-restart --out DIR": KAFKA,
    "python -m checker record one.jsonl --in-flight 1 --records 3 --fault refuse@1": TIMING,
    "python -m checker validate producer/plain_producer one.jsonl --mapping kafka_tools.lab.librdkafka.plain": TIMING,
    "python -m checker experiment i7-restart --lib DIR": KAFKA,
    "python -m checker experiment my.toml --kafka 3.9.2": KAFKA,
    "python -m checker cluster up DIR --brokers 3 --proxies": KAFKA,
    "python -m checker cluster status DIR": KAFKA,
    "python -m checker cluster kill DIR 2": KAFKA,
    "python -m checker cluster cut DIR 1 2": KAFKA,
    "python -m checker cluster down DIR": KAFKA,
    "python -m checker cluster up DIR --brokers 3 --trace": KAFKA,
    "python -m checker record LOG --cluster DIR": KAFKA,
    "python -m checker record LOG --bootstrap HOST:PORT --seconds 60": KAFKA,
    "python -m checker validate producer/idempotent_producer LOG --by trace "
    "--mapping kafka_tools.lab.recording.passed_batches": KAFKA,
    "python -m checker experiment i7-rolling-restart --record --out DIR": KAFKA,
    "python -m checker experiment soak --minutes 30 --seed 1 --out DIR": KAFKA,
    "python -m checker validate producer/idempotent_failover/i7_failover DIR/producer.jsonl "
    "--mapping kafka_tools.lab.recording.idempotent": KAFKA,
    "python -m checker validate broker/leader_state/i7_restart DIR/producer.jsonl "
    "--mapping kafka_tools.lab.recording.leader_state": KAFKA,
    "python -m checker validate replication/partition LOG --mapping kafka_tools.lab.recording.partition": KAFKA,
    "python -m checker audit /var/lib/kafka/data": KAFKA,
    "python -m checker audit broker1/orders-0 broker2/orders-0": KAFKA,
    "python -m checker audit DIR --no-crc": KAFKA,
    "python -m checker audit DIR --json audit.json --html audit.html": KAFKA,
    "python -m checker audit DIR --master spark://HOST:7077": KAFKA,
    "python -m checker conform": KAFKA,
    "python -m checker conform --kafka 3.9.2,4.0.0": KAFKA,
    "python -m checker conform keeps_eligible.py": KAFKA,
    "python -m checker conform keeps_eligible.py --lib kafka/libs": KAFKA,
    "python -m checker conform --explore rollback": KAFKA,
    "python -m checker conform --explore rollback --kafka 4.0.0,4.2.0": KAFKA,
    "python -m checker conform --explore rollback/control": KAFKA,
    "python -m checker conform --explore rollback --lib kafka/libs": KAFKA,
    "python docs/findings/reproduce_missed_epoch.py --lib KAFKA/libs --home DIR": KAFKA,
    "python docs/findings/reproduce_missed_epoch.py --lib KAFKA/libs --home DIR --learn": KAFKA,
}
"""The commands that no test runs as they stand, with the reasons. Those of the checker are parsed."""

SLOW = {
    "python -m checker mutate replication/kip320 --max 40 --json mutants.json": 9.5,
    "python -m checker advise producer.properties server.properties --kafka 3.7": 0.8,
    "python -m checker advise producer.properties --kafka 4.3": 11.0,
    "python -m checker advise misconfigured.toml --kafka 3.7": 12.0,
    "python -m checker run broker/leader_state": 0.9,
    "python -m checker run transactions/exactly_once_loop --set instances=2 --set records=2 --set rebalances=1 "
    "--set crashes=1": 12.0,
    "python -m checker run transactions/exactly_once_loop/t8_recovered_mapping": 0.9,
    "python -m checker run replication/partition/r18_missed_leader_epoch --out DIR": 0.9,
    "python -m checker run producer/buffer_pool producer/append producer/metadata_wait producer/routing": 4.1,
    "python -m checker prove replication/kip320_history/three_replicas --unbounded replicas --unbounded log_size "
    "--unbounded max_records --unbounded max_leader_epoch --timeout 300": 34.0,
    "python -m checker prove SPEC/SCENARIO --method induction": 0.8,
    "python -m checker prove my_peterson.py": 0.9,
    "python -m checker prove examples/peterson": 0.8,
    "python -m checker prove examples/peterson --explain mutual_exclusion/enter": 0.8,
    "python -m checker prove examples/peterson --certificate peterson.toml": 0.8,
    "python -m checker prove --check peterson.toml": 0.8,
    "python -m checker prove my_peterson.py --find-lemmas": 1.3,
    "python -m checker prove examples/without_a_rule.py/asks_once --set replicas=2 --all-cells": 2.6,
    "python -m checker prove patient.py --method bounded": 0.8,
    "python -m checker prove my_peterson.py --method pdr": 1.0,
    "python -m checker prove producer/idempotent_log --unbounded batches --unbounded log_size --unbounded max_sequence "
    "--unbounded max_batch_records": 5.0,
    "python -m checker prove specs/fenced_store.py/fenced_store/two_workers": 0.9,
    "python -m checker prove specs/proved_store.py --unbounded grants --unbounded updates": 0.9,
    "python -m checker run replication/kip320/three_replicas_three_epochs --engine spark --checkpoint DIR": 5.0,
    "python -m checker simulate producer/plain_producer --set refusals=1 --sweep max_in_flight=1,2,3 --sweep "
    "retries=0,1 --traces 20000 --out grid": 5.0,
    "python -m checker simulate replication/truncate_to_high_watermark/two_replicas_three_epochs --traces 200000 "
    "--depth 40 --seed 7 --out walks": 9.0,
    "python -m checker report walks": 9.0,
    "python -m checker simulate replication/kip101/two_replicas_three_epochs --traces 4000 --out rare": 0.8,
    "python -m checker report rare --splitting 4800": 3.0,
    'python -m checker report rare --sql "SELECT ending, count(*) AS walks, max(length) AS longest FROM walks GROUP BY '
    'ending ORDER BY walks DESC"': 0.5,
    "python -m checker simulate replication/truncate_to_high_watermark/two_replicas --traces 4000 --seed 7 "
    "--out before": 0.8,
    "python -m checker simulate replication/kip101/two_replicas --traces 4000 --seed 7 --out after": 0.8,
    "python -m checker simulate replication/truncate_to_high_watermark/two_replicas --traces 4000 --seed 7 "
    "--out related --report --against replication/kip101 --against replication/kip279 "
    "--against replication/kip320": 5.6,
    "python -m checker simulate replication/truncate_to_high_watermark/two_replicas --traces 4000 --seed N "
    "--out nightly": 0.8,
    "python -m checker report nightly --history history.jsonl": 3.0,
    "python -m checker report before": 3.0,
    "python -m checker report after --compare before": 1.0,
    "python -m checker traces replay walks --walk 486 --shortest": 1.0,
    "python -m checker simulate examples/peterson/exclusive --traces 100000 --depth 60 --seed 7": 0.5,
}
"""The processor seconds of each command that only the slow tests run."""

IN_A_SHELL = ("docs/tutorial.md", "docs/ci.md")
"""Pages of which a shell runs all commands, in an empty folder and with a new virtual environment."""

PLACEHOLDERS = {
    "DIR/TRACE.json": "trace.json",
    "TRACE.json": "trace.json",
    "SPEC": "examples/peterson",
    "SPEC/SCENARIO": "examples/peterson/exclusive",
    "N": "1",
    "path/to/my_spec.py": "examples/retry.py",
    "PATH/TO/TIDEMARK": str(ROOT),
    "PATH/TO/TIDEMARK[prove]": f"{ROOT}[prove]",
}
"""The values of words that stand for something of the reader's. `DIR` and `LOG` are names like any other."""

FILES = {
    "producer.properties": "acks=1\n",
    "server.properties": "default.replication.factor=3\nmin.insync.replicas=2\n",
    "damaged.jsonl": (ROOT / "examples" / "recorded" / "replication.jsonl")
    .read_text()
    .replace('"high_watermark": 1, "time": 13.12', '"high_watermark": 2, "time": 13.12'),
}
"""Files that a reader has, by their names in the commands."""

PARTS_OF_OTHER_PAGES = {"docs/proving.md": "docs/language.md"}
"""The page whose files a page uses."""


def text_of(command):
    """Return a command without its comment."""
    return re.split(r"\s+#\s", command.text)[0]


def words_of(command):
    """Return the words of a command, with values for the placeholders."""
    return [PLACEHOLDERS.get(word, word) for word in shlex.split(text_of(command))]


def is_of_the_checker(command):
    return words_of(command)[:3] == PROGRAM.split()


def needs_a_shell(command):
    return not is_of_the_checker(command) or "*" in text_of(command)


def run_in_a_process(words):
    """Run a command of the checker in a process of its own and return its exit status."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "checker", *words], capture_output=True, text=True, env=environment)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    return done.returncode


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """The trace file that `TRACE.json` stands for."""
    folder = tmp_path_factory.mktemp("traces")
    main(["run", "replication/truncate_to_high_watermark/two_replicas", "--property", "weak_isr", "--out", str(folder)])
    (path,) = (path for path in folder.glob("*.json") if not path.name.endswith(".itf.json"))
    return path


@pytest.fixture
def folder(tmp_path, monkeypatch, trace):
    """A reader's folder: it has the examples of the checkout, and the files in `FILES`."""
    known = set(sys.modules)
    # A copy: commands write into the folder.
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    shutil.copy(trace, tmp_path / "trace.json")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    yield tmp_path
    # The next page may have a module of the same name.
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def problems(folder, capsys):
    """Run the steps of a page, and return a sentence for each command with another status or output."""

    def run(page, is_slow):
        found = []
        with contextlib.suppress(KeyError):
            for block in blocks_of(PARTS_OF_OTHER_PAGES[page]):
                save(block, folder)
        for step in steps_of(page):
            if isinstance(step, Block):
                save(step, folder)
            elif not (needs_a_shell(step) or text_of(step) in NOT_RUN or (text_of(step) in SLOW and not is_slow)):
                found += problems_of(step)
        return found

    def problems_of(command):
        words = words_of(command)[3:]
        # What Z3 answers depends on the earlier queries of the process, and the process may have a Spark session.
        status = (run_in_a_process if words[0] == "prove" or "spark" in words else main)(words)
        printed = capsys.readouterr()
        if status not in (0, 1):
            yield f"{command}\nexit status {status}: {printed.err}"
        elif command.output and (differs := difference(command.output, printed.out)):
            yield f"{command}\n{differs}"

    return run


PAGES_WITH_COMMANDS = [page for page in PAGES if any(not needs_a_shell(command) for command in commands_of(page))]
PAGES_WITH_SLOW_COMMANDS = [page for page in PAGES if any(text_of(command) in SLOW for command in commands_of(page))]


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
def test_the_quick_commands_print_what_the_page_shows(page, problems):
    found = problems(page, is_slow=False)
    assert not found, "\n\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_WITH_SLOW_COMMANDS)
def test_all_commands_print_what_the_page_shows(page, problems):
    found = problems(page, is_slow=True)
    assert not found, "\n\n".join(found)


# Commands that are not run.


def parse(words):
    """Parse the words of a command of the checker; raise a UsageError if a command or option does not exist."""
    command, name = app, PROGRAM
    # A command keeps its help option, with the names that the first context gives it.
    context = click.Context(app, **app.context_settings)
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(context, words)
    # `--help` ends the command.
    with contextlib.suppress(click.exceptions.Exit):
        return command.make_context(name, list(words), parent=context)


def request_of(words):
    """Return the request of a `run` command, None for other commands."""
    if words[0] != "run":
        return None
    given = parse(words).params
    return Request(
        targets=tuple(given["targets"]),
        settings=tuple(given["settings"]),
        fair=tuple(given["fair"]),
        properties=tuple(given["properties"]),
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_command_has_options_that_exist(page, folder):
    for command in [*commands_of(page), *inline_commands(page)]:
        # A sentence may contain the name of a command alone.
        if is_of_the_checker(command) and len(words_of(command)) > 4:
            parse(words_of(command)[3:])


@pytest.mark.parametrize("page", PAGES)
def test_every_run_in_a_sentence_names_specs_and_constants_that_exist(page, folder):
    for command in inline_commands(page):
        words = words_of(command)[3:]
        is_concrete = not any(word.isupper() and len(word) > 2 for word in words) and (len(words) > 1)
        if words[:1] == ["run"] and is_concrete and "--help" not in words and "--update-docs" not in words:
            for block in blocks_of(page):
                save(block, folder)
            assert runs_for(request_of(words)), command


def test_the_commands_that_no_test_runs():
    """They are few, each of them is in a page, and each has a reason. `pytest -s` prints them."""
    documented = {text_of(command) for page in PAGES for command in commands_of(page)}
    print(*(f"not run: {text}\n    {reason}" for text, reason in NOT_RUN.items()), sep="\n")
    assert set(NOT_RUN) | set(SLOW) <= documented
    assert not set(NOT_RUN) & set(SLOW)
    assert len(NOT_RUN) <= 60


def test_ci_runs_the_lines_that_need_a_clean_checkout():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert [text for text, reason in NOT_RUN.items() if reason == ".ci/run runs this line" and text not in lines] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_block_has_a_language_and_commands_are_collected(page):
    for block in blocks_of(page):
        assert block.language in LANGUAGES, f"{page}:{block.line}: name the language of the block"
        if block.language not in ("console", "sh"):
            assert not re.search(rf"^(\$ )?{PROGRAM} ", block.text, re.MULTILINE), f"{page}:{block.line}"
    assert "```" not in without_blocks(PAGES[page].read_text()), (
        f"{page}: a block is not closed, or has a bad first line"
    )
