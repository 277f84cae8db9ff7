"""Draws the picture of a step: what overlaps with other steps, and what waits."""

from __future__ import annotations

from persia_tf.base.svg import Picture

_TITLE = (
    "With a staleness of 2 the rows of batch 4 are looked up while batches 2 and 3 "
    "train, and its update is sent while batch 5 trains, so the dense layers never "
    "wait. With a staleness of 0 each batch waits for its lookup and its update."
)
# The widths of a step of the dense part, and of a lookup or an update, in pixels.
_STEP, _REQUEST = 112, 76
# Where batch 1 begins to train, and the limits of the drawing.
_BEGIN, _LEFT, _RIGHT = 232, 136, 846
_LANES = {"lookup": 96, "dense": 158, "update": 220}
_HEIGHT = 34
_STALENESS = 2
_CHOSEN = 4


def draw() -> str:
    """Returns the picture as SVG."""
    picture = Picture(860, 430, _TITLE)
    _hybrid(picture)
    _synchronous(picture)
    return str(picture)


def _trains(batch: int) -> float:
    return _BEGIN + _STEP * (batch - 1)


def _updates(batch: int) -> float:
    return _trains(batch) + _STEP


def _looks_up(batch: int) -> float:
    """Returns when a batch is looked up: once an earlier update is acknowledged.

    The acknowledgement frees a place in the staleness window.
    """
    return _updates(batch - _STALENESS - 1) + _REQUEST


def _hybrid(picture: Picture) -> None:
    picture.text(
        14, 26, "Hybrid training, here with a staleness of 2", bold=True, size=15,
        anchor="start",
    )  # fmt: skip
    picture.text(
        14, 46, "ptf.data.prefetch(dataset, model, staleness=2)", "quiet", size=12,
        anchor="start",
    )  # fmt: skip
    for name, words, what in (
        ("lookup", "lookup", "ids go, rows come"),
        ("dense", "dense layers", "forward, backward"),
        ("update", "push", "gradients go, ack"),
    ):
        y = _LANES[name]
        picture.text(14, y + 15, words, bold=True, anchor="start")
        picture.text(14, y + 31, what, "quiet", size=12, anchor="start")
        picture.line([(_LEFT, y + _HEIGHT + 4), (_RIGHT, y + _HEIGHT + 4)], "frame")
    _free_place(picture)
    for batch in range(1, 6):
        _block(picture, "lookup", _looks_up(batch), _REQUEST, batch)
        _block(picture, "dense", _trains(batch), _STEP, batch)
        _block(picture, "update", _updates(batch), _REQUEST, batch)
    _path_of_the_chosen(picture)
    _window(picture)


def _block(picture: Picture, lane: str, x: float, width: float, batch: int) -> None:
    y = _LANES[lane]
    left, right = max(x, _LEFT), min(x + width, _RIGHT)
    if right - left < 8:
        return
    colour = "blue" if lane == "dense" else "orange"
    fill, stroke = ("pale", "quiet") if batch != _CHOSEN else (f"pale-{colour}", colour)
    picture.box(left + 1, y, right - left - 2, _HEIGHT, fill, stroke, radius=4)
    words = f"batch {batch}" if right - left > 60 else f"{batch}"
    if right - left > 14:
        is_chosen = batch == _CHOSEN
        picture.text((left + right) / 2, y + 22, words, size=12, bold=is_chosen)


def _free_place(picture: Picture) -> None:
    """Draws, behind the dense layers, the arrow to the chosen batch's lookup."""
    x, lookup, update = _looks_up(_CHOSEN), _LANES["lookup"], _LANES["update"]
    picture.arrow([(x, update), (x, lookup + _HEIGHT + 2)], "orange", dashed=True)


def _path_of_the_chosen(picture: Picture) -> None:
    lookup, dense, update = (_LANES[name] for name in ("lookup", "dense", "update"))
    rows_come = _looks_up(_CHOSEN) + _REQUEST
    # The rows wait until the model is ready.
    picture.arrow(
        [
            (rows_come, lookup + _HEIGHT),
            (rows_come, lookup + _HEIGHT + 14),
            (_trains(_CHOSEN) + 10, lookup + _HEIGHT + 14),
            (_trains(_CHOSEN) + 10, dense - 2),
        ],
        "orange",
    )
    commit = _updates(_CHOSEN)
    picture.arrow([(commit, dense + _HEIGHT), (commit + 8, update - 2)], "orange")
    picture.dot(commit, dense + _HEIGHT / 2, "blue", 5)
    picture.line([(commit, dense + _HEIGHT / 2), (commit, lookup + 8)], "blue")
    label = commit + 8
    picture.text(label, lookup + 14, "commit: the optimizer", "blue", anchor="start")
    picture.text(label, lookup + 30, "steps, gradients go", "blue", anchor="start")


def _window(picture: Picture) -> None:
    y = _LANES["update"] + _HEIGHT + 20
    first, last = _looks_up(_CHOSEN), _updates(_CHOSEN) + _REQUEST
    for x in (first, last):
        picture.line([(x, y - 12), (x, y + 6)], "orange", width=2)
    picture.line([(first, y), (last, y)], "orange", width=2)
    picture.text(
        (first + last) / 2 - 40,
        y + 20,
        "batch 4 is in the window: its rows may lack the updates of batches 2 and 3, "
        "no more",
        "orange",
    )


def _synchronous(picture: Picture) -> None:
    y = 372
    picture.line([(14, 314), (846, 314)], "frame")
    picture.text(
        14, 340, "Synchronous training: a staleness of 0", bold=True, size=15,
        anchor="start",
    )  # fmt: skip
    picture.text(
        14, 359, "each batch sees all updates before it, and waits for them", "quiet",
        size=12, anchor="start",
    )  # fmt: skip
    x: float = _LEFT
    for batch in range(1, 4):
        for words, width, colour in (
            ("lookup", _REQUEST, "orange"),
            (f"batch {batch}", _STEP, "blue"),
            ("push", _REQUEST, "orange"),
        ):
            right = min(x + width, _RIGHT)
            if right - x > 8:
                fill = f"pale-{colour}"
                picture.box(x + 1, y, right - x - 2, _HEIGHT, fill, colour, radius=4)
            if right - x > 50:
                picture.text((x + right) / 2, y + 22, words, size=12)
            x = right
    picture.arrow([(_LEFT, 418), (_RIGHT, 418)], "quiet")
    picture.text(100, 422, "time", "quiet", size=12)
