"""Ids of strings."""

from common.ids import PADDING, string_id


def test_an_id_is_the_same_everywhere():
    assert string_id("Children's") == 6104290152923727883
    assert string_id("Amélie") == 8642952613185903667


def test_ids_differ_and_leave_padding_free():
    ids = {string_id(str(i)) for i in range(1000)}
    assert len(ids) == 1000
    assert PADDING < min(ids) and max(ids) < 2**63
