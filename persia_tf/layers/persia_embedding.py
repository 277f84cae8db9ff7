"""`PersiaEmbedding`: an embedding layer with rows in parameter server shards."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf import admission as admission_lib
from persia_tf import compression as compression_lib
from persia_tf import eviction as eviction_lib
from persia_tf import optimizers
from persia_tf._keras import keras, refuse_tensor_of_other_keras
from persia_tf.base import checks
from persia_tf.client.session import TableSettings
from persia_tf.cluster import Cluster
from persia_tf.current_cluster import cluster_in_use
from persia_tf.layers import foreign_arguments, regularizers
from persia_tf.layers.absent_ids import AbsentIds
from persia_tf.layers.combiners import (
    COMBINERS,
    combine,
    flat_values,
    replace_padding,
)
from persia_tf.layers.committing import add_anchor, commit_rows
from persia_tf.layers.id_bags import bags_of, in_shape_of
from persia_tf.layers.id_weights import checked_weights
from persia_tf.layers.ids import (
    check_dtype,
    check_is_one,
    check_rank,
    checked_ids,
    is_no_padding,
)
from persia_tf.layers.layer_table import LayerTable
from persia_tf.layers.loss_scaling import LossScaling
from persia_tf.layers.planned_lookup import PlannedLookup
from persia_tf.layers.rebuilding import Rebuilding
from persia_tf.layers.replicas import local_replica
from persia_tf.layers.row_saving import RowSaving
from persia_tf.layers.row_state import RowState
from persia_tf.layers.row_stepping import RowStepping
from persia_tf.layers.table_users import (
    FoundRows,
    rows_of_others,
    table_users,
    tell_of_frozen_rows,
)
from persia_tf.layers.training_mode import is_training
from persia_tf.layers.weight_readers import WeightReaders
from persia_tf.layers.workers import Workers
from persia_tf.ops import embedding
from persia_tf.ops.initial_rows import InitialRows
from persia_tf.ops.placement import cast_on_host, on_host
from persia_tf.ops.recording import recorder
from persia_tf.ops.redirection import redirection
from persia_tf.table import Table
from persia_tf.table_settings import capacity as capacity_lib
from persia_tf.table_settings import initializers

# The largest number of weights per row that the core accepts.
_MOST_WEIGHTS = 2**16

_ROW_DTYPES = ("float32", "bfloat16", "float16", "int8")

_AUTOMATIC_NAME = re.compile(r"persia_embedding(_\d+)?$")


def check_compute_dtype(dtype: str | None) -> None:
    """Raises ValueError if vectors cannot have the compute dtype of a layer."""
    if not tf.as_dtype(dtype or "float32").is_floating:
        raise ValueError(
            "`dtype` is that of the vectors, so it must be a floating-point dtype or a "
            "policy with one. Ids may have any integer dtype, whatever `dtype` is. "
            f"Received: dtype={dtype!r}"
        )


def cluster_of(config: dict[str, Any]) -> Cluster | None:
    """Returns the cluster of a layer that is created from a config."""
    described = config.get("cluster")
    if isinstance(described, dict):
        described = Cluster.from_config(described)
    return cluster_in_use() or described


def with_objects(config: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy of a layer's config with the objects that it describes."""
    config = dict(config)
    for name in ("optimizer", "admission", "eviction", "compression"):
        if isinstance(config.get(name), dict):
            config[name] = keras.saving.deserialize_keras_object(config[name])
    return config


