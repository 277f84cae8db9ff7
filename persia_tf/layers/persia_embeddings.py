"""`PersiaEmbeddings`: the embeddings of many features as one layer."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf._keras import keras, logical_and, refuse_tensor_of_other_keras
from persia_tf.base import checks
from persia_tf.cluster import Cluster
from persia_tf.current_cluster import cluster_in_use
from persia_tf.layers import regularizers
from persia_tf.layers.committing import add_anchor, commit_rows
from persia_tf.layers.ids import check_dtype
from persia_tf.layers.loss_scaling import LossScaling
from persia_tf.layers.persia_embedding import PersiaEmbedding, cluster_of, with_objects
from persia_tf.layers.rebuilding import Rebuilding
from persia_tf.layers.replicas import local_replica
from persia_tf.layers.table_config import TableConfig
from persia_tf.layers.training_mode import is_training
from persia_tf.ops import embedding
from persia_tf.table import Table


class _Feature(PersiaEmbedding):
    """One feature of a `PersiaEmbeddings`, which has the anchor and makes the calls."""

    def build(self, input_shape: Any = None) -> None:
        self._open_rows()
        self.built = True

    def save_own_variables(self, store: Any) -> None:
        # So that a file with this layer, but without its rows, differs from a file
        # without this layer.
        store["feature"] = np.zeros(1, np.float32)
        super().save_own_variables(store)

    def _anchor_value(self) -> tf.Tensor:
        return tf.zeros((0,))  # Only recorded lookups need it, which use no anchor.


@keras.saving.register_keras_serializable(package="persia_tf")
class PersiaEmbeddings(keras.layers.Layer):
    """Turns the ids of many features into vectors, with one lookup per step.

    The rows, their training and the results are those of one `PersiaEmbedding` per
    feature. But the features share each of the step's ops, which saves much of
    TensorFlow's work if they are many, and `joined` vectors need no `Concatenate`.
    There is one difference: if the loss depends on some of the features only, the rows
    of the other ones are updated with gradients of zero.

    Example:

    ```python
    inputs = {
        name: keras.Input((), dtype="int64", name=name) for name in ("user", "ad")
    }
    vectors = ptf.layers.PersiaEmbeddings(
        {"user": ptf.TableConfig(16), "ad": ptf.TableConfig(8)}, joined=True
    )(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
    ```

    Args:
        features: The features: a dict of their names and of a `ptf.TableConfig` each.
            A feature's table has the feature's name, unless its config has a `table`.
        joined: Whether the vectors become one tensor, side by side in the order of
            `features`. Defaults to False.
        cluster: The `persia_tf.Cluster` that holds all of the tables. Defaults as for
            `PersiaEmbedding`.
        **layer_kwargs: `name`, `trainable` and `dtype`, as for any layer.

    Input shape:
        A dict of ids by feature: each as `PersiaEmbedding` takes them, also ragged,
        sparse or strings. If no feature has a combiner, the ids may also be one tensor,
        `(..., number of features)`, whose last axis has the ids of the features in
        their order.

        A second input may be a dict of weights for some features with a combiner.

    Output shape:
        A dict of vectors by feature, each as a `PersiaEmbedding` returns them. If
        `joined`, one dense tensor, `(..., sum of output_dim)`: the vectors must be
        dense, and their shapes the same but for the last axis.

    Raises:
        TypeError: if `features` is not a dict of `TableConfig`, and as
            `PersiaEmbedding` does.
        ValueError: if there are no features, or the inputs are not those of the
            features, and as `PersiaEmbedding` does.
        PersiaError: as `PersiaEmbedding` does.
        tf.errors.OpError: as `PersiaEmbedding` does.
        NotImplementedError: as `PersiaEmbedding` does.
    """

    def __init__(
        self,
        features: Mapping[str, TableConfig],
        *,
        joined: bool = False,
        cluster: Cluster | None = None,
        **layer_kwargs: Any,
    ) -> None:
        _check_features(features)
        checks.instance("joined", joined, bool, "a bool")
        checks.instance("cluster", cluster, Cluster, "a ptf.Cluster", none=True)
        super().__init__(**layer_kwargs)
        self._rebuilding = Rebuilding(self.name)
        # XLA cannot compile the custom ops. Keras 3's constructor sets this to True.
        self.supports_jit = False
        self.joined = joined
        self.cluster = cluster if cluster is not None else cluster_in_use()
        self.features = tuple(features)
        embeddings = [self._embedding(name, features[name]) for name in features]
        self.supports_masking = any(each.supports_masking for each in embeddings)
        # Keras saves the items of a list by their places: in the order of the names,
        # so that the order of `features` does not matter.
        self._embeddings = [
            each for _, each in sorted(zip(features, embeddings), key=lambda x: x[0])
        ]
        self._anchor: Any = None
        self._loss_scaling = LossScaling(self)

    def _embedding(self, feature: str, config: TableConfig) -> _Feature:
        options = config.options()
        options["table"] = feature if config.table is None else config.table
        name = f"{self.name}.{feature}".replace("/", ".")
        try:
            return _Feature(
                **options,
                name=name,
                dtype=self.dtype_policy,
                trainable=self.trainable,
                cluster=self.cluster,
            )
        except (TypeError, ValueError) as error:
            raise type(error)(f"feature '{feature}': {error}") from error

    def build(self, input_shape: Any = None) -> None:
        for each in self._embeddings:
            if not each.built:
                each.build(None)
        # tf.train.Checkpoint does not look into Keras's lists of layers.
        self._row_states = tf.train.Checkpoint(
            **dict(zip(sorted(self.features), (x._row_state for x in self._embeddings)))
        )
        self._anchor = add_anchor(self, self._loss_scaling, self._commit)
        self.built = True

    def call(
        self, inputs: Any, weights: Any = None, training: bool | None = None
    ) -> Any:
        training = is_training(training)
        self._rebuilding.on_call(is_eager=tf.executing_eagerly())
        ids = self._by_feature(inputs)
        weights = self._checked_weights(weights)
        layers = self._in_order()
        planned = [
            layer._plan_call(ids[name], weights.get(name), training)
            for name, layer in zip(self.features, layers)
        ]
        joins = self.joined and all(each.is_plain for each in planned)
        lookups = [layer._lookup_of(each) for layer, each in zip(layers, planned)]
        if joins:
            self._check_joined([each.static_shape for each in lookups])
        vectors = embedding.lookup(
            lookups,
            tf.convert_to_tensor(self._anchor),
            training=training,
            trainable=self.trainable,
            replica=local_replica(),
            loss_scale=self._loss_scaling.of_call(training),
            joins=joins,
        )
        if joins:
            return vectors[0]
        outputs = [each.finish(found) for each, found in zip(planned, vectors)]
        if self.joined:
            dense = [self._dense(each) for each in outputs]
            self._check_joined([each.shape for each in dense])
            return tf.concat(dense, axis=-1)
        return dict(zip(self.features, outputs))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if not self.supports_masking:
            return None
        ids = inputs
        if not isinstance(inputs, Mapping):
            ids = {name: inputs[..., i] for i, name in enumerate(self.features)}
        masks = {
            name: layer.compute_mask(ids[name])
            for name, layer in zip(self.features, self._in_order())
        }
        if not self.joined:
            return masks
        # As of a `Concatenate`: a place counts if it counts in all features.
        given = [each for each in masks.values() if each is not None]
        return functools.reduce(logical_and, given) if given else None

    def compute_output_shape(self, input_shape: Any) -> Any:
        layers = self._in_order()
        if not isinstance(input_shape, Mapping):
            shape = tuple(input_shape)[:-1]
            input_shape = dict.fromkeys(self.features, shape)
        shapes = {
            name: tuple(layer.compute_output_shape(tuple(input_shape[name])))
            for name, layer in zip(self.features, layers)
        }
        if not self.joined:
            return shapes
        self._check_joined([tf.TensorShape(each) for each in shapes.values()])
        first = shapes[self.features[0]]
        return (*first[:-1], sum(layer.output_dim for layer in layers))

    def compute_output_spec(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        # Keras 3 builds functional models through this method without `call`.
        shapes = self.compute_output_shape(self._shapes_of(inputs))
        if self.joined:
            return keras.KerasTensor(shapes, self.compute_dtype)
        ids = inputs if isinstance(inputs, Mapping) else {}
        return {
            name: keras.KerasTensor(
                shape,
                self.compute_dtype,
                ragged=len(shape) > 2 and getattr(ids.get(name), "ragged", False),
            )
            for name, shape in shapes.items()
        }

    def load_own_variables(self, store: Any) -> None:
        """Loads nothing: the layers of the features load their rows.

        The anchor is not loaded: its value has no meaning, and its shape varies.
        """
        if not store.keys():
            return
        self._rebuilding.check(self.built)
        # A layer that no call of the model uses is not built yet: build it now.
        if not self.built:
            self.build()

    def get_config(self) -> dict[str, Any]:
        layers = zip(self.features, self._in_order())
        return {
            **super().get_config(),
            **regularizers.config_of_activity(self),
            "features": [[name, layer._table_config()] for name, layer in layers],
            "joined": self.joined,
            "cluster": self.cluster and self.cluster.get_config(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> PersiaEmbeddings:
        config = dict(config)
        config["features"] = {
            name: TableConfig(**with_objects(options))
            for name, options in config["features"]
        }
        config["cluster"] = cluster_of(config)
        return cls(**config)

    @property
    def rows(self) -> dict[str, Table]:
        """The rows of each feature, as a `ptf.Table`.

        Raises:
            ValueError: if the layer is not built.
        """
        return {
            name: layer.rows for name, layer in zip(self.features, self._in_order())
        }

    def _in_order(self) -> list[_Feature]:
        """Returns the layers of the features, in the order of `features`."""
        layers = dict(zip(sorted(self.features), self._embeddings))
        return [layers[name] for name in self.features]

    def _by_feature(self, inputs: Any) -> Mapping[str, Any]:
        if isinstance(inputs, Mapping):
            if set(inputs) != set(self.features):
                raise ValueError(
                    f"layer '{self.name}' takes a dict with the ids of each of its "
                    f"features, and no others: {list(self.features)}. Received: a dict "
                    f"that lacks {sorted(set(self.features) - set(inputs))}, and has "
                    f"also {sorted(map(str, set(inputs) - set(self.features)))}"
                )
            return inputs
        refuse_tensor_of_other_keras(inputs, self.name)
        return dict(zip(self.features, self._columns(inputs)))

    def _columns(self, inputs: Any) -> list[tf.Tensor]:
        pooled = [layer.name for layer in self._embeddings if layer.combiner]
        shape = getattr(inputs, "shape", None)
        width = shape[-1] if shape is not None and len(shape) else None
        if pooled or width != len(self.features):
            raise ValueError(
                f"layer '{self.name}' takes a dict of ids by feature, or, if no "
                "feature has a combiner, one dense tensor of ids whose last axis has "
                f"the {len(self.features)} features, {list(self.features)}. Received: "
                f"{type(inputs).__name__} of shape {shape}, with features that have a "
                f"combiner: {pooled}"
            )
        if not tf.is_tensor(inputs):
            inputs = tf.convert_to_tensor(inputs)
        check_dtype(inputs.dtype.name, self.name)
        with tf.device("CPU:0"):
            return tf.unstack(inputs, axis=-1)

    def _checked_weights(self, weights: Any) -> Mapping[str, Any]:
        if weights is None:
            return {}
        if isinstance(weights, Mapping) and set(weights) <= set(self.features):
            return weights
        raise ValueError(
            f"layer '{self.name}' takes a dict of weights for some of its features, "
            f"{list(self.features)}. Received: {weights!r}"
        )

    def _shapes_of(self, inputs: Any) -> Any:
        if not isinstance(inputs, Mapping):
            check_dtype(inputs.dtype, self.name)
            return inputs.shape
        ids = self._by_feature(inputs)
        for each in ids.values():
            check_dtype(each.dtype, self.name)
        return {name: each.shape for name, each in ids.items()}

    def _check_joined(self, shapes: Sequence[tf.TensorShape]) -> None:
        """Raises ValueError if vectors of these shapes cannot be side by side."""
        first = shapes[0][:-1]
        for name, shape in zip(self.features, shapes):
            if first.is_compatible_with(shape[:-1]):
                continue
            raise ValueError(
                f"layer '{self.name}' joins vectors whose shapes are the same but for "
                "the last axis: give the features ids of one shape, or leave out "
                f"`joined`. Received: vectors of shape {shapes[0]} for feature "
                f"'{self.features[0]}', and {shape} for '{name}'"
            )

    def _dense(self, vectors: Any) -> tf.Tensor:
        if isinstance(vectors, tf.Tensor):
            return vectors
        raise ValueError(
            f"layer '{self.name}' joins dense vectors only: give the features of "
            "ragged ids a combiner, or leave out `joined`. Received: "
            f"{type(vectors).__name__}"
        )

    def _commit(self, anchor: Any) -> tf.Tensor:
        """Commits the step. Keras calls this anchor constraint after the optimizer."""
        layers = self._in_order()
        return commit_rows(
            anchor,
            [(layer._stepping, layer._layer_table) for layer in layers],
            layers[0]._cluster,
            self._loss_scaling,
            self.name,
        )


def _check_features(features: Any) -> None:
    checks.instance("features", features, Mapping, "a dict of ptf.TableConfig")
    if not features:
        raise ValueError(
            "`features` must name at least one feature. Received: features={}"
        )
    for name, config in features.items():
        if not isinstance(name, str):
            raise TypeError(
                f"the names in `features` must be str. Received: {name!r}, "
                f"{type(name).__name__}"
            )
        checks.instance(
            f"features[{name!r}]",
            config,
            TableConfig,
            "a ptf.TableConfig, such as ptf.TableConfig(16)",
        )
