# SPDX-License-Identifier: Apache-2.0
# Finds oneDNN: Dnnl_INCLUDE_DIR and Dnnl_LIBRARY. (Its own package requires OpenCL, which a
# CPU does not need.)
find_path(Dnnl_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(Dnnl_LIBRARY dnnl)
if(Dnnl_INCLUDE_DIR)
  file(STRINGS ${Dnnl_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h version
    REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX MATCHALL "[0-9]+" version "${version}")
  list(JOIN version . Dnnl_VERSION)
endif()
mark_as_advanced(Dnnl_INCLUDE_DIR Dnnl_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Dnnl REQUIRED_VARS Dnnl_LIBRARY Dnnl_INCLUDE_DIR
  VERSION_VAR Dnnl_VERSION HANDLE_VERSION_RANGE
  REASON_FAILURE_MESSAGE "on Debian it comes with libdnnl-dev")
