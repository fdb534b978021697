"""An object store on this machine: the S3 server of moto, for one process of tests."""

import logging
import os
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from traces import storage
from traces.storage import Location, location_of

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "tests",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def object_store(bucket: str) -> Iterator[str]:
    """Yield the URL of an empty bucket; this process and its children find its server by the environment."""
    server = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (ENVIRONMENT | {"AWS_ENDPOINT_URL": endpoint}).items():
            patch.setenv(name, value)
        patch.delenv("AWS_PROFILE", raising=False)
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")).close()
        # A connection names the server of the module of tests before.
        storage._filesystem.cache_clear()
        try:
            yield f"s3://{bucket}"
        finally:
            running.stop()


def place(url: str, path: str) -> Location:
    """Return a location in a store as a URL that names its server, for processes with another environment."""
    host = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://")
    return location_of(f"{url}/{path}?scheme=http&endpoint_override={host}")


def set_permissions(*, are_checked: bool) -> None:
    """Make the server refuse every request, or none."""
    content = b"0" if are_checked else b"inf"
    url = f"{os.environ['AWS_ENDPOINT_URL']}/moto-api/reset-auth"
    headers = {"Content-Type": "text/plain"}
    urllib.request.urlopen(urllib.request.Request(url, content, headers, method="POST")).close()
