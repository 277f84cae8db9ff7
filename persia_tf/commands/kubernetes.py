"""`persia kubernetes`: moves rows when the StatefulSet of the shards is scaled.

Both actions run in pods, whose service account may read the StatefulSet. See
docs/kubernetes.md for the manifests.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from persia_tf import errors
from persia_tf.commands import arguments
from persia_tf.commands.actions import Actions
from persia_tf.kubernetes import api, shard_pods
from persia_tf.processes import log

if TYPE_CHECKING:
    from persia_tf.resharding.admin import ClusterAdmin

# The examples in the help of `persia kubernetes`.
EXAMPLES = """
persia kubernetes reshard --statefulset ps --address ps-{ordinal}.ps:7000
persia kubernetes leave --statefulset ps --address ps-{ordinal}.ps:7000
"""

_ORDINAL_VARIABLE = "POD_INDEX"

_LOGGER = logging.getLogger("persia.kubernetes")

# How often the StatefulSet and the shards are asked.
_PAUSE_SECONDS = 2.0

# For how long `leave` asks an API server that does not answer.
_PATIENCE_SECONDS = 60.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options of `persia kubernetes`."""
    actions = Actions(parser, EXAMPLES)
    reshard = actions.add(
        "reshard",
        "move rows whenever the shards are scaled",
        "Makes the pods that a StatefulSet is to have the owners of all rows, whenever "
        "it is scaled, until it is told to stop. Run one such process for a cluster. "
        "It may be ended at any moment, and started again.",
    )
    _add_shared(reshard)
    reshard.add_argument(
        "--standby-address",
        type=_template,
        metavar="HOST:PORT",
        help="the address of the standby of each pod, in the form of --address; a "
        "promoted standby counts as the pod whose place it took (default: no standbys)",
    )
    arguments.add_rate(reshard)
    log.add_arguments(reshard)
    leave = actions.add(
        "leave",
        "wait, before a pod ends, until its rows have moved",
        "Waits, as the preStop hook of a shard's pod, until persia kubernetes reshard "
        "has moved all rows to other shards. A pod that keeps its number, since it is "
        "only restarted or moved to another node, does not wait.",
    )
    _add_shared(leave)
    leave.add_argument(
        "--ordinal",
        type=_ordinal,
        default=f"${_ORDINAL_VARIABLE}",
        metavar="N",
        help="the pod's number (%(default)s)",
    )


def _add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--statefulset",
        required=True,
        metavar="NAME",
        help="the StatefulSet of the shards, in the pod's namespace",
    )
    parser.add_argument(
        "--address",
        type=_template,
        required=True,
        metavar="HOST:PORT",
        help="the address of each of its pods, with {ordinal} in place of the pod's "
        "number",
    )
    parser.add_argument(
        "--service-account",
        default=api.SERVICE_ACCOUNT,
        metavar="FOLDER",
        help="where the pod has the token, ca.crt and namespace of its service account "
        "(%(default)s)",
    )
    parser.add_argument(
        "--timeout",
        type=arguments.seconds,
        default=10.0,
        metavar="SECONDS",
        help="how long to wait for a shard's answer (%(default)g)",
    )
    arguments.add_auth_token_file(parser)
    arguments.add_tls(parser)


def _template(text: str) -> shard_pods.AddressTemplate:
    try:
        return shard_pods.AddressTemplate(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _ordinal(text: str) -> int:
    """Parses a pod's number; replaces "$POD_INDEX" with that variable's value."""
    if text == f"${_ORDINAL_VARIABLE}":
        text = os.environ.get(_ORDINAL_VARIABLE, "")
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(
            f"must be the pod's number, from 0: give it, or set ${_ORDINAL_VARIABLE} "
            f"to it, got {text!r}"
        )
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Runs one action; raises PersiaError if this is no pod, or may not ask."""
    return _reshard(args) if args.action == "reshard" else _leave(args)


# Imports modules late, since these modules import NumPy: see commands/checkpoint_rows.
def _connect(args: argparse.Namespace) -> Callable[[Sequence[str]], ClusterAdmin]:
    from persia_tf.resharding.admin import ClusterAdmin

    return lambda shards: ClusterAdmin(
        shards, args.timeout, args.auth_token_file, arguments.tls_of(args)
    )


def _reshard(args: argparse.Namespace) -> int:
    """Moves rows until SIGTERM or SIGINT."""
    from persia_tf.kubernetes.resharding import Resharder

    # The first process of a container has no default action for SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    log.start(args.log_level, _LOGGER.name)
    server = api.Api(args.service_account)
    standbys = [args.standby_address] if args.standby_address else []
    resharder = Resharder(_connect(args), args.address, standbys, args.rate)
    told = ""
    while True:
        try:
            resharder.round(shard_pods.scale_of(server, args.statefulset))
            told = ""
        except (errors.PersiaError, OSError) as error:
            if str(error) != told:  # It is tried again and again.
                _LOGGER.warning("%s", error)
            told = str(error)
        time.sleep(_PAUSE_SECONDS)


def _leave(args: argparse.Namespace) -> int:
    """Waits until the shard may end."""
    from persia_tf.kubernetes.resharding import wait_until_left

    server = api.Api(args.service_account)
    address = args.address.of(args.ordinal)

    def scale() -> shard_pods.Scale:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return shard_pods.scale_of(server, args.statefulset)
            except errors.UnavailableError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_SECONDS)

    with _connect(args)([address]) as admin:
        reason = wait_until_left(
            admin, address, scale, args.ordinal, lambda: time.sleep(_PAUSE_SECONDS)
        )
    print(f"{address} may end: {reason}")
    return 0
