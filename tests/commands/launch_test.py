"""`persia launch` as a process."""

import contextlib
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest

SHARD_LINE = r"(?m)^\[ps (\d+)\] .*Shard \(pid (\d+)\) is listening on (\S+);"

WORKER_LINE = r"(?m)^\[worker (\d+)\] .*Worker \(pid (\d+)\) is listening on (\S+);"

# Writes the signals that it gets to a file; SIGTERM ends it with code 7.
RECORDER = """
import signal, sys, time
def record(signum, frame):
    with open(sys.argv[1], "a") as file:
        file.write(signal.Signals(signum).name + "\\n")
    if signum == signal.SIGTERM:
        sys.exit(7)
for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(each, record)
print("ready", sys.stdout.isatty(), flush=True)
time.sleep(600)
"""


def python(text, *args):
    return [sys.executable, "-c", text, *map(str, args)]


@pytest.fixture
def launch(persia):
    def start(program, *options, **kwargs):
        return persia("launch", *options, "--", *program, **kwargs)

    return start


@pytest.fixture
def recorder(launch, tmp_path):
    """A launched program that records signals: gives the command and its record."""
    record = tmp_path / "signals"
    command = launch(python(RECORDER, record), "--ps=2")
    command.wait_for("ready", stream="stdout")
    return command, record


def sorted_by_index(command, pattern, count):
    return sorted(command.wait_for(pattern, count), key=lambda match: int(match[1]))


def shard_pids(command, count):
    return [int(match[2]) for match in command.wait_for(SHARD_LINE, count)]


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_is_the_programs(launch, code):
    assert launch(python(f"raise SystemExit({code})")).wait() == code


def test_a_program_ended_by_a_signal_gives_128_and_its_number(launch):
    command = launch(python("import os; os.kill(os.getpid(), 9)"))
    assert command.wait() == 128 + 9


def test_the_program_finds_the_shards_in_its_environment(launch):
    command = launch(python("import os; print(os.environ['PERSIA_PS'])"), "--ps=3")
    assert command.wait() == 0
    listening = {int(line[1]): line[3] for line in command.wait_for(SHARD_LINE, 3)}
    assert command.stdout == f"{listening[0]},{listening[1]},{listening[2]}\n"


def test_the_shards_listen_before_the_program_runs(launch):
    connect = (
        "import os, socket\n"
        "for address in os.environ['PERSIA_PS'].split(','):\n"
        "    host, port = address.split(':')\n"
        "    socket.create_connection((host, int(port)), timeout=30).close()\n"
    )
    command = launch(python(connect), "--ps=2")
    assert command.wait() == 0, command.stderr


def test_the_program_finds_embedding_workers_instead_if_there_are_any(launch):
    program = python("import os; print(os.environ['PERSIA_PS'])")
    command = launch(program, "--ps=2", "--embedding-workers=2")
    assert command.wait() == 0
    listening = {int(line[1]): line[3] for line in command.wait_for(WORKER_LINE, 2)}
    assert command.stdout == f"{listening[0]},{listening[1]}\n"


def test_the_workers_stand_in_front_of_all_shards(launch):
    ask = f"{sys.executable} -m persia_tf.commands.main status --json $PERSIA_PS"
    command = launch(["sh", "-c", ask], "--ps=2", "--embedding-workers=1")
    assert command.wait() == 0, command.stderr
    shards = {int(line[1]): line[3] for line in command.wait_for(SHARD_LINE, 2)}
    (worker,) = command.wait_for(WORKER_LINE)
    told = [each["address"] for each in json.loads(command.stdout)["processes"]]
    assert told == [worker[3], shards[0], shards[1]]


