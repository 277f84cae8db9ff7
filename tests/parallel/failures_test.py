"""If a worker dies while layers are divided, the others end and name it."""

import signal

import programs
import pytest
from group_programs import preamble

DYING = """
with strategy.scope():
    model = make_model()
    divide(model, wide="columns", narrow="rows")
    try:
        model.fit(data, epochs=999, verbose=0, callbacks=[Fail()])
    except Exception as error:
        tell(error)
"""


@pytest.mark.parametrize(
    ("workers", "dead"), [(2, 1), pytest.param(4, 2, marks=pytest.mark.slow)]
)
def test_the_others_name_a_worker_that_dies(workers, dead, run_workers):
    program = preamble(group_size=2) + programs.failing(dead, "SIGKILL") + DYING
    ended = run_workers(program, workers)
    assert ended.pop(dead).status == -signal.SIGKILL
    for survivor in ended:
        result = survivor.result()
        assert f"{result['failed']}: it has ended" in result["raised"]
        # Before the strategy's time-out.
        assert "timeout_seconds" not in result["raised"]
