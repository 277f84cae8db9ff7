"""docs/kubernetes.md: its sizes, its overlay, its names and its messages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import kubernetes_checks as checks
import kubernetes_manifests as manifests
import kubernetes_schemas as schemas
import pytest
import yaml

import persia_tf as ptf
from persia_tf import errors

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/kubernetes.md").read_text()

_INDEX_BYTES = 17.2  # docs/benchmarks.md: `overhead_bytes_per_row`.
_STATE = {"Adagrad": lambda dim: dim, "Adam": lambda dim: 2 * dim + 1}
_TOKEN = b"0123456789abcdef"


def table_after(heading):
    """The rows of the first table of a section, as lists of cells."""
    section = GUIDE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]
    ]


def number(cell):
    value, *unit = cell.replace("%", "").split()
    return float(value) * {"M": 1e6}.get(*unit, 1) if unit else float(value)


@pytest.mark.parametrize("row", table_after("Sizes"), ids="-".join)
def test_sizes_follow_from_the_bytes_of_a_row(row):
    optimizer = row.pop(2)
    rows, dim, row_bytes, total, shards, rows_of_shard, memory, percent, volume = map(
        number, row
    )
    assert row_bytes == pytest.approx(
        4 * (dim + _STATE[optimizer](dim)) + _INDEX_BYTES, abs=0.05
    )
    assert total == pytest.approx(rows * row_bytes / 2**30, abs=0.05)
    assert rows_of_shard == pytest.approx(total / shards, abs=0.06)
    limit = memory * percent / 100
    # Hashes do not spread rows evenly, and tables are allocated in blocks.
    assert limit >= 1.05 * rows_of_shard
    assert memory - limit >= 1.25
    assert volume >= 3 * limit + 1


def test_the_overlay_of_the_sizes_fits(tmp_path):
    [patches] = re.findall(r"```yaml\n(patches:.*?)```", GUIDE, re.DOTALL)
    objects = manifests.together(["base"], **yaml.safe_load(patches))
    for item in objects:
        schemas.validate(item)
    pod = checks.shard_of(objects)
    assert pod.owner["spec"]["replicas"] == 8
    checks.check_list(objects)
    checks.check_room(pod, tmp_path)


def test_certificates_have_the_names_of_the_servers():
    environment = checks.shard_of(manifests.rendered("plain")).environment(
        manifests.rendered("plain")
    )
    hosts = [each.rpartition(":")[0] for each in environment["PERSIA_PS"].split(",")]
    [names] = re.findall(r"certify persia-ps \\\n *(\S+)", GUIDE)
    assert names.split(",") == [f"DNS:{host}" for host in [*hosts, "persia-metrics"]]
    assert "certify persia-worker DNS:persia-worker,DNS:persia-metrics" in GUIDE


@pytest.mark.parametrize("cluster", ["with a volume", "with a bucket"])
def test_the_guide_makes_every_secret(cluster):
    for pod in manifests.pods(cluster):
        for volume in pod.spec["volumes"]:
            if "secret" in volume:
                name = volume["secret"]["secretName"]
                assert made(name)
    assert made("persia-s3")


def made(secret):
    """Whether a command of the guide makes a Secret: by its name, or for its files."""
    by_name = f"kubectl create secret generic {secret} " in GUIDE
    return by_name or f"\nsecret {secret.removesuffix('-tls')}\n" in GUIDE


def test_folders_of_the_guide_exist():
    named = set(re.findall(r"deploy/kubernetes/[\w/.-]*\w", GUIDE))
    assert named
    for folder in named:
        assert (manifests.FOLDER.parents[1] / folder).exists()


def said_about(failure):
    """The patterns of the messages that the guide has for a failure."""
    [cells] = [
        row for row in table_after("What failures look like") if row[0] == failure
    ]
    quoted = re.findall(r"`([^`]+)`", cells[2])
    return [".+".join(map(re.escape, each.split("..."))) for each in quoted]


def check_said(failure, message):
    for pattern in said_about(failure):
        assert re.search(pattern, message, re.DOTALL), message


def error_of_ps(*options):
    done = subprocess.run(
        [sys.executable, "-m", "persia_tf", "ps", "--port=0", *options],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize(
    ("failure", "options"),
    [
        ("a server has no token and no TLS", ["--host=0.0.0.0"]),
        (
            "the Secret has another key than `token`",
            ["--auth-token-file=/etc/persia/token/token"],
        ),
        (
            "a Secret of TLS is missing",
            [
                "--tls-certificate=/etc/persia/tls/tls.crt",
                "--tls-key=/etc/persia/tls/tls.key",
                "--tls-ca=/etc/persia/tls/ca.crt",
            ],
        ),
    ],
)
def test_messages_of_a_shard_that_does_not_start(failure, options):
    check_said(failure, error_of_ps(*options))


def error_of_trainer(shards, **options):
    cluster = ptf.Cluster(shards, **{"timeout": 20, **options})
    with pytest.raises(errors.PersiaError) as raised:
        cluster.stats()
    return str(raised.value)


def test_messages_about_tokens(start_shards, token_file):
    [shard] = start_shards(1, auth_token=_TOKEN)
    check_said("a trainer has no token", error_of_trainer([shard.address]))
    other = token_file(b"another token of a trainer")
    check_said(
        "a trainer has another token",
        error_of_trainer([shard.address], auth_token_file=other),
    )


def test_messages_about_addresses(start_shards):
    [shard] = start_shards(1)
    shard.stop()
    check_said(
        "the shard is not running", error_of_trainer([shard.address], timeout=0.5)
    )
    check_said(
        "a name does not resolve",
        error_of_trainer(["persia-ps-0.invalid:7000"], timeout=0.5),
    )


def test_messages_about_certificates(start_shards, certificates):
    tls = certificates.tls("ps-0").get_config()
    files = {f"tls_{name}": Path(path).read_bytes() for name, path in tls.items()}
    [shard] = start_shards(1, **files)
    check_said("only one end has TLS", error_of_trainer([shard.address]))
    by_name = shard.address.replace("127.0.0.1", "localhost")
    check_said(
        "the certificate lacks the shard's name",
        error_of_trainer([by_name], tls=certificates.tls("trainer")),
    )


def test_message_about_more_shards(start_shards, table):
    shards = [shard.address for shard in start_shards(3)]

    def build(listed):
        cluster = ptf.Cluster(listed, timeout=20)
        ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build((None,))

    build(shards[:2])
    with pytest.raises(errors.PersiaError) as raised:
        build(shards)
    check_said("more shards in `PERSIA_PS` than before", str(raised.value))


def test_message_about_memory(start_shards, table):
    [shard] = start_shards(1, memory_limit=1 << 20)
    cluster = ptf.Cluster([shard.address], timeout=20)
    ptf.layers.PersiaEmbedding(64, table=table, cluster=cluster).build((None,))
    rows = ptf.Table(table, cluster)
    with pytest.raises(errors.PersiaError) as raised:
        rows.assign(range(10_000), [[0.0] * 64] * 10_000)
    check_said("rows reach `--memory-limit`", str(raised.value))
