"""Checkpoints at URLs: on an S3 server of this process, and in memory."""

import uuid

import pytest
import tcp_proxy

import persia_tf as ptf
from persia_tf import errors, files
from persia_tf.files.remote import NewFile


@pytest.fixture(params=["memory", "s3"])
def root(request):
    """A URL that the shards of this process reach.

    In memory, readers of a file share its position, so a test uses only one shard.
    """
    url = f"memory://{uuid.uuid4()}/root"
    if request.param == "s3":
        url = f"s3://{request.getfixturevalue('bucket')}/root"
    files.reach_urls(url)
    return url


@pytest.fixture
def s3_root(bucket):
    url = f"s3://{bucket}/root"
    files.reach_urls(url)
    return url


def test_any_number_of_shards_restores_it(trained, s3_root):
    run = trained(2, root=s3_root)
    run.step()
    save = ptf.checkpoint.save("run", cluster=run.cluster)
    assert save.folder == "run/ckpt-00000001"
    saved = run.rows()
    run.step(seed=1, ids=400)
    # Absolute, as well.
    ptf.checkpoint.restore(f"{s3_root}/run", cluster=run.cluster)
    assert run.rows() == saved
    moved = trained(3, root=s3_root)
    ptf.checkpoint.restore("run", cluster=moved.cluster)
    assert moved.rows() == saved


def test_rows_in_the_program_are_saved_too(trained, root):
    run = trained(0)
    run.step()
    saved = run.rows()
    save = ptf.checkpoint.save(f"{root}/run/", cluster=run.cluster)
    assert save.folder == f"{root}/run/ckpt-00000001"
    run.step(seed=1, ids=400)
    ptf.checkpoint.restore(f"{root}/run", cluster=run.cluster)
    assert run.rows() == saved


def test_only_the_newest_are_kept(trained, root):
    run = trained(2, root=root)
    run.step()
    for _ in range(3):
        ptf.checkpoint.save("run", cluster=run.cluster, max_to_keep=2)
    assert files.list_folder(f"{root}/run") == ["ckpt-00000002", "ckpt-00000003"]


@pytest.fixture
def chain(trained, root):
    """A whole save and an increment, in one folder; gives the run and its rows."""
    run = trained(1, root=root)
    run.step()
    for seed in range(2):
        run.step(seed=seed, ids=400)
        run.table.remove([seed])
        save = ptf.checkpoint.save("run", cluster=run.cluster, incremental=seed > 0)
    assert save.is_incremental
    return run, run.rows()


def test_a_chain_is_compacted_where_it_lies(chain, root):
    run, saved = chain
    folder = f"{root}/run/ckpt-00000002"
    assert ptf.checkpoint.compact(f"{root}/run") == folder
    run.step(seed=2, ids=400)
    # The compacted checkpoint needs no other, and increments of it can be saved.
    ptf.checkpoint.save("run", cluster=run.cluster, incremental=True, max_to_keep=1)
    assert files.list_folder(f"{root}/run") == ["ckpt-00000002", "ckpt-00000003"]
    after = run.rows()
    for path, rows in ((folder, saved), (f"{root}/run", after)):
        ptf.checkpoint.restore(path, cluster=run.cluster)
        assert run.rows() == rows


def test_a_compaction_whose_storage_fails_changes_nothing(chain, root, monkeypatch):
    run, saved = chain
    folder = f"{root}/run/ckpt-00000002"
    names = files.list_folder(folder)

    def fail(*arguments):
        raise OSError("the bucket has a hole")

    with monkeypatch.context() as patch:
        patch.setattr(NewFile, "append", fail)
        with pytest.raises(errors.PersiaError, match=r"whole-00000.*has a hole"):
            ptf.checkpoint.compact(f"{root}/run")
    assert files.list_folder(folder) == names
    run.step(seed=2)
    ptf.checkpoint.restore("run", cluster=run.cluster)
    assert run.rows() == saved


@pytest.mark.parametrize(
    "path",
    ["s3://other/run", "/run", "../run", "a/../../run", "%2e%2e/run", "run?a", "a//b"],
)
def test_no_path_leads_out_of_the_root(trained, s3_root, path):
    run = trained(1, root=s3_root)
    with pytest.raises(ValueError, match="a checkpoint's path must|a URL must"):
        ptf.checkpoint.save(path, cluster=run.cluster)


