# isobit_room(NAME [PLAIN] SOURCES ... [APART ...] DEPS ...)  a static library isobit_NAME, alias isobit::NAME; PLAIN: no
#                                             time is spent in it, so that it is compiled quickly (isobit_plain); APART:
#                                             sources that are never compiled together with others (isobit_together)
# isobit_by_isa(NAME FILE [FOR ISA FILE ...])  adds FILE to that library once for every instruction set of this machine,
#                                             each time with its flags and with its enumerator of Isa as ISOBIT_ISA; for
#                                             the sets behind FOR the file that follows, in place of the first
# isobit_test(NAME SOURCES ... DEPS ... [LABELS ...] [TIMEOUT s] [WHOLE])   a GoogleTest binary registered with CTest;
#                                             its room (the folder under isobit/) is a label too. WHOLE: it is registered
#                                             once more, slow, as NAME_whole, and then tries everything
#                                             (isobit/base/whole_for_test.h)
# isobit_fuzz(NAME SOURCE file DEPS ...)      a libFuzzer target when ISOBIT_FUZZ, else a replay of its corpus
include(CMakeParseArguments)

# What ends a fast test that hangs, in seconds: fast tests take less than a minute, and under sanitizers some minutes,
# so that no limit decides on a test that is only slow. Slow tests name limits of their own.
set(ISOBIT_FAST_TIMEOUT 600)
if(ISOBIT_SANITIZE)
  set(ISOBIT_FAST_TIMEOUT 3600)
endif()

# What every test is told. Sanitizers take memory and time of their own: tests that compare them are told of it.
set(ISOBIT_TEST_ENVIRONMENT "ISOBIT_SOURCE_DIR=${PROJECT_SOURCE_DIR}" "ISOBIT_SHARED_DATA=${ISOBIT_SHARED_DATA}")
if(ISOBIT_SANITIZE)
  list(APPEND ISOBIT_TEST_ENVIRONMENT "ISOBIT_SANITIZED=1")
endif()

# Compiling takes longer than what better code would save. No bit depends on how much the compiler optimises.
function(isobit_plain TARGET)
  target_compile_options(${TARGET} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Some files of a room as one: what they include is parsed once for all of them. Names of their own must differ. GCC
# takes each for a header, whose lambdas must not hold types of an anonymous namespace.
function(isobit_together TARGET)
  if(ISOBIT_TOGETHER)
    set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    target_compile_options(${TARGET} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(isobit_room NAME)
  cmake_parse_arguments(A "PLAIN" "" "SOURCES;APART;DEPS" ${ARGN})
  if(A_SOURCES)
    add_library(isobit_${NAME} STATIC ${A_SOURCES} ${A_APART})
    set_source_files_properties(${A_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_link_libraries(isobit_${NAME} PUBLIC isobit_options ${A_DEPS})
    isobit_precompiled(isobit_${NAME} ROOM)
    isobit_together(isobit_${NAME})
    if(A_PLAIN)
      isobit_plain(isobit_${NAME})
    endif()
  else()
    add_library(isobit_${NAME} INTERFACE)
    target_link_libraries(isobit_${NAME} INTERFACE isobit_options ${A_DEPS})
  endif()
  add_library(isobit::${NAME} ALIAS isobit_${NAME})
endfunction()

function(isobit_by_isa NAME FILE)
  cmake_parse_arguments(A "" "" "FOR" ${ARGN})
  foreach(_isa ${ISOBIT_INSTRUCTION_SETS})
    set(_library isobit_${NAME}_${_isa})
    if(NOT TARGET ${_library})
      add_library(${_library} OBJECT)
      target_compile_options(${_library} PRIVATE ${ISOBIT_FLAGS_${_isa}})
      target_compile_definitions(${_library} PRIVATE ISOBIT_ISA=${ISOBIT_ENUMERATOR_${_isa}})
      target_link_libraries(${_library} PRIVATE $<TARGET_PROPERTY:isobit_${NAME},LINK_LIBRARIES>)
      target_sources(isobit_${NAME} PRIVATE $<TARGET_OBJECTS:${_library}>)
    endif()
    set(_file ${FILE})
    list(FIND A_FOR ${_isa} _own)
    if(NOT _own EQUAL -1)
      math(EXPR _own "${_own} + 1")
      list(GET A_FOR ${_own} _file)
    endif()
    target_sources(${_library} PRIVATE ${_file})
  endforeach()
endfunction()

function(isobit_test NAME)
  if(NOT ISOBIT_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "WHOLE" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${NAME} ${A_SOURCES})
  target_link_libraries(${NAME} PRIVATE isobit_options ${A_DEPS} GTest::gtest_main)
  isobit_plain(${NAME})  # what it tests keeps its own options
  isobit_precompiled(${NAME} TEST)
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT ${ISOBIT_FAST_TIMEOUT})
  endif()
  if(NOT A_LABELS)
    set(A_LABELS fast)
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE _folder)
  if(_folder MATCHES "^isobit/([a-z]+)")
    list(APPEND A_LABELS ${CMAKE_MATCH_1})
  endif()
  add_test(NAME ${NAME} COMMAND ${NAME})
  set_tests_properties(${NAME} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT}
    ENVIRONMENT "${ISOBIT_TEST_ENVIRONMENT}")
  if(A_WHOLE)
    list(TRANSFORM A_LABELS REPLACE "^fast$" slow)
    add_test(NAME ${NAME}_whole COMMAND ${NAME})
    set_tests_properties(${NAME}_whole PROPERTIES LABELS "${A_LABELS}" TIMEOUT 7200
      ENVIRONMENT "${ISOBIT_TEST_ENVIRONMENT};ISOBIT_WHOLE=1")
  endif()
endfunction()

# Without ISOBIT_FUZZ a fuzz target is an ordinary test: fuzz/replay_main.cpp feeds it its corpus and seeded mutations
# of it. With ISOBIT_FUZZ (the asan preset) it is a libFuzzer binary, sanitized and no test: run it by hand.
function(isobit_fuzz NAME)
  cmake_parse_arguments(A "" "SOURCE" "DEPS" ${ARGN})
  if(NOT ISOBIT_FUZZ AND NOT ISOBIT_TESTS)
    return()
  endif()
  add_executable(${NAME} ${A_SOURCE})
  target_link_libraries(${NAME} PRIVATE isobit_options ${A_DEPS})
  isobit_precompiled(${NAME} FUZZ)
  if(ISOBIT_FUZZ)
    target_link_options(${NAME} PRIVATE -fsanitize=fuzzer)
  else()
    if(NOT TARGET isobit_fuzz_replay)
      add_library(isobit_fuzz_replay OBJECT ${PROJECT_SOURCE_DIR}/fuzz/replay_main.cpp)
      target_link_libraries(isobit_fuzz_replay PRIVATE isobit_options)
    endif()
    target_sources(${NAME} PRIVATE $<TARGET_OBJECTS:isobit_fuzz_replay>)
    add_test(NAME ${NAME} COMMAND ${NAME} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${NAME})
    set_tests_properties(${NAME} PROPERTIES LABELS "fast;fuzz" TIMEOUT ${ISOBIT_FAST_TIMEOUT})
  endif()
endfunction()
