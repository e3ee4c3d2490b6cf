"""Tree paths, and the distance between nodes, based on the shared part of their paths.

The similarity of two concepts with depths a and b, whose last common ancestor has depth c, is 2 c / (a + b) (Wu and
Palmer 1994). A node's path is the set of its ancestors and itself, so this is the Dice coefficient of two sets.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Array, Floats

Way = tuple[str, ...]


class Ways(NamedTuple):
    """Paths, the hashes of their nodes padded with 0, and their lengths."""

    ways: list[Way]
    nodes: npt.NDArray[np.uint64]
    depth: npt.NDArray[np.int64]


def pack(ways: Sequence[Way]) -> Ways:
    """Hash the nodes on each path; a node is identified by its full path, so nodes with equal names may differ."""
    depth = np.array([len(way) for way in ways], np.int64)
    nodes = np.zeros((len(ways), int(depth.max(initial=0))), np.uint64)
    hashes = np.fromiter((each for way in ways for each in _hash_nodes(way)), np.uint64, int(depth.sum()))
    nodes[np.arange(nodes.shape[1]) < depth[:, None]] = hashes | np.uint64(1)  # never 0
    return Ways(list(ways), nodes, depth)


def _hash_nodes(way: Way) -> Iterator[int]:
    """Hash each prefix of a path like `hash_objects`, incrementally."""
    digest = blake2b(b"(", digest_size=8)
    for place, name in enumerate(way):
        digest.update((", " * (place > 0) + repr(name)).encode(errors="surrogatepass"))
        node = digest.copy()
        node.update(b")" if place else b",)")
        yield int.from_bytes(node.digest(), "little")


def distance(left: Ways, i: Array, right: Ways, j: Array) -> Floats:
    """Compute the distance between path i[k] of the first and path j[k] of the others, for all k.

    >>> ways = pack([("a", "b", "c"), ("a", "b"), ("a", "d")])
    >>> distance(ways, np.array([0, 1]), ways, np.array([1, 2]))
    array([0.2, 0.5])
    """
    common = np.zeros(len(i))
    for one, other in zip(left.nodes.T, right.nodes.T, strict=False):
        common += (one[i] == other[j]) & (one[i] != 0)
    return np.asarray(1 - 2 * common / (left.depth[i] + right.depth[j]), np.float64)
