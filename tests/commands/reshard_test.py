"""`persia reshard`: shards by --to, or those that come and go by --add and --remove."""

import pytest

import persia_tf as ptf
from persia_tf.resharding.admin import ClusterAdmin


@pytest.mark.parametrize(
    "options", [[], ["--to=a:1", "--add=b:1"], ["--to=a:1", "--remove=b:1"]]
)
def test_one_way_to_name_the_shards_is_needed(persia, options):
    command = persia("reshard", "--from=127.0.0.1:1", *options)
    assert command.wait() == 2
    assert "give either --to, or --add, --remove or both" in command.stderr


def test_shards_are_added_and_removed(persia, start_shards, table):
    first, second, third = (shard.address for shard in start_shards(3))
    cluster = ptf.Cluster([first, second], timeout=20)
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build((None,))

    def reshard(*options):
        command = persia("reshard", f"--from={second}", *options)
        assert command.wait() == 0, command.stderr
        with ClusterAdmin([second], 20) as admin:
            topology = admin.topology()
        return {each.address: topology.slots_of(each.id) for each in topology.present}

    for _ in range(2):  # The command may be given again.
        owned = reshard(f"--add={third}", f"--remove={first}")
        assert owned == {second: 8192, third: 8192}
    assert sorted(reshard(f"--add={first}").values()) == [5461, 5461, 5462]
