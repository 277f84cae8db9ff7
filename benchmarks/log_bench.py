"""What the log costs: records per second against a loop that writes and syncs.

    python benchmarks/log_bench.py
    python benchmarks/log_bench.py --folder /mnt/disk --in-flight 16

Builds and runs the C++ program in benchmarks/log_bench. Each figure is a ratio to a
plain loop with one write and fdatasync per record, measured alternately with it, and is
the median of several rounds. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import tempfile

import native_rounds


def parse_arguments() -> argparse.Namespace:
    parser = native_rounds.make_parser(__doc__, rounds=7)
    add = parser.add_argument
    add("--folder", help="a folder on the device to measure (the temporary one)")
    add("--record-bytes", type=int, default=100_000)
    add("--in-flight", type=int, default=4, help="records in flight (%(default)s)")
    arguments = native_rounds.parse(parser)
    for name in ("record_bytes", "in_flight"):
        if getattr(arguments, name) < 1:
            flag = "--" + name.replace("_", "-")
            parser.error(
                f"{flag} must be at least 1. Received: {getattr(arguments, name)}"
            )
    return arguments


def main() -> None:
    arguments = parse_arguments()
    sizes = {
        name: getattr(arguments, name)
        for name in ("record_bytes", "in_flight", "seconds", "rounds")
    }
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        native_rounds.report("log", [folder, *sizes.values()], sizes)


if __name__ == "__main__":
    main()
