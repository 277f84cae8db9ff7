"""The batches of files that data workers read."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from persia_tf.data.reading.batches import Batches, Handed, SampleBatches
from persia_tf.data.remote import functions
from persia_tf.data.remote.deliveries import Deliveries
from persia_tf.data.remote.graphs import calls_python
from persia_tf.data.remote.in_order import InOrder
from persia_tf.data.remote.recipe import Recipe
from persia_tf.data.remote.units import firsts_of_units


class Place(NamedTuple):
    """A place between two batches.

    Attributes:
        epoch: The number of the epoch.
        batch: How many batches of the epoch lie before it.
    """

    epoch: int
    batch: int = 0


class ServedBatches(Batches):
    """The batches of a reader, made by data workers.

    Args:
        local: The batches as this program would read them.
        map_func: What is done to each element, or None.
        distribute: Makes a dataset of data workers from one whose source is
            `tf.data.Dataset.range`.
        patience: For how many seconds to wait for a batch.

    Raises:
        ValueError: if `map_func` calls Python functions.
    """

    def __init__(
        self,
        local: SampleBatches,
        map_func: Callable[..., Any] | None,
        distribute: Callable[[tf.data.Dataset], tf.data.Dataset],
        patience: float,
    ) -> None:
        functions.register()
        self._local = local
        self._samples = local.samples
        self._samples.count()
        self._map_func = map_func
        self._distribute = distribute
        self._patience = patience
        self._recipe = Recipe.of(self._samples).to_json()
        self._spec = self._mapped(0, 0, 1).element_spec[2]
        if calls_python(self._dataset(0, 0, 1)):
            raise ValueError(
                "`map_func` must not call Python functions, such as by "
                "`tf.py_function` or `tf.numpy_function`, which data workers do not "
                "have: call `map` on the dataset that `ptf.data.service` returns. "
                f"Received: map_func={map_func!r}"
            )
        # The tensors of batches on their way to the dataset, by a number of their own.
        self._tensors: dict[int, Sequence[tf.Tensor]] = {}
        self._numbers = itertools.count()

    @property
    def length(self) -> int | None:
        """How many batches an epoch has."""
        return self._samples.length

    @property
    def is_shard(self) -> bool:
        """Whether other programs read the rest of the data."""
        return self._samples.is_shard

    @property
    def specs(self) -> tuple[tf.TensorSpec, ...]:
        """The spec of a batch's number."""
        return (tf.TensorSpec([], tf.int64),)

    def begin(self, epoch: int) -> Place:
        """Returns the position before the first batch of an epoch."""
        return self.position(self._samples.begin(epoch))

    def position(self, values: Sequence[int]) -> Place:
        """Returns the position that has some values: this one's, or a reader's."""
        epoch, batch, *_ = map(int, values)
        return Place(epoch, batch)

    def read(self, start: Place) -> Iterator[Handed]:
        """Yields the batches of an epoch from a position on."""
        epoch = start.epoch
        firsts = firsts_of_units(self._samples, epoch)
        end = self.begin(epoch).batch + (self.length or 0)

        def request(first: int) -> Deliveries:
            return Deliveries(
                lambda: self._distribute(self._dataset(epoch, first, end))
            )

        def read_here(first: int, last: int) -> Iterator[tuple[int, Any]]:
            for batch, _, *tensors in self._dataset(epoch, first, last):
                yield int(batch), tensors

        ordered = InOrder(firsts, request, read_here, self._patience)
        for batch, tensors in ordered.batches(start.batch, end):
            number = next(self._numbers)
            self._tensors[number] = tensors
            positions = [Place(epoch, batch + 1)]
            yield Handed((number,), positions, batch + 1 == end)

    def elements(self, handed: tf.data.Dataset) -> tf.data.Dataset:
        """Returns the dataset of batches, given that of their numbers."""
        return handed.map(self._element)

    def _element(self, number: tf.Tensor) -> Any:
        flat_specs = tf.nest.flatten(self._spec, expand_composites=True)
        taken = tf.py_function(
            lambda number: self._tensors.pop(int(number)),
            [number],
            [spec.dtype for spec in flat_specs],
        )
        for each, spec in zip(taken, flat_specs):
            each.set_shape(spec.shape)
        return tf.nest.pack_sequence_as(self._spec, taken, expand_composites=True)

    def _dataset(self, epoch: int, start: int, end: int) -> tf.data.Dataset:
        """Returns a dataset of some batches of an epoch.

        Its elements are a batch's number, the number of the process that read it, and
        the tensors of the mapped element.
        """

        def flat(batch: tf.Tensor, process: tf.Tensor, element: Any) -> Any:
            tensors = tf.nest.flatten(element, expand_composites=True)
            return (batch, process, *tensors)

        options = tf.data.Options()
        # The state of the functions is where they are in a unit.
        options.experimental_external_state_policy = (
            tf.data.experimental.ExternalStatePolicy.IGNORE
        )
        return self._mapped(epoch, start, end).map(flat).with_options(options)

    def _mapped(self, epoch: int, start: int, end: int) -> tf.data.Dataset:
        """Returns the same dataset, with the mapped element as it is."""
        recipe = self._recipe
        map_func = self._map_func

        def opened(unit: tf.Tensor) -> Any:
            return functions.open_unit(recipe, epoch, start, end, unit)

        def batches(handle: tf.Tensor, first: tf.Tensor, last: tf.Tensor) -> Any:
            numbers = tf.data.Dataset.range(first, last)
            return numbers.map(lambda batch: (batch, handle))

        def read(batch: tf.Tensor, handle: tf.Tensor) -> Any:
            process, place = functions.read_batch(handle)
            columns = self._local.columns.taken(place)
            return batch, process, self._local.finished(columns)

        def mapped(batch: tf.Tensor, process: tf.Tensor, element: Any) -> Any:
            if map_func is not None:
                is_tuple = isinstance(element, tuple)
                element = map_func(*element) if is_tuple else map_func(element)
            return batch, process, element

        units = self._units_of(epoch, start, end)
        # A unit is read while the one before it is handed out.
        dataset = tf.data.Dataset.range(*units).map(opened).prefetch(1)
        dataset = dataset.flat_map(batches).map(read)
        return dataset.map(mapped, num_parallel_calls=1)

    def _units_of(self, epoch: int, start: int, end: int) -> tuple[int, int]:
        """Returns the numbers of the first unit of some batches, and of the end."""
        firsts = firsts_of_units(self._samples, epoch)
        first = bisect.bisect_right(firsts, start) - 1
        return max(first, 0), bisect.bisect_left(firsts, end)
