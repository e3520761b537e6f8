"""Names of attention and normalization in reports and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OF_HEADS = {"none": "not normalised", "softmax": "softmax", "sinkhorn": "Sinkhorn"}


def attention_words(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Kernel or heads, and their normalisation, of `problem_attributes`, in words.

    Examples
    --------
    >>> attention_words({"kernel": "exponential", "normalized": True})
    ('exponential kernel', 'SA')
    >>> attention_words({"heads": 2, "normalization": "sinkhorn"})
    ('2 heads', 'Sinkhorn')
    >>> attention_words({"heads": 1, "normalization": "none"})
    ('1 head', 'not normalised')
    """
    heads = int(facts.get("heads", 0))
    if heads:
        normalized = str(facts.get("normalization", "softmax"))
        return f"{heads} head{'s' if heads > 1 else ''}", _OF_HEADS[normalized]
    return f"{facts.get('kernel', '')} kernel", "SA" if facts.get("normalized") else "USA"
