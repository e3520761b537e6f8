"""Names of attention and normalization in reports and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OF_HEADS = {"none": "not normalised", "softmax": "softmax", "sinkhorn": "Sinkhorn"}


def attention_words(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Kernel or heads, and their normalisation, of `problem_attributes`, in words.

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


def problem_words(facts: Mapping[str, Any]) -> str:
    """Manifold, kernel and flow in one line."""
    kernel_words, flow = attention_words(facts)
    parts = [str(facts.get("manifold", "")), kernel_words]
    if facts.get("kernel") != "linear" and "beta" in facts:
        parts.append(f"beta = {float(facts['beta']):g}")
    parts.append(flow)
    for key, usual in (("strength", 1.0), ("diffusivity", 0.0)):
        if float(facts.get(key, usual)) != usual:
            parts.append(f"{key} {float(facts[key]):g}")
    if facts.get("mask"):
        parts.append(f"{facts['mask']} mask")
    parts += [
        str(facts[key]) for key in ("terms", "layers", "frequencies", "stages") if facts.get(key)
    ]
    return ", ".join(parts)
