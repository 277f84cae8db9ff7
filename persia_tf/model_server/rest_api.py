"""TensorFlow Serving's REST API, and the health and metrics endpoints."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent import futures
from typing import Any

from aiohttp import web
from tensorflow.core.framework import types_pb2

from persia_tf import errors
from persia_tf.model_server import codes, http_server, json_answers, log_limit
from persia_tf.model_server.batching import late
from persia_tf.model_server.bodies import FREE_BYTES, Bodies, Body, UnreadError
from persia_tf.model_server.byte_budget import Share
from persia_tf.model_server.json_body import JsonBody
from persia_tf.model_server.loading import Loaded
from persia_tf.model_server.metrics import CONTENT_TYPE, Metrics
from persia_tf.model_server.predictor import Answer, Predictor, Query
from persia_tf.model_server.served_signature import Arrays, Signature
from persia_tf.model_server.shown import clipped, shown

_API = "rest"

# The HTTP status of each gRPC status code; for other codes, it is 500.
_HTTP = {
    "INVALID_ARGUMENT": http.HTTPStatus.BAD_REQUEST,
    "NOT_FOUND": http.HTTPStatus.NOT_FOUND,
    "RESOURCE_EXHAUSTED": http.HTTPStatus.SERVICE_UNAVAILABLE,
    "UNAVAILABLE": http.HTTPStatus.SERVICE_UNAVAILABLE,
    "DEADLINE_EXCEEDED": http.HTTPStatus.GATEWAY_TIMEOUT,
    "UNIMPLEMENTED": http.HTTPStatus.NOT_IMPLEMENTED,
}

# The URL paths of a model. Requests refer to versions by number; a path with a label is
# matched only to report that labels are not supported.
_MODEL = "/v1/models/{model:[^/:]+}"
_PLACES = (_MODEL, _MODEL + "/versions/{version:[0-9]+}", _MODEL + "/labels/{label}")

# The Retry-After header of a request that is refused temporarily, in seconds.
_AGAIN_SECONDS = "1"

_logger = log_limit.limited("persia.serve.requests")


class RestApi:
    """Answers HTTP requests.

    Args:
        predictor: Answers predictions.
        pool: Its threads run predictions, so that the event loop does not block.
        metrics: The metrics that `/metrics` returns.
        bodies: Reads the bodies of requests for predictions.
        request_seconds: How long a request for a prediction may take to arrive and to
            wait for its run, in all.
    """

    def __init__(
        self,
        predictor: Predictor,
        pool: futures.Executor,
        metrics: Metrics,
        bodies: Bodies,
        request_seconds: float,
    ) -> None:
        self._predictor = predictor
        self._pool = pool
        self._metrics = metrics
        self._bodies = bodies
        self._request_seconds = request_seconds
        self._turns = _Turns(1)

    def application(self) -> web.Application:
        """Returns the aiohttp application that answers the requests."""
        application = web.Application(middlewares=[_telling_errors])
        routes = [
            web.get("/healthz", self._healthz),
            web.get("/metrics", self._tell_metrics),
        ]
        for place in _PLACES:
            routes += [
                web.get(place, self._status),
                web.get(f"{place}/metadata", self._metadata),
                web.post(f"{place}:predict", self._predict),
                web.post(f"{place}:{{method:classify|regress}}", _refuse),
            ]
        application.add_routes(routes)
        return application

    async def _predict(self, request: web.Request) -> web.Response:
        deadline = time.monotonic() + self._request_seconds
        share = http_server.until_sent(self._bodies.share())
        with self._predictor.counted(_API):
            # Refuses a request early if the limit on requests is reached. But a request
            # counts towards the limit only once its body has arrived, so that slow
            # clients cannot exhaust it.
            self._predictor.check_place()
            model, version = request.match_info["model"], _version_of(request)
            self._predictor.check_name(model)
            with self._metrics.arriving.track_inprogress():
                body = await self._bodies.read(request, share)
            with self._predictor.place():
                http_server.arrived()
                answer = functools.partial(
                    self._answer, model, version, body, share, deadline
                )
                loop = asyncio.get_running_loop()
                return web.Response(
                    body=await loop.run_in_executor(self._pool, answer),
                    content_type="application/json",
                    charset="utf-8",
                )

    def _answer(
        self, model: str, version: int | None, sent: Body, share: Share, deadline: float
    ) -> bytes:
        answer, in_rows = self._outputs(model, version, sent, share, deadline)
        # The request's body and inputs are freed by now: from here on, its share of the
        # memory budget is charged for the answer.
        share.give_back()
        share.take(json_answers.size(answer.outputs))
        with self._turn(json_answers.is_large(answer.outputs), deadline):
            return json_answers.answer(answer.outputs, in_rows, share)

    def _outputs(
        self, model: str, version: int | None, sent: Body, share: Share, deadline: float
    ) -> tuple[Answer, bool]:
        """Returns the model's answer, and whether to write it in the row format."""
        with self._turn(sent.is_large, deadline):
            text = sent.text(share)
        is_large = len(text) > FREE_BYTES
        with self._turn(is_large, deadline):
            body = JsonBody(text, share)
        is_large = is_large or body.is_wide

        def read(signature: Signature) -> Arrays:
            with self._turn(is_large, deadline):
                return body.read(signature, share)

        with body:
            query = Query(
                model=model,
                version=version,
                signature=body.signature,
                read=read,
                output_filter=(),
                deadline=deadline,
            )
            return self._predictor.predict(query), body.in_rows

    def _turn(
        self, is_large: bool, deadline: float
    ) -> contextlib.AbstractContextManager[None]:
        """Returns a context that takes a turn, if the work is large: see `_Turns`."""
        return self._turns.turn(deadline) if is_large else contextlib.nullcontext()

    async def _status(self, request: web.Request) -> web.Response:
        self._predictor.check_name(request.match_info["model"])
        told = [
            {
                "version": str(each.version),
                "state": each.state,
                "status": {
                    "error_code": codes.name(each.error.code if each.error else 0),
                    "error_message": str(each.error or ""),
                },
            }
            for each in self._predictor.model.states(_version_of(request))
        ]
        return _json(json_answers.dump({"model_version_status": told}))

    async def _metadata(self, request: web.Request) -> web.Response:
        self._predictor.check_name(request.match_info["model"])
        with self._predictor.model.lease(_version_of(request)) as loaded:
            return _json(json_answers.dump(_metadata_of(loaded)))

    async def _healthz(self, request: web.Request) -> web.Response:
        if self._predictor.model.is_serving:
            return web.Response(text="ok\n")
        raise errors.UnavailableError("no version of the model serves")

    async def _tell_metrics(self, request: web.Request) -> web.Response:
        return web.Response(
            body=self._metrics.text(), headers={"Content-Type": CONTENT_TYPE}
        )