def test_the_workers_end_before_the_shards_that_they_need(launch, alive):
    command = launch(["true"], "--ps=1", "--embedding-workers=1")
    assert command.wait() == 0
    (worker,) = command.wait_for(WORKER_LINE)
    assert not alive(int(worker[2]))
    assert not any(map(alive, shard_pids(command, 1)))
    (stopped,) = command.wait_for(r"(?m)^\[worker 0\] .*Stopped")
    (asked,) = command.wait_for(r"(?m)^\[ps 0\] .*finishing requests")
    assert stopped.start() < asked.start()


def test_options_after_the_dashes_are_the_programs(launch):
    program = python("import sys; print(sys.argv[1:])", "--ps", "9", "--", "--help")
    command = launch(program)
    assert command.wait() == 0
    assert command.stdout == "['--ps', '9', '--', '--help']\n"


def test_the_programs_output_is_untouched_and_the_shards_lines_are_marked(launch):
    text = "import sys; print('1/2\\r2/2', end=''); print('warning', file=sys.stderr)"
    command = launch(python(text), "--ps=2")
    assert command.wait() == 0
    assert command.stdout_bytes == b"1/2\r2/2"
    lines = command.stderr.splitlines()
    assert "warning" in lines
    lines.remove("warning")
    [announced] = [line for line in lines if " persia.launch: shards: " in line]
    lines.remove(announced)
    assert lines and all(re.match(r"\[ps [01]\] ", line) for line in lines)


def test_another_terminal_is_told_how_to_find_the_shards(launch, token_file):
    path = token_file(b"0123456789abcdef")
    command = launch(["true"], "--ps=2", f"--auth-token-file={path}")
    assert command.wait() == 0
    first, second = [line[3] for line in sorted_by_index(command, SHARD_LINE, 2)]
    (line,) = command.wait_for(r"(?m) INFO persia.launch: shards: (.*)$")
    assert line[1] == (
        f"{first},{second}; to use them from another terminal: "
        f"export PERSIA_PS={first},{second} PERSIA_AUTH_TOKEN_FILE={path}"
    )


def test_another_terminal_is_told_of_embedding_workers_instead(launch):
    command = launch(["true"], "--embedding-workers=1")
    assert command.wait() == 0
    (shard,) = command.wait_for(SHARD_LINE)
    (worker,) = command.wait_for(WORKER_LINE)
    (line,) = command.wait_for(r"(?m) INFO persia.launch: shards: (.*)$")
    assert line[1] == (
        f"{shard[3]}; embedding workers: {worker[3]}; to use them from another "
        f"terminal: export PERSIA_PS={worker[3]}"
    )


def test_the_program_starts_with_no_signal_blocked_or_ignored(launch):
    command = launch(["grep", "Sig", "/proc/self/status"])
    assert command.wait() == 0
    masks = dict(re.findall(r"(Sig\w+):\t(\w+)", command.stdout))
    assert int(masks["SigBlk"], 16) == 0
    ignored = int(masks["SigIgn"], 16)
    # Two more signals, which the C library uses itself, may be ignored.
    assert not [each for each in signal.valid_signals() if ignored >> (each - 1) & 1]


@pytest.mark.parametrize("code", [0, 1])
def test_the_shards_are_gone_afterwards(launch, alive, code):
    command = launch(python(f"raise SystemExit({code})"), "--ps=2")
    assert command.wait() == code
    pids = shard_pids(command, 2)
    assert len(pids) == 2
    assert not any(map(alive, pids))
    assert command.stderr.count("Stopped") == 2


def test_sigterm_is_forwarded_to_the_program(recorder, alive):
    command, record = recorder
    command.send(signal.SIGTERM)
    assert command.wait() == 7
    assert record.read_text().split() == ["SIGTERM"]
    assert not any(map(alive, shard_pids(command, 2)))


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_any_other_signal_to_stop_is_forwarded_too(recorder, wait_until, signum):
    command, record = recorder
    command.send(signum)
    wait_until(lambda: record.exists() and record.read_text(), "the signal")
    command.send(signal.SIGTERM)
    assert command.wait() == 7
    assert record.read_text().split() == [signum.name, "SIGTERM"]


