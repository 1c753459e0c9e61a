"""What Celery is told of each kind of broker, read as Celery and kombu read it."""

import os
from typing import Any
from unittest import mock

import pytest
from celery import Celery
from celery.app.defaults import DEFAULTS
from celery.utils.quorum_queues import detect_quorum_queues
from django.core.exceptions import ImproperlyConfigured
from kombu.transport.redis import SentinelChannel

from shop import settings
from shop.configuration.message_broker import NAMES, broker_settings, chosen_settings, refuse_cluster

SENTINELS = "redis+sentinel://buyer:p%40ss@one,two:2,[::1]:3/shop/4?sentinel_password=secret"


def celery_with(url: str) -> Celery:
    app = Celery("test", set_as_current=False)
    app.conf.update(broker_settings(url, task_seconds_max=60))
    return app


@pytest.mark.parametrize("url", [SENTINELS, "rediss+sentinel://one/shop", "redis://one/0", "amqp://one//", "memory://"])
def test_settings_name_each_setting_that_a_broker_may_ask_for(url: str) -> None:
    found = broker_settings(url, task_seconds_max=60)
    assert set(found) == set(NAMES) <= {name.removeprefix("CELERY_").lower() for name in vars(settings)}
    chosen = chosen_settings(url, task_seconds_max=60)
    assert found == {name: chosen.get(name, DEFAULTS[name]) for name in NAMES}


def test_kombu_asks_each_sentinel_with_its_password_and_signs_in_at_the_primary() -> None:
    app = celery_with(SENTINELS)
    connection: Any = app.connection_for_write()
    assert connection.alt == [
        "sentinel://buyer:p%40ss@one:26379/4",
        "sentinel://buyer:p%40ss@two:2/4",
        "sentinel://buyer:p%40ss@[::1]:3/4",
    ]
    for _switch in range(3):
        assert (connection.userid, connection.password, connection.virtual_host) == ("buyer", "p@ss", "4")
        connection.maybe_switch_next()
    assert connection.transport.Channel is SentinelChannel
    options = connection.transport_options
    assert options["master_name"] == "shop"
    assert options["sentinel_kwargs"]["password"] == "secret"
    assert options["sentinel_kwargs"]["socket_timeout"] < 1
    assert (options["visibility_timeout"], options["socket_timeout"]) == (120, 10)


def test_the_address_in_the_environment_which_celery_cannot_read_is_not_used() -> None:
    with mock.patch.dict(os.environ, {"CELERY_BROKER_URL": SENTINELS}):
        app = celery_with(SENTINELS)
        assert app.connection_for_write().transport_cls == "sentinel"
        assert app.connection_for_read().transport_cls == "sentinel"


def test_primaries_that_speak_tls_must_show_a_certificate() -> None:
    settings = broker_settings("rediss+sentinel://one,two/shop", task_seconds_max=60)
    assert settings["broker_use_ssl"] == {"ssl_cert_reqs": "required"}
    assert settings["broker_transport_options"]["sentinel_kwargs"]["ssl"] is True


def test_one_redis_server_keeps_its_timeouts() -> None:
    settings = broker_settings("redis://:secret@one:6379/0", task_seconds_max=60)
    assert settings["broker_url"] == "redis://:secret@one:6379/0"
    assert settings["broker_transport_options"]["visibility_timeout"] == 120


def test_all_queues_of_rabbitmq_are_quorum_queues_whose_messages_are_confirmed() -> None:
    app = celery_with("amqp://shop:secret@one//")
    for name in ("drain", "celery", app.conf.task_default_queue):
        assert app.amqp.queues[name].queue_arguments == {"x-queue-type": "quorum"}
    # Celery then asks for a prefetch count of each consumer.
    assert detect_quorum_queues(app, "amqp")[0]
    assert app.conf.broker_transport_options["confirm_publish"] is True
    assert "visibility_timeout" not in app.conf.broker_transport_options


def test_a_cluster_is_refused_with_what_can_be_used() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"CELERY_BROKER_URL .* Cluster.* redis\+sentinel://"):
        broker_settings("redis+cluster://:secret@one,two", task_seconds_max=60)
    with pytest.raises(ImproperlyConfigured, match=r"^REDIS_URL .*\(SECKILL_REDIS_URL\)") as refused:
        refuse_cluster("redis+cluster://:secret@one,two", setting="REDIS_URL")
    assert "secret" not in str(refused.value)
