# isobit_precompiled(TARGET ROOM|TEST|CLI|FUZZ)   the target's sources find the commonest headers parsed
#
# Tests, fuzz targets and the commands always: their headers cost more than their code. The rooms only when
# ISOBIT_TOGETHER is on: the builds of benchmarks, of clang and for debugging do without, so that every file of the
# library is seen to include what it uses.
set(_isobit_std_headers <algorithm> <cmath> <cstdint> <cstring> <filesystem> <functional> <map> <memory> <optional>
  <span> <string> <utility> <vector> <tl/expected.hpp>)

# What ccache asks for.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(_isobit_pch_options "SHELL:-Xclang -fno-pch-timestamp")
else()
  set(_isobit_pch_options -fpch-preprocess)
endif()

function(_isobit_parsed_headers KIND LIBRARY)
  set(_empty ${PROJECT_BINARY_DIR}/precompiled.cpp)
  if(NOT EXISTS ${_empty})
    file(WRITE ${_empty} "")
  endif()
  add_library(isobit_headers_${KIND} OBJECT ${_empty})
  target_link_libraries(isobit_headers_${KIND} PRIVATE isobit_options ${LIBRARY})
  target_compile_options(isobit_headers_${KIND} PRIVATE ${_isobit_pch_options})
  target_precompile_headers(isobit_headers_${KIND} PRIVATE ${_isobit_std_headers} ${ARGN})
endfunction()

if(ISOBIT_TOGETHER OR NOT ISOBIT_CORE_ONLY)
  _isobit_parsed_headers(ROOM "")
endif()
# For those alone that use it: GCC reads all that was parsed into every file, which of JSON takes half a second.
if(NOT ISOBIT_CORE_ONLY)
  _isobit_parsed_headers(CLI nlohmann_json::nlohmann_json <nlohmann/json.hpp>)
endif()
if(ISOBIT_TESTS)
  _isobit_parsed_headers(TEST GTest::gtest <random> <set> <gtest/gtest.h>)
endif()

function(isobit_precompiled TARGET KIND)
  if(KIND STREQUAL "ROOM" AND NOT ISOBIT_TOGETHER)
    return()
  endif()
  if(KIND STREQUAL "FUZZ")
    set(KIND ROOM)
  endif()
  target_compile_options(${TARGET} PRIVATE ${_isobit_pch_options})
  target_precompile_headers(${TARGET} REUSE_FROM isobit_headers_${KIND})
endfunction()
