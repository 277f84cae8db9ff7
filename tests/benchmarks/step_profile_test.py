"""step_profile.py finds the owner of each sample of perf."""

import pytest
import step_profile

LINES = {
    "  40.11%|python         |[JIT] tid 28060  |[.] 0x00007f23|": "dense kernels",
    "  8.38%|tf_Compute|libc.so.6|[.] __memmove_avx512|": "copies: concat, split",
    "  1.91%|main.py|libpersia.so|[.] persia::RowIndex::Find|": "store",
    "  1.91%|python|libpersia.so|[.] persia::RowIndex::Find|": "store",
    "  1.35%|main.py|libpersia.so|[.] persia::ExtendCrc32c|": "shards: wire, server",
    "  0.91%|python|libpersia.so|[.] persia::AddGradients|": "client: spread, sum",
    "  0.83%|python|libpersia.so|[.] persia::DedupeIndex::Number|": "client: dedupe",
    "  0.70%|python|[kernel.kallsyms]|[k] _copy_from_iter|": "kernel of the trainer",
    "  0.72%|main.py|[kernel.kallsyms]|[k] _copy_to_iter|": "shards: kernel",
    "  0.51%|python|libpython3.11.so.1.0|[.] _PyEval_EvalFrame|": "Python",
    "  0.16%|tf_Compute|[unknown]|[.] 0x1|": "the rest",
}


@pytest.mark.parametrize(("line", "owner"), LINES.items())
def test_each_sample_has_an_owner(line, owner):
    assert step_profile.owner_of(step_profile.parsed(line)) == owner


@pytest.mark.parametrize("line", ["", "# Overhead  Command", "no sample"])
def test_other_lines_are_left_out(line):
    assert step_profile.parsed(line) is None
