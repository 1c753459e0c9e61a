"""The cluster of the lab: three primaries that share the slots, and end with the lab."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from redis.crc import key_slot

from bench.lab.servers.cluster import Primaries, running_cluster
from bench.strategies.atomic.lua_purchase_cluster import LuaPurchaseCluster
from bench.strategies.base.strategy import Answer
from tests.processes import living
from tests.steps.at_once import at_once

BUYERS, UNITS = 12, 5


def test_a_sale_uses_one_slot_of_three_primaries_that_share_all(make: Callable[..., Any], cluster: Primaries) -> None:
    info = cluster.nodes[0].ask("CLUSTER INFO")
    assert (info["cluster_state"], info["cluster_size"], info["cluster_slots_ok"]) == ("ok", "3", "16384")
    sale = make(LuaPurchaseCluster, stock=UNITS)
    assert len({key_slot(key.encode()) for key in (sale.stock, sale.buyers, sale.queue)}) == 1
    # A buyer buys once.
    assert [sale.attempt(7), sale.attempt(7)] == [Answer.SOLD, Answer.REFUSED]
    assert sale.left() == UNITS - 1
    assert sorted(node.ask("DBSIZE") for node in cluster.nodes) == [0, 0, 3]
    answers = at_once([partial(sale.attempt, buyer) for buyer in range(BUYERS) if buyer != 7])
    assert (answers.count(Answer.SOLD), sale.left()) == (UNITS - 1, 0)


def test_the_servers_are_gone_after_an_error() -> None:
    pids: set[int] = set()

    def fail() -> None:
        with running_cluster() as cluster:
            pids.update(process.pid or 0 for process in cluster.processes)
            assert living(pids=pids) == pids
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert len(pids) == 3
    assert not living(pids=pids)
