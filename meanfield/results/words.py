"""Names of attention and normalization in reports and figures."""

from __future__ import annotations

from meanfield.described import Facts

_OF_HEADS = {"none": "not normalised", "softmax": "softmax", "sinkhorn": "Sinkhorn"}


def attention_words(facts: Facts) -> tuple[str, str]:
    """Kernel or heads, and their normalisation, in words.

    >>> attention_words(Facts(kernel="exponential", normalized=True))
    ('exponential kernel', 'SA')
    >>> attention_words(Facts(heads=2, normalization="sinkhorn"))
    ('2 heads', 'Sinkhorn')
    >>> attention_words(Facts(heads=1, normalization="none"))
    ('1 head', 'not normalised')

    Terms without attention have the kernel "none", and no words:

    >>> attention_words(Facts(heads=1, kernel="none"))
    ('', '')
    """
    if facts.kernel == "none":
        return "", ""
    if facts.heads:
        normalized = facts.normalization or "softmax"
        return f"{facts.heads} head{'s' if facts.heads > 1 else ''}", _OF_HEADS[normalized]
    return f"{facts.kernel} kernel", "SA" if facts.normalized else "USA"


def problem_words(facts: Facts) -> str:
    """Manifold, kernel and flow in one line."""
    kernel_words, flow = attention_words(facts)
    parts = [facts.manifold, kernel_words]
    if facts.kernel not in ("linear", "none"):
        parts.append(f"beta{at_start(facts)} = {facts.beta:g}")
    parts.append(flow)
    parts += [f"strength {facts.strength:g}"] if facts.strength != 1.0 else []
    parts += [f"diffusivity {facts.diffusivity:g}"] if facts.diffusivity else []
    parts += [f"{facts.mask} mask"] if facts.mask else []
    others = (facts.terms, facts.layers, facts.frequencies, facts.stages)
    return ", ".join(filter(None, [*parts, *others]))


def at_start(facts: Facts) -> str:
    """Argument of beta, which facts have of time 0, where it is a function of time."""
    return "(0)" if "kernel" in facts.functions else ""
