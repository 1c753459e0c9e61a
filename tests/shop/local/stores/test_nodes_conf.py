"""The files in which the nodes of a cluster keep what they know of each other."""

from shop.local.stores import nodes_conf
from shop.local.stores.nodes_conf import NodeAddress

OLD = [NodeAddress(port=20_000 + number, bus_port=21_000 + number) for number in range(6)]
NEW = [NodeAddress(port=22_000 + number, bus_port=23_000 + number) for number in range(6)]


def test_the_primaries_of_a_new_cluster_have_all_slots_and_each_a_replica() -> None:
    files = nodes_conf.new_files(addresses=OLD, primaries=3, host="127.0.0.1")
    lines = files[0].splitlines()
    ids = [line.split()[0] for line in lines[:6]]

    assert [line.split(" connected ")[1] for line in lines[:3]] == ["0-5460", "5461-10921", "10922-16383"]
    assert [line.split()[3] for line in lines[3:6]] == ids[:3]
    assert len({line.split()[6] for line in lines[:3]}) == 3
    assert [nodes_conf.own_id(text=text) for text in files] == ids
    assert lines[6] == "vars currentEpoch 3 lastVoteEpoch 0"


def test_a_file_gets_the_new_addresses_and_keeps_all_else() -> None:
    text = nodes_conf.new_files(addresses=OLD, primaries=3, host="127.0.0.1")[4]
    ids = [line.split()[0] for line in text.splitlines()[:6]]
    places = dict(zip(ids, NEW, strict=True))

    there = nodes_conf.readdressed(text=text, addresses=places, host="127.0.0.1")

    assert " 127.0.0.1:22004@23004,,tls-port=0,shard-id=" in there
    assert ":20" not in there
    back = nodes_conf.readdressed(text=there, addresses=dict(zip(ids, OLD, strict=True)), host="127.0.0.1")
    assert back == text


def test_lines_of_unknown_nodes_and_an_open_migration_stay_as_they_are() -> None:
    known, stranger = "a" * 40, "b" * 40
    text = (
        f"{known} :20000@21000,,tls-port=0,shard-id={known} myself,master - 0 0 1 connected 0-5 [6->-{stranger}]\n"
        f"{stranger} 127.0.0.1:20001@21001 master,fail - 1 2 2 disconnected\n"
        "vars currentEpoch 7 lastVoteEpoch 7\n"
    )

    there = nodes_conf.readdressed(text=text, addresses={known: NEW[0]}, host="127.0.0.1")

    assert there == text.replace(f"{known} :20000@21000", f"{known} 127.0.0.1:22000@23000")
