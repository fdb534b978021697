"""Sessions of the explorer, and a client of its HTTP interface."""

import re
import warnings
from html import unescape

import pytest

from checker.explorer.session import ExplorerSession
from checker.explorer.variant import Variant, sibling_of, variant_of

TOKEN, HOST = "secret-token", "127.0.0.1:8000"


def session_of(spec, against=None, **constants):
    """Return the session of a spec class or of a name."""
    variant = variant_of(spec) if isinstance(spec, str) else Variant(spec.name, spec.name, spec, None, constants)
    return ExplorerSession((variant,) if against is None else (variant, sibling_of(against, variant)))


class ExplorerClient:
    """Requests of the explorer's pages, with its token."""

    def __init__(self, session):
        from checker.explorer.app import explorer_app

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            testclient = pytest.importorskip("starlette.testclient")
        application = explorer_app(session, TOKEN, frozenset({HOST}))
        self.session = session
        self.client = testclient.TestClient(application, base_url=f"http://{HOST}")

    def get(self, path=".", status=200, **more):
        """Return the answer to a request; `path` is relative to the page."""
        path = path.removeprefix("./").removeprefix(".")
        answer = self.client.get(f"/{TOKEN}/{path}", **more)
        assert answer.status_code == status, answer.text[:2000]
        return answer

    def page(self, path=".", status=200):
        """Return the text of a page."""
        return self.get(path, status).text


def offers_in(text):
    """Return the addresses of the steps that a page offers in its list, by their text."""
    found = re.findall(
        r'<a class="offer[^"]*" data-go data-code="[^"]*" href="([^"]*)"><code>(.*?)</code>', text, re.DOTALL
    )
    return {unescape(re.sub(r"<[^>]*>", "", call)): unescape(href) for href, call in found}


def visible(text):
    """Return the text of a page without its markup."""
    text = re.sub(r"<(title|style)>.*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"</?(span|wbr|code|b|i)( [^>]*)?>", "", text)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


@pytest.fixture(scope="session")
def fast_elections():
    """The session of the scenario that loses a record in 11 steps."""
    return session_of("replication/kip101/fast_elections")
