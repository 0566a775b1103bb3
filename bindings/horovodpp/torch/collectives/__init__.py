# SPDX-License-Identifier: Apache-2.0
"""The collectives on tensors, one file for each kind; mpi_ops exports all of them."""
