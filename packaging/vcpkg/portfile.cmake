# SPDX-License-Identifier: Apache-2.0
# For vcpkg, as an overlay port of a clone: vcpkg install horovodpp --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES mpi HVD_WITH_MPI dnnl HVD_WITH_DNNL images HVD_WITH_IMAGES)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DHVD_BUILD_TESTS=OFF -DHVD_BUILD_EXAMPLES=OFF -DHVD_WITH_UCX=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME horovodpp CONFIG_PATH lib/cmake/horovodpp)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES horovodrun AUTO_CLEAN)

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE" "${SOURCE_PATH}/NOTICE"
  "${SOURCE_PATH}/THIRD_PARTY.md")
