"""How many replicas a yes waits for, in the admin: a list of the choices, and a form for a new one."""

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from seckill.changes.replica_choice import repeat_choice
from seckill.models import ReplicaChoice
from seckill.store.durability import reachable_weaknesses
from shop.staff.admin_base import ModelAdmin


@admin.register(ReplicaChoice)
class ReplicaChoiceAdmin(ModelAdmin):
    """Choices are never changed or deleted: the list is their journal."""

    list_display = ["made_at", "made_by", "how_many", "reason"]
    list_display_links = None
    list_select_related = ["made_by"]
    actions = None

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @admin.display(description=_("replicas that a yes waits for"))
    def how_many(self, choice: ReplicaChoice) -> str:
        return str(choice)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.made_by = request.user
        super().save_model(request, obj, form, change)
        transaction.on_commit(lambda: self._tell_all(request))

    def _tell_all(self, request: HttpRequest) -> None:
        """Processes follow; what the servers themselves must be set to, a person does."""
        repeat_choice()
        for weakness in reachable_weaknesses():
            self.message_user(request, weakness.text, messages.WARNING)
