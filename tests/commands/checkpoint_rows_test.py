"""`persia checkpoint save` and `persia checkpoint restore`, on live shards."""

import inspect
import re

import pytest

import persia_tf as ptf
from persia_tf.commands import main, progress


@pytest.fixture
def checkpoint(persia):
    """Runs the command to its end; gives its exit code, stdout and stderr."""

    def run(*args, **options):
        command = persia("checkpoint", *args, **options)
        return command.wait(), command.stdout, command.stderr

    return run


@pytest.fixture
def shards(start_shards, tmp_path):
    """Two shards with a checkpoint root, as the command line names them."""
    started = start_shards(2, checkpoint_root=str(tmp_path))
    return ",".join(shard.address for shard in started)


def fill(shards, table, count=30):
    """Gives a table `count` rows of ones."""
    cluster = ptf.Cluster(shards.split(","))
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build()
    rows = ptf.Table(table, cluster)
    rows.assign(range(count), [[1.0] * 4] * count)
    return rows


def test_what_is_saved_is_restored(shards, table, checkpoint, tmp_path):
    rows = fill(shards, table)
    code, output, told = checkpoint("save", "run", f"--ps={shards}")
    assert (code, output) == (0, "run/ckpt-00000001\n"), told
    assert "Saved 30 rows to run/ckpt-00000001 in " in told
    assert (tmp_path / "run" / "ckpt-00000001" / "MANIFEST.json").exists()
    rows.assign(range(30), [[2.0] * 4] * 30)
    code, output, told = checkpoint("restore", "run", f"--ps={shards}")
    assert (code, output) == (0, "run/ckpt-00000001\n"), told
    assert "Restored run/ckpt-00000001 in " in told
    assert rows.lookup(range(30)).tolist() == [[1.0] * 4] * 30


def test_shards_of_the_environment_save(shards, table, checkpoint):
    fill(shards, table)
    code, output, told = checkpoint("save", "run", env={"PERSIA_PS": shards})
    assert (code, output) == (0, "run/ckpt-00000001\n"), told


def test_it_restores_on_another_number_of_shards(
    shards, table, checkpoint, start_shards, tmp_path
):
    fill(shards, table)
    checkpoint("save", "run", f"--ps={shards}")
    [other] = start_shards(1, checkpoint_root=str(tmp_path))
    newest = tmp_path / "run" / "ckpt-00000001"
    code, output, told = checkpoint("restore", newest, f"--ps={other.address}")
    assert (code, output) == (0, f"{newest}\n"), told
    rows = ptf.Table(table, ptf.Cluster([other.address]))
    assert rows.lookup(range(30)).tolist() == [[1.0] * 4] * 30


@pytest.mark.parametrize(("most", "kept"), [("2", [2, 3]), ("all", [1, 2, 3])])
def test_older_checkpoints_are_removed(shards, table, checkpoint, tmp_path, most, kept):
    fill(shards, table)
    for _ in range(3):
        code, _, told = checkpoint(
            "save", "run", f"--ps={shards}", f"--max-to-keep={most}"
        )
        assert code == 0, told
    found = sorted(path.name for path in (tmp_path / "run").iterdir())
    assert found == [f"ckpt-{number:08d}" for number in kept]


def test_as_many_stay_as_programs_keep():
    args = main._parse(["persia", "checkpoint", "save", "run", "--ps=a:1"])
    defaults = inspect.signature(ptf.checkpoint.save).parameters
    assert args.max_to_keep == defaults["max_to_keep"].default


def test_an_increment_has_what_changed(shards, table, checkpoint):
    rows = fill(shards, table)
    checkpoint("save", "run", f"--ps={shards}")
    rows.assign(range(3), [[2.0] * 4] * 3)
    code, output, told = checkpoint("save", "run", f"--ps={shards}", "--incremental")
    assert (code, output) == (0, "run/ckpt-00000002\n"), told
    assert "Saved 3 changes of rows to run/ckpt-00000002" in told


