"""Reproduce the loss of docs/findings.md on three brokers and a controller of Apache Kafka.

    python docs/findings/reproduce_missed_epoch.py --lib KAFKA/libs --home DIR

KAFKA/libs holds the jars of a release, with a binding for its log messages; DIR is a new folder for the nodes' data.
It needs Java, 1.5 GB of memory, the extra `record` (librdkafka), and the ports 19091 to 19094 of 127.0.0.1. It takes a
minute. The brokers have Kafka's default settings; the topic has replication factor 3 and min.insync.replicas=2.

SIGSTOP makes a broker slow for a few seconds, and no process is killed. With --learn the first leader runs between the
two elections, so that it misses no epoch: then nothing is lost.
"""

import argparse
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

CONTROLLER, BROKERS = 4, (1, 2, 3)
TOPIC = "tide"
LOGGING = """Configuration:
  Appenders:
    File:
      name: F
      fileName: "${sys:kafka.logs.dir}/server.log"
      PatternLayout: {pattern: "%d{HH:mm:ss.SSS} %p %c{1} %m%n"}
  Loggers:
    Root: {level: INFO, AppenderRef: {ref: F}}
    Logger: [{name: kafka.cluster.Partition, level: DEBUG}]
"""


def address(node):
    """Return host and port of a node."""
    return "127.0.0.1", 19090 + node


