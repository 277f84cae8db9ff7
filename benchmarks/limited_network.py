"""Machines of a slow network, as network namespaces of this machine.

Needs root, and `ip` and `tc` of iproute2. Each machine is a namespace with an interface
of its own, whose sending is limited by a token bucket; a bridge in another namespace
joins them. Nothing outside can be reached from them.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator

# As little as does not split the kernel's packets of 64 kB, which would cost processor
# time. After a pause, so much is sent at once.
_BURST = "80kb"
_QUEUE = "400ms"


class Machine:
    """One namespace.

    Attributes:
        address: Its address within the network.
    """

    def __init__(self, name: str, address: str) -> None:
        self.address = address
        self._name = name

    def command(self, *command: str) -> list[str]:
        """Returns the command line that runs a command on this machine."""
        return ["ip", "netns", "exec", self._name, *command]


@contextlib.contextmanager
def limited_network(count: int, bits_per_second: int) -> Iterator[list[Machine]]:
    """Makes machines, and removes them after the block.

    Args:
        count: How many.
        bits_per_second: How fast each sends.

    Yields:
        The machines.
    """
    hub = f"persia{os.getpid()}hub"
    names = [f"persia{os.getpid()}m{i}" for i in range(count)]
    try:
        _run("ip", "netns", "add", hub)
        _run("ip", "-n", hub, "link", "add", "name", "bridge0", "type", "bridge")
        _run("ip", "-n", hub, "link", "set", "dev", "bridge0", "up")
        machines = [
            _add(name, f"10.77.0.{i + 1}", hub, i, bits_per_second)
            for i, name in enumerate(names)
        ]
        yield machines
    finally:
        for name in (*names, hub):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def _add(name: str, address: str, hub: str, i: int, bits_per_second: int) -> Machine:
    _run("ip", "netns", "add", name)
    _run(
        *("ip", "-n", name, "link", "add", "wire", "type", "veth"),
        *("peer", "name", f"port{i}", "netns", hub),
    )
    _run("ip", "-n", hub, "link", "set", "dev", f"port{i}", "master", "bridge0")
    _run("ip", "-n", hub, "link", "set", "dev", f"port{i}", "up")
    _run("ip", "-n", name, "link", "set", "dev", "lo", "up")
    _run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "wire")
    _run("ip", "-n", name, "link", "set", "dev", "wire", "up")
    _run(
        *("tc", "-n", name, "qdisc", "add", "dev", "wire", "root", "tbf"),
        *("rate", f"{bits_per_second}bit", "burst", _BURST, "latency", _QUEUE),
    )
    return Machine(name, address)


def _run(*command: str) -> None:
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {ended.stderr.strip()}")
