"""Imported by Django's autodiscovery; the admins themselves are in seckill/staff/."""

from seckill.staff.change_list import SaleChangeAdmin
from seckill.staff.live_list import SaleItemAdmin
from seckill.staff.replica_choices import ReplicaChoiceAdmin
from seckill.staff.sale_admin import SaleAdmin

__all__ = ["ReplicaChoiceAdmin", "SaleAdmin", "SaleChangeAdmin", "SaleItemAdmin"]
