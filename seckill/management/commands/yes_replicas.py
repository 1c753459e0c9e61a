"""`manage.py yes_replicas`: how many replicas a yes waits for, shown or chosen for all processes at once."""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from seckill.changes.replica_choice import choose
from seckill.store.client import StoreUnreachable
from seckill.store.durability import outdated_choice, weaknesses_of_store
from seckill.store.yes_replicas import yes_replicas_now
from shop.background.outages import database_failed


class Command(BaseCommand):
    help = (
        "Shows how many replicas a yes waits for, or chooses fewer than SECKILL_YES_REPLICAS while one is lost: all "
        "processes follow within seconds, without a restart. The choice is kept with its reason (admin: choices of "
        "replicas). The servers' min-replicas-to-write must have the same number; what does not fit is listed, and "
        "when the choice can be taken back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("replicas", nargs="?", type=int, help="so many, from 0 to SECKILL_YES_REPLICAS")
        chosen.add_argument("--as-set", action="store_true", help="again as many as SECKILL_YES_REPLICAS says")
        parser.add_argument("--reason", default="", help="for those who read the list of choices later")

    def handle(self, *args: Any, replicas: int | None, as_set: bool, reason: str, **options: Any) -> None:
        if replicas is not None or as_set:
            if not reason.strip():
                raise CommandError("Say why, for those who read the list of choices later: --reason …")
            try:
                choose(replicas=replicas, reason=reason)
            except ValidationError as error:
                raise CommandError(" ".join(error.messages)) from None
            except DatabaseError as error:
                raise CommandError(f"Not chosen. {database_failed(error)}", returncode=2) from None
        self.stdout.write(f"A yes waits for {yes_replicas_now()} replicas.")
        try:
            weaknesses = weaknesses_of_store()
        except StoreUnreachable as error:
            self.stdout.write(f"The reservation store does not answer: {error}")
            return
        for text in filter(None, [*(weakness.text for weakness in weaknesses), outdated_choice()]):
            self.stdout.write(text)
