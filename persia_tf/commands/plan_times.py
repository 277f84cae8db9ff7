"""The options of `persia plan` about time."""

from __future__ import annotations

import argparse
from typing import Any

_PASSED = (
    *("time", "step_seconds", "staleness", "latency", "network_gbits"),
    "target_rate",
)
# The options that say nothing without a time of the model's own step, with their
# defaults.
_ABOUT_TIME = {
    "staleness": None,
    "latency": 0.0,
    "network_gbits": 10.0,
    "target_rate": None,
    "trainer_price": None,
    "shard_price": None,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options. `ptf.plan` checks their values."""
    add = parser.add_argument
    add(
        "--time",
        action="store_true",
        help="also predict times; tries the model: trains it for about two seconds, "
        "with each number of shards up to 8, which are started for that",
    )
    for option, kind, default, metavar, text in (
        (
            "--step-seconds",
            float,
            None,
            "SECONDS",
            "the time of a step of the model without its lookups, instead of --time",
        ),
        (
            "--staleness",
            int,
            None,
            "STEPS",
            "how many steps updates may be late, with lookups that are prefetched by "
            "as many steps (default: the staleness of the cluster)",
        ),
        (
            "--latency",
            float,
            _ABOUT_TIME["latency"],
            "SECONDS",
            "the delay of a message to a shard, each direction; unless it is 0, each "
            "program has a machine like this one (%(default)g)",
        ),
        (
            "--network-gbits",
            float,
            _ABOUT_TIME["network_gbits"],
            "GBITS",
            "the rate of a machine's network in Gb/s, each direction (%(default)g)",
        ),
        (
            "--target-rate",
            float,
            None,
            "RATE",
            "how many examples per second the run should train: tells how many "
            "trainers it takes, each with a machine like this one",
        ),
        (
            "--trainer-price",
            float,
            None,
            "PRICE",
            "what a trainer costs per hour: with --shard-price, tells what the run "
            "costs",
        ),
        ("--shard-price", float, None, "PRICE", "what a shard costs per hour"),
    ):
        add(option, type=kind, default=default, metavar=metavar, help=text)


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the arguments of `ptf.plan` that the options are.

    Raises:
        ValueError: if an option lacks another one that it needs.
    """
    _check_companions(args)
    options = {name: getattr(args, name) for name in _PASSED}
    prices = {"trainer": args.trainer_price, "shard": args.shard_price}
    given = {name: price for name, price in prices.items() if price is not None}
    return {**options, "prices": given or None}


def _check_companions(args: argparse.Namespace) -> None:
    """Checks what `ptf.plan` checks too, but would name as its arguments."""
    if not args.time and args.step_seconds is None:
        for name, default in _ABOUT_TIME.items():
            if getattr(args, name) != default:
                raise ValueError(
                    f"{_option(name)} is about time, so it needs --time, which "
                    "measures the model's own step, or --step-seconds, which gives it. "
                    f"Received: {_option(name)} {getattr(args, name):g} without either"
                )
    if (args.trainer_price is None) != (args.shard_price is None):
        given = "trainer_price" if args.shard_price is None else "shard_price"
        raise ValueError(
            "--trainer-price and --shard-price must be given together. Received: only "
            f"{_option(given)} {getattr(args, given):g}"
        )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
