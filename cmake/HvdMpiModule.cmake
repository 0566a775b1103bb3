# SPDX-License-Identifier: Apache-2.0
# libhorovodpp_mpi_<flavor>.so: what speaks MPI, beside the library, which loads it when
# MPI's launcher has started a program (transport/mpi_module.h). It holds copies of what
# it uses of core and transport, and shows one function.

# Which MPI this is, as the library looks for it.
file(WRITE ${PROJECT_BINARY_DIR}/mpi_flavor.h [[
#include <mpi.h>
#if defined(OMPI_MAJOR_VERSION)
flavor openmpi OMPI_MAJOR_VERSION
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
flavor mpich
#endif
]])
list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE include)
execute_process(
  COMMAND ${CMAKE_CXX_COMPILER} ${include} ${MPI_CXX_COMPILE_OPTIONS} -x c++ -E -P
    ${PROJECT_BINARY_DIR}/mpi_flavor.h
  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
if(NOT text MATCHES "flavor ([a-z]+) ?([0-9]*)")
  message(FATAL_ERROR "This MPI is neither Open MPI nor one of MPICH's kin: build with "
    "-DHVD_WITH_MPI=OFF, or choose another one with -DMPI_CXX_COMPILER=<mpicxx>")
endif()
set(HVD_MPI_FLAVOR ${CMAKE_MATCH_1}${CMAKE_MATCH_2})

# MPI's interface for C++, which nothing here uses, is a library of its own.
target_compile_definitions(hvd_transport_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
add_library(horovodpp_mpi MODULE $<TARGET_OBJECTS:hvd_transport_mpi>)
set_target_properties(horovodpp_mpi PROPERTIES
  LINKER_LANGUAGE CXX OUTPUT_NAME horovodpp_mpi_${HVD_MPI_FLAVOR})
# Of an archive only what is used is taken.
add_library(hvd_wires STATIC EXCLUDE_FROM_ALL
  $<TARGET_OBJECTS:hvd_core> $<TARGET_OBJECTS:hvd_transport>)
set_target_properties(hvd_wires PROPERTIES LINKER_LANGUAGE CXX)
set(names ${CMAKE_CURRENT_SOURCE_DIR}/transport/mpi/exported_names.map)
target_link_options(horovodpp_mpi PRIVATE LINKER:--version-script=${names} LINKER:--as-needed)
set_property(TARGET horovodpp_mpi APPEND PROPERTY LINK_DEPENDS ${names})
target_link_libraries(horovodpp_mpi PRIVATE hvd_wires ${used_everywhere} MPI::MPI_CXX
  Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(horovodpp horovodpp_mpi)
add_dependencies(hvd_internals horovodpp_mpi)

# For tests of what is in it.
add_library(hvd_mpi_internals STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:hvd_transport_mpi>)
set_target_properties(hvd_mpi_internals PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(hvd_mpi_internals PUBLIC hvd_internals MPI::MPI_CXX)

# A program that has the library linked in finds the module by its own search path: those
# of this build tree here, others by being installed beside it, or told.
foreach(linked_in horovodpp hvd_internals)
  get_target_property(type ${linked_in} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_link_options(${linked_in} INTERFACE
      $<BUILD_INTERFACE:LINKER:-rpath,$<TARGET_FILE_DIR:horovodpp_mpi>>)
  endif()
endforeach()
