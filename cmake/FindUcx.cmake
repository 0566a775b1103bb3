# SPDX-License-Identifier: Apache-2.0
# Finds UCX: the target Ucx::Ucx, and Ucx_VERSION.
find_path(Ucx_INCLUDE_DIR ucp/api/ucp.h)
find_library(Ucx_ucp_LIBRARY ucp)
find_library(Ucx_ucs_LIBRARY ucs)
mark_as_advanced(Ucx_INCLUDE_DIR Ucx_ucp_LIBRARY Ucx_ucs_LIBRARY)
if(Ucx_INCLUDE_DIR)
  file(STRINGS ${Ucx_INCLUDE_DIR}/ucp/api/ucp_version.h parts
    REGEX "^#define UCP_API_(MAJOR|MINOR) ")
  string(REGEX REPLACE ".*MAJOR +([0-9]+).*MINOR +([0-9]+).*" "\\1.\\2" Ucx_VERSION "${parts}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Ucx
  REQUIRED_VARS Ucx_ucp_LIBRARY Ucx_ucs_LIBRARY Ucx_INCLUDE_DIR VERSION_VAR Ucx_VERSION
  REASON_FAILURE_MESSAGE "on Debian it comes with libucx-dev")
if(Ucx_FOUND AND NOT TARGET Ucx::Ucx)
  add_library(Ucx::Ucx INTERFACE IMPORTED)
  set_target_properties(Ucx::Ucx PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${Ucx_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES "${Ucx_ucp_LIBRARY};${Ucx_ucs_LIBRARY}")
endif()
