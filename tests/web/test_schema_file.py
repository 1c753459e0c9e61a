"""The OpenAPI file is made once in each process, whoever asks for it and how."""

from unittest import mock

import pytest
import yaml
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from web.api_docs import schema_file


def test_the_file_is_made_once_for_all_hosts_languages_and_queries(client: Client) -> None:
    client.get("/api/schema/")
    with mock.patch.object(SchemaGenerator, "get_schema") as made:
        for headers in ({"host": "localhost:1"}, {"host": "localhost:2"}, {"accept-language": "zh-hans"}):
            for query in ("", "?lang=zh-hans", "?version=7", "?x=1"):
                assert client.get(f"/api/schema/{query}", headers=headers).status_code == 200
    assert made.call_count == 0


def test_it_is_not_made_for_several_calls_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator loads its parts at the first file, and fails where two threads do."""
    seen: list[bool] = []

    def file_in(form: str) -> bytes:
        seen.append(schema_file.making.locked())
        return form.encode()

    monkeypatch.setattr(schema_file, "file_in", file_in)
    assert client.get("/api/schema/").status_code == 200
    assert seen == [True]


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
