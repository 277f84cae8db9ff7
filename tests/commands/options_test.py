"""Options of `persia ps` and `persia worker`, compared with those of the core."""

import argparse

import pytest

from persia_tf.commands import options, ps, worker
from persia_tf.commands.options import Option
from persia_tf.native import servers

# Options of the core whose values come from files that command line options name.
CREDENTIALS = {"auth_token", "tls_certificate", "tls_key", "tls_ca"}

COMMANDS = {
    "ps": (ps.OPTIONS, servers.SHARD),
    "worker": (worker.OPTIONS, servers.WORKER),
}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_core_and_the_command_have_the_same_options(command):
    declared, kind = COMMANDS[command]
    names = {option.name for option in declared if option.in_core}
    assert names | CREDENTIALS == set(servers.option_names(kind))


def test_an_option_is_declared_and_read_by_its_flag():
    declared = (
        Option("--most-rows", type=int, default=5, metavar="N", help="(%(default)s)"),
        Option("--fast", in_core=False, action="store_true"),
    )
    parser = argparse.ArgumentParser()
    options.declare(parser, declared)
    args = parser.parse_args(["--most-rows=7", "--fast"])
    assert options.values(declared, args) == {"most_rows": 7, "fast": True}
    assert options.core_values(declared, args) == {"most_rows": 7}
    assert "--most-rows N  (5)" in parser.format_help()
