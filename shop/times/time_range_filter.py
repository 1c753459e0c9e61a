"""The filter of a list by time: from a day to a day, such as a past month, or from an hour to an hour."""

from datetime import datetime, time
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    # django-unfold has no types.
    from django.contrib.admin import FieldListFilter

    class RangeForm(forms.Form):
        name: str

    class RangeFilter(FieldListFilter):
        parameter_name: str
else:
    from unfold.contrib.filters.admin import RangeDateTimeFilter as RangeFilter
    from unfold.contrib.filters.forms import RangeDateTimeForm as RangeForm

# For each end: the lookup, the time that counts where only a day is given, and the labels of its two fields.
ENDS = {
    "from": ("gte", time.min, (_("Date from"), _("Time from"))),
    "to": ("lte", time.max.replace(fold=1), (_("Date to"), _("Time to"))),
}


class EndField(forms.SplitDateTimeField):
    """A time in the zone of the page. A day alone is taken at `time_of_day`."""

    def __init__(self, *, time_of_day: time, **options: Any) -> None:
        super().__init__(**options)
        self.time_of_day = time_of_day

    def compress(self, data_list: Any) -> Any:
        if data_list and data_list[0] and data_list[1] is None:
            # Some clocks are changed at midnight: a time that is there twice or never is no mistake of the reader.
            return datetime.combine(data_list[0], self.time_of_day, tzinfo=get_current_timezone())
        return super().compress(data_list)


class TimeRangeForm(RangeForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for end, (_lookup, time_of_day, words) in ENDS.items():
            name = f"{self.name}_{end}"
            widget: Any = self.fields[name].widget
            for part, word in zip(widget.widgets, words, strict=True):
                part.attrs |= {"placeholder": word, "aria-label": word}
            self.fields[name] = EndField(time_of_day=time_of_day, required=False, label="", widget=widget)


class TimeRangeFilter(RangeFilter):
    """The theme's filter leaves all rows if a time is missing, or is written as in the reader's language."""

    form_class = TimeRangeForm

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """No rows if the form is wrong: it says so, and a table of all rows would mislead."""
        form = self.form_class(name=self.parameter_name, data=self.used_parameters)
        if not form.is_valid():
            return queryset.none()
        ends = {lookup: form.cleaned_data[f"{self.parameter_name}_{end}"] for end, (lookup, *_rest) in ENDS.items()}
        return queryset.filter(**{f"{self.parameter_name}__{lookup}": at for lookup, at in ends.items() if at})
