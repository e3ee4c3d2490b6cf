"""Pairs of a call and the essential words of its message."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from allalike.errors import AllalikeError


@dataclass(frozen=True)
class Message:
    """A call that fails, and the words for cause and remedy that its message has to contain."""

    name: str
    call: Callable[[Path], object]
    words: tuple[str, ...]
    error: type[Exception] = AllalikeError

    def check(self, folder: Path) -> None:
        """Make the call in a folder of its own and look for the words in what it raises."""
        with pytest.raises(self.error) as caught:
            self.call(folder)
        text = " ".join(str(caught.value).split()).casefold()
        absent = [word for word in self.words if word.casefold() not in text]
        assert not absent, f"{absent} not in: {text}"
