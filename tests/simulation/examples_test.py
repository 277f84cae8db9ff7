"""Set-ups with names."""

import dataclasses

import pytest

from persia_tf.simulation.examples import defaults, examples
from persia_tf.simulation.fields import OPERATION_FIELDS, SETUP_FIELDS
from persia_tf.simulation.operation import Operation
from persia_tf.simulation.setup import Setup


@pytest.mark.parametrize("example", examples().values(), ids=lambda each: each.name)
def test_each_value_has_a_source_and_a_reason(example):
    assert set(example.values) == set(defaults())
    for value in example.values.values():
        assert value.source in ("given", "measured", "assumed")
        assert value.why
    assert isinstance(example.setup, Setup)
    assert isinstance(example.operation, Operation)


def test_all_attributes_are_shown():
    for cls, fields in ((Setup, SETUP_FIELDS), (Operation, OPERATION_FIELDS)):
        names = [field.name for field in dataclasses.fields(cls)]
        assert sorted(names) == sorted(field.name for field in fields)


def test_defaults_are_those_of_the_classes():
    values = defaults()
    for made in (Setup(), Operation()):
        for name, value in dataclasses.asdict(made).items():
            assert values[name].value == value


def test_the_paper_has_what_is_known_of_it():
    paper = examples()["paper"]
    setup = paper.setup
    assert (setup.trainers, setup.shards, setup.shard_bytes) == (64, 30, 12e12)
    assert setup.table_rows * setup.dim == pytest.approx(100e12)
    given = {name for name, value in paper.values.items() if value.source == "given"}
    assert given == {"trainers", "shards", "shard_bytes"}
