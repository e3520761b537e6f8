"""Replays of decoders: the ladder under a causal mask, with and without angles."""

import math

import numpy as np
import pytest
from scipy.special import entr

import meanfield as mf
from meanfield.fields.blocks import unit_vectors
from meanfield.models import decoder as decoder_module
from meanfield.models.heads import head_table
from tests.models.decoders import strong_arrays, write_folder, write_gguf

_TOKENS = np.array([84, 3, 200, 251, 84, 17, 42, 9, 120])


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decoder")
    write_folder(folder, strong_arrays())
    return mf.load_decoder(folder)


@pytest.fixture(scope="module")
def replayed(decoder):
    return mf.replay(decoder, [_TOKENS])


def _apart(x, y):
    return math.sqrt(np.mean(np.sum((unit_vectors(x) - unit_vectors(y)) ** 2, axis=1)))


def test_second_rung_is_the_decoder_without_feed_forward(decoder, replayed):
    """The rung would have another mask, other angles, or other norms than the model."""
    x = replayed.states[0]
    for depth, layer in enumerate(decoder.layers, 1):
        x = layer.attended(x)
        apart = _apart(x, replayed.states[depth])
        assert abs(replayed.ladder.distance[0, 1, depth] - apart) < 1e-13
    assert np.isnan(replayed.ladder.cosine[0, 3]).all()


def test_step_without_angles_is_attention_of_turned_back_heads(decoder, replayed, monkeypatch):
    """Matrices of this package would lack a gain, a bias or the mask of the model."""
    monkeypatch.setattr(decoder_module, "rotated", lambda x, base: x)
    for k, layer in enumerate(decoder.layers):
        expected = _apart(layer.attended(replayed.states[k]), replayed.states[k + 1])
        assert abs(replayed.ladder.step_distance[0, 3, k] - expected) < 1e-12
        assert abs(replayed.ladder.step_distance[0, 2, k] - expected) > 1e-3


def test_last_step_is_causal_attention_of_this_package(decoder, replayed):
    """The one head would attend to later tokens, or its beta and c not be the least squares."""
    ladder = replayed.ladder
    for k, layer in enumerate(decoder.layers):
        x, beta, c = replayed.states[k], ladder.beta[0, k], ladder.strength[0, k]
        u = x / np.linalg.norm(x, axis=1)[:, None]
        scores = np.mean(list(layer.scores(x)), axis=0)
        s, cosines = (
            np.concatenate([row[: i + 1] - row[: i + 1].mean() for i, row in enumerate(rows)])
            for rows in (scores, u @ u.T)
        )
        assert abs(beta - s @ cosines / (cosines @ cosines)) < 1e-10 * abs(beta)
        averages = np.zeros_like(u)
        for i in range(len(u)):
            weights = [math.exp(beta * (u[i] @ u[j])) for j in range(i + 1)]
            for j, weight in enumerate(weights):
                averages[i] += weight / sum(weights) * u[j]
        added, scaled = layer.attention(x), averages * np.sqrt((x**2).sum(axis=1).mean())
        assert abs(c - (added * scaled).sum() / (scaled**2).sum()) < 1e-10 * abs(c)
        expected = _apart(u + c * averages, replayed.states[k + 1])
        assert abs(ladder.step_distance[0, 4, k] - expected) < 1e-12
        attention = mf.Attention([mf.Head()], beta=beta, strength=c, mask="causal")
        law, one = mf.from_points(u), mf.Layers(step=1.0, count=1)
        run = mf.simulate(mf.Problem(mf.Sphere(u.shape[1]), attention, initial=law, layers=one))
        assert np.abs(run.measures[1].points - unit_vectors(u + c * averages)).max() < 1e-12


