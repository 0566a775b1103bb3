# SPDX-License-Identifier: Apache-2.0
# Installs the headers, the library, and two ways to find it: find_package(horovodpp CONFIG)
# and pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/horovodpp)

install(TARGETS horovodpp horovodpp_collectives EXPORT horovodppTargets
  LIBRARY COMPONENT library NAMELINK_COMPONENT development ARCHIVE COMPONENT development)
get_property(mpi_modules GLOBAL PROPERTY HVD_MPI_MODULES)
foreach(module ${mpi_modules})
  get_target_property(flavor ${module} HVD_MPI_FLAVOR)
  install(TARGETS ${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${flavor})
endforeach()
if(TARGET horovodpp_ucx)
  install(TARGETS horovodpp_ucx LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ucx)
endif()
install(CODE "set(ROOT \"${PROJECT_SOURCE_DIR}\")
  set(PREFIX \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")"
  COMPONENT development)
install(SCRIPT ${PROJECT_SOURCE_DIR}/cmake/InstallHeaders.cmake COMPONENT development)
install(EXPORT horovodppTargets NAMESPACE horovodpp:: DESTINATION ${package_dir}
  COMPONENT development)

set(has_png OFF)
if(HVD_WITH_IMAGES AND PNG_FOUND)
  set(has_png ON)
endif()
set(has_jpeg OFF)
if(HVD_WITH_IMAGES AND JPEG_FOUND)
  set(has_jpeg ON)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/horovodppConfig.cmake.in
  ${PROJECT_BINARY_DIR}/horovodppConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/horovodppConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/horovodppConfig.cmake
  ${PROJECT_BINARY_DIR}/horovodppConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindSodium.cmake DESTINATION ${package_dir}
  COMPONENT development)

# The shared library links its own dependencies; users of the static one must name them.
# (BLAS and oneDNN have no pkg-config name that is the same everywhere.)
set(pc_libs "-L\${libdir} -lhorovodpp -pthread")
if(BUILD_SHARED_LIBS)
  get_target_property(tensors horovodpp OUTPUT_NAME)
endif()
if(tensors)
  set(pc_tensors -l${tensors})
endif()
set(pc_private_requires "absl_status, absl_statusor, absl_strings, absl_str_format, \
absl_flat_hash_map, absl_flat_hash_set, absl_core_headers, spdlog, libhwy, libsodium, zlib")
if(has_png)
  string(APPEND pc_private_requires ", libpng")
endif()
if(has_jpeg)
  string(APPEND pc_private_requires ", libjpeg")
endif()
set(pc_private_libs ${BLAS_LIBRARIES})
foreach(library ${CMAKE_DL_LIBS})
  list(APPEND pc_private_libs -l${library})
endforeach()
if(HVD_WITH_DNNL AND Dnnl_FOUND)
  list(APPEND pc_private_libs ${Dnnl_LIBRARY})
endif()
list(JOIN pc_private_libs " " pc_private_libs)
if(NOT BUILD_SHARED_LIBS)
  string(APPEND pc_libs " ${pc_private_libs}")
  set(pc_static_requires "${pc_private_requires}")
endif()
file(RELATIVE_PATH pc_to_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
function(hvd_pkg_config pc_name pc_language pc_flags pc_runtime)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/horovodpp.pc.in
    ${PROJECT_BINARY_DIR}/${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc_name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endfunction()
# The C compiler does not link the C++ library by itself.
if(NOT BUILD_SHARED_LIBS)
  set(runtime_of_cxx " -lstdc++ -lm")
endif()
hvd_pkg_config(horovodpp "" " -std=c++20" " ${pc_tensors}")
hvd_pkg_config(horovodpp-collectives ", the collectives in C++17" " -std=c++17" "")
hvd_pkg_config(horovodpp-c ", in C" "" "${runtime_of_cxx}")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  ${PROJECT_SOURCE_DIR}/THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)

install(FILES ${PROJECT_SOURCE_DIR}/cmake/tsan.supp
  DESTINATION ${CMAKE_INSTALL_DATADIR}/horovodpp COMPONENT development)

# Users of the static library find its dependencies by pkg-config; the shared one needs
# none.
if(BUILD_SHARED_LIBS)
  string(REPLACE "\${libdir}" "$libdir" config_libs "${pc_libs}")
  file(RELATIVE_PATH bin_to_prefix ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" bin_to_prefix "${bin_to_prefix}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/horovodpp-config.in
    ${PROJECT_BINARY_DIR}/horovodpp-config @ONLY)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/horovodpp-config TYPE BIN COMPONENT development)
endif()
