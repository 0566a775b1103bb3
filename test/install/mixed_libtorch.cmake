# SPDX-License-Identifier: Apache-2.0
# The component libtorch refuses the headers of one libtorch with the library of another. Both are
# made up.
set(project "cmake_minimum_required(VERSION 3.18)
project(outside CXX)
find_package(horovodpp REQUIRED COMPONENTS libtorch)
")
file(WRITE ${WORK}/project/CMakeLists.txt "${project}")

# configure(<library>): sets `result` and `text`, with the library of a libtorch in WORK/torch.
macro(configure library)
  file(WRITE ${WORK}/torch/share/cmake/Torch/TorchConfig.cmake
    "set(TORCH_INSTALL_PREFIX ${WORK}/torch)\nset(TORCH_LIBRARY ${library})\nset(Torch_FOUND TRUE)\n")
  file(REMOVE_RECURSE ${WORK}/build)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/project -B ${WORK}/build
      "-DCMAKE_PREFIX_PATH=${PREFIX};${WORK}/torch" -DCMAKE_CXX_COMPILER=${CXX}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE text)
endmacro()

configure(${WORK}/torch/lib/libtorch.so)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "one libtorch is refused:\n${output}${text}")
endif()
configure(${WORK}/other/lib/libtorch.so)
string(REGEX REPLACE "[ \n]+" " " text "${text}")
if(result EQUAL 0 OR NOT text MATCHES "other/lib/libtorch.so. Add [^ ]*/torch to CMAKE_PREFIX_PATH")
  message(FATAL_ERROR "a mix of two is not refused:\n${output}${text}")
endif()
