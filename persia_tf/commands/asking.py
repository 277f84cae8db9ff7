"""Fetches the counters of shards, some of which may be down: one request per shard."""

from __future__ import annotations

import argparse
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from persia_tf import errors, stats
from persia_tf.commands import arguments

_MOST_AT_ONCE = 64

_ONE_SHARD = re.compile(r"^shard \d+ of \d+ ")


class Failure(NamedTuple):
    """A server that did not answer.

    Attributes:
        address: The server's "host:port".
        error: The error message, without the address.
    """

    address: str
    error: str


class Answers(NamedTuple):
    """The answers of shards or embedding workers.

    Attributes:
        processes: One list per server that answered. The list of a shard has its
            counters. The list of an embedding worker has the worker's counters,
            followed by the counters of each shard behind the worker.
        failures: The servers that did not answer.
    """

    processes: list[list[stats.ProcessStats]]
    failures: list[Failure]

    def exit_code(self, command: str) -> int:
        """Prints the failures to stderr; returns 1 if a server failed, else 0."""
        for failure in self.failures:
            print(
                f"{command}: {failure.address} is down: it {failure.error}",
                file=sys.stderr,
            )
        return 1 if self.failures else 0


def ask_each(args: argparse.Namespace) -> Answers:
    """Like `collect`, but raises an error if none of the shards answers.

    Raises:
        PersiaError: if none of the shards answers, or if one refuses to answer.
    """
    told = _ask_all(args)
    failed = [each for each in told if isinstance(each, errors.PersiaError)]
    if len(failed) < len(told):
        return _answers(args, told)
    # The request of which this is the error knew of one shard only.
    message = _ONE_SHARD.sub(f"shard 0 of {len(told)} ", str(failed[0]))
    raise errors.from_code(failed[0].code, message) from failed[0]


def collect(args: argparse.Namespace) -> Answers:
    """Fetches the counters of all shards that a command's arguments name, in parallel.

    The call takes at most about `args.timeout` per 64 shards.

    Raises:
        PersiaError: if a shard refuses to answer.
    """
    return _answers(args, _ask_all(args))


def _ask_all(
    args: argparse.Namespace,
) -> list[list[stats.ProcessStats] | errors.PersiaError]:
    tls = arguments.tls_of(args)

    def ask(address: str) -> list[stats.ProcessStats] | errors.PersiaError:
        try:
            return stats.fetch([address], args.timeout, args.auth_token_file, tls)
        except (errors.UnavailableError, errors.DeadlineExceededError) as error:
            return error

    addresses = [str(shard) for shard in args.shards]
    with ThreadPoolExecutor(min(len(addresses), _MOST_AT_ONCE)) as pool:
        return list(pool.map(ask, addresses))


def _answers(
    args: argparse.Namespace,
    told: list[list[stats.ProcessStats] | errors.PersiaError],
) -> Answers:
    failures = [
        Failure(str(shard), _reason(answer))
        for shard, answer in zip(args.shards, told)
        if isinstance(answer, errors.PersiaError)
    ]
    return Answers([each for each in told if isinstance(each, list)], failures)


def _reason(error: errors.PersiaError) -> str:
    return re.sub(r"^shard \d+ of \d+ \(\S+\):? ", "", str(error))
