"""A Slurm cluster on this machine: two nodes, each at its own address of loopback."""

from __future__ import annotations

import contextlib
import getpass
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import multi_worker
import pytest
from harness import wait_until

from persia_tf.processes.free_ports import free_ports

SCRIPT = Path(multi_worker.__file__).parents[1] / "slurm" / "train.sbatch"
# Debian has the daemons in a folder that other users do not have in their path.
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol")

# No plugin that needs control groups or systemd, and short waits.
CONFIGURATION = """
ClusterName=test
SlurmctldHost={machine}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
CredType=cred/munge
# A requeued job starts this many seconds later; 5 is the least.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=1,sched_interval=1
KillWait=20
NodeName={nodes[0]} NodeHostname={machine} Port={ports[0]} CPUs=4 RealMemory=4000
NodeName={nodes[1]} NodeHostname={machine} Port={ports[1]} CPUs=4 RealMemory=4000
PartitionName=all Nodes=ALL Default=YES State=UP
"""

ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")

# More than a job takes beside other tests.
DEADLINE_SECONDS = 300


class Job:
    """A job of the example's script."""

    def __init__(self, slurm: Slurm, number: str, folder: Path) -> None:
        self._slurm = slurm
        self._number = number
        self.folder = folder

    @property
    def output(self) -> str:
        path = self.folder / "output"
        # `srun --label` divides lines, also within a character of a progress bar.
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def state(self) -> str:
        return self._shown("JobState")

    @property
    def exit_code(self) -> int:
        return int(self._shown("ExitCode").partition(":")[0])

    def wait(self) -> str:
        """Waits until the job has ended, and returns its state."""
        self._wait_until(lambda: self.state in ENDED, "its end")
        return self.state

    def wait_for(self, text: str) -> None:
        """Waits until the job has written a text."""
        self._wait_until(lambda: text in self.output, repr(text))

    def cancel(self) -> None:
        self._slurm.run("scancel", self._number)

    def signal(self, name: str) -> None:
        """Sends a signal to the script, as Slurm does by the script's --signal."""
        self._slurm.run("scancel", "--batch", f"--signal={name}", self._number)

    def processes(self) -> dict[int, str]:
        """Returns the command line of each process of the job, by its id."""
        return self._slurm.processes(f"SLURM_JOB_ID={self._number}")

    def _wait_until(self, condition, what):
        try:
            wait_until(condition, what, DEADLINE_SECONDS)
        except AssertionError:
            print(self.output)
            raise

    def _shown(self, field):
        shown = self._slurm.run("scontrol", "--oneliner", "show", "job", self._number)
        return re.search(rf"\b{field}=(\S+)", shown)[1]


class Slurm:
    """The cluster. `start` starts its daemons, which `close` ends.

    Args:
        folder: For its files; short, since the path of a socket is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Other clusters, of tests that run beside this one, have other addresses.
        network = f"127.{random.randrange(1, 255)}.{random.randrange(255)}"
        self.nodes = [f"{network}.1", f"{network}.2"]
        self._variable = f"SLURM_CONF={folder}/slurm.conf"
        self._env = self._environment()
        self._daemons: list[subprocess.Popen] = []
        self._configure()

    def start(self) -> None:
        """Starts the daemons, and waits for the nodes."""
        self._start_daemons()
        nodes = ("sinfo", "--noheader", "--format=%T %D")
        wait_until(lambda: self.run(*nodes) == "idle 2\n", "the nodes of Slurm")

    def submit(self, folder: Path, *program: str, **options: object) -> Job:
        """Submits the script, with a program for the trainers.

        Args:
            folder: The job's; new.
            program: The program, and its arguments.
            options: The script's options, which are variables.
        """
        env = {"JOB_FOLDER": folder / "job", **options}
        number = self.run(
            *("sbatch", "--parsable", "--mem=1G", "--cpus-per-task=2"),
            *(f"--chdir={folder}", f"--output={folder}/output", SCRIPT, *program),
            env={name: str(value) for name, value in env.items()},
        )
        return Job(self, number.strip(), folder)

    def run(self, *command: str | Path, env: dict[str, str] | None = None) -> str:
        """Runs a command of Slurm, and returns its output."""
        completed = subprocess.run(
            command,
            env={**self._env, **(env or {})},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    def processes(self, variable: str = "") -> dict[int, str]:
        """Returns the command lines of the cluster's processes, by their ids.

        Args:
            variable: Only of those that also have this variable, `"NAME=VALUE"`.
        """
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # It has ended, or is another user's.
                variables = (process / "environ").read_text().split("\0")
                if {self._variable, variable or self._variable} <= {*variables}:
                    command = (process / "cmdline").read_text()
                    found[int(process.name)] = command.replace("\0", " ")
        return found

    def close(self) -> None:
        """Ends all jobs, and the daemons."""
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            self.run("scancel", f"--user={getpass.getuser()}")
            wait_until(lambda: not self.run("squeue", "--noheader"), "jobs to end")
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in reversed(self._daemons):
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(timeout=20)
        for pid in self.processes():  # None, unless something is wrong.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        for daemon in self._daemons:
            daemon.wait(timeout=20)

    def _environment(self):
        commands = self._folder / "bin"
        commands.mkdir()
        # So that jobs run the tests' own Python, and the library that it imports.
        for name, module in (("python", ""), ("persia", "-m persia_tf.commands.main")):
            command = commands / name
            command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
            command.chmod(0o755)
        name, _, value = self._variable.partition("=")
        return {
            **os.environ,
            "PATH": os.pathsep.join([str(commands), PATH]),
            "PYTHONPATH": os.pathsep.join(sys.path),
            name: value,
        }

    def _configure(self):
        (self._folder / "state").mkdir()
        for node in self.nodes:
            (self._folder / node).mkdir()
        key = self._folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        controller_port, *ports = free_ports(3)
        text = CONFIGURATION.format(
            folder=self._folder,
            machine=socket.gethostname(),
            user=getpass.getuser(),
            controller_port=controller_port,
            nodes=self.nodes,
            ports=ports,
        )
        (self._folder / "slurm.conf").write_text(text)

    def _start_daemons(self):
        munge = self._folder / "munge"
        files = ("key", "pid", "log", "seed")
        self._start(
            *("munged", "--foreground", "--force", f"--socket={munge}.socket"),
            *(f"--{file}-file={munge}.{file}" for file in files),
        )
        wait_until((self._folder / "munge.socket").exists, "munged")
        self._start("slurmctld", "-D")
        for node in self.nodes:
            self._start("slurmd", "-D", "-N", node)

    def _start(self, *command):
        with (self._folder / f"{len(self._daemons)}.output").open("wb") as output:
            self._daemons.append(
                subprocess.Popen(command, env=self._env, stdout=output, stderr=output)
            )


@pytest.fixture(scope="module")
def slurm():
    """A Slurm cluster; its daemons, and the jobs, end with the module's tests."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
    if missing:
        pytest.skip(
            f"needs {', '.join(missing)}: Debian's packages slurmctld, slurmd, "
            "slurm-client and munge"
        )
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        with contextlib.closing(Slurm(Path(folder))) as cluster:
            cluster.start()
            yield cluster
