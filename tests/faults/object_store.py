"""An S3 server in this process, and functions that show what is in it."""

from __future__ import annotations

import itertools
import logging

_buckets = itertools.count()


class ObjectStore:
    """moto's server on a free port of loopback; ends with its `with` block."""

    def __init__(self) -> None:
        from moto.server import ThreadedMotoServer

        # Otherwise it would log a line per request.
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)

    def __enter__(self) -> ObjectStore:
        self._server.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._server.stop()

    @property
    def address(self) -> str:
        """Its "host:port"."""
        host, port = self._server.get_host_and_port()
        return f"{host}:{port}"

    def environment(self, address: str = "") -> dict[str, str]:
        """Returns the environment variables with which programs reach it.

        Args:
            address: The address of a proxy in front of it; "": none.
        """
        environment = {
            "AWS_ACCESS_KEY_ID": "known-to-nobody",
            "AWS_SECRET_ACCESS_KEY": "nobody-may-read-this",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://{address or self.address}",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        if address:
            # A test cuts the store off with its proxy, and would wait for retries.
            # Without a proxy, a request is retried: a connection may time out on a
            # machine that runs many tests at once.
            environment["AWS_MAX_ATTEMPTS"] = "1"
        return environment

    def make_bucket(self) -> str:
        """Makes a bucket that no other test has; returns its name."""
        name = f"bucket-{next(_buckets)}"
        self._client().create_bucket(Bucket=name)
        return name

    def objects(self, bucket: str) -> dict[str, bytes]:
        """Returns the contents of a bucket, by key."""
        client = self._client()
        listed = client.list_objects_v2(Bucket=bucket).get("Contents", [])
        return {
            one["Key"]: client.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
            for one in listed
        }

    def unfinished_uploads(self, bucket: str) -> int:
        """Returns how many uploads were begun and neither completed nor aborted."""
        uploads = self._client().list_multipart_uploads(Bucket=bucket)
        return len(uploads.get("Uploads", []))

    def _client(self):
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=f"http://{self.address}",
            aws_access_key_id="tests",
            aws_secret_access_key="tests",
            region_name="us-east-1",
        )
