# SPDX-License-Identifier: Apache-2.0
"""A store of keys and values over HTTP, under the names of horovod.runner.http."""
