// SPDX-License-Identifier: Apache-2.0
extern "C" int absent_mpi();
extern "C" int hvd_needs_mpi();
extern "C" int hvd_needs_mpi() { return absent_mpi(); }
