"""The buffers of a broker's request handlers while a produce request waits for its verification (T10).

Sources: `KafkaRequestHandler.wrap` (3.6.0), `wrapAsyncCallback` (3.6.1), `ReplicaManager.appendRecords`; KAFKA-15653.
"""

from checker.language import Bug, Constant, Domain, Enum, Map, Option, Spec
from checker.language.drawing import Arrow, Drawing, Event, Lane
from checker.language.roles import action, always_eventually, invariant, require


class Handler(Domain):
    """A request handler: a thread with its buffer for decompression (`RequestLocal`)."""

    size, prefix = "handlers", "h"


class Request(Domain):
    """A produce request with compressed batches. Each is for another partition."""

    size, prefix = "requests", "r"


class Progress(Enum):
    """The progress of a request at the broker."""

    SENT = "sent"
    WAITING = "waiting"  # the coordinator has not answered yet
    VERIFIED = "verified"  # any request handler may continue
    APPENDING = "appending"  # a request handler reads the batches through a buffer
    APPENDED = "appended"
    REFUSED = "refused"  # InvalidRecordException or UnknownServerException


class VerificationBuffers(Spec):
    """Request handlers append compressed batches, each after the coordinator has confirmed the transaction.

    The handler that receives a request does not wait for the coordinator: it handles other requests. Another handler
    may append the batches. Two handlers that use one buffer at the same time read wrong records, and both are refused.
    """

    handlers = Constant(2, at_least=1)
    requests = Constant(2, at_least=1)
    verification = Constant(True)
    """Whether a request is verified before it is appended (KIP-890, part 1)."""
    buffer = Constant("own", one_of=("own", "receiver"))
    """Whose buffer an append after the verification uses: that of its handler, or of the one that received the
    request (3.6.0)."""

    progress = Map(Request, Progress)
    receiver = Map(Request, Option(Handler))
    appender = Map(Request, Option(Handler))
    is_damaged = Map(Request, bool)

    draws = Drawing(
        Lane("client"),
        Lane("request", each=Request, facts={"progress": "progress", "receiver": "received by"}),
        Lane("handler", each=Handler, facts={"request_of": "appends"}),
        Lane("coordinator"),
        arrows=(
            Arrow("receive", "'client'", "handler", "{request}"),
            Arrow("verify", "'coordinator'", "request", "verified"),
            Arrow("begin_append", "handler", "request", "append"),
        ),
    ).with_events(
        Event("init", "The client has sent {requests} produce requests"),
        Event("receive", "{handler} receives {request}{', asks the coordinator' if verification else ''}",
            "receives {request}", "handler"),
        Event("verify", "The coordinator confirms the transaction of {request}", "verified", "request"),
        Event("begin_append", "{handler} begins to append {request}, with the buffer of {str(handler) if buffer == "
            "'own' else str(receiver[request])}", "appends {request}", "handler"),
        Event("end_append", "{request} is {'refused: two handlers have used one buffer' if is_damaged[request] else "
            "'appended'}", "{'refused' if is_damaged[request] else 'appended'}", "request", "{'refusal' if "
                "is_damaged[request] else ''}"))  # fmt: skip

    def request_of(self, handler):
        """Return the request that a handler appends, or none."""
        return [request for request in Request if self.appends(handler, request)]

    def appends(self, handler, request):
        """Return whether a handler appends a request."""
        return self.progress[request] == Progress.APPENDING and self.appender[request] == handler

    def is_idle(self, handler):
        """Return whether a handler appends no request."""
        return not any(self.appends(handler, request) for request in Request)

    @action(fair="weak")
    def receive(self, request: Request, handler: Handler):
        """A handler receives a request: it asks the coordinator, or appends at once."""
        require(self.progress[request] == Progress.SENT and self.is_idle(handler))
        self.receiver[request] = handler
        if self.verification:
            self.progress[request] = Progress.WAITING
        else:
            self.append_with(request, handler)

    @action(fair="weak", for_each="request")
    def verify(self, request: Request):
        """The coordinator confirms the transaction."""
        require(self.progress[request] == Progress.WAITING)
        self.progress[request] = Progress.VERIFIED

    @action(fair="weak")
    def begin_append(self, request: Request, handler: Handler):
        """An idle handler begins to append a verified request."""
        require(self.progress[request] == Progress.VERIFIED and self.is_idle(handler))
        self.append_with(request, handler)

    def append_with(self, request, handler):
        """Begin to append; two requests that share a buffer damage each other."""
        self.progress[request] = Progress.APPENDING
        self.appender[request] = handler
        for other in Request:
            is_other = other != request and self.progress[other] == Progress.APPENDING
            if is_other and self.buffer_of(other) == self.buffer_of(request):
                self.is_damaged[other] = True
                self.is_damaged[request] = True

    def buffer_of(self, request):
        """Return the handler that owns the buffer of an append."""
        return self.appender[request] if self.buffer == "own" else self.receiver[request]

    @action(fair="weak", for_each="request")
    def end_append(self, request: Request):
        """The batches are validated and appended, or refused."""
        require(self.progress[request] == Progress.APPENDING)
        self.progress[request] = Progress.REFUSED if self.is_damaged[request] else Progress.APPENDED

    @invariant(says="{request} is refused, although its batches are right")
    def no_request_is_refused(self):
        """No request is refused: each has right batches and is part of its transaction."""
        return all(self.progress[request] != Progress.REFUSED for request in Request)

    @always_eventually(says="the requests stay {self.progress}")
    def every_request_is_answered(self):
        """Every request is appended or refused."""
        return all(self.progress[request] in (Progress.APPENDED, Progress.REFUSED) for request in Request)


scenarios = [
    Bug("t10_verification_shares_buffer", VerificationBuffers, {"no_request_is_refused": 8},
        larger=dict(handlers=3, requests=3), faulty=dict(buffer="receiver"),
        description="T10 (KAFKA-15653, 3.6.0): a verified request is appended with the buffer of the handler that "
        "received it, which uses it for another request at the same time.",
        remedy="T10 (3.6.1): the handler that appends a verified request uses its own buffer."),
]  # fmt: skip
