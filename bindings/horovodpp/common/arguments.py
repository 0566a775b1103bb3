# SPDX-License-Identifier: Apache-2.0
"""Checks and conversions of the arguments of collectives, for all frameworks."""

from horovodpp.common.ops import Adasum
from horovodpp.common.exceptions import InvalidCallError


def check_scattered(dimensions, op):
    """Raises ValueError for a scalar, InvalidCallError for an op that needs whole tensors."""
    if dimensions == 0:
        raise ValueError("Reducescatter does not support scalar inputs")
    if op == Adasum:
        raise InvalidCallError("Reducescatter supports every op but Adasum, which needs whole "
                               "tensors: use allreduce, and take this rank's rows of the result")


def wire(name):
    """The name that ranks match. Without a name, calls of an operation match in order.

    Raises TypeError unless it is a str or None.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name is {name!r}: the name of a collective is a str")
    return name or ""


def check_root(root_rank, process_set, what="broadcast"):
    """Raises ValueError unless `root_rank` is the number of a rank of the job in the set."""
    if not hasattr(root_rank, "__index__"):
        raise ValueError(f"{what} received invalid root rank {root_rank!r}: give the number of a "
                         "rank, an int")
    if process_set.ranks is not None and root_rank not in process_set.ranks:
        raise ValueError(f"{what} received invalid root rank {root_rank} for provided process "
                         "set")


def splits_of(shape, splits, process_set):
    """The number of rows for each rank, as a list. An empty list means equal parts.

    Raises ValueError if the splits do not fit a tensor of this shape, or the ranks.
    """
    if len(shape) == 0:
        raise ValueError("alltoall sends rows of the first dimension, which a scalar does not have")
    ranks = process_set.size()
    if splits is None:
        if shape[0] % ranks:
            raise ValueError("splits not provided, but first dimension of tensor is not an even "
                             "multiple of the number of workers.")
        return []
    return check_split_rows(shape, splits, process_set)


def check_split_rows(shape, splits, process_set):
    """The given splits as a list. Raises ValueError as splits_of()."""
    ranks = process_set.size()
    splits = [int(split) for split in splits]
    if len(splits) != ranks:
        raise ValueError("Number of entries in splits does not equal number of workers.")
    if any(split < 0 for split in splits):
        raise ValueError("splits has to be at least 0 for each worker")
    if sum(splits) > shape[0]:
        raise ValueError("Sum of splits entries is greater than the first dimension of tensor.")
    return splits
