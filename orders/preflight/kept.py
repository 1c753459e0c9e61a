"""Results of pre-flights in the cache: of a run that goes on, its looks; of a sale, the last whole one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.core.cache import cache
from django.utils import timezone

from orders.preflight.finding import Finding, Verdict, chosen_text
from orders.preflight.preflight import LOOKS
from seckill.models import Sale, SaleItem
from seckill.publication import draft_terms
from shop.languages.kept_texts import in_each_language

# A person looks at a page meanwhile.
RUN_SECONDS = 600
RESULT_SECONDS = 7 * 24 * 3600


class Result(NamedTuple):
    """What each look of one pre-flight has found, by the number of the look, when it ended, and the terms it judged."""

    at: datetime
    found: Mapping[int, Sequence[Finding]]
    terms: str = ""

    @property
    def stops(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.verdict == Verdict.STOP]

    @property
    def findings(self) -> list[Finding]:
        return [finding for number in sorted(self.found) for finding in self.found[number]]

    @property
    def stops_of_looks(self) -> Counter[int]:
        """How many stops each look has found. Their texts name figures, so they differ each time."""
        return Counter(
            number for number, found in self.found.items() for finding in found if finding.verdict == Verdict.STOP
        )


def keep_look(run: UUID, number: int, findings: Sequence[Finding]) -> None:
    cache.set(look_key(run, number), [written(finding) for finding in findings], RUN_SECONDS)


def looks_of(run: UUID) -> dict[int, list[Finding]]:
    """What the looks of this run have found, by their numbers."""
    numbers = {look_key(run, number): number for number in range(len(LOOKS))}
    return {numbers[key]: [read(row) for row in rows] for key, rows in cache.get_many(numbers).items()}


def keep_terms(run: UUID, sale: Sale) -> None:
    """Those that the run judges: a colleague may change the draft before its last look."""
    cache.set(terms_key(run), draft_terms(sale), RUN_SECONDS)


def terms_of_run(run: UUID) -> str:
    return str(cache.get(terms_key(run), ""))


def keep_result(sale_id: int, found: Mapping[int, Sequence[Finding]], *, terms: str = "") -> Result:
    result = Result(timezone.now(), found, terms)
    rows = {str(number): [written(finding) for finding in findings] for number, findings in found.items()}
    cache.set(result_key(sale_id), {"at_s": result.at.timestamp(), "found": rows, "terms": terms}, RESULT_SECONDS)
    return result


def result_of(sale: Sale) -> Result | None:
    """The last one, unless it judged other terms of the draft than it has now."""
    result = last_result(sale.pk)
    return result if result and is_about(result, sale) else None


def is_about(result: Result, sale: Sale, rows: Iterable[SaleItem] | None = None) -> bool:
    """Whether it judged the sale as it is now. `rows` as for `draft_terms`."""
    return sale.is_published or result.terms == draft_terms(sale, rows)


def last_result(sale_id: int) -> Result | None:
    return last_results([sale_id]).get(sale_id)


def last_results(sale_ids: Iterable[int]) -> dict[int, Result]:
    """By sale, in one call; a sale without any is missing."""
    sales = {result_key(sale_id): sale_id for sale_id in sale_ids}
    return {sales[key]: result_from(kept) for key, kept in cache.get_many(sales).items()}


def result_from(kept: Mapping[str, Any]) -> Result:
    found = {int(number): [read(row) for row in rows] for number, rows in kept["found"].items()}
    return Result(datetime.fromtimestamp(kept["at_s"], UTC), found, kept.get("terms", ""))


def written(finding: Finding) -> dict[str, Any]:
    return {
        "verdict": finding.verdict.value,
        "text": in_each_language(finding.text),
        "todo": in_each_language(finding.todo),
    }


def read(row: Mapping[str, Any]) -> Finding:
    return Finding(Verdict(row["verdict"]), chosen_text(row["text"]), chosen_text(row["todo"]))


def look_key(run: UUID, number: int) -> str:
    return f"preflight-run:{run}:{number}"


def terms_key(run: UUID) -> str:
    return f"preflight-terms:{run}"


def result_key(sale_id: int) -> str:
    return f"preflight:{sale_id}"
