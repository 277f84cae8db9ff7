"""Asks shards for their counters, each by itself: some may be down."""

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
    """A shard that gave no answer.

    Attributes:
        address: Its "host:port".
        error: Why, without its address.
    """

    address: str
    error: str


class Answers(NamedTuple):
    """What shards answered, or embedding workers.

    Attributes:
        processes: Of each that answered, what it told: an embedding worker tells of
            itself, and then of the shards behind it.
        failures: The others.
    """

    processes: list[list[stats.ProcessStats]]
    failures: list[Failure]

    def exit_code(self, command: str) -> int:
        """Names those that gave no answer on stderr; 1 if there are any."""
        for failure in self.failures:
            print(
                f"{command}: {failure.address} is down: it {failure.error}",
                file=sys.stderr,
            )
        return 1 if self.failures else 0


def ask_each(args: argparse.Namespace) -> Answers:
    """Asks every shard of a command's arguments at once.

    Blocks for their time-out.

    Raises:
        PersiaError: if none of them answers, or one refuses to.
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
    if not told:
        # It says which, and how many there are.
        stats.fetch(addresses, args.timeout, args.auth_token_file, tls)
    failures = [
        Failure(address, _reason(answer))
        for address, answer in zip(addresses, answers)
        if not isinstance(answer, list)
    ]
    return Answers(told, failures)


def _reason(error: errors.PersiaError) -> str:
    return re.sub(r"^shard \d+ of \d+ \(\S+\):? ", "", str(error))
