"""Health checks over a gRPC server in this process."""

import contextlib
from concurrent import futures

import grpc
import pytest

from persia_tf.processes import health

SERVING, NOT_SERVING, SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"
OVERALL = b""
PS = b"\x0a\x09persia.PS"
UNKNOWN = b"\x0a\x05other"


@contextlib.contextmanager
def serve(state):
    server = grpc.server(futures.ThreadPoolExecutor(health.MAX_WATCHES + 1))
    server.add_generic_rpc_handlers([state.handler()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        state.close()
        server.stop(None).wait()


@pytest.fixture
def state():
    return health.Health(health.PS_SERVICE)


@pytest.fixture
def channel(state):
    with serve(state) as channel:
        yield channel


def check(channel, request):
    return channel.unary_unary("/grpc.health.v1.Health/Check")(request, timeout=30)


def watch(channel, request):
    return channel.unary_stream("/grpc.health.v1.Health/Watch")(request, timeout=60)


def test_what_does_not_serve_yet_tells_once_it_does():
    state = health.Health(health.PS_SERVICE, serving=False)
    with serve(state) as channel:
        assert check(channel, OVERALL) == NOT_SERVING
        states = watch(channel, PS)
        assert next(states) == NOT_SERVING
        state.set_serving(True)
        assert next(states) == SERVING
        state.drain()
        state.set_serving(True)
        assert next(states) == NOT_SERVING
        assert check(channel, OVERALL) == NOT_SERVING


@pytest.mark.parametrize("request_bytes", [OVERALL, b"\x0a\x00", PS])
def test_check_says_not_serving_once_drained(state, channel, request_bytes):
    assert check(channel, request_bytes) == SERVING
    state.drain()
    assert check(channel, request_bytes) == NOT_SERVING


def test_check_of_an_unknown_service_is_not_found(channel):
    with pytest.raises(grpc.RpcError) as failure:
        check(channel, UNKNOWN)
    assert failure.value.code() == grpc.StatusCode.NOT_FOUND
    assert "'other'" in failure.value.details()


@pytest.mark.parametrize(
    "request_bytes",
    [b"\x0a", b"\x0a\x05oth", b"\x12\x05other", b"\x0a\x01\xff", b"\x0a\x02o" * 2],
)
@pytest.mark.parametrize("method", [check, lambda *args: next(watch(*args))])
def test_a_request_that_is_not_well_formed_is_refused(channel, method, request_bytes):
    with pytest.raises(grpc.RpcError) as failure:
        method(channel, request_bytes)
    assert failure.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_watch_tells_each_state_once_and_ends_when_closed(state, channel):
    states = watch(channel, PS)
    assert next(states) == SERVING
    state.drain()
    assert next(states) == NOT_SERVING
    state.drain()
    state.close()
    assert list(states) == []


def test_watch_tells_the_last_state_to_those_who_come_after_the_end(state, channel):
    state.drain()
    state.close()
    assert list(watch(channel, OVERALL)) == [NOT_SERVING]


def test_watch_of_an_unknown_service_says_so_and_stays_open(state, channel):
    states = watch(channel, UNKNOWN)
    assert next(states) == SERVICE_UNKNOWN
    state.drain()
    assert states.is_active()
    state.close()
    assert list(states) == []


def test_watches_beyond_the_limit_are_refused_and_checks_still_answered(channel):
    watches = [watch(channel, OVERALL) for _ in range(health.MAX_WATCHES)]
    assert [next(each) for each in watches] == [SERVING] * health.MAX_WATCHES
    with pytest.raises(grpc.RpcError) as failure:
        next(watch(channel, OVERALL))
    assert failure.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert check(channel, OVERALL) == SERVING


def test_a_cancelled_watch_makes_room(channel, wait_until):
    watches = [watch(channel, OVERALL) for _ in range(health.MAX_WATCHES)]
    for each in watches:
        next(each)
    watches[0].cancel()

    def another():
        with contextlib.suppress(grpc.RpcError):
            return next(watch(channel, OVERALL))

    assert wait_until(another, "room for a watch") == SERVING
