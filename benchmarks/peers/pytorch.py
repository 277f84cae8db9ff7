"""The side `pytorch` of peers.py: the click model in PyTorch, in one process.

    PYTHONPATH=benchmarks python benchmarks/peers/pytorch.py

All features share one table with sparse gradients, which takes fewer operations than a
table for each. It has the same rows, since each feature has indices of its own.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

import peer_training as training
import torch
from workload_w1 import DENSE, DIM, FEATURES, load, vocabularies


class ClickModel(torch.nn.Module):
    """The click model: one table, and the dense part.

    Args:
        rows: The number of rows of the table.
    """

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(rows, DIM, sparse=True)
        torch.nn.init.uniform_(self.table.weight, -training.UNIFORM, training.UNIFORM)
        self.dense_part = torch.nn.Sequential(
            torch.nn.Linear(FEATURES * DIM + DENSE, 256),
            torch.nn.ReLU(),
            torch.nn.Linear(256, 128),
            torch.nn.ReLU(),
            torch.nn.Linear(128, 1),
        )

    def forward(self, indices: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        vectors = self.table(indices).flatten(start_dim=1)
        return self.dense_part(torch.cat([vectors, dense], dim=1))


def steps(arguments: argparse.Namespace) -> Iterator[float]:
    """Trains without an end; yields the loss of each step."""
    data = load(arguments.batches, arguments.batch, arguments.rows)
    batches = [
        torch.from_numpy(part)
        for part in (data.joined_indices(), data.dense, data.labels)
    ]
    model = ClickModel(sum(vocabularies(data.rows)))
    adagrad = torch.optim.Adagrad(
        model.table.parameters(),
        lr=training.ADAGRAD_LEARNING_RATE,
        initial_accumulator_value=training.ADAGRAD_INITIAL,
    )
    adam = torch.optim.Adam(
        model.dense_part.parameters(), lr=training.ADAM_LEARNING_RATE
    )
    loss_of = torch.nn.BCEWithLogitsLoss()
    for step in itertools.count():
        indices, dense, labels = (part[step % arguments.batches] for part in batches)
        adagrad.zero_grad()
        adam.zero_grad()
        loss = loss_of(model(indices, dense), labels)
        loss.backward()
        adagrad.step()
        adam.step()
        yield loss.item()


def main() -> None:
    arguments = training.parse_arguments(__doc__.splitlines()[0])
    torch.manual_seed(training.SEED)
    # As is the default; unless it is said, PyTorch warns.
    torch.sparse.check_sparse_tensor_invariants.disable()
    figures = training.measure(steps(arguments), arguments)
    training.report("pytorch", figures, arguments, ["torch", "numpy"])


if __name__ == "__main__":
    main()