def test_the_shards_outlive_the_signal_until_the_program_ends(
    recorder, alive, wait_until
):
    command, record = recorder
    command.send(signal.SIGINT)
    wait_until(lambda: record.exists() and record.read_text(), "the signal")
    assert all(map(alive, shard_pids(command, 2)))
    assert "finishing requests" not in command.stderr
    command.send(signal.SIGTERM)
    assert command.wait() == 7


class Terminal:
    """A terminal with a process that leads its session."""

    def __init__(self, argv, env):
        self._master, self._slave = os.openpty()
        os.set_blocking(self._master, False)
        # The first terminal that the leader of a session opens becomes its own.
        name = os.ttyname(self._slave)
        files = [(os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0)]
        files += [(os.POSIX_SPAWN_DUP2, 0, each) for each in (1, 2)]
        self.pid = os.posix_spawn(argv[0], argv, env, setsid=True, file_actions=files)
        self._screen, self._status = b"", None

    def screen(self):
        with contextlib.suppress(BlockingIOError):
            self._screen += os.read(self._master, 4096)
        return self._screen.decode()

    def press(self, key):
        os.write(self._master, key)

    def ended(self):
        self.screen()  # A full terminal would block the process.
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status is not None

    @property
    def exit_code(self):
        return os.waitstatus_to_exitcode(self._status)

    def close(self):
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._master)
        os.close(self._slave)


def test_ctrl_c_reaches_the_program_once_and_no_shard(tmp_path, wait_until):
    record = tmp_path / "signals"
    argv = [sys.executable, "-m", "persia_tf.commands.main", "launch", "--"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    terminal = Terminal(argv + python(RECORDER, record), env)
    with contextlib.closing(terminal):
        wait_until(lambda: "ready True" in terminal.screen(), "the program")
        # The launcher must see the second signal only once the program is done with the
        # first: two at once would look like one. Of pending signals, the one with the
        # lowest number is handled first, so a SIGINT that the launcher forwards comes
        # before SIGTERM.
        os.kill(terminal.pid, signal.SIGSTOP)
        terminal.press(b"\x03")
        wait_until(lambda: record.exists() and record.read_text(), "Ctrl-C")
        os.kill(terminal.pid, signal.SIGTERM)
        os.kill(terminal.pid, signal.SIGCONT)
        wait_until(terminal.ended, "the end")
        assert terminal.exit_code == 7
        assert "SIGTERM: finishing requests" in terminal.screen()
        assert "SIGINT: finishing requests" not in terminal.screen()
    assert record.read_text().split() == ["SIGINT", "SIGTERM"]


def test_a_shard_that_dies_is_told_at_once(launch, tmp_path):
    go_on = tmp_path / "go_on"
    wait = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]):\n"
    command = launch(python(wait + "    time.sleep(0.01)", go_on), "--ps=2")
    lines = {int(line[1]): line for line in command.wait_for(SHARD_LINE, 2)}
    os.kill(int(lines[1][2]), signal.SIGKILL)
    command.wait_for(
        r"(?m)^\S+ ERROR persia.launch: shard ps 1 "
        rf"\({lines[1][3]}, pid {lines[1][2]}\) ended with exit code 137;"
    )
    assert command.running
    go_on.touch()
    assert command.wait() == 0


@pytest.mark.parametrize("source", ["log", "checkpoint"])
def test_a_shard_that_dies_comes_back_where_it_was(launch, tmp_path, source):
    go_on = tmp_path / "go_on"
    wait = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]):\n"
    command = launch(
        python(wait + "    time.sleep(0.01)", go_on),
        *("--ps=2", f"--recovery={source}", f"--checkpoint-root={tmp_path}/root"),
    )
    lines = {int(line[1]): line for line in command.wait_for(SHARD_LINE, 2)}
    os.kill(int(lines[1][2]), signal.SIGKILL)
    command.wait_for(
        r"(?m)^\S+ ERROR persia.launch: shard ps 1 .* it is being restarted$"
    )
    third = command.wait_for(SHARD_LINE, 3)[2]
    assert (third[1], third[3]) == ("1", lines[1][3])
    assert third[2] != lines[1][2]
    go_on.touch()
    assert command.wait() == 0


