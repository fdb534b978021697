"""Kubernetes resources and Compose files: Strimzi's resources, and environment variables of containers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checker.errors import InputError
from kafka_tools.advise.nested_settings import Table, flat, line_of
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


def section(document: Table, *names: str) -> Table:
    """Return a nested mapping; an empty one if it is absent."""
    found: Any = document
    for name in names:
        found = found.get(name, {}) if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}


def topic_settings(path: Path, document: Table) -> list[WrittenSetting]:
    """Return the settings of a KafkaTopic: `spec.config`, and the replication factor."""
    settings = flat(path, section(document, "spec", "config"))
    replicas = section(document, "spec").get("replicas")
    if replicas is not None:
        settings.append(WrittenSetting("replication.factor", str(replicas), path.name, line_of([replicas])))
    return settings


def environments(path: Path, document: Table) -> Iterator[list[WrittenSetting]]:
    """Yield the environment variables of each container of a workload, and of each service of a Compose file."""
    for service in section(document, "services").values():
        if isinstance(service, dict) and "environment" in service:
            yield _variables(path, service["environment"])
    spec = section(document, "spec")
    for pod in (spec, section(spec, "template", "spec"), section(spec, "jobTemplate", "spec", "template", "spec")):
        for container in pod.get("containers") or []:
            if isinstance(container, dict) and "env" in container:
                yield _variables(path, container["env"])


def _variables(path: Path, environment: Any) -> list[WrittenSetting]:
    """Return variables written as a mapping, as `NAME=VALUE`, or as `{name, value}`."""
    if isinstance(environment, dict):
        return flat(path, environment)
    found = []
    for item in environment if isinstance(environment, list) else []:
        if isinstance(item, dict):
            name, value = str(item.get("name", "")), item.get("value", "${valueFrom}")
        else:
            name, _, value = str(item).partition("=")
        found.append(WrittenSetting(name, str(value), path.name, line_of([item, value])))
    return found