def test_a_damaged_file_is_named_with_its_url(trained, s3_root, object_store):
    run = trained(2, root=s3_root)
    run.step()
    save = ptf.checkpoint.save("run", cluster=run.cluster)
    file = f"{s3_root}/{save.folder}/shard-00001"
    contents = bytearray(files.read_file(file))
    contents[len(contents) // 2] ^= 1
    files.remote.RemoteFiles.shared().write_whole(file, bytes(contents))
    before = run.rows()
    with pytest.raises(errors.DataLossError, match=file):
        ptf.checkpoint.restore("run", cluster=run.cluster)
    assert run.rows() == before


def test_without_a_bucket_it_says_so(trained, s3_root):
    run = trained(1, root=f"{s3_root.replace('bucket', 'no-bucket')}")
    run.step()
    with pytest.raises(errors.NotFoundError, match="bucket does not exist"):
        ptf.checkpoint.save("run", cluster=run.cluster)
    with pytest.raises(errors.NotFoundError, match="there is no checkpoint at"):
        ptf.checkpoint.restore("run", cluster=run.cluster)


def test_without_credentials_it_says_so(trained, s3_root, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))  # Without a file of credentials.
    run = trained(1, root=s3_root)
    with pytest.raises(errors.PersiaError, match="[Cc]redentials"):
        ptf.checkpoint.save("run", cluster=run.cluster)


def test_a_save_whose_storage_goes_away_leaves_the_previous_one(
    trained, object_store, bucket, monkeypatch, caplog
):
    root = f"s3://{bucket}/root"
    append = NewFile.append
    with tcp_proxy.TcpProxy(object_store.address) as proxy:
        environment = object_store.environment(proxy.address)
        monkeypatch.setenv("AWS_ENDPOINT_URL", environment["AWS_ENDPOINT_URL"])
        files.reach_urls(root)
        run = trained(2, root=root)
        run.step()
        first = ptf.checkpoint.save("run", cluster=run.cluster)
        saved = run.rows()
        run.step(seed=1)

        def lose_storage(*arguments):
            proxy.stop()
            proxy._thread.join()
            append(*arguments)

        monkeypatch.setattr(NewFile, "append", lose_storage)
        with pytest.raises(errors.UnavailableError, match="shard-0000") as raised:
            ptf.checkpoint.save("run", cluster=run.cluster)
    monkeypatch.undo()
    assert "ckpt-00000002/shard-0000" in str(raised.value)
    for secret in ("known-to-nobody", "nobody-may-read-this"):
        assert secret not in str(raised.value) + caplog.text
    with tcp_proxy.TcpProxy(object_store.address, port=proxy.port):
        found = ptf.checkpoint.restore("run", cluster=run.cluster)
    assert found == first.folder
    assert run.rows() == saved


def test_a_shard_that_is_killed_as_it_saves_leaves_the_previous_one(
    trained, shard_process, object_store, bucket, start_shards
):
    root = f"s3://{bucket}/root"
    files.reach_urls(root)
    options = ["--checkpoint-root", root]
    with tcp_proxy.TcpProxy(object_store.address) as proxy:
        shard = shard_process(
            options=options, env=object_store.environment(proxy.address)
        )
        run = trained(1, [shard.address], root=root)
        run.step()
        first = ptf.checkpoint.save("run", cluster=run.cluster)
        saved = run.rows()
        run.step(seed=1)
    # The test waits for this time-out, as the killed shard never answers.
    impatient = ptf.Cluster(run.addresses, timeout=10)
    # A storage server that accepts what it is sent, and never answers.
    with tcp_proxy.TcpProxy(object_store.address, port=proxy.port, delay=3600):
        save = ptf.checkpoint.save("run", cluster=impatient, block=False)
        shard.kill()
        with pytest.raises(errors.PersiaError):
            save.wait()
    moved = trained(3, root=root)
    assert ptf.checkpoint.restore("run", cluster=moved.cluster) == first.folder
    assert moved.rows() == saved