class Cluster:
    """The processes of a controller and three brokers."""

    def __init__(self, lib, home):
        self.lib, self.home, self.started = f"{lib}/*", home, time.monotonic()
        self.processes = {}
        self.home.mkdir(parents=True)
        (self.home / "log4j2.yaml").write_text(LOGGING)

    def say(self, text):
        """Print a line with the time since the start in seconds."""
        print(f"{time.monotonic() - self.started:6.1f} s  {text}", flush=True)

    def start(self, node):
        """Format and start a node."""
        folder = self.home / f"node{node}"
        folder.mkdir()
        host, port = address(node)
        listener = "CONTROLLER" if node == CONTROLLER else "PLAINTEXT"
        settings = {
            "process.roles": "controller" if node == CONTROLLER else "broker",
            "node.id": node,
            "controller.quorum.voters": f"{CONTROLLER}@{host}:{address(CONTROLLER)[1]}",
            "listeners": f"{listener}://{host}:{port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": folder / "data",
            "auto.leader.rebalance.enable": "false",  # the script asks for the elections
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
        }
        properties = folder / "server.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        java = ["java", "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dkafka.logs.dir={folder}"]
        java += [f"-Dlog4j2.configurationFile={self.home / 'log4j2.yaml'}", "-cp", self.lib]
        cluster_id = "AAAAAAAAQACAAAAAAAAAAA"
        format_command = [*java, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(properties)]
        subprocess.run(format_command, check=True, stdout=subprocess.DEVNULL)
        with (folder / "stdout.log").open("wb") as out:
            self.processes[node] = subprocess.Popen([*java, "kafka.Kafka", str(properties)], stdout=out, stderr=out)

    def wait_for_ports(self):
        """Wait until every node listens."""
        for node in self.processes:
            while True:
                with socket.socket() as probe:
                    if probe.connect_ex(address(node)) == 0:
                        break
                time.sleep(0.2)

    def pause(self, node):
        """Stop a broker's process for a while."""
        self.say(f"b{node} pauses")
        os.kill(self.processes[node].pid, signal.SIGSTOP)

    def resume(self, node):
        """Continue a broker's process."""
        self.say(f"b{node} continues")
        os.kill(self.processes[node].pid, signal.SIGCONT)

    def wait_for(self, node, pattern, seconds=30):
        """Wait for a line of a node's log, and print what the pattern matches."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if found := re.findall(pattern, (self.home / f"node{node}" / "server.log").read_text(errors="replace")):
                self.say(f"b{node} logs: {found[-1]}")
                return
            time.sleep(0.05)
        sys.exit(f"b{node} does not log {pattern}")

    def close(self):
        """Kill the processes that this script has started."""
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def request(node, api_key, version, header_tags, body):
    """Send a request of Kafka's protocol to a broker and return the response after the correlation id.

    The clients' administrators choose a broker themselves, which may be one that pauses.
    """
    header = struct.pack(">hhih", api_key, version, 1, -1) + header_tags
    with socket.create_connection(address(node), timeout=30) as connection:
        connection.sendall(struct.pack(">i", len(header + body)) + header + body)
        with connection.makefile("rb") as stream:
            (size,) = struct.unpack(">i", stream.read(4))
            return stream.read(size)[4:]


def prefer(node, replicas):
    """Change the order of the replicas: AlterPartitionReassignments, version 0. The first one is preferred."""
    name = bytes([len(TOPIC) + 1]) + TOPIC.encode()
    order = bytes([len(replicas) + 1]) + struct.pack(f">{len(replicas)}i", *replicas)
    body = struct.pack(">i", 10_000) + b"\2" + name + b"\2" + struct.pack(">i", 0) + order + b"\0\0\0"
    response = request(node, 45, 0, b"\0", body)
    (error,) = struct.unpack(">h", response[5:7])
    assert error == 0, f"AlterPartitionReassignments: error {error}"


def elect_preferred(node):
    """Elect the preferred replica: ElectLeaders, version 1."""
    name = struct.pack(">h", len(TOPIC)) + TOPIC.encode()
    body = struct.pack(">bi", 0, 1) + name + struct.pack(">iii", 1, 0, 10_000)
    response = request(node, 43, 1, b"", body)
    (error,) = struct.unpack(">h", response[4:6])
    (partition_error,) = struct.unpack(">h", response[-4:-2])
    assert error == partition_error == 0, f"ElectLeaders: errors {error} and {partition_error}"


def records(node, seconds):
    """Return the records that a consumer reads from the start, at most one, as text."""
    servers = "{}:{}".format(*address(node))
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    until = time.monotonic() + seconds
    message = None
    while time.monotonic() < until and (message is None or message.error() is not None):
        message = consumer.poll(0.5)
    consumer.close()
    return [] if message is None or message.error() is not None else [message.value().decode()]


def reproduce(cluster, learns):
    """Play the schedule; return whether an acknowledged record is gone."""
    servers = "{}:{}".format(*address(1))
    topics = [
        NewTopic(TOPIC, num_partitions=1, replica_assignment=[list(BROKERS)], config={"min.insync.replicas": "2"})
    ]
    topics += [NewTopic("warm-up", num_partitions=1, replica_assignment=[[1]])]
    admin = AdminClient({"bootstrap.servers": servers})
    for created in admin.create_topics(topics).values():
        created.result()
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True})
    producer.produce("warm-up", b"connects to b1, so that the next record needs no other broker")
    producer.flush()
    time.sleep(3)
    acknowledged = []

    def report(error, message):
        cluster.say(f"the producer's answer: {error or f'acknowledged at offset {message.offset()}'}")
        if error is None:
            acknowledged.append(message.value().decode())

    cluster.pause(3)
    time.sleep(1)  # b3's last fetch, which waits for 500 ms at most, is answered with nothing
    producer.produce(TOPIC, b"r0", partition=0, on_delivery=report)
    producer.poll(0)
    cluster.wait_for(1, r"Recorded replica 2 log end offset \(LEO\) position 1")
    cluster.pause(1)
    cluster.resume(3)
    prefer(3, (3, 1, 2))
    elect_preferred(3)
    cluster.wait_for(3, r"Leader tide-0 .* starts at leader epoch 1 from offset 0")
    cluster.wait_for(3, r"Recorded replica 2 log end offset \(LEO\) position 0")  # b2 has truncated
    if learns:
        cluster.resume(1)
        cluster.wait_for(1, r"Follower tide-0 starts at leader epoch 1")
    cluster.pause(2)
    prefer(3, (1, 2, 3))
    elect_preferred(3)
    cluster.wait_for(3, r"Follower tide-0 starts at leader epoch 2")
    if not learns:
        cluster.resume(1)
    cluster.wait_for(1, r"Leader tide-0 .* starts at leader epoch 2.*(Previous leader .*)")
    producer.poll(4)
    cluster.say(f"b1 leads; a consumer reads {records(1, 2)}")
    prefer(3, (2, 1, 3))
    elect_preferred(3)
    cluster.resume(2)
    cluster.wait_for(2, r"Leader tide-0 .* starts at leader epoch 3 from offset \d+")
    producer.flush(20)
    found = records(2, 8)
    cluster.say(f"b2 leads; a consumer reads {found}")
    return not set(acknowledged) <= set(found)


def main():
    """Run the schedule and print whether an acknowledged record is lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", required=True, type=Path)
    parser.add_argument("--home", required=True, type=Path)
    parser.add_argument("--learn", action="store_true")
    options = parser.parse_args()
    cluster = Cluster(options.lib.resolve(), options.home.resolve())
    try:
        for node in (CONTROLLER, *BROKERS):
            cluster.start(node)
        cluster.wait_for_ports()
        cluster.say("every node listens")
        time.sleep(5)
        is_lost = reproduce(cluster, options.learn)
        cluster.say("an acknowledged record is lost" if is_lost else "every acknowledged record is there")
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
