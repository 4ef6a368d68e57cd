# The floating-point contract of the whole project, in one place.
#
# No contraction except an explicit fma, no reassociation, no flush to zero. math-errno and trapping-math change
# no value: without them the compiler may inline sqrt and vectorise a select.
add_library(isobit_strict_fp INTERFACE)
target_compile_options(isobit_strict_fp INTERFACE
  -ffp-contract=off -fno-fast-math -fno-math-errno -fno-trapping-math)

# Flags of each instruction set, positive and negative; the only place that has them.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(ISOBIT_X86 TRUE)
  set(ISOBIT_FLAGS_avx2 -mavx2 -mfma -mno-avx512f)
  set(ISOBIT_FLAGS_avx512 -mavx2 -mfma -mavx512f -mavx512vl -mavx512bw -mavx512dq -mavx512cd
      -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(ISOBIT_ARM TRUE)
  set(ISOBIT_FLAGS_neon "")
endif()
