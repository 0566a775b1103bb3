# SPDX-License-Identifier: Apache-2.0
"""Loaders that prepare batches in a thread, under the names of horovod.data."""
from horovodpp.data.data_loader_base import AsyncDataLoaderMixin, BaseDataLoader

__all__ = ["AsyncDataLoaderMixin", "BaseDataLoader"]
