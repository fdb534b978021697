"""Kept logs of real clusters: the lines of a partition, of every broker, and the notes of the harness."""

import json
import lzma
from pathlib import Path

from kafka_tools.lab.recording.recorder import ClusterLogs, read_cluster_logs

KEPT = Path(__file__).with_name("kept")
PORTS = {"PLAINTEXT": 1, "CONTROLLER": 2, "CLIENT": 3}


def extract(name: str, folder: Path) -> Path:
    """Write the files of a kept cluster to a folder, as `cluster up --trace` makes them, and return the folder."""
    found = json.loads(lzma.decompress((KEPT / f"{name}.json.xz").read_bytes()))
    nodes = []
    for number, text in found["logs"].items():
        home = folder / f"broker{number}"
        home.mkdir(parents=True)
        (home / "server.log").write_text(text)
        nodes.append({"number": int(number), "ports": PORTS, "advertised": PORTS, "process": None})
    (folder / "harness.jsonl").write_text(found["notes"])
    content = {"version": found["version"], "identifier": "", "settings": {}, "is_traced": True, "nodes": nodes}
    content |= {"has_proxies": False, "proxies": None}
    (folder / "cluster.json").write_text(json.dumps(content))
    return folder


def logs_of(name: str, folder: Path) -> ClusterLogs:
    """Return the logs of a kept cluster."""
    return read_cluster_logs(extract(name, folder / name))
