"""Heads under a rotary embedding on the circle: fields of labelled densities.

With query and key that turn and stretch, scores are b cos(t - t' - omega + Omega (s - s')), and

    m(s, t) = sum_k I_k(b) e^{ik (t - omega)} int C e^{ik Omega (s - s')} c_{k-1}(s') ds'

is the mean of e^{it'} under them, G the same with c_k. Phases separate: moments turn with their
position before C, and back after it. The velocity is Im(e^{-it} (a m + a' conj(m))) / G with
V y = a y + a' conj(y).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from meanfield.arrays import ComplexArray, FloatArray, IntArray, ModalArray
from meanfield.bases.grid import Grid
from meanfield.fields.circle.heads import resized
from meanfield.fields.head_series import HeadField
from meanfield.fields.heads import HeadsField, HeadsInteraction
from meanfield.labels import Labels


@dataclass(frozen=True, eq=False)
class CircleRotary:
    """Fields that labelled densities create for all heads, each at its label."""

    interaction: HeadsInteraction  # without the embedding
    frequency: float  # Omega
    labels: Labels

    def velocities(self, parts: ModalArray, time: float, grid: Grid) -> FloatArray:
        """Velocities at the nodes, (M, n); positions do not turn with time."""
        return np.array([each.on_nodes(grid)[0] for each in self.fields(parts, time)])

    def fields(self, parts: ModalArray, time: float) -> list[HeadsField]:
        """Field at each label, of densities (M, degree + 1)."""
        of, attended = self.interaction, self.labels.attended
        k, turns, sources = self._turned(parts)
        sums = [turns * attended(each) for each in sources]
        by_head = [self._head(number, k, *sums) for number in range(len(of.heads))]
        return [HeadsField(of.manifold, fields) for fields in zip(*by_head, strict=True)]

    def phased(self, parts: ModalArray) -> ComplexArray:
        """Moments as C averages them, turned back, times I_k / I_0 of the sharpest head."""
        from scipy.special import ive

        k, _, sources = self._turned(parts)
        sharpest = max(abs(complex(*score[:, 0])) for score, _ in self.interaction.heads)
        return np.asarray(np.hstack(sources) * np.tile(ive(k, sharpest) / ive(0, sharpest), 2))

    def _turned(self, parts: ModalArray) -> tuple[IntArray, ComplexArray, list[ComplexArray]]:
        """k, phases e^{ik Omega s}, and c_k and c_{k-1} without them, (M, 2 K + 1) each."""
        degree = self.interaction.degree
        k = np.arange(-degree, degree + 1)
        # c_k for k = -K-1, ..., K, so that both c_k and c_{k-1} are there.
        one_sided = np.array([resized(part, degree + 1) for part in parts])
        c = np.concatenate([np.conj(one_sided[:, :0:-1]), one_sided[:, :-1]], axis=1)
        turns = np.exp(1j * self.frequency * np.outer(self.labels.values, k))
        return k, turns, [np.conj(turns) * each for each in (c[:, 1:], c[:, :-1])]

    def _head(
        self, number: int, k: IntArray, moments: ComplexArray, means: ComplexArray
    ) -> list[HeadField]:
        from scipy.special import ive

        of, middle = self.interaction, len(k) // 2
        score, value = of.heads[number]
        # x^T S y = |b| cos(t - t' - arg b).
        b = complex(score[0, 0], score[1, 0])
        weights = ive(k, abs(b)) * np.exp(-1j * k * np.angle(b))
        if not of.normalized or of.sink:
            weights *= math.exp(abs(b) - of.log_scale)
        a = 0.5 * complex(value[0, 0] + value[1, 1], value[1, 0] - value[0, 1])
        mirrored = 0.5 * complex(value[0, 0] - value[1, 1], value[1, 0] + value[0, 1])
        m = weights * means
        drawn = np.pad(a * m + mirrored * np.conj(m[:, ::-1]), ((0, 0), (2, 2)))
        # e^{-it} lowers degrees by one. Its imaginary part, of degrees 0 to K + 1:
        first = middle + 3
        numerators = (drawn[:, first:] - np.conj(drawn[:, first:1:-1])) / 2j
        if not of.normalized:
            return [HeadField((each,), None) for each in numerators]
        partitions = (weights * moments)[:, middle:]
        partitions[:, 0] += of.sink
        return [
            HeadField((each,), partition, of.largest[number])
            for each, partition in zip(numerators, partitions, strict=True)
        ]
