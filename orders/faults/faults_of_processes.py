"""Processes of the shop that die, pause, or come in twos."""

from orders.faults.fault import Fault

# The crowd passes every place within this time, or nothing is right.
STRIKE_SECONDS_MAX = 15.0


class DiesAtFailpoint(Fault):
    """A process kills itself with SIGKILL when it comes to a place in the code for the nth time."""

    failpoint = ""
    visits_max = 6

    def inject(self) -> None:
        visit = self.dice.randint(1, self.visits_max)
        self.variant = f"at visit {visit}"
        with self.site.failpoint(self.failpoint, visit=visit) as died:
            self._died = self.site.wait_until(died, seconds_max=STRIKE_SECONDS_MAX)

    def struck(self) -> bool:
        return self._died


class WebKilledBeforeScript(DiesAtFailpoint):
    name = "web-killed-before-script"
    what = "a web process dies when the pass is read and the store not yet asked"
    failpoint = "reserve.before_script"
