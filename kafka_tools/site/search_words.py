"""An extension of Sphinx: the search of the site takes the name of a ticket or an entry, as KAFKA-7128, as one word."""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish


class SearchWords(SearchEnglish):
    """English, with tickets as words: Sphinx splits them, ignores their numbers, and returns every page on Kafka."""

    _word_re = re.compile(r"[A-Za-z]+-[0-9]+|\w+")
    # The browser splits a query by the same rule.
    js_splitter_code = r"var splitQuery = (query) => query.match(/[A-Za-z]+-[0-9]+|[\p{L}\p{N}_]+/gu) || [];"


def setup(app: Sphinx) -> dict[str, bool]:
    """Replace the English of the search."""
    app.add_search_language(SearchWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
