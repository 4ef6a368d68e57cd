# Every instruction set, slowest first; the only list of them, and the only place that has their flags.
#
#   isobit_instruction_set(NAME MACHINE regex [CPU feature ...] [FLAGS flag ...])
#     MACHINE  processors (CMAKE_SYSTEM_PROCESSOR) for which this set is built
#     CPU      what __builtin_cpu_supports must say there; nothing where every such machine has it
#     FLAGS    of its translation units, negative ones too
#
# From this list come one compilation of every family's tables for each set (isobit_by_isa), the flags of vendor
# libraries that are built once for each set, and generated/isobit/kernels/dispatch/instruction_sets.inc, of which
# kernels/dispatch makes the enumeration Isa, its names, the questions to the processor and pick().
set(ISOBIT_ONLY_SETS "" CACHE STRING "build these of them and no others, portable among them; empty: all of this machine")
set(ISOBIT_INSTRUCTION_SETS "")  # those of this build
set(_isobit_isa_header "// Made by cmake/instruction_sets.cmake.\n")

function(isobit_instruction_set NAME)
  cmake_parse_arguments(A "" "MACHINE" "CPU;FLAGS" ${ARGN})
  string(SUBSTRING ${NAME} 0 1 _first)
  string(SUBSTRING ${NAME} 1 -1 _rest)
  string(TOUPPER ${_first} _first)
  set(_entry "ISOBIT_EACH_ISA(k${_first}${_rest}, ${NAME})\n")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "${A_MACHINE}" AND (NOT ISOBIT_ONLY_SETS OR NAME IN_LIST ISOBIT_ONLY_SETS))
    set(_runs "true")
    foreach(_feature ${A_CPU})
      string(APPEND _runs " && __builtin_cpu_supports(\"${_feature}\")")
    endforeach()
    string(APPEND _entry "ISOBIT_EACH_BUILT_ISA(k${_first}${_rest}, ${NAME}, ${_runs})\n")
    set(ISOBIT_INSTRUCTION_SETS ${ISOBIT_INSTRUCTION_SETS} ${NAME} PARENT_SCOPE)
    set(ISOBIT_FLAGS_${NAME} "${A_FLAGS}" PARENT_SCOPE)
    set(ISOBIT_ENUMERATOR_${NAME} "k${_first}${_rest}" PARENT_SCOPE)
  endif()
  set(_isobit_isa_header "${_isobit_isa_header}${_entry}" PARENT_SCOPE)
endfunction()

isobit_instruction_set(portable MACHINE ".*")
isobit_instruction_set(neon MACHINE "aarch64|arm64")
isobit_instruction_set(avx2 MACHINE "x86_64|AMD64" CPU avx2 fma FLAGS -mavx2 -mfma -mno-avx512f)
isobit_instruction_set(avx512 MACHINE "x86_64|AMD64" CPU avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd
  FLAGS -mavx2 -mfma -mavx512f -mavx512vl -mavx512bw -mavx512dq -mavx512cd -mprefer-vector-width=512)

if(NOT portable IN_LIST ISOBIT_INSTRUCTION_SETS)
  message(FATAL_ERROR "ISOBIT_ONLY_SETS: found '${ISOBIT_ONLY_SETS}', expected portable among them")
endif()
string(APPEND _isobit_isa_header "#undef ISOBIT_EACH_ISA\n#undef ISOBIT_EACH_BUILT_ISA\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/isobit/kernels/dispatch/instruction_sets.inc
  CONTENT "#ifndef ISOBIT_EACH_ISA\n#define ISOBIT_EACH_ISA(...)\n#endif\n#ifndef ISOBIT_EACH_BUILT_ISA\n#define ISOBIT_EACH_BUILT_ISA(...)\n#endif\n${_isobit_isa_header}" @ONLY)
