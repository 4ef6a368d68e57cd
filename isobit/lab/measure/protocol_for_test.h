// Documents of the worker protocol, for tests and as first inputs of the fuzz target.
#pragma once

#include "isobit/lab/measure/protocol.h"

namespace isobit::lab::measure {

inline WorkerAnswer example_answer() {
  WorkerAnswer answer;
  answer.platform = {"engine@fast/1t", "engine", {{"cpu", "a CPU"}, {"version", "1.0"}}, {"avx", "fma"}, 2};
  const records::ValueRecord hidden{"h", "MatMul", "float32", {1, 2}, {1, 2}, "sgemm", false, 0};
  const records::ValueRecord out{"y", "", "float32", {}, {3, 4}, "", true, 0};
  answer.runs = {{false, 0.5, {out}}, {true, 0.75, {hidden, out}}};
  answer.kept = {{1, 2}};
  return answer;
}

inline std::string example_engines() {
  return R"({"isobit_engines":1,"engines":[{"engine":"one","about":"an engine","settings":["","fast"],)"
         R"("default_settings":[""],"version":"1.0","install":""},{"engine":"two","about":"","settings":["all"],)"
         R"("default_settings":[],"version":"","install":"pip install two"}]})";
}

}  // namespace isobit::lab::measure
