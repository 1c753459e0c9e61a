"""Steps and requests as spans of OpenTelemetry, sent to OTEL_EXPORTER_OTLP_ENDPOINT by a thread of the library.

Everything else is read by the library from the environment: OTEL_SERVICE_NAME, OTEL_EXPORTER_OTLP_HEADERS, and
OTEL_TRACES_SAMPLER, for less than all traces.
"""

import time
from contextvars import ContextVar
from uuid import UUID

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Tracer

_trace_id: ContextVar[int | None] = ContextVar("trace_id", default=None)


def trace_id_of(purchase: UUID) -> int:
    """The purchase's number times four. A sampler decides by the last 64 bits, of which a UUID sets the first two."""
    return (purchase.int << 2) % (1 << 128)


class GivenTraceIds(RandomIdGenerator):
    def generate_trace_id(self) -> int:
        return _trace_id.get() or super().generate_trace_id()


class SpanRecorder:
    """Each step is a span of its own under the purchase's trace: the process that began the trace is not known."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def note_step(self, *, purchase: UUID, name: str, began_s: float, words: dict[str, str | int]) -> None:
        token = _trace_id.set(trace_id_of(purchase))
        try:
            self._write(name, began_s, {"purchase": str(purchase), **words})
        finally:
            _trace_id.reset(token)

    def note_request(self, *, route: str, began_s: float, words: dict[str, str | int]) -> None:
        self._write(route, began_s, words)

    def _write(self, name: str, began_s: float, words: dict[str, str | int]) -> None:
        start = round(began_s * 1e9)
        span = self._tracer.start_span(name, context=Context(), start_time=start, attributes=words)
        span.end(max(start, time.time_ns()))


def span_recorder() -> SpanRecorder:
    """The library sends the last spans at the end of the process, and starts its thread anew after a fork."""
    provider = TracerProvider(id_generator=GivenTraceIds())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return SpanRecorder(provider.get_tracer("stampede"))