def test_options_about_recovery_need_it(persia):
    command = persia("launch", "--log-sync=system", "--", "true")
    assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert line.startswith("persia launch: --log-sync needs --recovery-folder")
    assert "--recovery or --standbys" in line


def test_a_shard_that_cannot_come_back_is_told(launch, tmp_path):
    go_on = tmp_path / "go_on"
    wait = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]):\n"
    folder = tmp_path / "recovery"
    command = launch(
        python(wait + "    time.sleep(0.01)", go_on), f"--recovery-folder={folder}"
    )
    (line,) = command.wait_for(SHARD_LINE)
    for file in (folder / "ps-0").glob("log-*"):
        file.write_bytes(b"damaged")
    os.kill(int(line[2]), signal.SIGKILL)
    command.wait_for(
        r"(?m)^\S+ ERROR persia.launch: shard ps 0 .* it failed to restart"
    )
    go_on.touch()
    assert command.wait() == 0


def test_a_worker_that_dies_is_told_too(launch, tmp_path):
    go_on = tmp_path / "go_on"
    wait = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]):\n"
    program = python(wait + "    time.sleep(0.01)", go_on)
    command = launch(program, "--ps=1", "--embedding-workers=1")
    (line,) = command.wait_for(WORKER_LINE)
    os.kill(int(line[2]), signal.SIGKILL)
    command.wait_for(
        rf"(?m)^\S+ ERROR persia.launch: worker 0 \({line[3]}, pid {line[2]}\) ended"
    )
    go_on.touch()
    assert command.wait() == 0


def test_a_shard_that_cannot_start_is_told_and_the_program_not_run(launch, tmp_path):
    ran = tmp_path / "ran"
    command = launch(
        python("import sys; open(sys.argv[1], 'w')", ran),
        env={"PERSIA_LIBRARY_DIR": str(tmp_path)},
    )
    assert command.wait() == 1
    assert not ran.exists()
    log, told = (
        command.stderr.find("[ps 0] persia ps: "),
        command.stderr.find(
            "persia.launch: shard ps 0 ended with exit code 1 before it listened"
        ),
    )
    assert 0 <= log < told


def test_shards_that_start_too_late_are_told_and_stopped(launch, tmp_path):
    command = launch(["true"], "--ps=1", "--start-timeout=0.001")
    assert command.wait() == 1
    assert "shard ps 0 did not listen within 0.001 s" in command.stderr


def test_a_program_that_is_not_there_gives_127(launch, alive):
    command = launch(["persia-no-such-program"])
    assert command.wait() == 127
    assert "cannot run persia-no-such-program" in command.stderr
    assert not any(map(alive, shard_pids(command, 1)))


def test_a_program_that_is_not_executable_gives_126(launch, tmp_path):
    Path(tmp_path, "plain").touch(mode=0o600)
    assert launch([tmp_path / "plain"]).wait() == 126


def test_a_signal_while_it_waits_for_shards_to_stop_kills_them(
    launch, alive, wait_until
):
    command = launch(["true"], "--ps=1")
    (shard,) = shard_pids(command, 1)
    os.kill(shard, signal.SIGSTOP)  # So it cannot follow a request to stop.

    def ended():
        if command.running:
            command.send(signal.SIGTERM)
        return not command.running

    wait_until(ended, "the launcher")
    assert f"killing shard ps 0 (pid {shard})" in command.stderr
    assert not alive(shard)


def test_the_shards_stop_when_the_launcher_is_killed(recorder, alive, wait_until):
    command, _ = recorder
    pids = shard_pids(command, 2)
    command.send(signal.SIGKILL)
    wait_until(lambda: not any(map(alive, pids)), "the end of the shards")