def test_shards_without_a_checkpoint_root_are_told(start_shards, table, checkpoint):
    [shard] = start_shards(1)
    fill(shard.address, table)
    code, output, told = checkpoint("save", "run", f"--ps={shard.address}")
    assert (code, output) == (1, "")
    assert "persia checkpoint: " in told
    assert "--checkpoint-root" in told
    assert "Traceback" not in told


def test_what_is_not_there_is_not_restored(shards, checkpoint):
    code, output, told = checkpoint("restore", "nothing", f"--ps={shards}")
    assert (code, output) == (1, "")
    assert "there is no checkpoint at 'nothing'" in told


def test_a_damaged_checkpoint_changes_nothing(shards, table, checkpoint, tmp_path):
    rows = fill(shards, table)
    checkpoint("save", "run", f"--ps={shards}")
    file = tmp_path / "run" / "ckpt-00000001" / "shard-00001"
    contents = bytearray(file.read_bytes())
    contents[40] ^= 1
    file.write_bytes(contents)
    rows.assign(range(30), [[2.0] * 4] * 30)
    code, output, told = checkpoint("restore", "run", f"--ps={shards}")
    assert (code, output) == (1, "")
    assert "shard-00001" in told
    assert rows.lookup(range(30)).tolist() == [[2.0] * 4] * 30


def test_a_shard_that_is_down_is_named(shards, unused_address, checkpoint):
    code, _, told = checkpoint(
        "save", "run", f"--ps={shards},{unused_address}", "--timeout=1"
    )
    assert code == 1
    assert unused_address in told


def test_shards_with_a_token_are_reached_with_it(
    start_shards, table, checkpoint, tmp_path, token_file
):
    token = b"0123456789abcdef"
    options = {"checkpoint_root": str(tmp_path), "auth_token": token}
    [shard] = start_shards(1, **options)
    code, _, told = checkpoint("save", "run", f"--ps={shard.address}", "--timeout=5")
    assert code == 1
    assert "token" in told
    path = token_file(token)
    code, output, told = checkpoint(
        "save", "run", f"--ps={shard.address}", f"--auth-token-file={path}"
    )
    assert (code, output) == (0, "run/ckpt-00000001\n"), told


def test_tensorflow_is_not_imported(shards, table, checkpoint):
    fill(shards, table)
    for action in ("save", "restore"):
        code, _, told = checkpoint(
            *(action, "run", f"--ps={shards}"), python_options=["-X", "importtime"]
        )
        assert code == 0
        imported = set(re.findall(r"\| +(\S+)$", told, re.MULTILINE))
        assert "persia_tf.checkpoint.saving" in imported
        assert not imported & {"tensorflow", "keras", "grpc"}


class Stream:
    """A stderr that may be a terminal."""

    def __init__(self, is_terminal):
        self.isatty = lambda: is_terminal
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.fixture
def stderr(monkeypatch):
    """Makes stderr a terminal or a file, with a clock that the test sets."""

    def make(is_terminal):
        stream = Stream(is_terminal)
        stream.now = 0.0
        monkeypatch.setattr("sys.stderr", stream)
        monkeypatch.setattr(progress.time, "monotonic", lambda: stream.now)
        return stream

    return make


def test_a_terminal_has_one_line_of_progress(stderr):
    stream = stderr(is_terminal=True)
    told = progress.Progress("Saving")
    for rows in (250, 1000):
        stream.now += 1
        told.show(rows, 1000)
    assert stream.text == (
        "\rSaving: 250 of about 1,000 rows (25%)\x1b[K"
        "\rSaving: 1,000 of about 1,000 rows (100%)\x1b[K"
    )
    told.end("Saved")
    assert stream.text.endswith("\r\x1b[KSaved in 2.0 s\n")


def test_a_log_has_a_line_now_and_then(stderr):
    stream = stderr(is_terminal=False)
    told = progress.Progress("Saving")
    for stream.now in (1, 9, 11, 12):
        told.show(int(stream.now), 0)
    told.end("Saved")
    assert stream.text == "Saving: 11 of about 0 rows (0%)\nSaved in 12.0 s\n"
