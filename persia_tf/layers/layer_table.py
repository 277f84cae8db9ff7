"""A layer's table: opened when the layer is built, and given what steps it later."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

from absl import logging

from persia_tf import compression as compression_lib
from persia_tf import errors
from persia_tf.cluster import Cluster
from persia_tf.ops.embedding import Route
from persia_tf.optimizers import Optimizer
from persia_tf.saving.header import Header, described
from persia_tf.session import UNDECIDED, Session, TableSettings
from persia_tf.table import Table

_layer_numbers = itertools.count()


class LayerTable:
    """The table of a layer that is built.

    Args:
        layer: The layer's name.
        table: The table's name.
        cluster: Where it is.
        settings: What the layer asks for. Its optimizer may be `UNDECIDED`: the table
            then keeps what it has, and has no updates until `follow` says what.
        compression: The layer's.
        absent: Takes the table's full name; gives what `Route.absent` is.

    Attributes:
        rows: The `Table`.
        rows_found: How many rows it held when it was opened.
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
    def given_optimizer(self) -> Optimizer | None:
        """The row optimizer that a layer of this table was given, if one was."""
        return self._session.given_optimizer(self._full_name)

    def give(self, optimizer: Optimizer) -> None:
        """Notes that this layer was given a row optimizer, for others of the table."""
        self._session.give_optimizer(self._full_name, optimizer)

    def own(self) -> None:
        """Notes that the rows are of this program's making."""
        self._session.own(self._full_name)

    def follow(self, optimizer: Optimizer) -> bool:
        """Has the rows stepped by an optimizer from now on, as the layer's model is.

        Rows that this program made, or loaded, may have been stepped by another one:
        they keep their weights, and their state begins anew.

        Returns:
            Whether they were stepped by another one, or by none, until now.

        Raises:
            FailedPreconditionError: if another program's rows have another optimizer.
            NotFoundError: if there is no such table any more.
        """
        wanted = optimizer.spec()
        if wanted == self._followed:
            return False
        # To ask for a table that another program dropped would make it anew.
        if not self._session.holds(self._full_name):
            raise errors.NotFoundError(
                f"layer '{self._layer}': table '{self.rows.name}' was dropped since "
                "the layer was built: build the model again, which makes it anew, "
                "without rows"
            )
        before = self._optimizer
        owns = self._session.owns(self._full_name)
        try:
            self._ask_for(wanted, replaces=owns)
        except errors.AlreadyExistsError as error:
            raise errors.FailedPreconditionError(
                f"layer '{self._layer}' has no `optimizer=`, so its rows follow the "
                f"optimizer that steps the model, which is {wanted} for rows. But rows "
                f"of table '{self.rows.name}' were there before this program, with the "
                f"state of another one. Compile with that one, or give the layer it as "
                f"`optimizer=`, such as ptf.optimizers.Adagrad(0.05); or load the rows "
                f"from a model's file, which may begin their state anew. {error}"
            ) from error
        self._followed = wanted
        self.own()
        if self._optimizer == before:
            return False
        if before != UNDECIDED:
            logging.warning(
                "table '%s': its rows are stepped by %s from now on, as the model is, "
                "and no longer by %s: their state begins anew",
                *(self.rows.name, wanted, before),
            )
        return True

    def decide_as_saved(self, optimizer: str) -> None:
        """Has rows that are about to be loaded stepped as they were when saved.

        Unless that is decided already.

        Args:
            optimizer: As `Header` has it.
        """
        if self._held_optimizer() == UNDECIDED != optimizer:
            self._ask_for(optimizer)

    def header(self) -> Header:
        """Describes the table, for what is saved of it."""
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
        """The table's optimizer, which another program, or a restore, may decide."""
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
        return self  # A layer that is copied has the same rows.
