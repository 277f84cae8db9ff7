"""`TableConfig`: the options of one feature of `ptf.layers.PersiaEmbeddings`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from persia_tf.admission import Admission
    from persia_tf.compression import Compression
    from persia_tf.eviction import Eviction
    from persia_tf.optimizers import Optimizer


@dataclasses.dataclass(frozen=True)
class TableConfig:
    """The options of one feature of a `ptf.layers.PersiaEmbeddings`.

    They are checked when the layer is created.

    Example:

    ```python
    ptf.TableConfig(16, optimizer=ptf.optimizers.Adagrad(0.05), combiner="mean")
    ```

    Args:
        output_dim: Weights per row, as for `ptf.layers.PersiaEmbedding`; so are the
            arguments below.
        table: Name of the table. Features with the same table share its rows. Defaults
            to the feature's name.
        embeddings_initializer: A Keras initializer or its name. Defaults to
            `"uniform"`.
        optimizer: The row optimizer. Defaults to None: rows follow the model's
            optimizer.
        combiner: None, `"sum"`, `"mean"` or `"sqrtn"`. Defaults to None.
        mask_zero: Whether id 0 is padding. Defaults to False.
        capacity: The table's limit in rows or bytes. Defaults to None.
        admission: Which ids get a row. Defaults to None.
        eviction: Which rows are evicted. Defaults to None.
        row_dtype: The dtype in which shards store weights. Defaults to `"float32"`.
        compression: An object of `persia_tf.compression`, or None. Defaults to None.
        absent: `"zeros"`, `"initial"` or `"oov"`. Defaults to `"zeros"`.
        oov_rate: With `absent="oov"`: the share of ids that training replaces. Defaults
            to `0.01`.
    """

    output_dim: int
    table: str | None = None
    embeddings_initializer: Any = "uniform"
    optimizer: str | Optimizer | None = None
    combiner: str | None = None
    mask_zero: bool = False
    capacity: int | str | None = None
    admission: Admission | None = None
    eviction: str | Eviction | None = None
    row_dtype: str = "float32"
    compression: Compression | None = None
    absent: str = "zeros"
    oov_rate: float = 0.01

    def options(self) -> dict[str, Any]:
        """Returns the options as arguments of a `PersiaEmbedding`."""
        names = (field.name for field in dataclasses.fields(self))
        return {name: getattr(self, name) for name in names}
