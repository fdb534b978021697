"""Kubernetes resources and Compose files: Strimzi's resources, and environment variables of containers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checker.errors import InputError, nearest_names
from kafka_tools.advise import broker_disks
from kafka_tools.advise.environment_files import is_on_command_line
from kafka_tools.advise.nested_settings import FormError, Table, flat, items, line_of, mappings, plain, section, texts
from kafka_tools.advise.written_settings import WrittenSetting

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "Pod", "CronJob", "ReplicaSet")

_OTHERS = (
    "Kafka",
    "KafkaTopic",
    "KafkaConnect",
    "KafkaConnector",
    "KafkaNodePool",
    "KafkaUser",
    "Namespace",
    "Secret",
    "Service",
    "ServiceAccount",
    *WORKLOADS,
)

_OF_HELM = (
    "extraConfig",
    "extraConfigYaml",
    "overrideConfiguration",
    "configurationOverrides",
    "extraEnvVars",
    "heapOpts",
)


_PLACES = {name: name.lower() for name in ("environment", "env", "env_file", "envFrom")}
"""Where the variables of a container or a service are, or are named."""


def kind_of(document: Table) -> str | None:
    """Return the kind of a Kubernetes resource, or None."""
    kind = document.get("kind")
    return str(kind) if kind is not None and "apiVersion" in document else None


def check_kind(path: Path, kind: str) -> None:
    """Raise InputError for a resource that is not read, such as a ConfigMap or MirrorMaker's."""
    if kind == "ConfigMap":
        raise InputError(f"{path}: a ConfigMap is not read: give the files or the variables in its data")
    if kind not in _OTHERS:
        raise InputError(
            f"{path}: a resource of the kind {kind if kind.isalnum() else 'given'} is not read: write the settings of "
            "its producer and its consumer into a file for each"
        )


def refuse_helm_values(path: Path, document: Table) -> None:
    """Raise InputError for the values of a Helm chart, whose effect only the chart knows."""
    nested = [value for value in document.values() if isinstance(value, dict)]
    if any(name in part for part in (document, *nested) for name in _OF_HELM):
        raise InputError(
            f"{path}: the values of a Helm chart: run helm template, and give the configuration files that it prints"
        )


def topic_settings(path: Path, document: Table) -> list[WrittenSetting]:
    """Return the settings of a KafkaTopic: `spec.config`, and the replication factor."""
    settings = flat(path, section(document, "spec", "config"))
    replicas = section(document, "spec").get("replicas")
    if replicas is not None:
        settings.append(WrittenSetting("replication.factor", str(replicas), path.name, line_of([replicas])))
    return settings


def controller_settings(path: Path, document: Table) -> Iterator[WrittenSetting]:
    """Yield what a Kafka resource says of its controller: with KRaft, its nodes may have both roles, and a level."""
    level = section(document, "spec", "kafka").get("metadataVersion")
    if level is not None:
        yield WrittenSetting("metadata.version", str(level), path.name, line_of([level]))
    spec, annotations = section(document, "spec"), section(document, "metadata", "annotations")
    mode = annotations.get("strimzi.io/kraft", "disabled" if "zookeeper" in spec else "enabled")
    if mode != "disabled":
        yield WrittenSetting(
            "process.roles", "broker,controller", path.name, line_of([mode]), spelling="Strimzi's KRaft"
        )
    if mode != "enabled":
        yield WrittenSetting(
            "zookeeper.connect", "set", path.name, line_of([mode]), spelling="Strimzi's spec.zookeeper"
        )


def connector_settings(path: Path, document: Table) -> list[WrittenSetting]:
    """Return the settings of a KafkaConnector: `spec.config`, and its class."""
    settings = flat(path, section(document, "spec", "config"))
    name = section(document, "spec").get("class")
    if name is not None:
        settings.append(WrittenSetting("connector.class", str(name), path.name, line_of([name])))
    return settings


def environments(path: Path, document: Table) -> Iterator[list[WrittenSetting]]:
    """Yield the environment variables of each container of a workload, and of each service of a Compose file.

    Raises FormError for a misspelt name of a place of variables.
    """
    for container in _containers(document):
        for name in container:
            meant = nearest_names(name.lower(), _PLACES.values(), 1, 0.85)
            if meant and name not in _PLACES:
                raise FormError(f"{plain(name)} is no part of a container or service")
        for name in ("environment", "env"):
            if name in container:
                yield _variables(path, container[name])


def disks(path: Path, document: Table) -> Iterator[WrittenSetting]:
    """Yield whether the brokers of a resource or of a Compose file keep their disks."""
    if kind_of(document) in ("Kafka", "KafkaNodePool"):
        yield from broker_disks.disks_of_strimzi(path, document)
    for service in _services(document):
        yield from broker_disks.disks_of_service(path, service, _values(path, service))
    for pod in _pods(document):
        for container in _containers_of(pod):
            yield from broker_disks.disks_of_container(path, document, pod, container, _values(path, container))


