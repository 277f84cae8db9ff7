"""The command line that the examples share."""

import socket

import numpy as np
import pytest
from common import locate, training
from common.metrics import roc_auc
from common.table import Table


def parse(*argv):
    return training.parse_options("an example", argv, epochs=3, batch_size=64)


@pytest.fixture
def unreachable(monkeypatch):
    """A data set that is not on this machine, and cannot be downloaded."""
    monkeypatch.delenv("PERSIA_TF_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/nowhere.zip"
        yield locate.Source("no_such_set", ("a.dat",), url)


def generate():
    random = np.random.default_rng(0)
    probabilities = random.random(1000)
    labels = (random.random(1000) < probabilities).astype(np.float32)
    return Table({"x": np.arange(1000)}, labels, probabilities).split(0.2, seed=0)


def load(options, source):
    def read(directory):
        raise AssertionError(f"nothing is at {directory}")

    return training.load(options, source, read, generate)


def test_the_example_s_defaults_hold():
    options = parse()
    assert (options.epochs, options.batch_size, options.embedding) == (3, 64, "persia")


@pytest.mark.parametrize(
    "argv",
    [["--data", "x", "--generated"], ["--rows", "0"], ["--embedding", "other"]],
)
def test_a_wrong_command_line_is_refused(argv):
    with pytest.raises(SystemExit):
        parse(*argv)


def test_offline_the_sample_stands_in_and_its_best_auc_is_told(unreachable, capsys):
    _, test = load(parse(), unreachable)
    best = roc_auc(test.labels, test.probabilities)
    printed = capsys.readouterr()
    assert "no_such_set: not downloaded" in printed.err
    assert "a sample that a known model generated" in printed.out
    assert f"allows is {best:.4f}." in printed.out


def test_a_given_directory_is_never_replaced_by_a_sample(unreachable, tmp_path):
    with pytest.raises(FileNotFoundError, match="a.dat"):
        load(parse("--data", str(tmp_path)), unreachable)


def test_fewer_rows_keep_the_share_of_test_rows(unreachable):
    train, test = load(parse("--generated", "--rows", "100"), unreachable)
    assert (len(train), len(test)) == (100, 25)


def test_real_data_is_read_from_where_it_was_found(tmp_path, capsys):
    (tmp_path / "a.dat").write_text("")
    source = locate.Source("set", ("a.dat",), "unused")
    tables = generate()
    options = parse("--data", str(tmp_path))
    assert training.load(options, source, {tmp_path: tables}.get, None) == tables
    assert f"set: {tmp_path}" in capsys.readouterr().out
