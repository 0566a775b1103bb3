# SPDX-License-Identifier: Apache-2.0
# Modules are shared libraries next to the library, which loads them when they are needed
# (transport/loading). A module contains copies of parts of core and transport, and exports
# one function.

# The linker takes only the used parts of an archive. Modules use no part of the meeting by
# TCP, nor the library that it needs.
hvd_layer_objects(objects core transport)
list(FILTER objects EXCLUDE REGEX "hvd_transport_tcp>")
add_library(hvd_wires STATIC EXCLUDE_FROM_ALL ${objects})
set_target_properties(hvd_wires PROPERTIES LINKER_LANGUAGE CXX)

# hvd_module(<target> <name> <layer> <source>... USES <library>...): the module
# libhorovodpp_<name>.so of a folder of transport. It exports the names of the folder's
# exported_names.map.
function(hvd_module target name folder)
  cmake_parse_arguments(PARSE_ARGV 3 MODULE "" "" "USES")
  add_library(${target} MODULE ${MODULE_UNPARSED_ARGUMENTS})
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX OUTPUT_NAME horovodpp_${name})
  set(names ${PROJECT_SOURCE_DIR}/horovodpp/transport/${folder}/exported_names.map)
  target_link_options(${target} PRIVATE LINKER:--version-script=${names} LINKER:--as-needed)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${names})
  target_link_libraries(${target} PRIVATE hvd_wires ${used_everywhere} ${MODULE_USES}
    Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(${library_of_c} ${target})
  add_dependencies(hvd_internals ${target})
  # A program with the library linked in finds the module by its own search path. This
  # search path serves the build tree; elsewhere the module is installed next to the program.
  foreach(linked_in horovodpp hvd_internals)
    get_target_property(type ${linked_in} TYPE)
    get_target_property(has_path ${linked_in} HVD_FINDS_MODULES)
    if(type STREQUAL "STATIC_LIBRARY" AND NOT has_path)
      target_link_options(${linked_in} INTERFACE
        $<BUILD_INTERFACE:LINKER:-rpath,$<TARGET_FILE_DIR:${target}>>)
      set_target_properties(${linked_in} PROPERTIES HVD_FINDS_MODULES ON)
    endif()
  endforeach()
endfunction()

if(HVD_WITH_MPI)
  include(HvdMpiModule)
endif()
if(Ucx_FOUND)
  hvd_module(horovodpp_ucx ucx ucx $<TARGET_OBJECTS:hvd_transport_ucx> USES Ucx::Ucx)
  # For tests of internals.
  add_library(hvd_ucx_internals STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:hvd_transport_ucx>)
  set_target_properties(hvd_ucx_internals PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(hvd_ucx_internals PUBLIC hvd_internals Ucx::Ucx)
endif()
