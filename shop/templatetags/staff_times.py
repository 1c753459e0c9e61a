"""Times on the pages of the admin."""

from django import template

from shop.times import zone

register = template.Library()
register.simple_tag(zone.zone_text)
register.filter(zone.time_with_offset)
