"""Limits on one client's attempts, counted by all that is known of it: account, network, device.

One call for each place that scripts would try: each of the three has its own rate, and none means that it does not
count. A network is the address, of IPv6 its /64. A device has a signed cookie of its last sign-in; programs have none.
"""

from django.http import HttpRequest

from shop.accounts.known_places import device_of
from shop.http.client_address import client_network
from shop.http.rate_limits import take


def take_of_client(
    request: HttpRequest,
    *,
    action: str,
    account: object = None,
    by_account: str = "",
    by_network: str = "",
    by_device: str = "",
    about: object = "",
) -> None:
    """Count one attempt. Raises LimitReached. `about` is what has counts of its own, for example a sale."""
    if by_account and account is not None:
        take(action=action, rate=by_account, key=f"{account}:{about}")
    if by_network:
        take(action=f"{action}_by_network", rate=by_network, key=f"{client_network(request)}:{about}")
    if by_device and (device := device_of(request)):
        take(action=f"{action}_by_device", rate=by_device, key=f"{device}:{about}")
