"""Makes settings of Celery from the broker's address: one Redis server, one behind Sentinel, or RabbitMQ.

    redis://… and redis+sentinel://…   as for the other stores (shop/configuration/redis_address.py)
    amqp://user:password@host:5672/vhost[;amqp://…]   RabbitMQ, with quorum queues

The address of another transport of kombu goes to Celery as it is.
"""

from typing import Any
from urllib.parse import quote, urlsplit

from celery.app.defaults import DEFAULTS
from django.core.exceptions import ImproperlyConfigured
from kombu.transport import TRANSPORT_ALIASES

from shop.configuration.redis_address import RedisAddress, StoreKind, read_address
from shop.configuration.store_clients import sentinel_options

# How long a web process waits for an answer of the broker. It is the doorbell's thread that waits, and never a buyer.
ANSWER_SECONDS = 10
CONNECT_SECONDS = 2
# How soon a worker notices that RabbitMQ's host is gone, in half of these.
RABBITMQ_HEARTBEAT_SECONDS = 10

# Every setting that depends on the kind of broker. shop/settings.py names each; the others have Celery's own value.
NAMES = (
    "broker_url",
    "broker_read_url",
    "broker_write_url",
    "broker_use_ssl",
    "broker_transport_options",
    "broker_connection_timeout",
    "broker_heartbeat",
    "task_default_queue_type",
    "task_create_missing_queue_type",
    "worker_consumer",
)


def broker_settings(url: str, *, task_seconds_max: int) -> dict[str, Any]:
    """The settings in NAMES, for the broker at `url`. Raises ImproperlyConfigured.

    No task runs longer than `task_seconds_max`, except for those whose message is acknowledged first.
    """
    return {name: DEFAULTS[name] for name in NAMES} | chosen_settings(url, task_seconds_max=task_seconds_max)


def chosen_settings(url: str, *, task_seconds_max: int) -> dict[str, Any]:
    """Where the shop does not want Celery's own value."""
    scheme = urlsplit(url).scheme
    if scheme in ("amqp", "amqps"):
        return {"broker_url": url, **rabbitmq_settings()}
    # Twice the time limit: a running task is never handed out a second time while its worker lives.
    options: dict[str, Any] = {
        "visibility_timeout": 2 * task_seconds_max,
        "socket_timeout": ANSWER_SECONDS,
        "socket_connect_timeout": CONNECT_SECONDS,
        "socket_keepalive": True,
        "health_check_interval": 10,
    }
    base = scheme.partition("+")[0]
    if base not in TRANSPORT_ALIASES:
        raise ImproperlyConfigured(
            "CELERY_BROKER_URL is not the address of a broker: write redis://…, redis+sentinel://… or "
            "amqp://user:password@host:5672/vhost."
        )
    if base not in ("redis", "rediss"):
        return {"broker_url": url, "broker_transport_options": options}
    address = read_address(url, setting="CELERY_BROKER_URL")
    if address.kind is StoreKind.SENTINEL:
        return sentinel_settings(address, options)
    refuse_cluster(url, setting="CELERY_BROKER_URL")
    return {"broker_url": url, "broker_transport_options": options}


def refuse_cluster(url: str, *, setting: str) -> None:
    """Raises ImproperlyConfigured if the address is that of a Cluster."""
    if read_address(url, setting=setting).kind is StoreKind.CLUSTER:
        raise ImproperlyConfigured(
            f"{setting} is the address of a Redis Cluster, which can be the reservation store (SECKILL_REDIS_URL) and "
            "nothing else: Celery has no transport for it. For cache, sessions and broker name one server, redis://…, "
            "or one behind Sentinel, redis+sentinel://…; for the broker also RabbitMQ, amqp://…"
        )


def sentinel_settings(address: RedisAddress, options: dict[str, Any]) -> dict[str, Any]:
    """Kombu wants one address for each sentinel, each with the user and password of the primary."""
    user, password = quote(address.username or "", safe=""), quote(address.password or "", safe="")
    sign_in = f"{user}:{password}@" if user or password else ""
    url = ";".join(
        f"sentinel://{sign_in}{f'[{host}]' if ':' in host else host}:{port}/{address.database}"
        for host, port in address.hosts
    )
    return {
        "broker_url": url,
        # Celery prefers CELERY_BROKER_URL of the environment, which it cannot read, but not to these two.
        "broker_read_url": url,
        "broker_write_url": url,
        "broker_transport_options": {
            **options,
            "master_name": address.name,
            "sentinel_kwargs": sentinel_options(address)["SENTINEL_KWARGS"],
        },
        **({"broker_use_ssl": {"ssl_cert_reqs": "required"}} if address.tls else {}),
    }


def rabbitmq_settings() -> dict[str, Any]:
    """Quorum queues: a message that was accepted survives the loss of a node, if RabbitMQ has three."""
    return {
        "broker_transport_options": {
            # Without it, a message that RabbitMQ refuses is lost without a word.
            "confirm_publish": True,
            "read_timeout": ANSWER_SECONDS,
            "write_timeout": ANSWER_SECONDS,
        },
        "broker_connection_timeout": CONNECT_SECONDS,
        "broker_heartbeat": RABBITMQ_HEARTBEAT_SECONDS,
        "task_default_queue_type": "quorum",
        "task_create_missing_queue_type": "quorum",
        "worker_consumer": "shop.configuration.prompt_consumer:PromptConsumer",
    }
