# SPDX-License-Identifier: Apache-2.0
"""The line of operations.py, or of a file beside it, for an entry of op_db."""

import composed_operations  # noqa: F401
import element_operations  # noqa: F401
import image_operations  # noqa: F401
import more_operations  # noqa: F401
import order_operations  # noqa: F401
from calls import Without  # noqa: F401
from operations import OPERATIONS


def line_of(entry):
    """The line of an OpInfo, or None."""
    name, variant = entry.name, entry.variant_test_name
    if f"{name}/{variant}" in OPERATIONS:
        return OPERATIONS[f"{name}/{variant}"]
    return OPERATIONS.get(name)
