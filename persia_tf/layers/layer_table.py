"""A layer's table, opened when the layer is built. Its optimizer may be set later."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

from absl import logging

from persia_tf import compression as compression_lib
from persia_tf import errors
from persia_tf.base.spec import in_arguments
from persia_tf.client.session import UNDECIDED, Session, TableSettings
from persia_tf.cluster import Cluster
from persia_tf.ops.route import Route
from persia_tf.optimizers import Optimizer
from persia_tf.saving.header import Header, described
from persia_tf.table import Table

_layer_numbers = itertools.count()


class LayerTable:
    """The table of a built layer.

    Args:
        layer: The layer's name.
        table: The table's name.
        cluster: The cluster that holds the table.
        settings: The settings that the layer requires. Their optimizer may be
            `UNDECIDED`: then the table retains its current optimizer, and gets no
            updates from this layer until `follow` is called.
        compression: The layer's compression.
        absent: A function that takes the table's full name and returns the value of
            `Route.absent`.

    Attributes:
        rows: The `Table`.
        rows_found: How many rows the table held when it was opened.
        route: The `Route` of the layer's lookups.

    Raises:
        PersiaError: if a shard does not answer, or the table has other settings.
    """

    def __init__(
        self,
        layer: str,
        table: str,
        cluster: Cluster,
        settings: TableSettings,
        compression: Any,
        absent: Callable[[str], Any],
    ) -> None:
        self.rows = Table(table, cluster)
        self._layer = layer
        self._settings = settings
        self._compression = compression
        opened = cluster.create_table(table, settings)
        self.rows_found = opened.rows
        self._optimizer = opened.optimizer
        self._followed: str | None = None
        if opened.rows:
            logging.info("table '%s' holds %d rows", table, opened.rows)
        compression_lib.check_same(self._session.name, self._full_name, compression)
        self.route = Route(
            session=self._session.name,
            layer=f"{layer}#{next(_layer_numbers)}",
            table=self._full_name,
            dim=settings.dim,
            absent=absent(self._full_name),
        )
        self._session.add_layer(self._full_name, self.route.layer)

    @property
    def settings(self) -> TableSettings:
        """The settings that the layer requires of the table."""
        return self._settings

    @property
    def given_optimizer(self) -> Optimizer | None:
        """The row optimizer that a layer on this table has as `optimizer=`, or None."""
        return self._session.given_optimizer(self._full_name)

    def give(self, optimizer: Optimizer) -> None:
        """Records the row optimizer of this layer, for other layers of the table."""
        self._session.give_optimizer(self._full_name, optimizer)

    def own(self) -> None:
        """Records that all rows of the table come from this program."""
        self._session.own(self._full_name)

    def follow(self, optimizer: Optimizer) -> bool:
        """Sets the table's optimizer to the row equivalent of the model's optimizer.

        If the table has another optimizer, and all of its rows come from this program,
        the optimizer is replaced: the rows keep their weights, and their optimizer
        state is reset.

        Returns:
            Whether the table had another optimizer, or none, until now.

        Raises:
            FailedPreconditionError: if the table has rows of another program, with
                another optimizer.
            NotFoundError: if the table was dropped.
        """
        wanted = optimizer.spec()
        if wanted == self._followed:
            return False
        # If another program dropped the table, setting its optimizer would create it
        # again without rows, so check first.
        if not self._session.holds(self._full_name):
            raise errors.NotFoundError(
                f"layer '{self._layer}': table '{self.rows.name}' was dropped after "
                "the layer was built. Build the model again: this creates the table "
                "again, without rows"
            )
        before = self._optimizer
        owns = self._session.owns(self._full_name)
        try:
            self._ask_for(wanted, replaces=owns)
        except errors.AlreadyExistsError as error:
            raise errors.FailedPreconditionError(
                f"layer '{self._layer}' has no `optimizer=`, so its rows follow the "
                f"model's optimizer, which for rows is {in_arguments(wanted)}. But "
                f"table '{self.rows.name}' held rows before this program, with the "
                "state of another optimizer. Compile the model with that optimizer, or "
                "give it to the layer as `optimizer=`, such as "
                "ptf.optimizers.Adagrad(0.05); or load the rows from a model's file, "
                f"which may reset their optimizer state. {error}"
            ) from error
        self._followed = wanted
        self.own()
        if self._optimizer == before:
            return False
        if before != UNDECIDED:
            logging.warning(
                "table '%s': its rows follow the model's optimizer, which is now %s "
                "and no longer %s, so their optimizer state starts over",
                *(self.rows.name, in_arguments(wanted), in_arguments(before)),
            )
        return True

    def decide_as_saved(self, optimizer: str) -> None:
        """Gives a table without an optimizer the optimizer of the saved rows.

        Call this before the rows are loaded.

        Args:
            optimizer: The optimizer in the saved `Header`.
        """
        if self._held_optimizer() == UNDECIDED != optimizer:
            self._ask_for(optimizer)

    def header(self) -> Header:
        """Returns a description of the table, to be saved with its rows."""
        return Header(
            table=self.rows.name,
            dim=self._settings.dim,
            optimizer=self._held_optimizer(),
            compression=described(self._compression),
            full_name=self._full_name,
        )

    @property
    def _session(self) -> Session:
        return self.rows.cluster.session

    @property
    def _full_name(self) -> str:
        return self.rows.cluster.full_name(self.rows.name)

    def _held_optimizer(self) -> str:
        """Returns the table's optimizer.

        While the optimizer is undecided, each call asks the shards for it, since
        another program or a restore may have set it.
        """
        if self._optimizer == UNDECIDED:
            self._ask_for(UNDECIDED)
        return self._optimizer

    def _ask_for(self, optimizer: str, replaces: bool = False) -> None:
        opened = self.rows.cluster.create_table(
            self.rows.name,
            dataclasses.replace(self._settings, optimizer=optimizer),
            replaces_optimizer=replaces,
        )
        self._optimizer = opened.optimizer

    def __deepcopy__(self, memo: Any) -> LayerTable:
        return self  # A copy of a layer has the same rows.
