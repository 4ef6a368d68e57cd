# The floating-point contract of the whole project, in one place.
#
# No contraction except an explicit fma, no reassociation, no flush to zero. math-errno and trapping-math change
# no value: without them the compiler may inline sqrt and vectorise a select.
add_library(isobit_strict_fp INTERFACE)
target_compile_options(isobit_strict_fp INTERFACE
  -ffp-contract=off -fno-fast-math -fno-math-errno -fno-trapping-math)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(ISOBIT_X86 TRUE)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(ISOBIT_ARM TRUE)
endif()
