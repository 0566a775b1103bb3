# SPDX-License-Identifier: Apache-2.0
"""The version of the package."""
from horovodpp._core import version as _version

__version__ = _version()
