"""The settings of several configuration files together: those with an effect, checked, and the names of the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from checker.errors import InputError, nearest_names
from kafka_tools.advise import file_conflicts, frameworks
from kafka_tools.advise.broker_disks import EPHEMERAL, KEPT, UNKNOWN
from kafka_tools.advise.configuration_keys import (
    CLIENT_ROLES,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    FEATURES,
    LIBRDKAFKA_ALIASES,
    MOST_REPLICAS,
    ROLES,
    UNREAD_FEATURES,
    Client,
    Role,
    is_of_librdkafka_alone,
    key_of,
    names_of,
)
from kafka_tools.advise.controller_mode import Controller, controller_of
from kafka_tools.advise.kubernetes_files import KAFKA_VERSION
from kafka_tools.advise.nested_settings import NESTED_SUFFIXES
from kafka_tools.advise.node_roles import PROCESS_ROLES
from kafka_tools.advise.release_levels import LEVELS, unread_level
from kafka_tools.advise.resemblance import SIMILAR, similar_setting, suggestion
from kafka_tools.advise.versions import lacks
from kafka_tools.advise.written_settings import ConfigurationFile, Framework, Precedence, WrittenSetting

CHANGED = "changed"
"""The place of a setting that no file has, but a change that is tried."""

COMMAND_LINE = "--set"
"""The place of a setting of the command line."""

_GAPLESS = "enable.gapless.guarantee"
"""A setting of librdkafka's idempotent producer, which then sends nothing after a record that it drops."""

_PREFIXES = (
    "authorizer.",
    "listener.name.",
    "ssl.",
    "sasl.",
    "listener.",
    "kafka.metrics.",
    "cruise.control.metrics.",
    "spring.json.",
    "spring.deserializer.",
    "schema.registry.",
    "basic.auth.",
    "specific.avro.",
    "auto.register.schemas",
    "use.latest.version",
    *(
        f"confluent.{part}."
        for part in (
            "balancer",
            "command",
            "license",
            "metadata",
            "metrics",
            "monitoring.interceptor",
            "schema.registry",
            "security",
            "support",
            "telemetry",
            "topic",
        )
    ),
)
"""Prefixes of names that users make up, and of names of plugins that do not affect the answers."""

_MOST_REFUSED = 20
"""The unknown settings that an error names."""

_PLACEHOLDER = re.compile(r"[$#%]\{|\{\{|[$%]\(|<%|^@.+@$|^\$[A-Z_]+$|^__.+__$")

Written = Mapping[tuple[Role, str], WrittenSetting]
"""The settings with an effect, by role and name, checked."""


@dataclass(frozen=True)
class ClusterConfig:
    """A cluster and its clients: the Kafka version, the kind of client, and the written settings with an effect.

    `frameworks` run the clients, `options` are the settings of these frameworks. `has_broker_file`: a file configures a
    broker, so that the defaults of the broker apply to its topics.
    `controller`: ZooKeeper or KRaft, None if not known. `disks`: a value of `broker_disks`, None if no file has one.
    `unread`: sentences on settings that may change the answers and that no exploration reads. `has_unread_rules`: one
    of them changes the rules, so that no requirement holds.
    """

    version: str
    client: Client
    written: Written
    frameworks: frozenset[Framework] = frozenset()
    options: Mapping[str, WrittenSetting] = field(default_factory=dict)
    controller: WrittenSetting | None = None
    disks: WrittenSetting | None = None
    has_broker_file: bool = False
    replication_factor: int | None = None
    commits: str | None = None
    without_effect: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    has_unread_rules: bool = False
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def get(self, role: Role, name: str) -> str | None:
        """Return what was written for a setting, or None."""
        given = self.written.get((role, name))
        return None if given is None else given.value

    @property
    def ephemeral_disks(self) -> str:
        """Return where it is written that a broker may return with an empty disk, or ""."""
        return self.disks.where if self.disks is not None and self.disks.value == EPHEMERAL else ""

    def changed(self, role: Role, name: str, value: str) -> ClusterConfig:
        """Return the cluster with one setting changed."""
        if name == "replication.factor":
            return replace(self, replication_factor=int(value))
        return replace(self, written={**self.written, (role, name): WrittenSetting(name, value, CHANGED)})

    def committing(self, when: str | None) -> ClusterConfig:
        """Return the cluster with applications that commit before (`first`) or after (`last`) processing."""
        return replace(self, commits=when)


