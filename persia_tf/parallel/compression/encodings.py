"""The encodings in which workers exchange numbers, as options of a plan."""

from __future__ import annotations

import dataclasses
from typing import Any

from persia_tf.base import checks

_LEAST_KEEP = 1e-6
# A place and a value take more bytes than a float32 does: keeping more than half of the
# numbers would save nothing.
_MOST_KEEP = 0.5
_MOST_CALLS = 2**31 - 1

VALUES = ("float32", "float16")


@dataclasses.dataclass(frozen=True)
class Encoding:
    """Base of the encodings.

    An encoding is a means of training: evaluation and prediction exchange float32, so
    that they compute what the saved model computes.
    """

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments, as values that JSON has."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Float16(Encoding):
    """Sends each number as float16: 2 bytes.

    The numbers of one payload are divided by a power of two `s` first, so that they
    neither overflow nor, like small gradients, underflow:

    `s = 2**(floor(log2(max |x|)) - 14)`, `sent = s * float16(x / s)`.

    Numbers down to `2**-28 max |x|` keep 11 significant bits. With gradients, what
    rounding took away is added to the next step's gradient (error feedback; Seide et
    al., 2014).

    Example:

    ```python
    ptf.parallel.Float16()
    ```
    """


@dataclasses.dataclass(frozen=True)
class Int8(Encoding):
    """Sends each number as an 8-bit integer: 1 byte, and 4 for each 256 numbers.

    Blocks of 256 numbers in a row have one scale each, and are rounded to the nearest
    of 255 equidistant values:

    `s = max |x| / 127`, `sent = s * round(x / s)`.

    A block with a number that is not finite arrives as NaNs. With gradients, what
    rounding took away is added to the next step's gradient (error feedback; Seide et
    al., 2014).

    Example:

    ```python
    ptf.parallel.Int8()
    ```
    """


@dataclasses.dataclass(frozen=True)
class Threshold(Encoding):
    """Sends the numbers of large magnitude only: Dynamic Communication Thresholding.

    The method is that of Gupta et al., 2020 (arXiv:2010.08899). A number is sent, with
    its place, if its magnitude reaches a threshold:

    `sent = x where |x| >= tau`, `tau = quantile(|x|, 1 - keep)`.

    - Of activations, the others arrive as zeros. Each piece for another worker has its
      own `tau`. A worker's piece for itself is not sent. Where the pieces are parts of
      one layer's outputs, they are joined or added up, so it stands for what did not
      arrive, as in dropout: a worker multiplies it by the square root of 2 if nothing
      arrives from the other one, and by less if more does. Elsewhere it stays as it
      is. The gradient that comes back has the numbers at the places that were sent, and
      the others, as a matrix with a column for each feature, as the product of a column
      and a row that is closest to them. Unlike in the paper they are not dropped: a
      layer before the exchange would learn from a part of its gradient. Where this
      product would take more than a 32nd of the numbers, as with few features, they are
      zeros.
    - Of gradients, what is not sent is added to the next step's gradient: `p = g + e`,
      `sent = p where |p| >= tau`, `e = p - sent` (error feedback).

    A payload has room for `1.25 * keep` of the numbers, and takes this room however
    many are sent. `tau` is found anew, exactly, every `every` calls, and, unlike in the
    paper, also in a call in which more numbers reach it than there is room for, or
    fewer than `keep / 2`. It follows gradients that grow by error feedback in the first
    steps, and activations that shrink. If there are still too many, because many have
    the same magnitude, those with the first places are sent.

    In the first `warmup` calls of each exchange, all numbers are sent as they are. An
    optimizer with a state, such as Adagrad, learns from them how large gradients are.

    Numbers that are not finite count as infinitely large.

    Example:

    ```python
    ptf.parallel.Threshold(keep=0.01)
    ```

    Args:
        keep: The share of the numbers that is sent, from 1e-06 to 0.5. Defaults to
            `0.02`.
        every: After how many calls `tau` is found anew: an integer of at least 1.
            Defaults to `1000`.
        values: `"float16"` for 4 bytes a number with its place, scaled as with
            `Float16`, or `"float32"` for 6. Defaults to `"float16"`.
        warmup: In how many of the first calls all numbers are sent: an integer of at
            least 0. Defaults to `10`.

    Raises:
        TypeError: if `keep` is not a number, or another one is not an integer.
        ValueError: if an argument is out of its range.
    """

    keep: float = 0.02
    every: int = 1000
    values: str = "float16"
    warmup: int = 10

    def __post_init__(self) -> None:
        keep = checks.within("keep", self.keep, _LEAST_KEEP, _MOST_KEEP)
        every = checks.integer("every", self.every, 1, _MOST_CALLS)
        checks.one_of("values", self.values, VALUES)
        object.__setattr__(self, "keep", keep)
        object.__setattr__(self, "every", every)
        warmup = checks.integer("warmup", self.warmup, 0, _MOST_CALLS)
        object.__setattr__(self, "warmup", warmup)


_CLASSES = {each.__name__: each for each in (Float16, Int8, Threshold)}


def get(name: str, encoding: Encoding | None) -> Encoding | None:
    """Returns an argument if it is None, for float32, or an encoding.

    Args:
        name: The argument's name, for messages.
        encoding: The argument's value.

    Raises:
        TypeError: for anything else.
    """
    if encoding is None or type(encoding) in _CLASSES.values():
        return encoding
    raise TypeError(
        f"`{name}` must be None or an encoding of `persia_tf.parallel`, such as "
        f"Threshold(keep=0.02). Received: {name}={encoding!r}"
    )


def serialize(encoding: Encoding | None) -> dict[str, Any] | None:
    """Returns a dict that JSON can hold; None for None."""
    if encoding is None:
        return None
    return {"class_name": type(encoding).__name__, "config": encoding.get_config()}


def deserialize(config: dict[str, Any] | None) -> Encoding | None:
    """Returns the encoding of which `serialize` made a dict.

    Raises:
        ValueError: if the dict does not name an encoding.
        TypeError: if the encoding does not have the arguments.
    """
    if config is None:
        return None
    name = config.get("class_name")
    checks.one_of("class_name", name, tuple(_CLASSES))
    return _CLASSES[name](**config.get("config", {}))
