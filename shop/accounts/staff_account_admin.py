"""Staff accounts and groups in the admin, for superusers alone: rights, staff flags and passwords are given here."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Permission, User
from django.db.models import Q, QuerySet
from django.forms import ModelMultipleChoiceField
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminPasswordChangeForm, UserCreationForm

from shop.accounts.person_admin import RIGHTS, PersonAdmin, PersonForm, log_rights
from shop.staff.admin_base import ModelAdmin

if TYPE_CHECKING:
    # django-unfold has no types; its list extends this one.
    from django.contrib.admin.views.main import ChangeList
else:
    from unfold.views import ChangeList


# By the beginning of a permission's code name.
ACTIONS = {
    **{"add": _("may add"), "change": _("may change"), "delete": _("may delete"), "view": _("may view")},
    "ship": _("may mark as shipped"),
}


class PermissionChoice(ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Django's own names of permissions are rows, and English."""

    def label_from_instance(self, permission: Permission) -> str:
        action = permission.codename.partition("_")[0]
        return f"{permission.content_type} | {ACTIONS.get(action, permission.name)}"


class ForSuperusers(ModelAdmin):
    """A permission to see or change these rows would be one to get every right."""

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **kwargs: Any) -> Any:
        if db_field.related_model is Permission:
            kwargs["form_class"] = PermissionChoice
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_superuser(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)


def is_superuser(request: HttpRequest) -> bool:
    return request.user.is_active and request.user.is_superuser


class StaffList(ChangeList):
    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[User]:
        people: QuerySet[User] = super().get_queryset(request, exclude_parameters)
        return people.filter(Q(is_staff=True) | Q(is_superuser=True))


class AccountForm(PersonForm, UserChangeForm):  # type: ignore[type-arg]
    """Without the password's hash, which tells staff nothing."""

    password = None  # type: ignore[assignment]


class StaffAccountAdmin(ForSuperusers, DjangoUserAdmin, PersonAdmin):  # type: ignore[type-arg]
    """Lists who has rights. The page of a customer leads here too, to give them some."""

    list_title = _("Staff accounts")
    form = AccountForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "email", "is_active", "is_staff", "is_superuser", "date_joined", "last_login"]
    list_filter = ["is_active", "is_superuser", "groups"]
    ordering = PersonAdmin.ordering
    search_fields = PersonAdmin.search_fields
    fieldsets = None
    readonly_fields = ["mail_language", "password_set", *PersonAdmin.readonly_fields]

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        if obj is None:
            return super().get_fieldsets(request, obj)
        person = ["username", "email", ("first_name", "last_name"), "is_active"]
        rights = ["is_staff", "is_superuser", "groups", "user_permissions"]
        return [
            (None, {"fields": person}),
            (_("Account"), {"fields": [("date_joined", "last_login"), "mail_language", "second_factor", "tokens"]}),
            (_("Password"), {"fields": ["password_set"]}),
            (_("Permissions"), {"fields": rights}),
        ]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return StaffList

    @admin.display(description=_("password"))
    def password_set(self, person: User) -> SafeString:
        url = reverse("admin:auth_user_password_change", args=[person.pk])
        state = _("set") if person.has_usable_password() else _("not set")
        return format_html(
            '{} · <a href="{}" class="text-link underline">{}</a>', state, url, _("Set another password")
        )


class GroupAdmin(ForSuperusers, DjangoGroupAdmin):
    list_title = _("Groups")

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        log_rights(request, changed=RIGHTS.intersection(form.changed_data), group=form.instance.pk)