def gather(
    reads: Iterable[ConfigurationFile],
    version: str,
    client: Client | None = None,
    ignored: Sequence[str] = (),
    assigned: Sequence[str] = (),
    controller: Controller | None = None,
) -> ClusterConfig:
    """Return the combined settings of some files.

    `ignored`: patterns (see `fnmatch`) of unknown names to accept. `assigned`: settings of the command line,
    `[ROLE.]NAME=VALUE`, which replace those of the files. `controller`: the mode that the user names. Raises InputError
    if a value is out of its range, if a name has two different values, if two files configure the same client, and if a
    name is unknown: its effect on the answers cannot be judged.
    """
    reads = list(reads)
    names = [given.name for read in reads for settings in read.roles.values() for given in settings]
    client_of_user = client
    client = client or ("librdkafka" if any(is_of_librdkafka_alone(name) for name in names) else "java")
    from_command_line = [pair for text in assigned for pair in _assignments(text, client)]
    names_set = frozenset((role, given.name) for role, given in from_command_line)
    gathering = _Gathering(version, client, tuple(ignored), names_set)
    present = frozenset(framework for read in reads for framework in read.frameworks)
    reads = [file_conflicts.without_idle_client(read, present) for read in reads]
    owners = file_conflicts.owners(reads)
    given_by_all = [given for read in reads for settings in read.roles.values() for given in settings]
    given_by_all += [given for _, given in from_command_line]
    if all(given.value.strip() == "0" for given in given_by_all if given.name == ELIGIBLE_LEADER_REPLICAS_VERSION):
        reads = file_conflicts.without_idle_min_isr(reads)
    file_conflicts.refuse_different_files(reads, client)
    options = _options_of(reads)
    mode = controller_of(reads, [given for _, given in from_command_line], version, controller)
    for role, given in (
        (role, given) for read in reads for role, candidates in read.roles.items() for given in candidates
    ):
        # The dynamic value of one broker is not the controller's, except that ZooKeeper's controller is a broker.
        if role != "controller" or given.precedence != Precedence.ENFORCED or mode is None or mode.value != "kraft":
            gathering.add(role, given)
    for role, given in frameworks.own_settings(present, options, version):
        if owners.get(role) != file_conflicts.NO_FRAMEWORK:
            gathering.add(role, given)
    for role, given in from_command_line:
        gathering.add(role, given)
    overrides = [
        given for candidates in gathering.chosen.values() for given in candidates if ".override." in given.spelling
    ]
    written, later = _without_later_settings(gathering.checked(), version, client)
    of_controller = list(_unread_of_controller(written))
    _refuse_unread_files(reads, gathering)
    notes = [note for read in reads for note in read.notes]
    release = options.get(KAFKA_VERSION)
    if release is not None and release.value != version:
        notes.append(f"{release.where} has Kafka {release.value}, and the answers are for {version}: see --kafka")
    notes += [*gathering.replaced, *later]
    notes += _notes_on_other_clients(reads)
    if client_of_user is None and client == "java":
        notes += _notes_on_shared_names(reads, names)
    notes += frameworks.notes(present, options, version)
    notes += frameworks.check_overrides(overrides, options, version, Framework.CONNECT_WORKER in present)
    return ClusterConfig(
        version,
        client,
        written,
        frameworks=present,
        options=options,
        controller=mode,
        disks=_disks_of(reads),
        has_broker_file=any(_is_of_broker(read, client) for read in reads),
        without_effect=tuple(sorted({*gathering.idle_names(), *(name for read in reads for name in read.idle)})),
        unread=(*gathering.unread, *of_controller),
        # Without the feature group.version, brokers refuse a consumer, and no rule of the answers is another.
        has_unread_rules=bool(of_controller or set(gathering.unread.values()) - {"group.version"}),
        unknown=tuple(sorted(gathering.unknown)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _without_later_settings(written: Written, version: str, client: Client) -> tuple[Written, list[str]]:
    """Return the settings that a release has, and a note on each other one, which Kafka ignores.

    Raises InputError for one of the command line, and for the level of a feature that the release lacks.
    """
    notes = []
    for (role, name), given in written.items():
        since = lacks(version, client, role, name)
        if not since:
            continue
        text = f"{given.where}: Kafka {version} does not have {name}, which exists since {since}"
        if given.where == COMMAND_LINE or name in FEATURES:
            raise InputError(f"{text}: leave it out, or name a later release with --kafka")
        notes.append(f"{text}, and ignores it")
    return {key: given for key, given in written.items() if not lacks(version, client, *key)}, notes


def _unread_of_controller(written: Written) -> Iterator[str]:
    """Yield a sentence if only a broker allows unclean elections, and the controller's file is not given."""
    name = "unclean.leader.election.enable"
    of_broker = written.get(("broker", name))
    is_decided = ("topic", name) in written or ("controller", name) in written
    if lacks_controller(written) and not is_decided and of_broker is not None and of_broker.value == "true":
        yield (
            f"Not read: {name} of the controller, which decides. {of_broker.where} allows unclean elections, but is of "
            "a broker alone: name the controller's file."
        )


def lacks_controller(written: Written) -> bool:
    """Return whether the files are of a broker of KRaft, and none is of a controller."""
    return ("broker", PROCESS_ROLES) in written and ("controller", PROCESS_ROLES) not in written


def _refuse_unread_files(reads: Sequence[ConfigurationFile], gathering: _Gathering) -> None:
    """Raise InputError for a file of which every setting is unknown and ignored: it configures something else."""
    for read in reads:
        is_read = read.file in gathering.known_files or read.idle or read.options or read.other_clients
        if read.file in gathering.unknown_files and not is_read:
            raise InputError(
                f"{read.file}: no setting of this file is Kafka's, so that the answers would be about Kafka's "
                "defaults: write the values in effect with Kafka's names (acks, enable.idempotence, retries, "
                "max.in.flight.requests.per.connection, enable.auto.commit, auto.offset.reset, ...) into a file"
            )


def _notes_on_shared_names(reads: Sequence[ConfigurationFile], names: Sequence[str]) -> Iterator[str]:
    """Yield a note if no name shows which client the files configure, and their form is not that of Java's client."""
    of_clients = [read for read in reads if any(read.roles.get(role) for role in CLIENT_ROLES) and not read.frameworks]
    is_of_java = all(read.file.endswith(".properties") for read in of_clients)
    of_librdkafka = names_of("producer", "librdkafka") | names_of("consumer", "librdkafka")
    of_others = names_of("topic") | names_of("broker")
    if not is_of_java and of_librdkafka | of_others >= set(names):
        yield (
            "the answers are for Kafka's Java client. librdkafka (confluent-kafka for Python, Go, .NET and Node) has "
            "the same names and other defaults: for such a client, add --client librdkafka"
        )


def _disks_of(reads: Sequence[ConfigurationFile]) -> WrittenSetting | None:
    """Return the worst that the files say about the disks of brokers."""
    given = [disk for read in reads for disk in read.disks]
    return min(given, key=lambda disk: (EPHEMERAL, UNKNOWN, KEPT).index(disk.value), default=None)


def _notes_on_other_clients(reads: Sequence[ConfigurationFile]) -> Iterator[str]:
    names = dict.fromkeys(name for read in reads for name in read.other_clients)
    if names:
        yield f"settings of clients that the answers are not about: {', '.join(names)}"


def _is_of_broker(read: ConfigurationFile, client: Client) -> bool:
    """Return whether a file configures a broker: it has a broker's setting with an effect, or nothing else."""
    settings = [given for given in read.roles.get("broker", ()) if given.name not in (*FEATURES, *UNREAD_FEATURES)]
    return bool(settings) and (
        any(key_of("broker", client, given.name) for given in settings) or set(read.roles) <= {"broker", "controller"}
    )


def _options_of(reads: Sequence[ConfigurationFile]) -> dict[str, WrittenSetting]:
    """Return the settings of frameworks by name; raise InputError if one has two values."""
    options: dict[str, WrittenSetting] = {}
    for given in (given for read in reads for given in read.options):
        if _PLACEHOLDER.search(given.value):
            raise InputError(f"{given.where}: the value of {given.written_name} is a placeholder: resolve it")
        earlier = options.setdefault(given.name, given)
        if earlier.value != given.value:
            raise InputError(f"{given.where}: {given.written_name} has two different values ({earlier.where})")
    return options


def _assignments(text: str, client: Client) -> list[tuple[Role, WrittenSetting]]:
    """Return a setting of the command line, `[ROLE.]NAME=VALUE`, for each role that has it.

    A setting of both topic and broker is the topic's. Raises InputError if the name has no effect on the answers.
    """
    name, separator, value = text.partition("=")
    name = name.strip()
    if not separator:
        raise InputError(f"--set {text.split()[0] if text.split() else ''} has no value: write --set NAME=VALUE")
    prefix, _, rest = name.partition(".")
    asked: list[Role] = [role for role in ROLES if role == prefix and key_of(role, client, rest)]
    if asked:
        name = rest
    else:
        asked = [role for role in ROLES if key_of(role, client, LIBRDKAFKA_ALIASES.get(name, name))]
    if not asked:
        known = any(name in names_of(role, client) for role in ROLES)
        why = "has no effect on the answers" if known else f"is unknown{suggestion(name, client)}"
        if name in LEVELS:
            why = "is not read: name the release of the brokers with --kafka"
        raise InputError(f"--set: {name if re.fullmatch(r'[A-Za-z0-9._-]{1,80}', name) else 'the name'} {why}")
    if "topic" in asked:
        asked = ["topic"]
    is_count = name in ("replication.factor", "default.replication.factor") and value.strip().isdecimal()
    if is_count and not 1 <= int(value) <= MOST_REPLICAS:
        raise InputError(f"Invalid value for '--set {name}': {value} is not in the range 1<=x<={MOST_REPLICAS}")
    if "broker" in asked and key_of("controller", client, name):
        asked = [*asked, "controller"]
    setting = WrittenSetting(name, value, COMMAND_LINE, precedence=Precedence.COMMAND_LINE)
    return [(role, setting) for role in asked]


@dataclass
class _Gathering:
    """The settings of the files while they are gathered: by role and name, those of the highest precedence."""

    version: str
    client: Client
    ignored: tuple[str, ...]
    assigned: frozenset[tuple[Role, str]]
    chosen: dict[tuple[Role, str], list[WrittenSetting]] = field(default_factory=dict)
    with_effect: set[tuple[str, str]] = field(default_factory=set)
    without_effect: dict[tuple[str, str], str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    replaced: list[str] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    known_files: set[str] = field(default_factory=set)
    unknown_files: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
    resembling: dict[str, str] = field(default_factory=dict)
    refused_more: int = 0

    def add(self, role: Role, given: WrittenSetting) -> None:
        """Add a setting."""
        name = LIBRDKAFKA_ALIASES.get(given.name, given.name) if self.client == "librdkafka" else given.name
        is_gapless = (role, self.client, name) == ("producer", "librdkafka", _GAPLESS)
        if is_gapless and given.value.strip().lower() in ("true", "t", "1"):
            self.unread[f"Not modelled: {name}={given.value} ({given.where}) makes a gap a fatal error."] = name
            self.with_effect.add((given.written_name, given.where))
            self.known_files.add(given.file)
            return
        if role == "consumer" and name.startswith("share."):
            self.unread[
                f"Not modelled: share groups (KIP-932), of which {name} ({given.where}) is. The answers are about a "
                "consumer of another group."
            ] = name
            self.known_files.add(given.file)
            return
        if role not in CLIENT_ROLES and name in LEVELS and (unread := unread_level(given, self.version)):
            self.unread[unread] = name
            self.known_files.add(given.file)
            return
        if key_of(role, self.client, name) is None:
            if role == "controller" and key_of("broker", self.client, name):
                self.known_files.add(given.file)
                self.replaced.append(f"{name} of a controller ({given.where}) is not in effect: brokers read their own")
            else:
                self._add_without_effect(role, given, name)
            return
        self.with_effect.add((given.written_name, given.where))
        self.known_files.add(given.file)
        settings = self.chosen.setdefault((role, name), [])
        loser = None
        if settings and given.precedence > settings[0].precedence:
            loser = settings[0]
            settings.clear()
        if not settings or given.precedence == settings[0].precedence:
            settings.append(given)
        else:
            loser = given
        if loser is not None and loser.line:
            self.replaced.append(f"{name} of {loser.where} is not in effect: {settings[0].where} takes precedence")

    def idle_names(self) -> list[str]:
        """Return the names without an effect. A line of a file may give two clients a name: one effect suffices."""
        return [shown for key, shown in self.without_effect.items() if key not in self.with_effect]

    def _add_without_effect(self, role: Role, given: WrittenSetting, name: str) -> None:
        known = name in names_of(role, self.client) or name.startswith(_PREFIXES) or name in LEVELS
        (self.known_files if known else self.unknown_files).add(given.file)
        if not known and len(self.refused) + len(self.resembling) >= _MOST_REFUSED:
            # The rest would say no more, and each search for a similar name takes a millisecond.
            self.refused_more += 1
            return
        shown = _printable(given, role, self.client, known)
        if known:
            self.without_effect[given.written_name, given.where] = shown
            return
        self.unknown.add(shown)
        place = f"{given.where}: " if shown == given.written_name else ""
        meant = similar_setting(given.name, self.client)
        if not self._is_ignored(given):
            self.refused.setdefault(shown, f"{place}{shown}{suggestion(given.name, self.client)}")
        elif meant is not None and meant not in self.assigned:
            self.resembling.setdefault(shown, f"{place}{shown} (--set {meant[1]}=...)")

    def _is_ignored(self, given: WrittenSetting) -> bool:
        spellings = (given.name, given.written_name)
        return any(fnmatchcase(spelling, pattern) for pattern in self.ignored for spelling in spellings)

    def checked(self) -> dict[tuple[Role, str], WrittenSetting]:
        """Return the settings with an effect. Raises InputError: see `gather`."""
        written = {key: self._value(*key, settings) for key, settings in self.chosen.items()}
        more = f"; and {self.refused_more} more" if self.refused_more else ""
        if self.resembling:
            raise InputError(
                "--ignore does not accept a name that resembles a setting with an effect on the answers: "
                f"{'; '.join(self.resembling.values())}{more}. Write the setting with Kafka's name, or its value in "
                "effect with --set"
            )
        if self.refused:
            raise InputError(
                f"unknown settings, whose effect cannot be judged: {'; '.join(self.refused.values())}{more}. "
                "Correct the names, or accept those without an effect with --ignore NAME"
            )
        return written

    def _value(self, role: Role, name: str, settings: Sequence[WrittenSetting]) -> WrittenSetting:
        """Return the one setting of equal ones, with its usual spelling."""
        key = key_of(role, self.client, name)
        assert key is not None
        earlier: WrittenSetting | None = None
        for given in settings:
            value = key.value_of(given.value)
            if value is None and _PLACEHOLDER.search(given.value):
                raise InputError(
                    f"{given.where}: the value of {given.written_name} is a placeholder: resolve it, "
                    f"or write --set {name}=VALUE"
                )
            if value is None and name.endswith("cleanup.policy") and not given.value.strip():
                raise InputError(
                    f"{given.where}: {given.written_name} is empty, and what Kafka then does is not modelled: write "
                    "delete, compact, or both"
                )
            if value is None:
                raise InputError(f"{given.where}: {given.written_name} is not {key.says} (ConfigException)")
            if earlier is not None and earlier.value != value and not key.may_differ:
                raise InputError(
                    f"{given.where}: {given.written_name} has two different values ({earlier.where}): "
                    + _way_out(given, earlier)
                )
            earlier = replace(given, name=name, value=value)
        assert earlier is not None
        return earlier


def _printable(given: WrittenSetting, role: Role, client: Client, known: bool) -> str:
    """Return a name if it is safe to print: an unknown name may be a piece of a secret that spans several lines."""
    name = given.written_name
    is_plain = len(name) <= 80 and re.fullmatch(r"[A-Za-z0-9._%-]+", name)
    # In nested form, no name can be a piece of a value.
    pattern = _NESTED_NAME if given.file.endswith(NESTED_SUFFIXES) else _NAME
    is_name = pattern.fullmatch(name) and given.value
    if is_plain and (known or is_name or nearest_names(name, names_of(role, client), 1, SIMILAR)):
        return name
    return f"a name that is not printed ({given.where})"


_NAME = re.compile(r"[a-z%][A-Za-z0-9]*([._-][a-z0-9]+)+|[A-Z]+(_[A-Z0-9]+)+")
_WORDS = r"[A-Z]?[a-z]+([A-Z][a-z]+)*"
_NESTED_NAME = re.compile(rf"{_NAME.pattern}|{_WORDS}([._-]{_WORDS})*")


def _way_out(given: WrittenSetting, earlier: WrittenSetting) -> str:
    if given.file != earlier.file:
        return "name one of the two files"
    return "Kafka silently takes the last one, so keep one of the two"
