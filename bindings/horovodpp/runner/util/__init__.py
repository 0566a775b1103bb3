# SPDX-License-Identifier: Apache-2.0
"""Helpers that Horovod's programs import from horovod.runner.util."""
