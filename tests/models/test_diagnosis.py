"""Diagnoses: every number beside loops or closed forms, the copy, command and figure."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from parameters import refused
from scipy.special import entr

import meanfield as mf
from meanfield.models import diagnosis as module
from meanfield.models.decoder import DecoderLayer
from meanfield.models.diagnosis import SHARES
from meanfield.models.heads import on_sphere
from meanfield.observables.clusters import clusters
from tests.models import encoders
from tests.models.decoders import PIECES, random_arrays, strong_arrays, write_folder

RNG = np.random.default_rng(5)
_TEXTS = [RNG.integers(len(PIECES), size=n) for n in (70, 150)]


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """Two random layers with a mean token, so that tokens lie in one half of the sphere."""
    folder, arrays = tmp_path_factory.mktemp("decoder"), strong_arrays()
    arrays["model.embed_tokens.weight"] += 3.0
    write_folder(folder, arrays, max_position_embeddings=400)
    return mf.load_decoder(folder)


@pytest.fixture(scope="module")
def diagnosis(decoder):
    return mf.diagnose(decoder, [_TEXTS[1]])


class _Flat(DecoderLayer):
    def score(self, query, key, first=0):
        return np.where(np.isinf(super().score(query, key, first)), -math.inf, 0.0)


class _Hard(DecoderLayer):
    def score(self, query, key, first=0):
        scores = super().score(query, key, first)
        return np.where(np.arange(len(key)) == 0, 0.0, np.where(np.isinf(scores), scores, -1e4))


def _with(decoder, kind):
    return replace(decoder, layers=tuple(kind(**vars(each)) for each in decoder.layers))


@pytest.mark.slow
def test_tokens_after_each_layer(decoder, diagnosis):
    """Numbers would belong to tokens before the layer, or to other tokens."""
    states = list(decoder.states(decoder.embedded(_TEXTS[1])))
    for k, x in enumerate(states[1:]):
        lengths = np.linalg.norm(x, axis=1)
        u = x / lengths[:, None]
        pairs = [u[i] @ u[j] for i in range(len(x)) for j in range(i)]
        median = np.median(lengths)
        assert diagnosis.mean_cosine[0, k] == pytest.approx(np.mean(pairs), abs=1e-12)
        assert diagnosis.effective_rank[0, k] == mf.monitor(x)["effective_rank"]
        assert diagnosis.median_length[0, k] == pytest.approx(median, rel=1e-13)
        assert diagnosis.first_length[0, k] == pytest.approx(lengths[0] / median, rel=1e-13)
        assert diagnosis.clusters[0, k] == clusters(on_sphere(x), 1.0).count
    explained = mf.replay(decoder, [_TEXTS[1]]).ladder.explained
    assert np.allclose(diagnosis.step_share[0], explained[0, 2], rtol=0, atol=1e-12)


def test_attention_of_each_head(decoder, diagnosis):
    """Octaves, sinks or exponents would be of other rows, or of later tokens."""
    # Not 128 to 150: fewer than half an octave.
    octaves = [range(8, 16), range(16, 32), range(32, 64), range(64, 128)]
    along = [np.mean(np.log(each)) for each in octaves]
    assert np.allclose(diagnosis.contexts, np.exp(along), rtol=1e-13)
    states = decoder.states(decoder.embedded(_TEXTS[1]))
    for k, (layer, x) in enumerate(zip(decoder.layers, states, strict=False)):
        for h, p in enumerate(layer.weights(x)):
            entropies = entr(p).sum(axis=1)
            assert diagnosis.sink_share[0, k, h] == pytest.approx(p[:, 0].mean(), rel=1e-12)
            attended = np.exp(entropies).mean()
            assert diagnosis.attended_tokens[0, k, h] == pytest.approx(attended, rel=1e-12)
            means = [np.mean([entropies[n - 1] for n in each]) for each in octaves]
            assert np.allclose(diagnosis.attended[0, k, h], np.exp(means), rtol=1e-12)
            slope = np.polyfit(along, means, 1)[0]
            assert diagnosis.exponent[0, k, h] == pytest.approx(slope, abs=1e-12)


def test_few_rows_of_a_last_octave_do_not_turn_the_exponents(decoder):
    """One row would weigh as much as the 64 before it."""
    before, after = (mf.diagnose(decoder, [_TEXTS[1][:n]]) for n in (127, 128))
    assert len(before.contexts) == len(after.contexts) == 4
    assert np.allclose(after.exponent[0], before.exponent[0], rtol=0, atol=1e-12)


def test_matrices_of_each_head(decoder, diagnosis):
    """Eigenvalues, symmetric parts and traces would be of other matrices than B and V."""
    for k, layer in enumerate(decoder.layers):
        for h in range(layer.heads):
            gain, g = layer.attention_norm.gain, h // 2
            query = layer.query.weight[8 * h : 8 * h + 8] * gain
            key = layer.key.weight[8 * g : 8 * g + 8] * gain
            value = layer.value.weight[8 * g : 8 * g + 8] * gain
            output = layer.output.weight[:, 8 * h : 8 * h + 8]
            for name, form in (("score", query.T @ key / math.sqrt(8)), ("value", output @ value)):
                norm = np.linalg.norm(form)
                expected = (
                    np.abs(np.linalg.eigvals(form)).max(),
                    np.linalg.norm(form + form.T) ** 2 / 4 / norm**2,
                    np.trace(form) / norm,
                )
                values = [getattr(diagnosis, f"{name}_{each}")[0, k, h] for each in
                          ("radius", "symmetric", "trace")]  # fmt: skip
                assert np.allclose(values, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_one_cluster_is_predicted_in_one_half_with_a_positive_trace(decoder):
    """The report would predict one cluster of a layer that repels, or of tokens all around."""
    text, layer = _TEXTS[1], decoder.layers[0]
    x = decoder.embedded(text)
    u = x / np.linalg.norm(x, axis=1)[:, None]
    assert all(u @ u.mean(axis=0) > 0.0)
    value = np.repeat(layer.value.weight.reshape(2, 8, -1), 2, axis=0).reshape(32, -1)
    trace = np.trace(layer.output.weight @ (value * layer.attention_norm.gain))
    for sign in (1.0, -1.0):
        output = layer.output._replace(weight=sign * layer.output.weight)
        turned = replace(decoder, layers=(replace(layer, output=output), decoder.layers[1]))
        assert (mf.diagnose(turned, [text]).predicted[0, 0] == 1.0) == (sign * trace > 0.0)
    # Tokens without a mean are all around.
    around = replace(decoder, words=decoder.words - decoder.words.mean(axis=0))
    assert np.isnan(mf.diagnose(around, [text]).predicted[0, 0])


@pytest.mark.slow
def test_uniform_attention_has_exponent_one_and_one_hot_zero(decoder):
    """Diffuse and sharp heads would not be at the ends of the scale."""
    flat = mf.diagnose(_with(decoder, _Flat), [_TEXTS[1]])
    assert np.abs(flat.exponent - 1.0).max() < 1e-12
    assert np.allclose(flat.attended[0], flat.contexts, rtol=1e-12)
    assert np.allclose(flat.sink_share, np.mean(1.0 / np.arange(1, 151)), rtol=1e-12)
    hard = mf.diagnose(_with(decoder, _Hard), [_TEXTS[1]])
    assert np.array_equal(hard.exponent, np.zeros((2, 2, 4)))
    assert np.array_equal(hard.attended_tokens, np.ones((2, 2, 4)))
    assert np.array_equal(hard.sink_share, np.ones((2, 2, 4)))


@pytest.mark.slow
def test_sampled_means_err_by_the_law_of_samples_without_replacement(decoder, monkeypatch):
    """E |o^(n) - o^(N)|^2 = (1/n - 1/N) s^2: no 1/2 for independent tokens, or another N."""
    # The relative error of a root mean square is about 1 / sqrt(2 * draws * entries), 0.8 %.
    monkeypatch.setattr(module, "_DRAWS", 1000)
    flat, n = _with(decoder, _Flat), 70
    diagnosis = mf.diagnose(flat, [_TEXTS[0]])
    common = (n - n // 4 + 1) // 16 * 16
    layer, x = flat.layers[0], flat.embedded(_TEXTS[0])
    for h, value in enumerate(layer.projections(x)[2]):
        mean = value[:common].mean(axis=0)
        variance = np.sum((value[:common] - mean) ** 2) / (common - 1)
        rates = [1.0 / (common * share) - 1.0 / common for share in SHARES]
        expected = np.sqrt(np.array(rates) * variance / (mean @ mean))
        assert np.allclose(diagnosis.sampled[0, 0, h], expected, rtol=0.04)
    assert np.abs(diagnosis.sampling_exponent - 0.5).max() < 0.03


@pytest.mark.slow
def test_sampled_rows_are_renormalised(decoder, diagnosis):
    """Attention to a sample would not sum to 1, or rows attend to later tokens."""
    orders = np.random.default_rng(0).permuted([np.arange(150)] * 16, axis=1)
    late, common = 113, 112
    layer, x = decoder.layers[0], decoder.embedded(_TEXTS[1])
    for h, (p, value) in enumerate(zip(layer.weights(x), layer.projections(x)[2], strict=True)):
        for k, share in enumerate(SHARES):
            lost = total = 0.0
            for order in orders:
                some = [j for j in order if j < common][: int(share * common)]
                for row in p[late:]:
                    whole = row[:common] @ value[:common] / row[:common].sum()
                    part = row[some] @ value[some] / row[some].sum()
                    lost, total = lost + sum((part - whole) ** 2), total + sum(whole**2)
            assert diagnosis.sampled[0, 0, h, k] == pytest.approx(math.sqrt(lost / total), rel=1e-9)
        rates = np.log(1.0 / np.array(SHARES) - 1.0)
        slope = np.polyfit(rates, np.log(diagnosis.sampled[0, 0, h]), 1)[0]
        assert diagnosis.sampling_exponent[0, 0, h] == pytest.approx(slope, abs=1e-12)


@pytest.mark.parametrize(("gamma", "exponent"), [(1.0, 1.0), (2.0, 0.5), (4.0, 0.0)])
def test_exponents_of_equiangular_tokens(gamma, exponent):
    """The fit would give other exponents than the softmax of arXiv:2510.05554 has."""
    logs, rho = np.log(10.0) * np.linspace(200, 300, 20), 0.5
    # Weights relative to that of another token: n^{gamma (1 - rho)}, and 1 of n - 1 others.
    ratio = np.exp(logs * (1.0 - gamma * (1.0 - rho)))
    own, others = 1.0 / (1.0 + ratio), 1.0 / (1.0 + 1.0 / ratio)
    entropies = -own * np.log(own) - others * (np.log(others) - logs)
    assert module._slopes(logs, np.exp(entropies)) == pytest.approx(exponent, abs=1e-3)


@pytest.mark.slow
def test_untrained_copy_has_the_same_norms_and_no_biases(decoder, diagnosis):
    """The copy would keep a part of training, or differ in scale."""
    copy = module._drawn(decoder.layers[0], np.random.default_rng(1))
    for name in ("query", "key", "value", "output", "gate", "up", "down"):
        own, drawn = getattr(decoder.layers[0], name), getattr(copy, name)
        assert np.linalg.norm(drawn.weight) == pytest.approx(np.linalg.norm(own.weight), rel=1e-14)
        cosine = np.vdot(drawn.weight, own.weight) / np.linalg.norm(own.weight) ** 2
        assert abs(cosine) < 5.0 / math.sqrt(own.weight.size)
        assert not drawn.bias.any()
    gain, own = copy.norm.gain, decoder.layers[0].norm.gain
    assert np.ptp(gain) == 0.0 and gain[0] ** 2 == pytest.approx(np.mean(own**2))
    # Matrices of independent entries: half of them symmetric, no trace.
    assert np.abs(diagnosis.score_symmetric[1] - 0.5).max() < 0.1
    again, other = (mf.diagnose(decoder, [_TEXTS[1]], seed=seed) for seed in (0, 1))
    assert np.array_equal(again.mean_cosine, diagnosis.mean_cosine)
    assert np.array_equal(other.mean_cosine[0], diagnosis.mean_cosine[0])
    assert not np.array_equal(other.mean_cosine[1], diagnosis.mean_cosine[1])


@pytest.mark.slow
def test_texts_are_averaged(decoder):
    """A long text would weigh more than a short one, or octaves that one lacks be NaN."""
    one, other = (mf.diagnose(decoder, [text]) for text in _TEXTS)
    both = mf.diagnose(decoder, _TEXTS)
    assert np.allclose(both.mean_cosine[0], (one.mean_cosine[0] + other.mean_cosine[0]) / 2)
    assert np.allclose(both.sink_share[0], (one.sink_share[0] + other.sink_share[0]) / 2)
    attended = np.log(both.attended[0, ..., :3])
    assert np.allclose(attended, np.log(one.attended * other.attended[..., :3])[0] / 2)
    assert np.allclose(both.attended[0, ..., 3], other.attended[0, ..., 3])
    assert both.tokens.tolist() == [70, 150]


@pytest.mark.slow
def test_blocks_of_rows_change_nothing(decoder, diagnosis, monkeypatch):
    """Long contexts go in blocks: late rows or octaves would be another block's."""
    monkeypatch.setattr("meanfield.models.encoder.PAIRS", 7 * 150)
    again = mf.diagnose(decoder, [_TEXTS[1]])
    for name in ("sink_share", "attended", "sampled", "exponent"):
        assert np.allclose(getattr(again, name), getattr(diagnosis, name), rtol=1e-10), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "albert"])
