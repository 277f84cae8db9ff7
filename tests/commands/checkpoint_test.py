"""`persia checkpoint ls` and `persia checkpoint verify`."""

import json
import subprocess
import sys

import pytest

import persia_tf as ptf
from persia_tf import files


@pytest.fixture
def checkpoint():
    """Runs the command; gives its exit code and its output."""

    def run(*arguments):
        command = [sys.executable, "-m", "persia_tf.commands.main", "checkpoint"]
        ended = subprocess.run(
            [*command, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=300,
        )
        return ended.returncode, ended.stdout + ended.stderr

    return run


# Seconds that shards in this process may take to reach a bucket: Python makes the
# connection, and other programs on the machine compete for the processor.
REACHED = 120


@pytest.fixture
def saved(start_shards, tmp_path, table):
    """Saves a table of 30 rows twice; gives the folders of the two checkpoints."""
    shards = start_shards(2, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shard.address for shard in shards])
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build()
    ptf.Table(table, cluster).assign(range(30), [[1.0] * 4] * 30)
    for _ in range(2):
        ptf.checkpoint.save(tmp_path, cluster=cluster)
    return tmp_path / "ckpt-00000001", tmp_path / "ckpt-00000002"


def test_lists_what_there_is(saved, checkpoint, tmp_path):
    (tmp_path / "ckpt-00000003").mkdir()
    code, output = checkpoint("ls", tmp_path)
    lines = output.splitlines()
    assert code == 0
    assert lines[0].startswith(f"{saved[0]}: 30 rows, ")
    assert ", 2 shards, " in lines[1]
    assert lines[2] == f"{tmp_path}/ckpt-00000003: unfinished"


def test_one_shard_is_one(start_shards, checkpoint, tmp_path, table):
    [shard] = start_shards(1, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shard.address])
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build()
    ptf.checkpoint.save(tmp_path, cluster=cluster)
    _, output = checkpoint("ls", tmp_path)
    assert ", 1 shard, " in output


def test_verifies_what_is_whole(saved, checkpoint, tmp_path):
    assert checkpoint("verify", tmp_path) == (
        0,
        f"{saved[0]}: OK, 30 rows\n{saved[1]}: OK, 30 rows\n",
    )
    assert checkpoint("verify", saved[1]) == (0, f"{saved[1]}: OK, 30 rows\n")


def test_says_which_is_damaged(saved, checkpoint, tmp_path):
    file = saved[0] / "shard-00001"
    contents = bytearray(file.read_bytes())
    contents[40] ^= 1
    file.write_bytes(contents)
    code, output = checkpoint("verify", tmp_path)
    assert code == 1
    assert output.splitlines()[0].startswith(f"{saved[0]}: DAMAGED: {file}, ")
    assert output.splitlines()[1] == f"{saved[1]}: OK, 30 rows"


def test_a_file_of_another_checkpoint_is_found(saved, checkpoint):
    name = "shard-00000"
    (saved[1] / name).write_bytes((saved[0] / name).read_bytes())
    code, output = checkpoint("verify", saved[1])
    assert code == 1
    assert "belongs to another checkpoint" in output


def test_a_damaged_manifest_is_told(saved, checkpoint):
    (saved[0] / "MANIFEST.json").write_text("{}")
    for action in ("ls", "verify"):
        code, output = checkpoint(action, saved[0])
        assert code == 1
        assert "MANIFEST.json is damaged" in output


def test_where_there_is_none_it_says_so(checkpoint, tmp_path):
    code, output = checkpoint("ls", tmp_path / "nothing")
    assert code == 1
    assert "there is no checkpoint at" in output


@pytest.fixture
def chain(start_shards, tmp_path, table):
    """Saves a table of 30 rows, then 3 changes and a removal as increments."""
    shards = start_shards(2, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shard.address for shard in shards])
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build()
    rows = ptf.Table(table, cluster)
    rows.assign(range(30), [[1.0] * 4] * 30)
    ptf.checkpoint.save(tmp_path, cluster=cluster)
    rows.assign(range(3), [[2.0] * 4] * 3)
    rows.remove([7])
    ptf.checkpoint.save(tmp_path, cluster=cluster, incremental=True)
    return tmp_path / "ckpt-00000001", tmp_path / "ckpt-00000002"


def test_tells_increments_and_what_they_need(chain, checkpoint, tmp_path):
    code, output = checkpoint("ls", tmp_path)
    assert code == 0
    first, second = output.splitlines()
    assert "increment of" not in first
    assert second.startswith(f"{chain[1]}: 3 rows, ")
    assert second.endswith(", increment of ckpt-00000001")
    assert checkpoint("verify", chain[1]) == (
        0,
        f"{chain[1]}: OK, 3 rows and 1 removed since ckpt-00000001\n",
    )


