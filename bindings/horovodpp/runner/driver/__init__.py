# SPDX-License-Identifier: Apache-2.0
"""The names of horovod.runner.driver."""
