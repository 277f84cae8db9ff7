"""Addresses as text."""

import pytest

from persia_tf import errors
from persia_tf.base import addresses


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:7000", "127.0.0.1", 7000),
        ("ps-0.ps.default.svc:1", "ps-0.ps.default.svc", 1),
        ("[::1]:65535", "::1", 65535),
    ],
)
def test_parses_a_host_and_a_port_and_writes_them_back(text, host, port):
    address = addresses.parse(text)
    assert address == (host, port)
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", "host", "host:", ":7000", "[]:7000", "h:0", "h:65536", "h:+7", "h:٧", "h:7x"],
)
def test_refuses_what_is_not_host_and_port(text):
    with pytest.raises(errors.InvalidArgumentError, match="host:port") as failure:
        addresses.parse(text)
    assert repr(text) in str(failure.value)


def test_refuses_an_ipv6_address_without_brackets():
    with pytest.raises(errors.InvalidArgumentError, match=r"\[::1\]:7000"):
        addresses.parse("::1:7000")


def test_parses_a_list_in_its_order():
    parsed = addresses.parse_list("b:2, a:1")
    assert [str(address) for address in parsed] == ["b:2", "a:1"]


def test_refuses_a_list_with_a_hole():
    with pytest.raises(errors.InvalidArgumentError, match="got ''"):
        addresses.parse_list("a:1,,b:2")


def test_refuses_a_url():
    with pytest.raises(errors.InvalidArgumentError, match="without a scheme"):
        addresses.parse("http://10.0.0.1:7000")


def test_a_shard_that_is_listed_twice_is_refused():
    addresses.check_once(["a:1", "a:2", "b:1"])
    with pytest.raises(errors.InvalidArgumentError, match="each shard once.*'a:1' twi"):
        addresses.check_once(["a:1", "b:1", "a:1"])
