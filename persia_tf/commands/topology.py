"""What `persia status` shows of a cluster: its shards, their load, and what moves."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any, NamedTuple

from persia_tf import errors
from persia_tf.commands import arguments, asking
from persia_tf.commands.columns import align
from persia_tf.resharding.cluster_state import ClusterState, RunningMove, cluster_state
from persia_tf.resharding.watch import SLOTS, ClusterWatch

_NO_CLUSTER = (
    "The shards belong to no cluster yet: the first program that creates a table makes "
    "those that it lists a cluster."
)


class Topology(NamedTuple):
    """What is known of the cluster of the shards that were asked.

    Attributes:
        state: The cluster; None if the shards belong to none, or it is not known.
        error: Why it is not known; "" if it is.
        has_shards: Whether a shard was asked, or is behind a worker that was.
    """

    state: ClusterState | None
    error: str
    has_shards: bool


def ask(args: argparse.Namespace, answers: asking.Answers) -> Topology:
    """Asks the shards that have answered before for their cluster."""
    shards = _shards(answers)
    if not shards:
        return Topology(None, "", has_shards=False)
    away = [failure.address for failure in answers.failures]
    try:
        with ClusterWatch(
            shards, args.timeout, args.auth_token_file, arguments.tls_of(args)
        ) as watch:
            state = cluster_state(watch, away, args.measure)
    except errors.PersiaError as error:
        return Topology(None, str(error), has_shards=True)
    return Topology(state, "", has_shards=True)


def _shards(answers: asking.Answers) -> list[str]:
    """The addresses of the shards that were asked, or else of those behind workers."""
    # The first of the processes that a server tells of is the server.
    asked = [first.address for first, *_ in answers.processes if first.role == "shard"]
    behind = {
        process.address: None
        for _, *others in answers.processes
        for process in others
        if process.role == "shard"
    }
    return asked or list(behind)


def to_json(topology: Topology) -> dict[str, Any]:
    """Returns what `persia status --json` has of the cluster."""
    state = topology.state
    return {
        "topology": None if state is None else dataclasses.asdict(state),
        "topology_error": topology.error,
    }


def to_text(topology: Topology) -> str:
    """Returns the cluster as text; nothing if no shard was asked."""
    if not topology.has_shards:
        return ""
    if topology.error:
        return f"The cluster of these shards is not known: {topology.error}"
    if topology.state is None:
        return _NO_CLUSTER
    state = topology.state
    rows = [
        (
            shard.address,
            shard.slots,
            f"{shard.slots / SLOTS:.1%}",
            "-" if shard.load is None else f"{shard.load:.1%}",
            "up" if shard.answers else "DOWN",
            shard.standby or "-",
        )
        for shard in state.shards
    ]
    header = ("SHARD", "SLOTS", "OF SLOTS", "OF LOAD", "STATE", "STANDBY")
    sentences = [_summary(state), *map(_move, state.moves)]
    return "\n\n".join([align(header, rows, 1), "\n".join(sentences)])


def _summary(state: ClusterState) -> str:
    epoch = f"The cluster is in epoch {state.epoch}."
    since = (
        "since the shards started"
        if state.measured_seconds is None
        else f"over {state.measured_seconds:g} s"
    )
    if state.imbalance is None:
        return f"{epoch} No rows were asked for {since}."
    busiest = f"The busiest shard has {state.imbalance:.2f} times the mean load"
    return f"{epoch} {busiest} {since}."


def _move(move: RunningMove) -> str:
    return (
        f"{move.taker} takes slots over from {move.source}: {move.moved:,} of "
        f"{move.slots:,} have moved, with {move.rows:,} rows of {move.bytes:,} bytes."
    )
