"""Draws the picture of all processes, and of which process waits for which."""

from __future__ import annotations

from persia_tf.base.svg import Picture

_TITLE = (
    "Data loaders give batches to NN workers, which train the dense layers together "
    "and synchronously. They look rows up in parameter server shards ahead of the "
    "step, and push gradients back behind it, directly or through embedding workers."
)


def draw() -> str:
    """Returns the picture as SVG."""
    picture = Picture(820, 400, _TITLE)
    _data_loaders(picture)
    _nn_workers(picture)
    _embedding_workers(picture)
    _shards(picture)
    _arrows(picture)
    _legend(picture)
    return str(picture)


def _column(picture: Picture, x: float, width: float, title: str, what: str) -> None:
    picture.text(x + width / 2, 24, title, size=14, bold=True)
    picture.text(x + width / 2, 41, what, "quiet", size=12)


def _data_loaders(picture: Picture) -> None:
    _column(picture, 14, 110, "data loader", "tf.data")
    for y in (86, 206):
        picture.box(18, y, 102, 62, "pale", "quiet")
        picture.text(69, y + 26, "batches")
        picture.text(69, y + 44, "of ids, labels", "quiet", size=12)


def _nn_workers(picture: Picture) -> None:
    _column(picture, 170, 180, "NN workers", "your program: model.fit")
    for y in (66, 196):
        picture.box(176, y, 168, 92, "pale-blue", "blue")
        picture.text(260, y + 22, "PersiaEmbedding", bold=True)
        picture.text(260, y + 40, "rows of this batch only", "quiet", size=12)
        picture.line([(188, y + 50), (332, y + 50)], "blue")
        picture.text(260, y + 68, "dense layers", bold=True)
        picture.text(260, y + 84, "Keras, on CPU or GPU", "quiet", size=12)
    picture.arrow([(260, 160), (260, 194)], "blue", both_ends=True)
    picture.text(270, 181, "all-reduce", "blue", size=12, anchor="start")


def _embedding_workers(picture: Picture) -> None:
    _column(picture, 440, 140, "embedding workers", "optional: persia worker")
    for y in (86, 206):
        picture.box(456, y, 108, 62, "box", "quiet", dashed=True)
        picture.text(510, y + 26, "join lookups,")
        picture.text(510, y + 44, "pool, cache")


def _shards(picture: Picture) -> None:
    _column(picture, 660, 146, "PS shards", "C++: persia ps")
    for number, y in enumerate((60, 142, 224)):
        picture.box(666, y, 136, 68, "pale-green", "green")
        picture.text(734, y + 18, f"shard {number}", bold=True)
        for row in range(3):
            picture.box(678, y + 26 + 12 * row, 68, 9, "green", "green", radius=2)
            picture.box(748, y + 26 + 12 * row, 42, 9, "paper", "green", radius=2)
    picture.text(734, 308, "a row: weights | state", "quiet", size=12)


def _arrows(picture: Picture) -> None:
    for y in (117, 237):
        picture.arrow([(122, y), (174, y)], "quiet", dashed=True)
        picture.arrow([(454, y - 12), (346, y - 12)], "orange", dashed=True)
        picture.arrow([(346, y + 12), (454, y + 12)], "orange", dashed=True)
        picture.text(400, y - 18, "rows", "orange", size=12)
        picture.text(400, y + 28, "gradients", "orange", size=12)
        for off, shard in ((-18, 94), (0, 176), (18, 258)):
            ends = [(566, y + off), (664, shard + (y - 177) / 5)]
            picture.arrow(ends, "orange", dashed=True, both_ends=True)


def _legend(picture: Picture) -> None:
    picture.line([(20, 326), (800, 326)], "frame")
    picture.arrow([(30, 350), (74, 350)], "blue", both_ends=True)
    picture.text(
        86,
        354,
        "synchronous: dense gradients are summed over all workers in every step",
        anchor="start",
    )
    picture.arrow([(30, 376), (74, 376)], "orange", dashed=True)
    picture.text(
        86,
        380,
        "asynchronous: lookups run ahead of steps, updates behind them, within the "
        "staleness",
        anchor="start",
    )
