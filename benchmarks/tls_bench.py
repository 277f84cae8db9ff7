"""What TLS costs: lookups and new connections with it, over those without.

    python benchmarks/tls_bench.py

Builds and runs the C++ program in benchmarks/tls_bench. It has a server and a client
with TLS, and a server and a client without, in one process, on loopback, and measures
them in turn. Requests for `lookups_over_plain` have 25,000 rows of 16 float32, with
four in flight; requests for `small_lookups_over_plain` have 100 rows. Figures are
medians of rounds. The last line is one JSON object.
"""

from __future__ import annotations

import subprocess
import tempfile

import native_rounds

_EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc"]


def make_certificate(folder: str) -> list[str]:
    """Creates a self-signed certificate for a server at 127.0.0.1.

    Args:
        folder: The folder for the files.

    Returns:
        The files of the certificate, its key and the certificate authority.
    """
    certificate, key = f"{folder}/own.pem", f"{folder}/own.key"
    command = ["openssl", "req", "-x509", *_EC, "-keyout", key, "-out", certificate]
    command += ["-subj", "/CN=benchmark", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return [certificate, key, certificate]


def main() -> None:
    arguments = native_rounds.parse(native_rounds.make_parser(__doc__, rounds=9))
    sizes = {"seconds": arguments.seconds, "rounds": arguments.rounds}
    with tempfile.TemporaryDirectory() as folder:
        options = [*make_certificate(folder), *sizes.values()]
        native_rounds.report("tls", options, sizes)


if __name__ == "__main__":
    main()
