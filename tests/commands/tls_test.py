"""TLS on the command line."""

import json
import ssl
import sys
import urllib.request

import grpc
import pytest

NEEDED = {"ps": [], "worker": ["--ps=127.0.0.1:1"]}
ASK = f"{sys.executable} -m persia_tf.commands.main status --json $PERSIA_PS"


@pytest.fixture(params=sorted(NEEDED))
def role(request):
    return request.param


def test_other_machines_are_listened_to_with_tls(start_server, role, certificates):
    _, address, control = start_server(
        role, *NEEDED[role], "--host=0.0.0.0", *certificates.options("ps-0")
    )
    assert address.startswith("0.0.0.0:")
    assert control.startswith("0.0.0.0:")


@pytest.mark.parametrize("command", ["ps", "worker", "status", "launch"])
def test_an_authority_without_a_certificate_ends_it_with_one_line(
    persia, certificates, command
):
    rest = {**NEEDED, "status": ["127.0.0.1:1"], "launch": ["--", "true"]}[command]
    authority = certificates.tls("trainer").ca
    process = persia(command, f"--tls-ca={authority}", *rest)
    assert process.wait() == 1
    (line,) = process.stderr.splitlines()
    assert line.startswith(f"persia {command}: TLS is mutual")
    assert "--tls-certificate ($PERSIA_TLS_CERTIFICATE) and --tls-key" in line


def test_a_key_of_another_certificate_ends_it_with_one_line(persia, certificates):
    options = certificates.options("ps-0")
    options[1] = certificates.options("trainer")[1]
    process = persia("ps", "--port=0", *options)
    assert process.wait() == 1
    (line,) = process.stderr.splitlines()
    certificate, key = (each.partition("=")[2] for each in options[:2])
    assert f"TLS key {key} is not the key of TLS certificate {certificate}" in line


def test_status_of_shards_with_tls_needs_it(
    persia, start_ps, certificates, other_certificates
):
    _, address, _ = start_ps(*certificates.options("ps-0"))
    for options, message in (
        ([], "this server wants TLS"),
        (other_certificates.options("trainer"), "--tls-ca"),
    ):
        # The refusal does not wait for the time-out.
        refused = persia("status", *options, "--timeout=600", address)
        assert refused.wait() == 1
        (line,) = refused.stderr.splitlines()
        assert address in line
        assert message in line
    granted = persia("status", *certificates.options("trainer"), "--json", address)
    assert granted.wait() == 0, granted.stderr
    (process,) = json.loads(granted.stdout)["processes"]
    assert process["refused_connections"] == 2


def test_launch_gives_its_tls_to_servers_and_program(persia, certificates):
    plain = "PERSIA_TLS_CERTIFICATE= PERSIA_TLS_KEY= PERSIA_TLS_CA= " + ASK
    command = persia(
        "launch",
        *("--ps=2", "--embedding-workers=1", *certificates.options("ps-0")),
        # Asks from another folder, and lastly without TLS.
        *("--", "sh", "-c", f"cd / && {ASK}; {plain}"),
    )
    assert command.wait() == 1
    assert len(json.loads(command.stdout)["processes"]) == 3
    assert "this server wants TLS" in command.stderr


def test_health_checks_without_tls_beside_a_port_with_it(start_server, certificates):
    _, _, control = start_server("ps", *certificates.options("ps-0"), "--control-plain")
    with grpc.insecure_channel(control) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(b"", timeout=30) == b"\x08\x01"


def test_metrics_are_served_over_https_and_want_no_certificate(
    start_server, certificates
):
    command, _, _ = start_server(
        "ps", *certificates.options("ps-0"), "--metrics-port=0"
    )
    (told,) = command.wait_for(r"Metrics on (https://\S+)")
    context = ssl.create_default_context(cafile=certificates.folder / "ca.pem")
    with urllib.request.urlopen(told[1], timeout=30, context=context) as reply:
        assert b"persia_server_ready 1.0" in reply.read()


def test_health_checks_show_the_certificate_and_want_none(start_server, certificates):
    _, _, control = start_server("ps", *certificates.options("ps-0"))
    authority = (certificates.folder / "ca.pem").read_bytes()
    check = "/grpc.health.v1.Health/Check"
    with grpc.secure_channel(
        control, grpc.ssl_channel_credentials(authority)
    ) as channel:
        assert channel.unary_unary(check)(b"", timeout=30) == b"\x08\x01"
    with grpc.insecure_channel(control) as channel:
        with pytest.raises(grpc.RpcError) as failure:
            channel.unary_unary(check)(b"", timeout=30)
    assert failure.value.code() == grpc.StatusCode.UNAVAILABLE
