# SPDX-License-Identifier: Apache-2.0
# CPack's packages: Debian packages of the library, its MPI modules, the development files,
# and the launcher. dpkg-shlibdeps finds their dependencies.
#
#   cmake --preset package && cmake --build --preset package && cpack --preset package
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The horovodpp authors")
set(CPACK_PACKAGE_CONTACT "The horovodpp authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL library development launcher)
get_property(flavors GLOBAL PROPERTY HVD_MPI_FLAVORS)
list(APPEND CPACK_COMPONENTS_ALL ${flavors})
if(TARGET horovodpp_ucx)
  list(APPEND CPACK_COMPONENTS_ALL ucx)
endif()

# A library's package is named after its SONAME, so that two versions can be installed side
# by side.
set(library libhorovodpp${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libhorovodpp-dev)
set(CPACK_DEBIAN_LAUNCHER_PACKAGE_NAME horovodrun)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(same_version "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} ${same_version}")
set(CPACK_DEBIAN_LAUNCHER_PACKAGE_SECTION science)
foreach(flavor ${flavors})
  string(TOUPPER ${flavor} upper)
  set(package ${library}-${flavor})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${library} ${same_version}")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION
    "The module that the library speaks MPI with, loaded where MPI's launcher has started the ranks.")
  list(APPEND modules ${package})
endforeach()
set(CPACK_DEBIAN_UCX_PACKAGE_NAME ${library}-ucx)
set(CPACK_DEBIAN_UCX_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_UCX_PACKAGE_DEPENDS "${library} ${same_version}")
set(CPACK_COMPONENT_UCX_DESCRIPTION
  "The module that moves tensors between hosts by UCX, loaded where HOROVODPP_TRANSPORT=ucx is set.")
list(JOIN modules " | " modules)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS ${modules})
set(CPACK_DEBIAN_LAUNCHER_PACKAGE_SUGGESTS ${modules})
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The shared library.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "The headers, and what tells CMake, pkg-config and make how to compile with the library.")
set(CPACK_COMPONENT_LAUNCHER_DESCRIPTION
  "horovodrun, which starts jobs: on this host by itself, on several with mpirun.")

# The dependency of packages that link the library, and a trigger for the dynamic linker's
# cache.
get_target_property(soversion horovodpp SOVERSION)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/packages/shlibs
  CONTENT "libhorovodpp ${soversion} ${library} (>= ${PROJECT_VERSION})
libhorovodpp_tensors ${soversion} ${library} (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/packages/triggers
  CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
  ${PROJECT_BINARY_DIR}/packages/shlibs ${PROJECT_BINARY_DIR}/packages/triggers)

# Each package contains its authors and its license.
file(READ ${PROJECT_SOURCE_DIR}/NOTICE notice)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/packages/copyright
  CONTENT "@notice@\n@license@" @ONLY)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  install(FILES ${PROJECT_BINARY_DIR}/packages/copyright COMPONENT ${component}
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}
    EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
