"""Damage by disks, copies and other programs to the bytes of a file."""

from __future__ import annotations

import random

BLOCKS = (1, 16, 512, 4096)


def cut(content: bytes, rng: random.Random) -> bytes:
    """Cut at any length, and at those near the ends of the file and of its seal."""
    near = rng.choice([0, 8, 64, 96, 512, 2048, len(content) - 26, len(content)])
    length = rng.choice([near - rng.randrange(28), near + rng.randrange(28)])
    return content[: rng.choice([max(length, 0), rng.randrange(len(content))])]


def flipped(content: bytes, rng: random.Random) -> bytes:
    """Up to eight bits anywhere, in the first bytes, or in the last."""
    damaged = bytearray(content)
    reach = rng.choice([len(content), min(96, len(content)), min(40, len(content))])
    start = 0 if rng.random() < 0.5 else len(content) - reach
    for _ in range(rng.randint(1, 8)):
        damaged[start + rng.randrange(reach)] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def overwritten(content: bytes, rng: random.Random) -> bytes:
    """A run of other bytes: zeros, ones, anything, a text."""
    length = rng.randint(1, min(5000, len(content)))
    start = rng.randrange(len(content) - length + 1)
    other = rng.choice([bytes(length), b"\xff" * length, rng.randbytes(length), b"NaN " * length])
    return content[:start] + other[:length] + content[start + length :]


def zeroed(content: bytes, rng: random.Random) -> bytes:
    """Blocks of a disk that were never written: the last one above all."""
    damaged, size = bytearray(content), rng.choice(BLOCKS)
    blocks = (len(content) - 1) // size + 1
    for block in {blocks - 1} if rng.random() < 0.3 else rng.choices(range(blocks), k=3):
        part = slice(block * size, min((block + 1) * size, len(content)))
        damaged[part] = bytes(part.stop - part.start)
    return bytes(damaged)


def mixed(content: bytes, rng: random.Random) -> bytes:
    """Blocks swapped, left out, doubled, and more behind the end."""
    size = rng.choice(BLOCKS)
    a, b = sorted(rng.randrange(0, len(content), size) for _ in range(2))
    first, second = content[a : a + size], content[b : b + size]
    swapped = content[:a] + second + content[a + size : b] + first + content[b + size :]
    without, doubled = content[:a] + content[a + size :], content[:b] + content[a:]
    return rng.choice([swapped, without, doubled, content + rng.randbytes(rng.randint(1, 99))])


DAMAGE = {f.__name__: f for f in (cut, flipped, overwritten, zeroed, mixed)}