KAFKA_VERSION = "kafka.version"
"""The name under which a file has the release of its brokers."""

_IMAGE = re.compile(r"(?:.*/)?apache/kafka(?:-native)?:([0-9]+\.[0-9]+\.[0-9]+)")


def versions(path: Path, document: Table) -> Iterator[WrittenSetting]:
    """Yield the releases of brokers: `version` of a Kafka resource, and the tag of Apache's image."""
    version = section(document, "spec", "kafka").get("version") if kind_of(document) == "Kafka" else None
    if version is not None:
        yield WrittenSetting(KAFKA_VERSION, str(version), path.name, line_of([version]))
    for container in _containers(document):
        if tag := _IMAGE.fullmatch(str(container.get("image", ""))):
            yield WrittenSetting(KAFKA_VERSION, tag[1], path.name, line_of([container["image"]]))


def _values(path: Path, container: Table) -> dict[str, str]:
    names = ("environment", "env")
    return {given.name: given.value for name in names for given in _variables(path, container.get(name))}


def settings_elsewhere(path: Path, document: Table) -> list[WrittenSetting]:
    """Return what containers and services take from elsewhere and what is not read, under the names in NOT_READ.

    A setting of Kafka on a command line has the prefix `command.`; no file has such a name.
    """
    settings = []
    for container in _containers(document):
        for part, name in (("env_file", "env_file"), ("envFrom", "env-from"), ("extends", "extends-service")):
            if container.get(part):
                settings.append(WrittenSetting(name, part, path.name, line_of(texts(container[part]))))
        for text, line in _command_lines(path, container):
            names = [match[1] for match in _ASSIGNMENT.finditer(text) if is_on_command_line(match[1])]
            settings += [WrittenSetting(f"command.{name}", "set", path.name, line) for name in names]
    return settings


def _command_lines(path: Path, container: Table) -> Iterator[tuple[str, int | None]]:
    """Yield the parts of a container's command line, also those in variables such as JAVA_OPTS, with their lines."""
    for part in ("command", "args", "entrypoint"):
        yield from ((str(text), line_of([text])) for text in texts(container.get(part)))
    for given in (*_variables(path, container.get("environment")), *_variables(path, container.get("env"))):
        if given.name.endswith(("OPTS", "OPTIONS", "ARGS")):
            yield given.value, given.line


NOT_READ = {
    "env_file": "the variables of `env_file` are not read: write them under `environment`",
    "env-from": "the variables of `envFrom` are not read: write them under `env`",
    "extends-service": "the service of `extends` is not read: write its variables under `environment`",
}
"""The explanations of names that stand for settings that are written elsewhere."""

_ASSIGNMENT = re.compile(r"(?:-D)?([A-Za-z][A-Za-z0-9._\[\]-]*)(?:[= ]|$)")
"""A name in front of a value, as in `-Dspring.kafka.producer.acks=1` or `--replication-factor 1`."""


def _containers(document: Table) -> Iterator[Table]:
    """Yield the services of a Compose file and the containers of a workload."""
    yield from _services(document)
    for pod in _pods(document):
        yield from _containers_of(pod)


def _services(document: Table) -> Iterator[Table]:
    services = document.get("services")
    # Without a mapping, the document is no Compose file.
    if isinstance(services, dict):
        yield from (section(services, name) for name in services)


def _pods(document: Table) -> Iterator[Table]:
    """Yield the places where a workload may have the description of a pod. Raises FormError if none has containers."""
    if kind_of(document) not in WORKLOADS:
        return
    spec = section(document, "spec")
    pods = (spec, section(spec, "template", "spec"), section(spec, "jobTemplate", "spec", "template", "spec"))
    if not any(pod.get("containers") for pod in pods):
        raise FormError(f"{kind_of(document)} has no containers in spec, or in the spec of its template")
    yield from pods


def _containers_of(pod: Table) -> Iterator[Table]:
    for name in ("initContainers", "containers"):
        yield from mappings(pod, name)


def _variables(path: Path, environment: Any) -> list[WrittenSetting]:
    """Return variables written as a mapping, as `NAME=VALUE`, or as `{name, value}`.

    A variable without a value gets it from elsewhere: its value is a placeholder. Raises FormError for another form.
    """
    if isinstance(environment, dict):
        return flat(path, {name: "${" + name + "}" if value is None else value for name, value in environment.items()})
    settings = []
    for item in items({"environment": environment}, "environment"):
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            name, value = item["name"], item.get("value", "${valueFrom}")
        elif isinstance(item, (dict, list)):
            raise FormError("a variable of a container has no name")
        else:
            name, separator, value = str(item).partition("=")
            value = value if separator else "${" + name + "}"
        settings.append(WrittenSetting(name, str(value), path.name, line_of([item, value])))
    return settings
