# SPDX-License-Identifier: Apache-2.0
# Finds cblas.h, which FindBLAS does not look for: CblasHeader_INCLUDE_DIR.
find_path(CblasHeader_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas cblas)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CblasHeader
  REQUIRED_VARS CblasHeader_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "on Debian it comes with libopenblas-dev")
