"""Programs in processes of their own, and a Prometheus server that scrapes them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml
from harness import DEADLINE_SECONDS, wait_until
from prometheus_api import Prometheus

from persia_tf.processes.free_ports import free_ports

RULES = Path(os.path.abspath(__file__)).parents[2] / "deploy" / "prometheus"

PERSIA = (sys.executable, "-m", "persia_tf.commands.main")

# Short, so that tests do not take long.
_SCRAPE_INTERVAL = "250ms"
_RATE_INTERVAL = "5s"


def alerts() -> list[dict]:
    """The rules of alerts.yml."""
    groups = yaml.safe_load((RULES / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def left_hand_side(expression: str) -> str:
    """The series that an alert's expression compares with a threshold."""
    found = re.fullmatch(r"([\w:]+(?:\{[^{}]*\})?) (?:==|<|>) [\d.]+", expression)
    assert found, f"not a series, a comparison and a number: {expression}"
    return found[1]


class Processes:
    """Starts programs; ends them, with `end`.

    Args:
        folder: For their folders, each with the program's output in `log`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: dict[str, subprocess.Popen] = {}

    def folder(self, name: str) -> Path:
        path = self._folder / name
        path.mkdir(exist_ok=True)
        return path

    def start(
        self, name: str, command: Sequence[object], env: Mapping[str, str] | None = None
    ) -> None:
        folder = self.folder(name)
        path = {"PYTHONPATH": os.pathsep.join(sys.path)}
        with (folder / "log").open("wb") as log:
            self._started[name] = subprocess.Popen(
                [*map(str, command)],
                cwd=folder,
                env={**os.environ, **path, **(env or {})},
                stdout=log,
                stderr=log,
            )

    def log(self, name: str) -> str:
        return (self.folder(name) / "log").read_text(errors="replace")

    def start_persia(self, name: str, *options: object) -> None:
        """Starts a command of `persia`, which writes the file of `ports`."""
        file = self.folder(name) / "port"
        self.start(name, [*PERSIA, *options, "--port-file", file])

    def ports(self, name: str) -> list[int]:
        """Waits until a command of `persia` serves; returns its ports."""
        file = self.folder(name) / "port"
        self.wait_until(file.exists, name)
        return [*map(int, file.read_text().split())]

    def wait_until(self, condition, name: str) -> None:
        def holds() -> bool:
            ended = self._started[name].poll() is not None
            assert not ended, f"{name} ended:\n{self.log(name)}"
            return condition()

        wait_until(holds, f"{name} to start")

    def end(self) -> None:
        for process in self._started.values():
            process.kill()
        for process in self._started.values():
            process.wait(DEADLINE_SECONDS)


def start_prometheus(
    processes: Processes,
    targets: Mapping[str, Iterable[int]],
    ca: object = None,
) -> Prometheus:
    """Starts Prometheus with the rules of deploy/prometheus; waits until it is ready.

    It also has the alerts without their thresholds, which therefore fire for every
    value of their left-hand sides.

    Args:
        processes: Starts the program.
        targets: The ports that are scraped, by job.
        ca: The authority of the processes' certificates, for HTTPS.
    """
    folder = processes.folder("prometheus")
    config = yaml.safe_load((RULES / "prometheus.yml").read_text())
    config["global"] = dict.fromkeys(
        ("scrape_interval", "evaluation_interval"), _SCRAPE_INTERVAL
    )
    config["rule_files"] = [str(RULES / name) for name in config["rule_files"]]
    config["rule_files"].append(str(_without_thresholds(folder)))
    for job in config["scrape_configs"]:
        ports = targets.get(job["job_name"], ())
        job["static_configs"][0]["targets"] = [f"127.0.0.1:{port}" for port in ports]
        if ca is not None:
            job.update(scheme="https", tls_config={"ca_file": str(ca)})
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    [port] = free_ports(1)
    processes.start(
        "prometheus",
        [
            "prometheus",
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
    )
    prometheus = Prometheus(f"http://127.0.0.1:{port}", _RATE_INTERVAL)

    def answers() -> bool:
        try:
            return bool(prometheus.get("status/runtimeinfo"))
        except (OSError, ValueError):
            return False

    processes.wait_until(answers, "prometheus")
    return prometheus


def _without_thresholds(folder: Path) -> Path:
    rules = [
        {**alert, "expr": left_hand_side(alert["expr"]), "for": "0s"}
        for alert in alerts()
    ]
    path = folder / "without_thresholds.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "without", "rules": rules}]}))
    return path
