"""nginx and HAProxy themselves find nothing wrong with their files, in each place where these are used."""

import os
from pathlib import Path
from unittest import mock

from bench.faults.wire.front_proxy import (
    FrontPorts,
    haproxy_environment,
    listen_on,
    make_certificate,
    nginx_files,
    nginx_tree,
)
from shop.local.ports import free_port
from tests.deploy.layouts import documents, manifests
from tests.deploy.programs import DEPLOY, check, program


def in_a_container(files: dict[str, str]) -> dict[str, str]:
    """Names of containers are known inside a network of containers alone."""
    addresses = {"server stampede-hot:": "server 127.0.0.1:", "server stampede-pages:": "server 127.0.0.2:"}
    for name, address in addresses.items():
        files = {place: text.replace(name, address) for place, text in files.items()}
    return files


def of_compose() -> dict[str, str]:
    """What compose.yaml mounts below /etc/nginx."""
    files = {}
    for mount in documents(DEPLOY / "compose.yaml")[0]["services"]["proxy"]["volumes"]:
        source, target, *_ = mount.split(":")
        if target.startswith("/etc/nginx/"):
            files[target.removeprefix("/etc/nginx/")] = (DEPLOY / source).read_text()
    return in_a_container(files)


def of_kubernetes() -> dict[str, str]:
    """What the pod of the proxy mounts below /etc/nginx, from the ConfigMap that kustomize generates."""
    by_kind = {(one["kind"], one["metadata"]["name"]): one for one in manifests()}
    pod = by_kind["Deployment", "stampede-proxy"]["spec"]["template"]["spec"]
    maps = {volume["name"]: volume["configMap"] for volume in pod["volumes"] if "configMap" in volume}
    files = {}
    for mount in pod["containers"][0]["volumeMounts"]:
        if mapped := maps.get(mount["name"]):
            content = by_kind["ConfigMap", mapped["name"]]["data"]
            for item in mapped["items"]:
                files[f"{mount['mountPath'].removeprefix('/etc/nginx/')}/{item['path']}"] = content[item["key"]]
    return in_a_container(files)


def test_nginx_finds_nothing_wrong(server_directory: Path) -> None:
    """With the files of systemd, compose and Kubernetes."""
    nginx = program("nginx", package="Debian: apt install nginx-light")
    changes = listen_on(http_port=free_port(), https_port=free_port())
    for number, files in enumerate((nginx_files(), of_compose(), of_kubernetes())):
        assert len(files) == 4
        directory = server_directory / f"{number}"
        make_certificate(directory / "tls")
        check(
            nginx,
            "-t",
            "-q",
            "-p",
            directory,
            "-c",
            nginx_tree(directory, files=files, changes=changes),
            "-e",
            "stderr",
        )


def test_haproxy_finds_nothing_wrong(server_directory: Path) -> None:
    haproxy = program("haproxy", package="Debian: apt install haproxy")
    make_certificate(server_directory / "tls")
    ports = FrontPorts(http=free_port(), https=free_port(), hot=8001, pages=8002)
    with mock.patch.dict(os.environ, haproxy_environment(server_directory, ports=ports)):
        # -dW: a warning is an error.
        check(haproxy, "-c", "-q", "-dW", "-f", DEPLOY / "haproxy" / "haproxy.cfg")


def test_idle_connections_are_closed_before_granian_closes_them() -> None:
    """granian waits 30 s for the next request of a connection (--http1-header-read-timeout)."""
    for path in (DEPLOY / "nginx").glob("upstreams*.conf"):
        text = path.read_text()
        assert text.count("keepalive_timeout 20s;") == text.count("upstream stampede_") == 2
    assert "pool-purge-delay 20s" in (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