@keras.saving.register_keras_serializable(package="persia_tf")
class PersiaEmbedding(keras.layers.Layer):
    """Turns ids into vectors, with rows that live in parameter server (PS) shards.

    The layer is used and trained like `keras.layers.Embedding`, but accepts any 64-bit
    id. There is no vocabulary and no `input_dim`: training creates a row when it first
    looks up an id. Lookups go to the shards of `cluster`. Gradients are summed per id
    and pushed asynchronously to the shards, where a row optimizer applies them. The row
    optimizer is `optimizer`, or else the equivalent of the optimizer in `compile`,
    which needs no wrapper.

    Rows are updated only if the optimizer of `compile` actually updates this layer:
    frozen layers, `evaluate`, `predict`, and gradients with respect to other weights
    push nothing. In a custom loop, call the model with `training=True`. A call without
    `training` is for training if, and only if, a function named `train_step` makes it.

    Example:

    ```python
    user = keras.Input(shape=(), dtype="int64")
    vector = ptf.layers.PersiaEmbedding(16, table="user")(user)
    model = keras.Model(user, keras.layers.Dense(1)(vector))
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    model.fit(user_ids, clicks)
    ```

    Args:
        output_dim: Weights per row: an integer from 1 to 65536.
        table: Name of the table. Layers with the same table share its rows. Defaults
            to the layer's name, which must then be set explicitly on an external
            cluster, where rows outlive the program.
        embeddings_initializer: A Keras initializer or its name: zeros, ones,
            constant, uniform, normal, truncated normal or Glorot uniform (with
            a fan-in of 1, so its range is wider than in Keras's `Embedding`, where the
            fan-in is the number of rows). A row's initial value depends only on the
            seed, the table and the id. Defaults to `"uniform"`.
        optimizer: The row optimizer of the table: a `persia_tf.optimizers` object or
            its name. If None, rows follow the optimizer that updates the layer, in
            `compile` or in a custom loop, with its arguments and with its learning
            rate at each step. If that optimizer has no equivalent for rows (Nadam,
            Lion, a class of your own), rows are updated by Adam with its learning
            rate, and a warning is logged. Defaults to None.
        combiner: None for one vector per id; `"sum"`, `"mean"` or `"sqrtn"` to pool
            the last axis of ids into one vector. If that reduces the traffic, an
            embedding worker, or the cluster's only shard, pools before it sends the
            vectors. Defaults to None.
        mask_zero: Whether id 0 is padding. With a combiner, 0 is left out of the
            pool and has no row. (There is one exception: with a compression or with
            weights, a batch of only padding looks up 0.) Without a combiner, the
            output has a Keras mask, and 0 is looked up like any other id. Its row is
            then updated with the gradients from the following layers, which are zero
            if these layers respect the mask. With a compression, 0 has several rows,
            which other ids share. Defaults to False.
        capacity: The table's limit over all shards: an int for a number of rows, or a
            str for a number of bytes, such as `"64GiB"` or `"500MB"`. None means no
            limit. Defaults to None.
        admission: Which ids get a row: an object of `persia_tf.admission`. None
            admits every id that training looks up. Defaults to None.
        eviction: Which rows are evicted: `"lru"`, `"lfu"`, or an object of
            `persia_tf.eviction`. None means LRU if there is a capacity, else no
            eviction. Defaults to None.
        row_dtype: The dtype in which shards store weights: `"float32"`,
            `"bfloat16"`, `"float16"`, or `"int8"` with one scale per row. The lookup's
            result and the optimizer state are float32 in any case. Defaults to
            `"float32"`.
        compression: None for one row per id, or an object of `persia_tf.compression`,
            which combines each id's vector from several rows out of a smaller set.
            Layers that share a table must have the same compression. Defaults to None.
        absent: What a lookup outside training returns for an id without a row:
            `"zeros"`; `"initial"`, the value that a new row of this id would have; or
            `"oov"`, one trained row that all such ids share. Layers on the same table
            may choose differently. Defaults to `"zeros"`.
        oov_rate: With `absent="oov"`: the share of ids that training replaces by
            `OOV_ID`, as if they were unknown. So the row of `OOV_ID`, which unknown
            ids get, learns what ids have in common. (Word dropout: Iyyer et al., ACL
            2015; Kiperwasser and Goldberg, TACL 2016.) Which ids are replaced depends
            on the batch's ids and their positions, so shuffle between epochs. Padding
            is never replaced. A number from 1e-6 to 0.5. Defaults to `0.01`.
        cluster: A `persia_tf.Cluster`. Defaults to the cluster of `ptf.use_cluster`
            around the constructor, else to that of the environment. For a layer that is
            created from a config, `ptf.use_cluster` takes precedence over the cluster
            in the config.
        **layer_kwargs: `name`, `trainable` and `dtype`, as for any layer.

    Input shape:
        Ids are integers, bools or strings, of any rank. Integers may have any value
        (also negative) and any dtype except uint64. Bools count as 0 and 1. Strings are
        hashed to 63 bits (`tf.strings.to_hash_bucket_fast`): among `n` different
        strings, the probability that any two share a row is about `n * n / 2**64`, by
        the birthday bound. With `mask_zero`, the empty string is padding, like id 0.

        Ids are a dense tensor or a `tf.RaggedTensor`. With a combiner, their rank must
        be at least 2, and they may also be a `tf.SparseTensor` of rank 2.

        With a combiner, a second input may be weights, `layer(ids, weights)`: floats,
        one per id, of the same shape and kind as the ids. Each row is then multiplied
        by its weight. The sum is divided by the sum of the weights for `"mean"`, and by
        the square root of the sum of their squares for `"sqrtn"`, as in
        `tf.nn.embedding_lookup_sparse`. Weights get gradients. Weighted rows are pooled
        in this process, not on shards or embedding workers.

    Output shape:
        `ids.shape + (output_dim,)`, or `ids.shape[:-1] + (output_dim,)` with a
        combiner; ragged where these axes of `ids` are. The dtype is float32, or the
        compute dtype of the layer's policy. Outside training, an id without a row
        gives zeros unless `absent` says otherwise. An empty pool gives zeros.

    Raises:
        TypeError: for an argument of another type, or one that only
            `keras.layers.Embedding` has, such as `input_dim` (the message says what to
            write).
        ValueError: for an argument out of its range, `absent="oov"` with a
            `compression` or an `admission.Probability`, ids of another dtype, sparse
            ids or weights without a combiner, weights that do not
            match the ids, or an automatic name on an external cluster.
        PersiaError: when the layer is built, if a shard does not answer in time
            (the message names it), if the table has other settings (the message shows
            the difference), or if a shard lost its part of the table (the message names
            the shards that lack it and those that hold it).
        tf.errors.OpError: in a step, if a shard does not answer in time (the message
            names it), if a shard lost its rows (the message names the table), or if an
            earlier update could not be delivered.
        NotImplementedError: in a step, for an optimizer that accumulates gradients,
            and for a scaled loss whose scale cannot be determined.
    """

    @foreign_arguments.checked
    def __init__(
        self,
        output_dim: int,
        *,
        table: str | None = None,
        embeddings_initializer: Any = "uniform",
        optimizer: str | optimizers.Optimizer | None = None,
        combiner: str | None = None,
        mask_zero: bool = False,
        capacity: int | str | None = None,
        admission: admission_lib.Admission | None = None,
        eviction: str | eviction_lib.Eviction | None = None,
        row_dtype: str = "float32",
        compression: compression_lib.Compression | None = None,
        absent: str = "zeros",
        oov_rate: float = 0.01,
        cluster: Cluster | None = None,
        **layer_kwargs: Any,
    ) -> None:
        output_dim = checks.integer("output_dim", output_dim, 1, _MOST_WEIGHTS)
        capacity = capacity_lib.get(capacity)
        checks.one_of("row_dtype", row_dtype, _ROW_DTYPES)
        checks.instance("table", table, str, "a str", none=True)
        checks.instance("mask_zero", mask_zero, (bool, np.bool_), "a bool")
        checks.instance("cluster", cluster, Cluster, "a ptf.Cluster", none=True)
        if combiner is not None and combiner not in COMBINERS:
            raise ValueError(
                f"`combiner` must be None or one of {COMBINERS}. "
                f"Received: combiner={combiner!r}"
            )
        absent_ids = AbsentIds(absent, oov_rate, mask_zero)
        absent_ids.check_goes_with(compression, admission)
        super().__init__(**layer_kwargs)
        check_compute_dtype(self.compute_dtype)
        self._weight_readers = WeightReaders(self.name)
        self._rebuilding = Rebuilding(self.name)
        # XLA cannot compile the custom ops. Keras 3's constructor sets this to True.
        self.supports_jit = False
        self.output_dim = output_dim
        self.table = table
        self.embeddings_initializer = initializers.get(embeddings_initializer)
        self.optimizer = None if optimizer is None else optimizers.get(optimizer)
        self.combiner = combiner
        self.mask_zero = mask_zero
        self.capacity = capacity
        self.admission = admission_lib.get(admission)
        self.eviction = eviction_lib.get(eviction, capacity)
        self.row_dtype = row_dtype
        self.compression = compression_lib.get(compression)
        self.absent = absent
        self.oov_rate = oov_rate
        self._absent_ids = absent_ids
        self.cluster = cluster if cluster is not None else cluster_in_use()
        self.supports_masking = mask_zero
        self._anchor: Any = None
        self._layer_table: LayerTable | None = None
        self._row_saving: RowSaving | None = None
        self._stepping = RowStepping(self)
        self._load_error: Exception | None = None
        self._found_rows: FoundRows | None = None
        self._has_told_of_rows = False
        self._loss_scaling = LossScaling(self)

    def build(self, input_shape: Any = None) -> None:
        self._open_rows()
        self._anchor = add_anchor(self, self._loss_scaling, self._commit)
        self.built = True

    def _open_rows(self) -> None:
        self._layer_table = self._open_table()
        workers = Workers(tf.distribute.get_strategy())
        self._row_saving = RowSaving(self.name, self._layer_table, workers)
        # tf.train.Checkpoint saves and restores the rows through this attribute.
        self._row_state = RowState(self._row_saving)

    def call(
        self, inputs: Any, weights: Any = None, training: bool | None = None
    ) -> Any:
        training = is_training(training)
        self._rebuilding.on_call(is_eager=tf.executing_eagerly())
        planned = self._plan_call(inputs, weights, training)
        (vectors,) = self._look_up(planned, training)
        return planned.finish(vectors)

    def _plan_call(
        self, inputs: Any, weights: Any, training: bool | None
    ) -> PlannedLookup:
        """Checks the inputs of a call, and plans the call's lookup."""
        refuse_tensor_of_other_keras(inputs, self.name)
        if training and not self._has_told_of_rows:
            self._tell_of_rows()
        with on_host():
            ids = checked_ids(inputs, self.name, self.combiner, self.mask_zero)
        if self._trains(training):
            if recorder() is not None and self._absent_ids.is_oov:
                read = self._plan(ids, weights, inputs, training=False)
                self._look_up(read, training=False)
            ids = self._absent_ids.replaced_in_training(ids)
        return self._plan(ids, weights, inputs, training)

    def _look_up(self, planned: PlannedLookup, training: bool | None) -> list[Any]:
        return embedding.lookup(
            [self._lookup_of(planned)],
            self._anchor_value(),
            training=training,
            trainable=self.trainable,
            replica=local_replica(),
            loss_scale=self._loss_scaling.of_call(training),
        )

    def _lookup_of(self, planned: PlannedLookup) -> embedding.Lookup:
        return embedding.Lookup(planned.ids, self._layer_table.route, planned.bags)

    def _anchor_value(self) -> tf.Tensor:
        return tf.convert_to_tensor(self._anchor)

    def _plan(
        self, ids: Any, weights: Any, inputs: Any, training: bool | None
    ) -> PlannedLookup:
        if weights is not None:
            flat = self._checked_weights(weights, inputs)
            return self._plan_pooling_here(ids, training, flat)
        if self.combiner is not None and self._pools_here(training):
            return self._plan_pooling_here(ids, training)
        if self.combiner is not None:
            with on_host():
                kept, bags = bags_of(ids, self.combiner, leave_out_zero=self.mask_zero)
            planned = self._cast(PlannedLookup(kept, bags))
            if bags.pool_last_axis:
                return planned
            return planned.then(lambda vectors: in_shape_of(ids, bags, vectors))
        planned = self._cast(self._plan_each(flat_values(ids), training))
        if isinstance(ids, tf.RaggedTensor):
            return planned.then(ids.with_flat_values)
        return planned

    def _pools_here(self, training: bool | None) -> bool:
        """Whether stock ops pool bags in this process, after a lookup of each id."""
        return (
            self.compression is not None
            or redirection() is not None
            or self._reads_oov(training)
        )

    def _trains(self, training: bool | None) -> bool:
        return bool(training) and self.trainable

    def _reads_oov(self, training: bool | None) -> bool:
        return self._absent_ids.is_oov and not self._trains(training)

    def _cast(self, planned: PlannedLookup) -> PlannedLookup:
        """Casts vectors to the compute dtype, on the device that holds them.

        Rows are in host memory. A compression computes vectors on the model's device.
        """
        dtype = tf.as_dtype(self.compute_dtype)
        if dtype == tf.float32:
            return planned
        if self.compression is not None:
            return planned.then(lambda vectors: tf.cast(vectors, dtype))
        return planned.then(lambda vectors: cast_on_host(vectors, dtype))

    def _checked_weights(self, weights: Any, inputs: Any) -> tf.Tensor:
        if self.combiner is None:
            raise ValueError(
                f"layer '{self.name}' takes weights only with a `combiner`, which "
                "pools the weighted ids: give a combiner, or leave out the weights. "
                "Received: weights, and combiner=None"
            )
        return checked_weights(weights, inputs, self.name)

    def _plan_pooling_here(
        self, ids: Any, training: bool | None, weights: tf.Tensor | None = None
    ) -> PlannedLookup:
        """Plans to look up each id's vector, and to pool vectors in this process."""
        values = flat_values(ids)
        with on_host():
            mask = tf.not_equal(values, 0) if self.mask_zero else None
            known = replace_padding(values) if self.mask_zero else values

        def pool(vectors: tf.Tensor) -> Any:
            pooled = combine(vectors, self.combiner, mask, like=ids, weights=weights)
            return tf.cast(pooled, self.compute_dtype)

        return self._plan_each(known, training).then(pool)

    def _plan_each(self, ids: tf.Tensor, training: bool | None) -> PlannedLookup:
        """Plans to look up one vector per id."""
        if self.compression is not None:
            with on_host():
                row_ids = self.compression.row_ids(ids)
            return PlannedLookup(row_ids).then(self.compression.combine)
        if self._reads_oov(training):
            planned = PlannedLookup(self._absent_ids.asked(ids))
            return planned.then(lambda rows: self._absent_ids.filled(ids, rows))
        return PlannedLookup(ids)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if not self.mask_zero or self.combiner is not None:
            return None
        return is_no_padding(inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        shape = tuple(input_shape)
        if self.combiner is not None:
            check_rank(len(shape), self.name, self.combiner)
            shape = shape[:-1]
        shape = (*shape, self.output_dim)
        # tf_keras passes a tf.TensorShape, and expects one back.
        is_of_tf = isinstance(input_shape, tf.TensorShape)
        return tf.TensorShape(shape) if is_of_tf else shape

    def compute_output_spec(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        # Keras 3 builds functional models through this method without `call`, so the
        # dtype is checked here too. tf_keras traces `call`, which checks the dtype.
        check_is_one(inputs, self.name)
        check_dtype(inputs.dtype, self.name)
        spec = super().compute_output_spec(inputs, *args, **kwargs)
        if not inputs.ragged or len(spec.shape) == 2:
            return spec
        return keras.KerasTensor(spec.shape, spec.dtype, ragged=True)

    @property
    def weights(self) -> list[Any]:
        self._weight_readers.look()
        return super().weights

    @property
    def trainable_weights(self) -> list[Any]:
        self._weight_readers.look()
        return super().trainable_weights

    def save_own_variables(self, store: Any) -> None:
        super().save_own_variables(store)
        if self._row_saving is not None:
            self._row_saving.save(store)

    def load_own_variables(self, store: Any) -> None:
        """Loads the rows.

        The anchor is not loaded: its value has no meaning, and its shape varies.
        """
        if not store.keys():
            self._load_nothing()
            return
        try:
            self._rebuilding.check(self._row_saving is not None)
            # A layer that no call of the model uses is not built yet: build it now.
            if self._row_saving is None:
                self.build()
            self._row_saving.load(store)
        except Exception as error:
            self._load_error = error
            raise
        self._load_error = None

    def _load_nothing(self) -> None:
        """Handles loading from a file that has no data for this layer.

        Raises if the layer is built: only a layer that was saved before it was built
        has no data in the file.
        """
        if self._load_error is not None:
            # Keras 3 loads a layer once per attribute that refers to it, but the file
            # has data for one of these attributes only. Keras drops the error of that
            # load if a later load of the layer succeeds, so raise the error again.
            raise self._load_error
        if self._row_saving is not None:
            raise ValueError(
                f"layer '{self.name}' has no data in what is being loaded. Load what "
                "was saved by a model with the same layers"
            )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            **regularizers.config_of_activity(self),
            **self._table_config(),
            "cluster": self.cluster and self.cluster.get_config(),
        }

    def _table_config(self) -> dict[str, Any]:
        serialize = keras.saving.serialize_keras_object
        return {
            "output_dim": self.output_dim,
            "table": self.table,
            "embeddings_initializer": keras.initializers.serialize(
                self.embeddings_initializer
            ),
            "optimizer": self.optimizer and serialize(self.optimizer),
            "combiner": self.combiner,
            "mask_zero": self.mask_zero,
            "capacity": self.capacity,
            "admission": self.admission and serialize(self.admission),
            "eviction": self.eviction and serialize(self.eviction),
            "row_dtype": self.row_dtype,
            "compression": self.compression and serialize(self.compression),
            "absent": self.absent,
            "oov_rate": self.oov_rate,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> PersiaEmbedding:
        config = with_objects(config)
        config["cluster"] = cluster_of(config)
        return cls(**config)

    @property
    def rows(self) -> Table:
        """The layer's rows, as a `ptf.Table`.

        Raises:
            ValueError: if the layer is not built.
        """
        if self._row_saving is None:
            raise ValueError(
                f"layer '{self.name}' must be built before it has rows: call it on a "
                "batch, or `layer.build((None,))`"
            )
        return self._row_saving.table

    @property
    def embeddings(self) -> Any:
        """Raises AttributeError: rows are not stored in a variable."""
        raise AttributeError(
            f"layer '{self.name}' has no `embeddings`: its rows are not in a variable. "
            "Call the layer on the ids whose vectors you need, `layer(ids)`, again "
            "after each training; or read rows by `layer.rows.lookup(ids)`"
        )

    @property
    def _cluster(self) -> Cluster:
        if self._layer_table is not None:
            return self._layer_table.rows.cluster
        return self.cluster if self.cluster is not None else Cluster()

    @property
    def _table_name(self) -> str:
        return self.table or self.name

    def _open_table(self) -> LayerTable:
        cluster = self._cluster
        if self.table is None and not cluster.is_embedded:
            self._refuse_automatic_name()
        cluster = table_users.home(cluster)
        initializer, seed = initializers.spec_and_seed(self.embeddings_initializer)
        settings = TableSettings(
            dim=self.output_dim,
            initializer=initializer,
            optimizer=self._stepping.spec,
            seed=seed,
            row_dtype=self.row_dtype,
            capacity=capacity_lib.spec(self.capacity),
            admission=admission_lib.spec(self.admission),
            eviction=eviction_lib.spec(self.eviction, self.capacity),
        )
        table = LayerTable(
            self.name,
            self._table_name,
            cluster,
            settings,
            self.compression,
            lambda full_name: self._absent_ids.rows(self._initial_rows(full_name)),
        )
        self._found_rows = rows_of_others(
            self.name, self._table_name, cluster, table.rows_found
        )
        if cluster.is_embedded:
            table_users.add(self, table.route.session, table.route.table)
        if self.optimizer is not None:
            table.give(self.optimizer)
        return table

    def _tell_of_rows(self) -> None:
        """Warns if the table probably does not hold the rows that the user intends.

        This is called only when training starts: before, a load may still replace the
        rows.
        """
        self._has_told_of_rows = True
        if self.trainable:
            table = self._layer_table.rows
            table.cluster.session.note_training(table.cluster.full_name(table.name))
        if self._row_saving.has_loaded:
            return
        if self._found_rows is not None:
            self._found_rows.tell()
        if not self.trainable and self.absent == "zeros":
            tell_of_frozen_rows(self.name, self._row_saving.table)
        initializers.tell_of_spread(
            self.name, self.embeddings_initializer, self.output_dim
        )

    def _initial_rows(self, full_name: str) -> InitialRows:
        name, parameters, seed = initializers.described(self.embeddings_initializer)
        return InitialRows(name, parameters, seed, full_name, self.output_dim)

    def _refuse_automatic_name(self) -> None:
        if _AUTOMATIC_NAME.match(self.name):
            raise ValueError(
                f"layer '{self.name}' has an automatic name, so a later program could "
                "use its table on the cluster by accident. Give the layer an explicit "
                "`table=` or `name=`."
            )

    def _commit(self, anchor: Any) -> tf.Tensor:
        """Commits the step. Keras calls this anchor constraint after the optimizer."""
        return commit_rows(
            anchor,
            [(self._stepping, self._layer_table)],
            self._cluster,
            self._loss_scaling,
            self.name,
        )
