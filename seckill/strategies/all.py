"""The strategies, in the order of the tables."""

from seckill.strategies.strategy import Strategy

ALL: tuple[type[Strategy], ...] = ()


def by_id(strategy_id: str) -> type[Strategy]:
    """The strategy of that id. Raises KeyError where there is none."""
    return {strategy.id: strategy for strategy in ALL}[strategy_id]
