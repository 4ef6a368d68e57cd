// Names of platforms that are engines of a Python: "onnxruntime@all/2t".
#pragma once

#include <optional>
#include <string>

namespace isobit::lab::worker {

struct EngineName {
  std::string engine, setting;  // setting "": none named
  int threads = 0;              // 0: none named, which means all cores
};

// "engine[@setting][/Nt]", N from 1 to 1024; none where the text is not of that form.
std::optional<EngineName> parse_engine_name(const std::string& text);

}  // namespace isobit::lab::worker
