# SPDX-License-Identifier: Apache-2.0
# The symbols that the shared libraries in PREFIX export: names of hvd, and none of the
# libraries they contain.
# With PAGE, also compares their number with the page's table.
set(of_both 0)
set(of_c 0)
file(GLOB libraries ${PREFIX}/${LIBDIR}/libhorovodpp.so ${PREFIX}/${LIBDIR}/libhorovodpp_tensors.so)
foreach(library IN LISTS libraries)
execute_process(COMMAND ${NM} --dynamic --defined-only --demangle ${library}
  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n$" "" text "${text}")
string(REPLACE ";" "," text "${text}")
string(REPLACE "[" "(" text "${text}")
string(REPLACE "]" ")" text "${text}")
string(REPLACE "\n" ";" symbols "${text}")
list(LENGTH symbols all)
math(EXPR of_both "${of_both} + ${all}")
set(in_c ${symbols})
list(FILTER in_c INCLUDE REGEX "^[0-9a-f]* T hvd_[a-z_]+$")
list(LENGTH in_c count)
math(EXPR of_c "${of_c} + ${count}")
set(others ${symbols})
list(FILTER others EXCLUDE REGEX "[ (]hvd::|^[0-9a-f]* T hvd_[a-z_]+$|^[0-9a-f]* [VR] (vtable|typeinfo|typeinfo name|VTT) for hvd::")
if(others)
  list(JOIN others "\n" others)
  message(FATAL_ERROR "names that are no hvd's:\n${others}")
endif()
# Internal folders, which no public header includes, and contained libraries.
set(inner ${symbols})
list(FILTER inner INCLUDE REGEX
  "^[0-9a-f]* [A-Za-z] (.* for )?(hvd::(transport|coordinator|collective|runtime|c)|absl|spdlog|fmt|nlohmann|hwy)::")
list(LENGTH inner count)
# A running program that loads the library has little memory for thread locals.
execute_process(COMMAND readelf --program-headers --wide ${library} OUTPUT_VARIABLE headers
  COMMAND_ERROR_IS_FATAL ANY)
if(headers MATCHES " TLS +0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+ 0x[0-9a-f]+ (0x[0-9a-f]+)")
  math(EXPR of_threads "${CMAKE_MATCH_1}")
  if(of_threads GREATER 768)
    message(FATAL_ERROR "each thread has ${of_threads} bytes of the library's, more than 768")
  endif()
  message(STATUS "${of_threads} bytes for each thread")
endif()
message(STATUS "${all} names, ${count} of what is inside")
if(count)
  list(JOIN inner "\n" inner)
  message(FATAL_ERROR "names of what is inside:\n${inner}")
endif()
endforeach()
# BLAS and oneDNN take long to load: programs without tensors do without them.
list(LENGTH libraries count)
if(count EQUAL 2)
  execute_process(COMMAND ldd ${PREFIX}/${LIBDIR}/libhorovodpp.so OUTPUT_VARIABLE needed
    COMMAND_ERROR_IS_FATAL ANY)
  if(needed MATCHES "blas|dnnl|horovodpp_tensors")
    message(FATAL_ERROR "libhorovodpp.so loads what only tensors need:\n${needed}")
  endif()
endif()

# The number in the last column of the page's row.
function(number_of_row row variable)
  file(STRINGS ${PAGE} line REGEX "^. ${row} .")
  if(NOT line MATCHES "([0-9,]+) .$")
    message(FATAL_ERROR "${PAGE} has no row '${row}'")
  endif()
  string(REPLACE "," "" number "${CMAKE_MATCH_1}")
  set(${variable} ${number} PARENT_SCOPE)
endfunction()

# The compiler decides how many of the C++ symbols exist, so their number may differ by a tenth.
if(PAGE)
  number_of_row("exported symbols, all" all_of_page)
  number_of_row("exported symbols in C" c_of_page)
  math(EXPR difference "${of_both} - ${all_of_page}")
  string(REPLACE "-" "" difference "${difference}")
  math(EXPR most "${all_of_page} / 10")
  if(difference GREATER most OR NOT of_c EQUAL c_of_page)
    message(FATAL_ERROR "${PAGE} counts ${all_of_page} symbols, of which ${c_of_page} in C; "
      "the libraries export ${of_both} and ${of_c}")
  endif()
endif()