def test_encoders_have_exponents_of_several_lengths(tmp_path, kind):
    """An encoder has one context a text: of one there is no slope; shared weights are one copy."""
    arrays = encoders.random_arrays(kind, positions=200)
    encoders.write_encoder(tmp_path, kind, arrays=arrays, max_position_embeddings=200)
    encoder = mf.load_encoder(tmp_path)
    texts = [RNG.integers(len(encoders.PIECES), size=n) for n in (40, 160)]
    one, both = mf.diagnose(encoder, texts[:1]), mf.diagnose(encoder, texts)
    assert np.isnan(one.exponent).all()
    assert re.search(r"share of g below 0.3 +- +-$", str(one), re.MULTILINE)
    assert one.plot() is not None
    assert np.allclose(both.contexts, [40, 160])
    assert np.array_equal(both.score_radius[1, 0], both.score_radius[1, 1]) == (kind == "albert")
    copy = module._drawn(encoder.layers[0], np.random.default_rng(0))
    assert not any(part.bias.any() for part in (copy.query, copy.outer, copy.norm))
    states = list(encoder.states(encoder.embedded(texts[0])))
    p = np.array(list(encoder.layers[1].weights(states[1])))
    entropies = entr(p).sum(axis=2)
    assert np.allclose(one.attended[0, 1, :, 0], np.exp(entropies.mean(axis=1)), rtol=1e-12)


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ([_TEXTS[0], _TEXTS[0][:31]], "needs texts of 32 tokens or more, got 31"),
        ([], "needs texts of 32 tokens or more, got 0"),
        ([np.arange(401) % 9], "takes at most 400"),
    ],
)
def test_texts_that_are_too_short_or_long_are_refused(decoder, texts, reason):
    """Slopes of one octave, or a traceback of an empty mean."""
    refused(reason, mf.diagnose, decoder, texts)


