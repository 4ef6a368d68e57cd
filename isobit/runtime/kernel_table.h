// The kernels of a graph's operators, by name.
#pragma once

#include <map>
#include <string>

namespace isobit::runtime {

struct Kernel;  // kernel_call.h
using KernelTable = std::map<std::string, Kernel>;

// Of every operator that our own kernels compute.
const KernelTable& kernel_table();

}  // namespace isobit::runtime