@pytest.mark.parametrize("action", ["ls", "verify"])
def test_a_parent_that_is_missing_is_named(chain, checkpoint, action):
    (chain[0] / "MANIFEST.json").unlink()
    code, output = checkpoint(action, chain[1])
    assert code == 1
    assert f"is an increment of {chain[0]}, which is not there" in output


def test_a_parent_that_is_damaged_is_named(chain, checkpoint, tmp_path):
    file = chain[0] / "shard-00000"
    contents = bytearray(file.read_bytes())
    contents[40] ^= 1
    file.write_bytes(contents)
    code, output = checkpoint("verify", tmp_path)
    assert code == 1
    for folder, line in zip(chain, output.splitlines()):
        assert line.startswith(f"{folder}: DAMAGED: {file}, ")


def test_an_increment_of_another_one_is_found(chain, checkpoint, tmp_path):
    path = chain[1] / "MANIFEST.json"
    path.write_text(path.read_text().replace('"parent": {', '"was": {'))
    manifest = json.loads(path.read_text())
    del manifest["was"]
    path.write_text(json.dumps({**manifest, "parent": None}))
    code, output = checkpoint("verify", chain[1])
    assert code == 1
    assert "is an increment of another checkpoint than its manifest says" in output


def test_a_file_that_its_manifest_lacks_is_missed(saved, checkpoint):
    path = saved[0] / "MANIFEST.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "files": ["shard-00000"]}))
    code, output = checkpoint("verify", saved[0])
    assert code == 1
    assert "have no rows of 8192 of 16384 slots" in output
    path.write_text(json.dumps({**manifest, "files": ["shard-00000"] * 2}))
    code, output = checkpoint("verify", saved[0])
    assert code == 1
    assert "have the rows of the same slots" in output


def test_compacts_the_newest(chain, checkpoint, tmp_path):
    code, output = checkpoint("compact", tmp_path)
    assert code == 0
    told = [line for line in output.splitlines() if line.startswith(str(chain[1]))]
    assert told[0].startswith(f"{chain[1]}: 29 rows, ")
    assert "increment of" not in told[0]
    (chain[0] / "MANIFEST.json").unlink()
    assert checkpoint("verify", chain[1]) == (0, f"{chain[1]}: OK, 29 rows\n")


def test_urls_are_read_as_folders_are(start_shards, bucket, checkpoint, table):
    root = f"s3://{bucket}/root"
    files.reach_urls(root)
    shards = start_shards(2, checkpoint_root=root)
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=REACHED)
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build()
    ptf.Table(table, cluster).assign(range(30), [[1.0] * 4] * 30)
    saved = f"{root}/{ptf.checkpoint.save('run', cluster=cluster).folder}"
    code, output = checkpoint("ls", f"{root}/run/")
    assert (code, output[: len(saved) + 9]) == (0, f"{saved}: 30 rows")
    # The S3 library logs where it found the credentials.
    code, output = checkpoint("verify", saved)
    assert (code, output.splitlines()[0]) == (0, f"{saved}: OK, 30 rows")
    assert "nobody-may-read-this" not in output
    file = f"{saved}/shard-00000"
    files.remote.RemoteFiles.shared().remove(file)
    code, output = checkpoint("verify", f"{root}/run")
    assert code == 1
    assert f"DAMAGED: cannot open {file}" in output


def test_compacts_at_a_url(start_shards, bucket, checkpoint, table):
    root = f"s3://{bucket}/root"
    files.reach_urls(root)
    shards = start_shards(2, checkpoint_root=root)
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=REACHED)
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build()
    rows = ptf.Table(table, cluster)
    for count, value in ((30, 1.0), (40, 2.0)):
        rows.assign(range(count), [[value] * 4] * count)
        ptf.checkpoint.save("run", cluster=cluster, incremental=True)
    code, output = checkpoint("compact", f"{root}/run")
    assert code == 0
    assert f"{root}/run/ckpt-00000002: 40 rows, " in output
    assert "increment of" not in output
    rows.remove(range(40))
    ptf.checkpoint.restore("run", cluster=cluster)
    assert rows.lookup(range(40)).min() == 2.0


def test_a_url_of_nobody_is_an_error(checkpoint):
    code, output = checkpoint("ls", "unheard-of://bucket/run")
    assert code == 1
    assert "cannot reach unheard-of://bucket/run" in output
