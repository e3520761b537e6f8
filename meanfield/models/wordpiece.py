"""Words and pieces of words: the tokens of encoders like BERT.

A text is cut at white space and around punctuation, in small letters without accents. Each word is
cut into the longest pieces of a vocabulary, from the left; later pieces begin with ##.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from meanfield.models.safetensors import check_ordinary

# Longer words than this are unknown.
_LONGEST_WORD = 100
# A vocabulary of more bytes is another file.
_LARGEST = 50_000_000
_MOST = 1_000_000
# Blocks of Chinese characters: each is a word. Letters of other scripts are not.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F),
    (0x2B820, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip
FIRST, LAST, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
"""Pieces before and after every text, and for what no pieces are known."""


@dataclass(frozen=True, eq=False)
class WordPiece:
    """Pieces of a vocabulary, by number.

    References: Devlin, Chang, Lee, Toutanova, BERT, arXiv:1810.04805 (section 3). Schuster,
    Nakajima, Japanese and Korean voice search, ICASSP 2012 (pieces of words).
    """

    numbers: Mapping[str, int]  # piece -> its number
    lowers: bool = True  # whether case and accents are dropped

    def of(self, text: str) -> list[str]:
        """Pieces of a text, with those before and after it."""
        pieces = [piece for word in self._words(text) for piece in self._cut(word)]
        return [FIRST, *pieces, LAST]

    def _words(self, text: str) -> Iterator[str]:
        spaced = "".join(_spaced(character) for character in unicodedata.normalize("NFC", text))
        for word in spaced.split():
            if self.lowers:
                parts = unicodedata.normalize("NFD", word.lower())
                word = "".join(each for each in parts if unicodedata.category(each) != "Mn")
            yield from "".join(f" {each} " if _divides(each) else each for each in word).split()

    def _cut(self, word: str) -> list[str]:
        """Longest pieces of a word from the left; it is unknown if the rest has none."""
        pieces: list[str] = []
        begin = 0
        if len(word) > _LONGEST_WORD:
            return [UNKNOWN]
        while begin < len(word):
            mark = "##" if begin else ""
            ends = range(len(word), begin, -1)
            end = next((end for end in ends if mark + word[begin:end] in self.numbers), None)
            if end is None:
                return [UNKNOWN]
            pieces.append(mark + word[begin:end])
            begin = end
        return pieces


def read_vocabulary(path: str | os.PathLike[str], lowers: bool = True) -> WordPiece:
    """Vocabulary of a file with one piece on each line, numbered from 0."""
    name = os.fspath(path)
    check_ordinary(path)
    pieces: list[str] = []
    try:
        if os.path.getsize(path) > _LARGEST:
            raise ValueError(f"{name} is no vocabulary: it has more than {_LARGEST:,} bytes.")
        with open(path, encoding="utf-8", newline="\n") as file:
            for line in file:
                pieces.append(line.rstrip("\r\n"))
                if len(pieces) > _MOST:
                    raise ValueError(f"{name} is no vocabulary: it has more than {_MOST:,} lines.")
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{name} is no vocabulary: it is no text in UTF-8.") from None
    numbers = {piece: number for number, piece in enumerate(pieces)}
    missing = [piece for piece in (FIRST, LAST, UNKNOWN) if piece not in numbers]
    if missing:
        raise ValueError(f"{name} is no vocabulary of word pieces: it lacks {missing[0]}.")
    return WordPiece(numbers, lowers)


def _spaced(character: str) -> str:
    """A character, a space in its place, or nothing, or spaces around it."""
    if character in "\t\n\r" or unicodedata.category(character) == "Zs":
        return " "
    # Control characters, and what stands for something that could not be read.
    if character in "\0�" or unicodedata.category(character).startswith("C"):
        return ""
    is_ideograph = any(low <= ord(character) <= high for low, high in _IDEOGRAPHS)
    return f" {character} " if is_ideograph else character


def _divides(character: str) -> bool:
    """True if a character is a word of its own: punctuation, and all signs of ASCII."""
    if character.isascii():
        return not character.isalnum() and character.isprintable() and not character.isspace()
    return unicodedata.category(character).startswith("P")