_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def _telling_errors(
    request: web.Request, handler: _Handler
) -> web.StreamResponse:
    """Turns exceptions into TensorFlow Serving's error answers: JSON with a message."""
    try:
        return await handler(request)
    except UnreadError as error:
        return _error(error.http, str(error))
    except errors.PersiaError as error:
        code = _HTTP.get(codes.name(error.code), http.HTTPStatus.INTERNAL_SERVER_ERROR)
        return _error(code, str(error))
    except web.HTTPException as error:
        asked = shown(f"{request.method} {request.path}")
        return _error(error.status, f"{error.reason}: {asked}")
    except Exception:
        _logger.exception("A request failed")
        return _error(
            http.HTTPStatus.INTERNAL_SERVER_ERROR,
            "internal error: see the server's log",
        )


async def _refuse(request: web.Request) -> web.StreamResponse:
    raise errors.PersiaError(
        f"persia serve has no :{request.match_info['method']}: call :predict",
        codes.UNIMPLEMENTED,
    )


def _version_of(request: web.Request) -> int | None:
    if "label" in request.match_info:
        raise errors.InvalidArgumentError(
            "persia serve has no version labels: give a version's number, or none for "
            f"the newest. Received: {shown(request.match_info['label'])}"
        )
    version = request.match_info.get("version")
    # No version's number has more than 19 digits. Longer text is cut off, since Python
    # refuses to parse thousands of digits.
    return None if version is None else int(version[:20])


def _metadata_of(loaded: Loaded) -> dict[str, Any]:
    signatures = {
        name: {
            "inputs": _tensors(signature.definition.inputs),
            "outputs": _tensors(signature.definition.outputs),
            "method_name": signature.definition.method_name,
        }
        for name, signature in loaded.signatures.items()
    }
    return {
        "model_spec": {
            "name": loaded.name,
            "signature_name": "",
            "version": str(loaded.version),
        },
        "metadata": {"signature_def": {"signature_def": signatures}},
    }


def _tensors(definitions: Any) -> dict[str, Any]:
    """Returns `TensorInfo`s in the JSON format of protocol buffers."""
    return {
        name: {
            "name": info.name,
            "dtype": types_pb2.DataType.Name(info.dtype),
            "tensor_shape": {
                "dim": [
                    {"size": str(dim.size), "name": dim.name}
                    for dim in info.tensor_shape.dim
                ],
                "unknown_rank": info.tensor_shape.unknown_rank,
            },
        }
        for name, info in sorted(definitions.items())
    }


def _json(text: str) -> web.Response:
    return web.Response(text=text, content_type="application/json")


def _error(code: int, message: str) -> web.Response:
    again = code == http.HTTPStatus.SERVICE_UNAVAILABLE
    return web.Response(
        text=json_answers.dump({"error": clipped(message)}),
        content_type="application/json",
        status=int(code),
        headers={"Retry-After": _AGAIN_SECONDS} if again else None,
    )


class _Turns:
    """Limits how many pieces of work run at a time; further pieces wait for a turn.

    Threads that run Python code compete for the interpreter's lock: the more of them
    run, the longer the thread that answers short requests waits for the lock.

    Args:
        most: How many pieces of work may run at a time.
    """

    def __init__(self, most: int) -> None:
        self._places = threading.Semaphore(most)

    @contextlib.contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Waits for a turn to run, which lasts until the `with` block ends.

        Args:
            deadline: When to stop waiting, on `time.monotonic()`'s clock.

        Raises:
            DeadlineExceededError: If the deadline passes before the turn comes.
        """
        if not self._places.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise late()
        try:
            yield
        finally:
            self._places.release()
