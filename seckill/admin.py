"""Imported by Django's autodiscovery; the admins themselves are in seckill/staff/."""

from seckill.staff.change_list import SaleChangeAdmin
from seckill.staff.live_list import SaleItemAdmin
from seckill.staff.replica_choices import ReplicaChoiceAdmin

__all__ = ["ReplicaChoiceAdmin", "SaleChangeAdmin", "SaleItemAdmin"]
