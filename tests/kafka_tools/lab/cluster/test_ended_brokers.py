"""Brokers that were killed, have died, or cannot have their ports are named."""

import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from checker.cli.app import main
from checker.errors import InputError
from checker.run.endings import StoppedError
from kafka_tools.lab.cluster.cluster import BROKER, CLIENT, CONTROLLER, Cluster, Node
from kafka_tools.lab.cluster.experiment_run import ExperimentRun
from kafka_tools.lab.cluster.process import listener_at, require_free, started
from kafka_tools.lab.cluster.proxy_process import start_proxies

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
CALM = "import time; print(1, flush=True); time.sleep(60)"
PORTS = {BROKER: 1, CONTROLLER: 2, CLIENT: 3}


def cluster_in(folder: Path, code: str) -> None:
    """Write the file of a cluster of one node, whose process runs some Python."""
    output = folder / "out"
    process = started([sys.executable, "-c", code], output, ends_with_parent=True)
    while not output.read_text():
        pass
    node = Node(1, PORTS, PORTS, process)
    Cluster(folder, "4.3.1", [node], "")._save()


@pytest.mark.parametrize(("code", "is_killed"), [(STUBBORN, True), (CALM, False)])
def test_down_says_that_it_killed(tmp_path, capsys, monkeypatch, code, is_killed):
    cluster_in(tmp_path, code)
    real = Cluster._end
    monkeypatch.setattr(Cluster, "_end", lambda self, nodes, number, seconds: real(self, nodes, number, 1))
    assert main(["cluster", "down", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert ("broker 1 was killed, because it did not stop cleanly in time" in shown) == is_killed


def test_a_taken_port_is_named_with_its_owner(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        name = Path("/proc/self/comm").read_text().strip()
        assert listener_at(port) == f"{name} (pid {os.getpid()})"
        with pytest.raises(InputError, match=rf"port {port} of broker 3 is taken by .* \(pid {os.getpid()}\)"):
            require_free({port: "broker 3"})
        cluster = SimpleNamespace(
            has_proxies=True, proxies=None, folder=tmp_path, links=lambda: [SimpleNamespace(port=port, broker=2)]
        )
        with pytest.raises(InputError, match=f"port {port} of the proxy of broker 2 is taken by"):
            start_proxies(cluster)
    assert listener_at(port) == ""
    require_free({port: "broker 3"})


def test_a_broker_that_dies_during_an_experiment_is_named(tmp_path):
    process = SimpleNamespace(is_alive=False)
    run = ExperimentRun.__new__(ExperimentRun)
    run._cluster = SimpleNamespace(
        nodes=[SimpleNamespace(number=2, process=process)], home=lambda node: tmp_path / f"broker{node.number}"
    )
    with pytest.raises(StoppedError, match=r"broker 2 has died, and no step ended it: see .*broker2/output.log"):
        run._until(lambda: False)
    run._cluster.nodes[0].process = None
    assert run._until(lambda: True)


def test_a_fault_of_a_request_that_no_run_has(tmp_path, capsys):
    for number in ("100000000", "1" + 22 * "0", "10001"):
        assert main(["record", str(tmp_path / "log"), "--fault", f"refuse@{number}"]) == 2
        assert "N is at most 10,000" in capsys.readouterr().err
