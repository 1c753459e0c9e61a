"""Every fault that the harness knows, in the order in which it runs them."""

from orders.faults.fault import Fault
from orders.faults.faults_of_processes import WebKilledBeforeScript

FAULTS: tuple[type[Fault], ...] = (Fault, WebKilledBeforeScript)
BY_NAME = {kind.name: kind for kind in FAULTS}
QUICK = ("web-killed-before-script",)
