"""Pixel values: what is asked where those of an object cannot be told from those of the background.

A mask that was drawn has two values, 0 and another one. A picture with more of them may be grey, because its edges were
smoothed or because it holds probabilities: then a threshold makes a mask of it. Or it is a label map, in which each
value is an object of its own. To take all that is not 0 for the object would be wrong in both.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.options import check_number
from allalike.errors import LabelError, OptionError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array
    from allalike.domains.contract import Domain

__all__ = ["ask_value", "check_pixel_value", "check_pixel_values", "have_one_value"]

_MANY_VALUES, _MANY_CLASSES = 20, 64  # more of them, or greater ones, are rather shades of grey
_MIDDLE_OF_BYTES = 128


def check_pixel_value(value: Any, name: str) -> float:
    """Return the value of a pixel.

    >>> check_pixel_value("black", "on")
    Traceback (most recent call last):
    allalike.errors.OptionError: on is 'black'. It must be a pixel value, such as 0 or 255.
    """
    if not isinstance(value, int | float):
        raise OptionError(f"{name} is {value!r}. It must be a pixel value, such as 0 or 255.")
    return value


def check_pixel_values(values: Any, name: str) -> tuple[float, ...]:
    """Return the values of pixels, each of which comes once.

    >>> check_pixel_values([1, 2], "values")
    (1, 2)
    """
    if not isinstance(values, list | tuple | range) or len(set(values)) < len(values):
        raise OptionError(f"{name} is {values!r}. It must be a list of different pixel values, such as [1, 2].")
    return tuple(check_number(value, f"each of {name}") for value in values)


def have_one_value(pixels: Array) -> bool:
    """Tell whether all pixels have the same value, or the same colours.

    >>> have_one_value(np.array([7, 7])), have_one_value(np.array([7, 8]))
    (True, False)
    """
    return not len(pixels) or bool((pixels == pixels[0]).all())


def ask_value(domain: Domain, pixels: Array, path: str) -> LabelError:
    """Return the error that asks which pixels of a mask belong to the object.

    >>> from allalike.domains.bitmap import Bitmap
    >>> ask_value(Bitmap(fill=True), np.array([[0, 1, 2]]), "").settles
    {'domain': 'bitmap(fill=True, values=[1, 2])'}
    >>> ask_value(Bitmap(), np.linspace(0, 1, 30), "").settles
    {'domain': 'bitmap(threshold=0.5)'}
    """
    colours = pixels.ndim == 3
    shades = np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0) if colours else np.unique(pixels)
    shades = shades[(shades != 0).any(axis=1)] if colours else shades[shades != 0]
    what = f"{path or 'its pixels'} {'has pixels of' if path else 'have'} {len(shades):,}"
    if colours:
        what += " colours other than black"
    else:
        what += f" values other than 0, from {shades[0]:g} to {shades[-1]:g}"
    if not colours and len(shades) <= _MANY_VALUES and np.median(shades) < _MANY_CLASSES:
        option = f"values=[{', '.join(f'{shade:g}' for shade in shades)}]"
    else:
        option = f"threshold={_middle(pixels):g}"
    return LabelError(
        f"{what}. In a label map each of them is an object (values); in a grey picture the object begins at one of them"
        " (threshold); or one of them is the object (on)",
        domain=_write(domain, option),
    )


def _middle(pixels: Array) -> float:
    if pixels.dtype == np.uint8:
        return _MIDDLE_OF_BYTES
    return float(pixels.min() / 2 + pixels.max() / 2)


def _write(domain: Domain, option: str) -> str:
    """Write a domain with its other options, and a further one."""
    usual = type(domain)()
    others = [
        f"{field.name}={getattr(domain, field.name)!r}"
        for field in fields(domain)
        if getattr(domain, field.name) != getattr(usual, field.name)
    ]
    return f"{domain.name}({', '.join([*others, option])})"
