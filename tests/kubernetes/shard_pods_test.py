"""What a StatefulSet says about its pods, and what their addresses are."""

import pytest

from persia_tf import errors
from persia_tf.kubernetes import api, shard_pods
from persia_tf.kubernetes.shard_pods import AddressTemplate, Scale


class Answer:
    """An `Api` that answers with one object."""

    def __init__(self, found):
        self._found = found

    def get(self, kind, name):
        assert (kind, name) == ("statefulsets", "persia-ps")
        if self._found is None:
            raise errors.NotFoundError("not found")
        return self._found


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"metadata": {}, "spec": {"replicas": 3}}, Scale(range(3))),
        ({"metadata": {}, "spec": {}}, Scale(range(1))),
        (
            {"metadata": {}, "spec": {"replicas": 2, "ordinals": {"start": 5}}},
            Scale(range(5, 7)),
        ),
        (
            {"metadata": {"deletionTimestamp": "now"}, "spec": {"replicas": 3}},
            Scale(range(0), is_deleted=True),
        ),
        (None, Scale(range(0), is_deleted=True)),
    ],
)
def test_the_scale_is_what_the_stateful_set_says(found, expected):
    assert shard_pods.scale_of(Answer(found), "persia-ps") == expected


def test_only_a_scale_down_drops_a_pod():
    assert [Scale(range(2)).drops(ordinal) for ordinal in range(4)] == [
        *(False, False, True, True)
    ]
    assert not Scale(range(0)).drops(0)


def test_addresses_have_the_number_of_the_pod():
    template = AddressTemplate("persia-ps-{ordinal}.persia-ps:7000")
    assert template.of(12) == "persia-ps-12.persia-ps:7000"
    assert template.ordinal_of("persia-ps-12.persia-ps:7000") == 12
    for other in (
        "persia-ps-12.persia-ps:7001",
        "persia-ps-12xpersia-ps:7000",
        "persia-ps-012.persia-ps:7000",
        "persia-ps-.persia-ps:7000",
        "my-persia-ps-1.persia-ps:7000",
    ):
        assert template.ordinal_of(other) is None


def test_a_standby_counts_as_the_pod_whose_place_it_took():
    templates = [AddressTemplate("ps-{ordinal}:1"), AddressTemplate("sb-{ordinal}:1")]
    addresses = ["ps-3:1", "sb-3:1", "10.0.0.1:1"]
    assert [shard_pods.ordinal_of(each, templates) for each in addresses] == [
        *(3, 3, None)
    ]


@pytest.mark.parametrize(
    "text", ["ps:7000", "{ordinal}-{ordinal}:7000", "ps-{ordinal}"]
)
def test_another_address_is_refused(text):
    with pytest.raises(ValueError):
        AddressTemplate(text)


def test_a_process_that_is_in_no_pod_is_told(monkeypatch, tmp_path):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(errors.FailedPreconditionError, match="in a pod"):
        api.Api(str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(errors.FailedPreconditionError, match="automountService"):
        api.Api(str(tmp_path))
