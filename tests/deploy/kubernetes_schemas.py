"""Validates objects of Kubernetes against published schemas.

Kubernetes drops fields that a schema does not know, so here they are errors.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml

# Versions of Kubernetes: the oldest that docs/kubernetes.md names, and the newest that
# the package knows.
OLDEST = "1.30"
NEWEST = kubernetes_validate.latest_version()

# The published schemas (CRDs) of kinds that are not Kubernetes's own.
_VARIABLE = "PERSIA_TF_KUBERNETES_SCHEMAS"
_FILES = {
    "JobSet": "jobset.x-k8s.io_jobsets.yaml",
    "TFJob": "kubeflow.org_tfjobs.yaml",
    "TrainJob": "trainer.kubeflow.org_trainjobs.yaml",
    "PodMonitor": "monitoring.coreos.com_podmonitors.yaml",
}

# Its published schema is not among these. It wraps the `spec` of a JobSet.
RUNTIME = "TrainingRuntime"


class Refused(Exception):
    """An object does not fit its schema."""


def validate(item: dict[str, Any]) -> None:
    """Validates an object; skips the test if its schema is not on this machine.

    Raises:
        Refused: if the object does not fit its schema.
    """
    if item["kind"] in (*_FILES, RUNTIME):
        return _validate(item, _schema(item["kind"], item["apiVersion"]))
    for version in (OLDEST, NEWEST):
        try:
            kubernetes_validate.validate(item, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            where = ".".join(map(str, error.path))
            raise Refused(f"{where}: {error.message}") from error


def _validate(item: dict[str, Any], schema: dict[str, Any]) -> None:
    error = jsonschema.exceptions.best_match(
        jsonschema.Draft202012Validator(schema).iter_errors(item)
    )
    if error is not None:
        raise Refused(f"{error.json_path}: {error.message}")


@functools.cache
def _schema(kind: str, api_version: str) -> dict[str, Any]:
    if kind == RUNTIME:
        return _runtime_schema(api_version)
    path = _folder() / _FILES[kind]
    if not path.is_file():
        pytest.skip(f"{path}, the schema of {kind}, is missing: set ${_VARIABLE}")
    definition = yaml.load(
        path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    for version in definition["spec"]["versions"]:
        if api_version == f"{definition['spec']['group']}/{version['name']}":
            schema = _closed(version["schema"]["openAPIV3Schema"])
            return {**schema, "required": ["apiVersion", "kind", "metadata", "spec"]}
    return {"not": {}, "description": f"no version {api_version} of {kind}"}


def _folder() -> Path:
    beside = Path(__file__).resolve().parents[3] / "shared/kubernetes"
    return Path(os.environ.get(_VARIABLE, beside))


def _runtime_schema(api_version: str) -> dict[str, Any]:
    job_set = _schema("JobSet", "jobset.x-k8s.io/v1alpha2")["properties"]["spec"]
    template = {"type": "object", "properties": {"spec": job_set}}
    policy = {"type": "object", "properties": {"numNodes": {"type": "integer"}}}
    spec = {
        "type": "object",
        "properties": {"mlPolicy": policy, "template": template},
        "required": ["template"],
    }
    return _closed(
        {
            "type": "object",
            "properties": {
                "apiVersion": {"const": "trainer.kubeflow.org/v1alpha1"},
                "kind": {"const": RUNTIME},
                "metadata": {"type": "object"},
                "spec": spec,
            },
            "required": ["apiVersion", "kind", "metadata", "spec"],
        }
    )


def _closed(schema: Any) -> Any:
    """Returns a schema that refuses fields which Kubernetes would drop."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    is_open = schema.get("x-kubernetes-preserve-unknown-fields")
    if isinstance(schema.get("properties"), dict) and not is_open:
        closed.setdefault("additionalProperties", False)
    return closed
