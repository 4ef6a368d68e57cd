// copy_for_test IN OUT: decodes IN and writes OUT, both *.npy or both *.safetensors. For
// tests/oracles/formats_oracle.py.
#include <cstdio>

#include "isobit/formats/npy.h"
#include "isobit/formats/safetensors.h"

namespace isobit::formats {
namespace {

Status copy(const fs::path& in, const fs::path& out) {
  if (in.extension() == ".npy") {
    ISOBIT_TRY(const Tensor tensor, read_npy(in));
    return write_npy(out, tensor);
  }
  ISOBIT_TRY(const Safetensors file, read_safetensors(in));
  return write_safetensors(out, file);
}

}  // namespace
}  // namespace isobit::formats

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto done = isobit::formats::copy(argv[1], argv[2]);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done ? 0 : 3;
}
