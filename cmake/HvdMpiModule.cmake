# SPDX-License-Identifier: Apache-2.0
# libhorovodpp_mpi_<flavor>.so is the MPI module, next to the library. The library loads it
# if MPI's launcher has started a program (transport/loading/mpi_module.h). A module is built
# for the MPI of MPI_CXX_COMPILER, and for each MPI of HVD_MORE_MPI.

# hvd_ask_flavor(<variable> <how> <option>...): the MPI that these options compile with, by
# the name that the library uses for its module.
function(hvd_ask_flavor variable how)
  file(WRITE ${PROJECT_BINARY_DIR}/mpi_flavor.h [[
#include <mpi.h>
#if defined(OMPI_MAJOR_VERSION)
flavor openmpi OMPI_MAJOR_VERSION
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
flavor mpich
#endif
]])
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} ${ARGN} -x c++ -E -P ${PROJECT_BINARY_DIR}/mpi_flavor.h
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  if(NOT text MATCHES "flavor ([a-z]+) ?([0-9]*)")
    message(FATAL_ERROR "The MPI of ${how} is neither Open MPI nor one of MPICH's kin: build with "
      "-DHVD_WITH_MPI=OFF, or choose another one with -DMPI_CXX_COMPILER=<mpicxx>")
  endif()
  set(flavor ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
  get_property(built GLOBAL PROPERTY HVD_MPI_FLAVORS)
  if(flavor IN_LIST built)
    message(FATAL_ERROR "Two MPIs of flavor ${flavor}: a module exists already, and ${how} asks for another")
  endif()
  set_property(GLOBAL APPEND PROPERTY HVD_MPI_FLAVORS ${flavor})
  set(${variable} ${flavor} PARENT_SCOPE)
endfunction()

# hvd_wrapped_mpi(<target> <wrapper>): a library with the options that a compiler wrapper
# adds. (FindMPI knows only one MPI.)
function(hvd_wrapped_mpi target wrapper)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE command COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(arguments UNIX_COMMAND "${command}")
  set(include ${arguments})
  list(FILTER include INCLUDE REGEX "^-I")
  list(TRANSFORM include REPLACE "^-I" "")
  set(folders ${arguments})
  list(FILTER folders INCLUDE REGEX "^-L")
  list(TRANSFORM folders REPLACE "^-L" "")
  set(options ${arguments})
  list(FILTER options INCLUDE REGEX "^-Wl,")
  list(JOIN options " " options)
  set(libraries ${arguments})
  list(FILTER libraries INCLUDE REGEX "^-l|\\.(so|a)$")
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${include})
  target_link_directories(${target} INTERFACE ${folders})
  target_link_options(${target} INTERFACE "SHELL:${options}")
  target_link_libraries(${target} INTERFACE ${libraries})
endfunction()

# hvd_mpi_module(<target> <flavor> <wrapper> <mpi> <source>...): the module for the MPI of
# library <mpi>.
function(hvd_mpi_module target flavor wrapper mpi)
  hvd_module(${target} mpi_${flavor} mpi ${ARGN} USES ${mpi})
  set_target_properties(${target} PROPERTIES HVD_MPI_FLAVOR ${flavor} HVD_MPI_WRAPPER ${wrapper})
  set_property(GLOBAL APPEND PROPERTY HVD_MPI_MODULES ${target})
endfunction()

# MPI's C++ interface, which is unused here, is a library of its own.
set(no_cxx_interface OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_compile_definitions(hvd_transport_mpi PRIVATE ${no_cxx_interface})
list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE include)
hvd_ask_flavor(flavor "${MPI_CXX_COMPILER}" ${include} ${MPI_CXX_COMPILE_OPTIONS})
hvd_mpi_module(horovodpp_mpi ${flavor} ${MPI_CXX_COMPILER} MPI::MPI_CXX
  $<TARGET_OBJECTS:hvd_transport_mpi>)

get_target_property(sources hvd_transport_mpi SOURCES)
foreach(wrapper IN LISTS HVD_MORE_MPI)
  string(MAKE_C_IDENTIFIER hvd_${wrapper} mpi)
  hvd_wrapped_mpi(${mpi} ${wrapper})
  get_target_property(include ${mpi} INTERFACE_INCLUDE_DIRECTORIES)
  list(TRANSFORM include PREPEND -I)
  hvd_ask_flavor(flavor ${wrapper} ${include})
  set(target horovodpp_mpi_${flavor})
  hvd_mpi_module(${target} ${flavor} ${wrapper} ${mpi} ${sources})
  target_compile_definitions(${target} PRIVATE ${no_cxx_interface})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE hvd_compile_options)
  set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
  hvd_precompile(${target} library)
endforeach()

# For tests of internals.
add_library(hvd_mpi_internals STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:hvd_transport_mpi>)
set_target_properties(hvd_mpi_internals PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(hvd_mpi_internals PUBLIC hvd_internals MPI::MPI_CXX)
