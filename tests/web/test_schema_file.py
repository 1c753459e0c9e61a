"""The OpenAPI file is made once in each process, whoever asks for it and how."""

import os
import subprocess
import sys
from unittest import mock

import pytest
import yaml
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

# The status of each of four calls that a new process gets at once.
FOUR_AT_ONCE = """
import django
django.setup()
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from django.test import Client
together = Barrier(4)
def ask(_number):
    together.wait()
    return Client(raise_request_exception=False).get("/api/schema/", headers={"host": "localhost"}).status_code
# A process is warm before it takes calls.
Client().get("/healthz", headers={"host": "localhost"})
with ThreadPoolExecutor(4) as threads:
    print(*threads.map(ask, range(4)))
"""


def test_a_new_process_answers_four_calls_at_once() -> None:
    environment = {**os.environ, "LOG_LEVEL": "CRITICAL"}
    argv = [sys.executable, "-c", FOUR_AT_ONCE]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["200"] * 4


def test_the_file_is_made_once_for_all_hosts_languages_and_queries(client: Client) -> None:
    client.get("/api/schema/")
    with mock.patch.object(SchemaGenerator, "get_schema") as made:
        for headers in ({"host": "localhost:1"}, {"host": "localhost:2"}, {"accept-language": "zh-hans"}):
            for query in ("", "?lang=zh-hans", "?version=7", "?x=1"):
                assert client.get(f"/api/schema/{query}", headers=headers).status_code == 200
    assert made.call_count == 0


@pytest.mark.parametrize("accept", ["*/*", "application/json"])
def test_the_file_names_the_host_that_was_asked_and_is_in_english(accept: str, client: Client) -> None:
    for host in ("localhost", "127.0.0.1:81", "[::1]:82"):
        answer = client.get("/api/schema/", headers={"host": host, "accept": accept, "accept-language": "zh-hans"})
        assert answer["Content-Language"] == "en"
        assert "先到先得" not in answer.content.decode()
        # In C: the parser in Python takes a second of a processor.
        file = yaml.load(answer.content, Loader=yaml.CSafeLoader)
        assert file["servers"] == [{"url": f"http://{host}"}]
        assert f"API=http://{host}/api/v1\n" in file["info"]["description"]