def test_memory_is_refused_beforehand(decoder, monkeypatch):
    """A long text would fill the memory of the machine."""
    monkeypatch.setattr("meanfield.engines.limits.available_memory", lambda: 1e5)
    monkeypatch.setattr("meanfield.engines.limits._LITTLE", 0.0)
    message = r"a diagnosis of 150 tokens would take about .* GiB of memory.*Take shorter texts"
    refused(message, mf.diagnose, decoder, [_TEXTS[1]])


@pytest.mark.slow
def test_result_is_stored_and_drawn(tmp_path, cli, diagnosis):
    """A file would lack an array, or the figure a panel."""
    diagnosis.save(tmp_path / "x.h5")
    again = mf.load(tmp_path / "x.h5")
    assert np.array_equal(again.sampled, diagnosis.sampled) and again.model == diagnosis.model
    assert str(again) == str(diagnosis) and "Diagnosis(" in repr(again)
    assert "normalization" not in cli("info", tmp_path / "x.h5")
    figure = again.plot(title="mine")
    panels = {axes.get_label() for axes in figure.axes}
    assert {"attended", "exponent", "sampled", "traces", "sink_share"} < panels
    attended = next(axes for axes in figure.axes if axes.get_label() == "attended")
    drawn = [line.get_ydata() for line in attended.lines[1:]]
    assert np.allclose(drawn, np.median(diagnosis.attended, axis=(1, 2)))
    refused("several axes", diagnosis.plot, ax=attended)
    headings = [again.plot(title=title).axes[0].texts for title in (None, "")]
    assert headings[0][0].get_text() == again.model and not headings[1]


