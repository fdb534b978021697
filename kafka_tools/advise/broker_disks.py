"""Whether a broker returns with its disk after a restart, as container platforms write it.

Sources: the manual of Strimzi (`storage`: an ephemeral one lives as long as the pod), Kubernetes (`emptyDir`), Compose
(without a volume, a container that is created again begins with an empty disk).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kafka_tools.advise.nested_settings import Table, items, line_of, mappings, section, texts
from kafka_tools.advise.written_settings import WrittenSetting

NAME = "broker.disks"
EPHEMERAL, KEPT, UNKNOWN = "ephemeral", "kept", "unknown"

_OF_BROKER = re.compile(r"KAFKA_(CFG_)?(PROCESS_ROLES|NODE_ID|BROKER_ID|ZOOKEEPER_CONNECT|(ADVERTISED_)?LISTENERS)")
_IMAGES = ("kafka", "kafka-native", "cp-kafka", "cp-server", "cp-enterprise-kafka", "confluent-local")
_LOG_DIRS = ("KAFKA_LOG_DIRS", "KAFKA_CFG_LOG_DIRS", "KAFKA_DATA_DIR")
_DATA_PATH = re.compile(r"/bitnami(/kafka(/data)?)?|.*kafka.*(data|logs?)|/var/lib/kafka|/kafka|/data")
"""Where images keep the data of a broker if its log.dirs are not given."""


def disks_of_strimzi(path: Path, document: Table) -> Iterator[WrittenSetting]:
    """Yield whether the brokers of a Kafka or a KafkaNodePool keep their disks."""
    spec = section(document, "spec")
    if "broker" not in (texts(spec.get("roles")) or ["broker"]):
        return
    storage = section(spec, "kafka", "storage") or section(spec, "storage")
    for part in mappings(storage, "volumes") or [storage]:
        if "type" in part:
            yield _disk(path, EPHEMERAL if part["type"] == "ephemeral" else KEPT, "storage", part["type"])


def disks_of_service(path: Path, service: Table, variables: Mapping[str, str]) -> Iterator[WrittenSetting]:
    """Yield whether a broker in a service of a Compose file keeps its disk."""
    if not is_broker(service, variables):
        return
    mounts = {}
    for volume in items(service, "volumes"):
        if isinstance(volume, dict):
            mounts[str(volume.get("target", ""))] = EPHEMERAL if volume.get("type") == "tmpfs" else KEPT
        else:
            source, _, target = str(volume).partition(":")
            mounts[target.partition(":")[0] or source] = KEPT
    mounts |= {str(target).partition(":")[0]: EPHEMERAL for target in texts(service.get("tmpfs"))}
    is_elsewhere = "volumes_from" in service or "extends" in service
    yield _disk(path, UNKNOWN if is_elsewhere else _of_mounts(mounts, variables), "volumes", service.get("image"))


def disks_of_container(
    path: Path, document: Table, pod: Table, container: Table, variables: Mapping[str, str]
) -> Iterator[WrittenSetting]:
    """Yield whether a broker in a container of a Kubernetes workload keeps its disk."""
    if not is_broker(container, variables):
        return
    ends_with_pod = {
        str(volume.get("name")): bool({"emptyDir", "ephemeral"} & set(volume)) for volume in mappings(pod, "volumes")
    }
    claims = mappings(section(document, "spec"), "volumeClaimTemplates")
    ends_with_pod |= {str(section(claim, "metadata").get("name")): False for claim in claims}
    mounts = {
        str(mount.get("mountPath")): EPHEMERAL if ends_with_pod.get(str(mount.get("name"))) else KEPT
        for mount in mappings(container, "volumeMounts")
    }
    yield _disk(path, _of_mounts(mounts, variables), "volumeMounts", container.get("image"))


def is_broker(container: Table, variables: Mapping[str, str]) -> bool:
    """Return whether a container runs a broker, by its variables or its image."""
    image = str(container.get("image", "")).partition("@")[0].rpartition("/")[2].partition(":")[0]
    return image in _IMAGES or any(map(_OF_BROKER.fullmatch, variables))


def _of_mounts(mounts: Mapping[str, str], variables: Mapping[str, str]) -> str:
    """Return what becomes of the data of a broker with these mounts, by path."""
    if not mounts:
        return EPHEMERAL
    given = next((variables[name] for name in _LOG_DIRS if name in variables), None)
    if given is None:
        kinds = {kind for mount, kind in mounts.items() if _DATA_PATH.fullmatch(mount.rstrip("/"))}
        return UNKNOWN if not kinds else EPHEMERAL if EPHEMERAL in kinds else KEPT
    folders = [folder.strip() for folder in given.split(",")]
    kinds = {_of_folder(folder, mounts) for folder in folders}
    return EPHEMERAL if EPHEMERAL in kinds else KEPT


def _of_folder(folder: str, mounts: Mapping[str, str]) -> str:
    """Return what becomes of a folder: its innermost mount decides, and without one it is the container's own."""
    around = [mount for mount in mounts if f"{folder}/".startswith(f"{mount.rstrip('/')}/")]
    return mounts[max(around, key=len)] if around else EPHEMERAL


def _disk(path: Path, kind: str, spelling: str, located: Any) -> WrittenSetting:
    return WrittenSetting(NAME, kind, path.name, line_of([located]), spelling=spelling)
