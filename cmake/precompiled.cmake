# isobit_precompiled(TARGET [TEST])   the target's sources find the commonest headers parsed, when ISOBIT_PCH is on
#
# For builds whose only use is to be run once (sanitizers, the cross check): the release build does without, so that
# every file is seen to include what it uses.
function(isobit_precompiled TARGET)
  if(NOT ISOBIT_PCH)
    return()
  endif()
  if("TEST" IN_LIST ARGN)
    target_precompile_headers(${TARGET} REUSE_FROM isobit_headers_for_tests)
  else()
    target_precompile_headers(${TARGET} REUSE_FROM isobit_headers_for_rooms)
  endif()
endfunction()

if(ISOBIT_PCH)
  # What ccache asks for.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(isobit_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
  else()
    target_compile_options(isobit_options INTERFACE -fpch-preprocess)
  endif()
  set(_headers <algorithm> <cmath> <cstdint> <cstring> <filesystem> <functional> <map> <memory> <optional> <span>
      <string> <utility> <vector> <tl/expected.hpp>)
  if(NOT ISOBIT_CORE_ONLY)
    list(APPEND _headers <nlohmann/json.hpp>)
  endif()
  file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
  add_library(isobit_headers_for_rooms OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(isobit_headers_for_rooms PRIVATE isobit_options)
  target_precompile_headers(isobit_headers_for_rooms PRIVATE ${_headers})
  if(ISOBIT_TESTS)
    add_library(isobit_headers_for_tests OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(isobit_headers_for_tests PRIVATE isobit_options GTest::gtest)
    target_precompile_headers(isobit_headers_for_tests PRIVATE ${_headers} <random> <set> <gtest/gtest.h>)
  endif()
endif()
