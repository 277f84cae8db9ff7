"""Pieces have the rows of the batches, and as much of them at once as chunks allow."""

import itertools

import pytest

pa = pytest.importorskip("pyarrow")

from persia_tf.data.reading import runs  # noqa: E402

SIZE = 3


def run_of(lengths, first, count):
    chunks = [range(at, at + each) for at, each in zip(starts(lengths), lengths)]
    column = pa.chunked_array([list(each) for each in chunks], pa.int64())
    rows = pa.table({"x": column})
    return runs.Run(rows, first, SIZE, list(range(count)), False), chunks


def starts(lengths):
    return itertools.accumulate(lengths[:-1], initial=0)


@pytest.mark.parametrize("lengths", list(itertools.product((0, 1, 2, 5, 7), repeat=3)))
@pytest.mark.parametrize("first", [0, 2])
def test_pieces_have_the_rows_of_all_batches(lengths, first):
    left = max(sum(lengths) - first, 0)
    for count in (left // SIZE, -(-left // SIZE)):
        run, chunks = run_of(lengths, first, count)
        found = []
        for piece in runs.pieces(run, lengths):
            if piece.chunk is None:
                assert piece.count == 1
                found.append(run.rows["x"].slice(piece.first, SIZE).to_pylist())
                continue
            of_chunk = list(chunks[piece.chunk])[piece.first :]
            batches = [of_chunk[i : i + SIZE] for i in range(0, len(of_chunk), SIZE)]
            found += batches[: piece.count]
        assert found == [batch["x"].to_pylist() for batch in run.batches()]
        assert len(found) == count


def test_whole_batches_of_a_chunk_are_one_piece():
    run, _ = run_of([7, 8, 4], 1, 6)
    expected = [(0, 1, 2), (1, 0, 2), (None, 13, 1), (2, 1, 1)]
    assert list(runs.pieces(run, [7, 8, 4])) == expected
