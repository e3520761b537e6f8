"""Tokenizers: byte pairs of decoders, and word pieces of encoders.

Byte pairs are the tokens of decoders like GPT-2 and llama 3. A rule cuts a text into words, digits
and signs. The bytes of each part, each written as one printable letter, are joined pair by pair in
the order of a list of merges.

Word pieces are the tokens of encoders like BERT. A text, in lower case without accents, is cut at
white space and around punctuation. Each word is cut into the longest pieces of a vocabulary, from
the left; later pieces begin with ##.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from meanfield.models.safetensors import check_ordinary

_CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
_WORDS = (
    rf"{_CONTRACTIONS}| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+",
    rf"(?i:{_CONTRACTIONS})|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]{{1,DIGITS}}| ?[^\sA-Za-z0-9]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+",
)
RULES: Mapping[str, tuple[re.Pattern[str], ...]] = {
    name: tuple(re.compile(pattern, re.ASCII) for pattern in patterns)
    for name, patterns in {
        "gpt-2": (_WORDS[0],),
        "smollm": ("[0-9]", _WORDS[0]),
        "qwen2": (_WORDS[1].replace("DIGITS", "1"),),
        "llama-bpe": (_WORDS[1].replace("DIGITS", "3"),),
    }.items()
}
"""Rules that cut a text, by their names in GGUF files; they match the characters of `_kind`."""


def _letters() -> list[str]:
    """Letter of each byte: the byte itself if printable, else a character beyond the first 256."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printed else next(others)) for byte in range(256)]


LETTERS = _letters()
"""Byte -> its letter in vocabularies."""
_BYTES = {letter: byte for byte, letter in enumerate(LETTERS)}


@dataclass(frozen=True, eq=False)
class BytePairs:
    """Numbers of pieces, and the order in which pieces are joined.

    - numbers: piece -> its number; specials: the same for pieces that occur literally in texts.
    - ranks: pair of pieces -> its index in the list of merges.
    - rule: a key of `RULES`; first (int or None): number of a token before every text.

    Bytes that are not in the vocabulary are left out, as in reference implementations.

    References: Sennrich, Haddow, Birch, Neural machine translation of rare words with subword
    units, arXiv:1508.07909. Radford et al., Language models are unsupervised multitask learners,
    2019 (bytes).
    """

    numbers: Mapping[str, int]
    ranks: Mapping[tuple[str, str], int]
    rule: str
    specials: Mapping[str, int] = field(default_factory=dict)
    first: int | None = None

    @property
    def last(self) -> int:
        """Largest number of a piece."""
        return max(*self.numbers.values(), *self.specials.values(), self.first or 0)

    def of(self, text: str) -> list[int]:
        """Numbers of the pieces of a text."""
        numbers = [] if self.first is None else [self.first]
        parts: dict[str, list[int]] = {}
        for part in self._without_specials(text):
            if part in self.specials:
                numbers.append(self.specials[part])
                continue
            part = unicodedata.normalize("NFC", part) if self.rule == "qwen2" else part
            for word in cut(part, RULES[self.rule]):
                if word not in parts:
                    joined = self._joined(word)
                    parts[word] = [self.numbers[each] for each in joined if each in self.numbers]
                numbers += parts[word]
        return numbers

    def text(self, numbers: Sequence[int]) -> str:
        """Text of pieces; invalid UTF-8 becomes replacement characters."""
        pieces = {number: piece for piece, number in self.numbers.items()}
        pieces |= {number: piece for piece, number in self.specials.items()}
        parts = [pieces[int(number)] for number in numbers]
        raw = [
            each.encode() if each in self.specials else bytes(map(_BYTES.__getitem__, each))
            for each in parts
        ]
        return b"".join(raw).decode("utf-8", "replace")

    def _without_specials(self, text: str) -> list[str]:
        if not self.specials:
            return [text]
        longest_first = sorted(self.specials, key=len, reverse=True)
        return re.split(f"({'|'.join(map(re.escape, longest_first))})", text)

    def _joined(self, word: str) -> list[str]:
        """Pieces of a word: the pair of lowest rank is joined everywhere, until no pair is left."""
        pieces = [LETTERS[byte] for byte in word.encode("utf-8", "replace")]
        # Some pieces of llama 3 cannot be reached by merges.
        if self.rule == "llama-bpe" and "".join(pieces) in self.numbers:
            return ["".join(pieces)]
        end = len(self.ranks)
        while len(pieces) > 1:
            pairs = zip(pieces, pieces[1:], strict=False)
            best = min(pairs, key=lambda pair: self.ranks.get(pair, end))
            if best not in self.ranks:
                break
            joined, i = [], 0
            while i < len(pieces):
                both = tuple(pieces[i : i + 2]) == best
                joined.append("".join(best) if both else pieces[i])
                i += 2 if both else 1
            pieces = joined
        return pieces


def cut(text: str, rules: Sequence[re.Pattern[str]]) -> Iterator[str]:
    """Parts of a text, cut by one rule after another; the parts join to the text.

    >>> [*cut("It's 42 tokens.", RULES["smollm"])]
    ['It', "'s", ' ', '4', '2', ' tokens', '.']
    """
    kinds = "".join(map(_kind, text))
    spans = [(0, len(text))]
    for rule in rules:
        spans = [part for span in spans for part in _spans(rule, kinds, *span)]
    return (text[begin:end] for begin, end in spans)


def _spans(rule: re.Pattern[str], kinds: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of matches of a rule from begin to end, and spans between them."""
    for match in rule.finditer(kinds, begin, end):
        if match.start() > begin:
            yield begin, match.start()
        begin = match.end()
        yield match.span()
    if begin < end:
        yield begin, end


def _kind(character: str) -> str:
    """An ASCII character itself; for others an ASCII letter, digit, space or sign of its kind."""
    if character.isascii():
        return character
    kind = unicodedata.category(character)[0]
    return "\t" if character == "\x85" else {"L": "A", "N": "0", "Z": "\t"}.get(kind, "!")


# Longer words are unknown.
_LONGEST_WORD = 100
# Largest vocabulary in bytes and lines.
_LARGEST = 50_000_000
_MOST = 1_000_000
# Blocks of Chinese characters, each of which is a word.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F),
    (0x2B820, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip
FIRST, LAST, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
"""Pieces before and after every text, and for unknown words."""


@dataclass(frozen=True, eq=False)
class WordPiece:
    """Word pieces of a vocabulary.

    References: Devlin, Chang, Lee, Toutanova, BERT, arXiv:1810.04805 (section 3). Schuster,
    Nakajima, Japanese and Korean voice search, ICASSP 2012 (pieces of words).
    """

    numbers: Mapping[str, int]  # piece -> its number
    lowers: bool = True  # drops case and accents

    def of(self, text: str) -> list[str]:
        """Pieces of a text, with `FIRST` before and `LAST` after them."""
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
        """Longest pieces of a word from the left; `UNKNOWN` if no piece matches the rest."""
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
    """The character; a space for white space, nothing for control characters, or spaces around."""
    if character in "\t\n\r" or unicodedata.category(character) == "Zs":
        return " "
    # Control characters, and the replacement character.
    if character in "\0�" or unicodedata.category(character).startswith("C"):
        return ""
    is_ideograph = any(low <= ord(character) <= high for low, high in _IDEOGRAPHS)
    return f" {character} " if is_ideograph else character


def _divides(character: str) -> bool:
    """True if a character is a word of its own: punctuation and ASCII signs."""
    if character.isascii():
        return not character.isalnum() and character.isprintable() and not character.isspace()
    return unicodedata.category(character).startswith("P")
