"""Ends one of a person's sessions. The list, and ending all others at once, are allauth's."""

from allauth.account.adapter import get_adapter
from allauth.usersessions.internal.flows.sessions import end_sessions
from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache


@never_cache
@login_required
def end(request: HttpRequest, session_id: int) -> HttpResponse:
    """Whoever is there is signed out with their next click. The current session ends by signing out."""
    session = get_object_or_404(UserSession, pk=session_id, user_id=request.user.pk)
    if request.method != "POST":
        return redirect("usersessions_list")
    if session.is_current():
        get_adapter().logout(request)
        return redirect("home")
    end_sessions(request, [session])
    messages.success(request, _("That session has ended."))
    return redirect("usersessions_list")
