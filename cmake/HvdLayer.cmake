# hvd_layer(<name> MAY_INCLUDE <layer>... [BACKENDS <mechanism>...] [USES <library>...])
#
# A folder of horovodpp/ is a layer is a target. MAY_INCLUDE lists the layers
# whose headers its files may include; test/house/layer_test.py holds every
# #include to it. A file named <mechanism>_*.cc is compiled only if <mechanism>
# is among BACKENDS; where it is not, no_<mechanism>.cc stands in for it.
define_property(GLOBAL PROPERTY HVD_LAYERS BRIEF_DOCS "Names of all layers")
set(HVD_MECHANISMS mpi nccl cuda dnnl)
# Where there are fuzzers (test/fuzz), these are compiled so that they can see which way
# the code goes.
set(HVD_FUZZED_LAYERS core coordinator nn)

function(hvd_layer name)
  cmake_parse_arguments(LAYER "" "" "MAY_INCLUDE;BACKENDS;USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${name}/*.cc)
  foreach(mechanism ${HVD_MECHANISMS})
    if(mechanism IN_LIST LAYER_BACKENDS)
      list(FILTER sources EXCLUDE REGEX "/no_${mechanism}\\.cc$")
    else()
      list(FILTER sources EXCLUDE REGEX "/${mechanism}_[^/]*\\.cc$")
    endif()
  endforeach()
  if(sources)
    add_library(hvd_${name} OBJECT ${sources})
    target_include_directories(hvd_${name} PRIVATE ${PROJECT_SOURCE_DIR})
    set_target_properties(hvd_${name} PROPERTIES
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_link_libraries(hvd_${name} PRIVATE hvd_compile_options
      absl::status absl::statusor absl::strings absl::str_format
      absl::flat_hash_map absl::flat_hash_set absl::core_headers
      Threads::Threads ${LAYER_USES})
    if(HVD_FUZZERS AND name IN_LIST HVD_FUZZED_LAYERS)
      target_compile_options(hvd_${name} PRIVATE
        -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp,indirect-calls)
    endif()
    hvd_precompile(hvd_${name} library)
    set_property(GLOBAL APPEND PROPERTY HVD_LAYERS ${name})
  endif()
endfunction()
