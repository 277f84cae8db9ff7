"""What the log costs: records a second against a loop that writes and syncs.

    python benchmarks/log_bench.py
    python benchmarks/log_bench.py --folder /mnt/disk --in-flight 16

Builds and runs the C++ program in benchmarks/log_bench. Each figure is a ratio to what
a plain loop of write and fdatasync, one a record, does in the same seconds; of several
rounds it is the median. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile

import native_programs


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a smoke test's size")
    parser.add_argument(
        "--folder", help="on the device to measure: the system's temporary folder"
    )
    parser.add_argument("--record-bytes", type=int, default=100_000)
    parser.add_argument(
        "--in-flight", type=int, default=4, help="records under way: %(default)s"
    )
    parser.add_argument("--rounds", type=int, help="of which a median is taken: 7")
    parser.add_argument("--seconds", type=float, help="of a measurement: 1.0")
    arguments = parser.parse_args()
    for name in ("record_bytes", "in_flight"):
        if getattr(arguments, name) < 1:
            flag = "--" + name.replace("_", "-")
            parser.error(
                f"{flag} must be at least 1. Received: {getattr(arguments, name)}"
            )
    return arguments


def main() -> None:
    arguments = parse_arguments()
    rounds = arguments.rounds or (2 if arguments.quick else 7)
    seconds = arguments.seconds or (0.05 if arguments.quick else 1.0)
    sizes = {
        "record_bytes": arguments.record_bytes,
        "in_flight": arguments.in_flight,
        "seconds": seconds,
        "rounds": rounds,
    }
    program = native_programs.build("log_bench")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        ran = subprocess.run(
            [str(program), folder, *map(str, sizes.values())],
            stdout=subprocess.PIPE,
            text=True,
        )
    if ran.returncode:
        raise SystemExit(f"log_bench ended with status {ran.returncode}")
    figures = json.loads(ran.stdout)["figures"]
    for name, value in figures.items():
        print(f"{name:30} {value:10.4g}")
    setup = {
        **sizes,
        # Of other work, so about 0 where the machine was ours.
        "load_average_before": round(load, 2),
        **native_programs.machine(),
    }
    print(json.dumps({"benchmark": "log", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
