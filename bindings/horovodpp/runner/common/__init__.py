# SPDX-License-Identifier: Apache-2.0
"""Helpers that Horovod programs import from horovod.runner.common."""
