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

    If no shard answers, a last request to all shards takes up to one more timeout.

    Raises:
        PersiaError: if none of the shards answers, or if one refuses to answer.
    """
    answers = collect(args)
    if not answers.processes:
        # No shard answered. This request to all shards fails too, with an error that
        # names a shard and the number of shards.
        stats.fetch(
            [str(shard) for shard in args.shards],
            *(args.timeout, args.auth_token_file, arguments.tls_of(args)),
        )
    return answers


def collect(args: argparse.Namespace) -> Answers:
    """Fetches the counters of all shards that a command's arguments name, in parallel.

    The call takes at most about `args.timeout` per 64 shards.

    Raises:
        PersiaError: if a shard refuses to answer.
    """
    tls = arguments.tls_of(args)

    def ask(address: str) -> list[stats.ProcessStats] | errors.PersiaError:
        try:
            return stats.fetch([address], args.timeout, args.auth_token_file, tls)
        except (errors.UnavailableError, errors.DeadlineExceededError) as error:
            return error

    addresses = [str(shard) for shard in args.shards]
    with ThreadPoolExecutor(min(len(addresses), _MOST_AT_ONCE)) as pool:
        answers = list(pool.map(ask, addresses))
    told = [answer for answer in answers if isinstance(answer, list)]
    failures = [
        Failure(address, _reason(answer))
        for address, answer in zip(addresses, answers)
        if not isinstance(answer, list)
    ]
    return Answers(told, failures)


def _reason(error: errors.PersiaError) -> str:
    return re.sub(r"^shard \d+ of \d+ \(\S+\):? ", "", str(error))