@pytest.fixture
def use(tmp_path):
    write_folder(tmp_path / "model", random_arrays(), max_position_embeddings=400)
    (tmp_path / "one.txt").write_text("the token took the ten other tokens then " * 3)
    return "diagnose", tmp_path / "model", tmp_path / "one.txt"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "begin"), [("x.svg", b"<?xml"), ("x.html", b"<!doctype html>")])
def test_command_writes_figure_or_page(tmp_path, cli, use, name, begin):
    """A suffix would write another kind of file."""
    assert "tokens after each layer" in cli(*use, "-o", tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert content.startswith(begin)
    assert name != "x.html" or b"exponent g of attended tokens" in content


@pytest.mark.slow
def test_command_writes_numbers_of_the_function(tmp_path, cli, use):
    """Report or file would be of another text, or a second call not replace its file."""
    diagnosis = mf.diagnose(mf.load_decoder(use[1]), use[2].read_text())
    for _ in range(2):
        numbers = cli.json(*use, "--quiet", "-o", tmp_path / "x.json")
    assert numbers["sink_share"] == diagnosis.sink_share.tolist()
    assert numbers["exponent"] == diagnosis.exponent.tolist()
    assert json.loads((tmp_path / "x.json").read_text()) == {"kind": "diagnosis"} | numbers


def test_command_refuses_in_one_line(tmp_path, cli, use):
    """A wrong suffix or a file of others would be noticed after the work, or replaced."""
    (tmp_path / "other.json").write_text("{}")
    for wrong, reason in {
        "x.txt": "figures end in .png, .pdf, .svg, .json or .html",
        "no/x.png": "its folder does not exist",
        "other.json": "is not replaced",
    }.items():
        assert reason in cli.refused(*use, "-o", tmp_path / wrong)
    use[2].write_text("the token")
    assert "needs texts of 32 tokens" in cli.refused(*use)