def test_heads_and_steps_count_the_pairs_of_the_mask_alone(decoder, replayed):
    """Later tokens would enter slopes, or their scores of -inf make them NaN."""
    layer, x = decoder.layers[1], replayed.states[1]
    u = unit_vectors(x)
    for h, scores in enumerate(layer.scores(x)):
        above = below = total = 0.0
        for i in range(len(x)):
            s, c = scores[i, : i + 1], u[: i + 1] @ u[i]
            s, c = s - s.mean(), c - c.mean()
            above, below, total = above + s @ c, below + c @ c, total + s @ s
        beta = above / below
        assert abs(replayed.heads.beta_fit[0, 1, h] - beta) < 1e-10 * abs(beta)
        expected = 1.0 - (total - above**2 / below) / total
        assert abs(replayed.heads.r2_fit[0, 1, h] - expected) < 1e-12
        entropies = entr(list(layer.weights(x))[h]).sum(axis=1)
        assert abs(replayed.heads.attended_tokens[0, 1, h] - np.exp(entropies).mean()) < 1e-12
    assert np.isfinite(head_table(layer, x, u @ u.T).beta_entropy).all()
    steps = replayed.ladder.step_distance[0]
    assert np.allclose(
        replayed.ladder.explained[0], 1.0 - (steps / steps[0]) ** 2, rtol=0, atol=1e-15
    )


def test_blocks_of_rows_change_nothing(decoder, replayed, monkeypatch):
    """Long contexts go in blocks: a shifted mask would let tokens attend to later ones."""
    for x, layer in zip(replayed.states, decoder.layers, strict=False):
        rows, whole = [], layer.attention(x)
        with monkeypatch.context() as patch:
            patch.setattr("meanfield.models.encoder.PAIRS", 2 * len(_TOKENS))
            blocks = layer.attention(x, lambda h, first, *_, rows=rows: rows.append((h, first)))
        assert sorted(rows) == [(h, first) for h in range(4) for first in range(0, 9, 2)]
        assert np.abs(blocks - whole).max() < 1e-13


@pytest.mark.slow
def test_command_takes_a_file_and_a_folder(tmp_path, cli, decoder, replayed):
    """The kind of model would have to be named, or a decoder be refused as an encoder."""
    (tmp_path / "one.txt").write_text("the token took the ten")
    write_gguf(tmp_path / "x.gguf", strong_arrays())
    write_folder(tmp_path / "folder", strong_arrays())
    for model in ("x.gguf", "folder"):
        output = tmp_path / f"{model}.h5"
        cli.json("replay", tmp_path / model, tmp_path / "one.txt", "-o", output, "--quiet")
        again = mf.load(output)
        assert np.array_equal(again.states, mf.replay(decoder, again.texts).states)
        assert np.isfinite(again.ladder.step_distance).all()
        assert "nan" not in cli("info", output)  # the rung that decoders have not


def test_files_of_0_2_have_no_step_without_angles(tmp_path, replayed):
    """Files of the release would be refused: of their encoders the step is that of attention."""
    values = replayed.stored_values()
    old = np.delete(values["ladder_step_distance"], 3, axis=1)
    values |= {"text": [0], "step": np.arange(4), "ladder_step_distance": old}
    again = mf.Replay.restored(values, {"model": "x", "beta": 1.0})
    assert np.array_equal(again.ladder.step_distance[:, [0, 1, 2, 4]], old)
    assert np.array_equal(again.ladder.step_distance[:, 3], old[:, 2])


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("none.gguf", "none.gguf: no such file or folder: MODEL is a .gguf file, or a folder"),
        ("empty", "empty: no config.json in it: MODEL is a .gguf file, or a folder"),
        ("one.txt", "one.txt is no GGUF file: it does not begin with GGUF"),
        ("gpt2", "config.json: model_type is 'gpt2', known: "),
    ],
)
def test_command_names_what_is_no_model(tmp_path, cli, model, reason):
    """A missing folder, a wrong file or another kind would end in a traceback, or leave a file."""
    (tmp_path / "one.txt").write_text("the token")
    (tmp_path / "empty").mkdir()
    write_folder(tmp_path / "gpt2", {}, model_type="gpt2")
    output = tmp_path / "out.h5"
    assert reason in cli.refused("replay", tmp_path / model, tmp_path / "one.txt", "-o", output)
    assert not output.exists()
