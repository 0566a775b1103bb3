# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs, under the names of horovod.runner.elastic."""
