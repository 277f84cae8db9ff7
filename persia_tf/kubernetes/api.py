"""`Api`: reads objects of Kubernetes, with a pod's service account."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from persia_tf import errors

# Where Kubernetes mounts the token of a pod's service account.
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"

_HOST_VARIABLE = "KUBERNETES_SERVICE_HOST"
_PORT_VARIABLE = "KUBERNETES_SERVICE_PORT"
_SECONDS = 10.0


class Api:
    """Reads objects of the pod's own namespace from the API server.

    Args:
        service_account: The folder with `token`, `ca.crt` and `namespace`.

    Raises:
        FailedPreconditionError: If this process is not in a pod, or the pod has no
            token.
    """

    def __init__(self, service_account: str = SERVICE_ACCOUNT) -> None:
        host = os.environ.get(_HOST_VARIABLE)
        port = os.environ.get(_PORT_VARIABLE)
        if not host or not port:
            raise errors.FailedPreconditionError(
                f"${_HOST_VARIABLE} and ${_PORT_VARIABLE} must be set, as Kubernetes "
                "sets them in pods: run this command in a pod"
            )
        self._server = (
            f"https://[{host}]:{port}" if ":" in host else (f"https://{host}:{port}")
        )
        self._folder = Path(service_account)
        self._namespace = self._read("namespace")
        # Proxies of the environment are for requests that leave the cluster.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(
                context=ssl.create_default_context(cadata=self._read("ca.crt"))
            ),
        )

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """Returns an object of the group `apps`.

        Args:
            kind: The kind in the plural and in lower case, such as `"statefulsets"`.
            name: The object's name.

        Raises:
            NotFoundError: If there is no such object.
            PermissionDeniedError: If the service account may not read it.
            UnavailableError: If the API server does not answer, or answers nonsense.
        """
        path = f"/apis/apps/v1/namespaces/{self._namespace}/{kind}/{name}"
        request = urllib.request.Request(
            self._server + path,
            # Kubernetes replaces the token in the file before it expires.
            headers={"Authorization": f"Bearer {self._read('token')}"},
        )
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            raise _error_of(error, path) from error
        # A time-out is an OSError; a server that is no API server sends no JSON.
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise errors.UnavailableError(
                f"the API server {self._server} did not answer: {error}"
            ) from error
        return found

    def _read(self, name: str) -> str:
        try:
            return (self._folder / name).read_text().strip()
        except OSError as error:
            raise errors.FailedPreconditionError(
                f"{error.filename} cannot be read: {error.strerror}; the pod needs a "
                "service account, and automountServiceAccountToken: true"
            ) from error


def _error_of(error: urllib.error.HTTPError, path: str) -> errors.PersiaError:
    with error:
        text = error.read(1000).decode(errors="replace")
    message = f"the API server answered {error.code} to a request for {path}: {text}"
    if error.code == http.client.NOT_FOUND:
        return errors.NotFoundError(message)
    if error.code in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
        return errors.PermissionDeniedError(message)
    return errors.UnavailableError(message)
