// Stands in for libFuzzer where it is absent: runs the target on every file of its corpus and on seeded mutations of
// them.
//
// usage: <target> CORPUS [MUTATIONS] [SEED]
// The mutations are a pure function of (file, seed), so that a crash comes again; the number of the one running is
// printed when the process dies.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

// Where the run is, for the message of the signal handler.
char where[512];
size_t where_size = 0;

void report(int signal) {
  [[maybe_unused]] const ssize_t n = ::write(2, where, where_size);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// SplitMix64: small, seeded, the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(next() % n); }

 private:
  uint64_t state_;
};

void mutate_once(Input& x, const Input& other, Random& random) {
  static constexpr uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff};
  const size_t at = random.below(x.size());
  const auto position = x.begin() + static_cast<std::ptrdiff_t>(at);
  switch (x.empty() ? 5 : random.below(7)) {
    case 0:
      x[at] ^= static_cast<uint8_t>(1u << random.below(8));
      break;
    case 1:
      x[at] = static_cast<uint8_t>(random.next());
      break;
    case 2:  // an edge value over up to eight bytes: lengths and counts
      std::fill_n(position, std::min(x.size() - at, random.below(8) + 1), kEdges[random.below(std::size(kEdges))]);
      break;
    case 3:
      x.resize(at);
      break;
    case 4:
      x.erase(position, position + static_cast<std::ptrdiff_t>(random.below(std::min<size_t>(x.size() - at, 16))));
      break;
    case 5:
      x.insert(position, random.below(16) + 1, static_cast<uint8_t>(random.next()));
      break;
    case 6: {  // the front of this and the back of another
      const size_t from = random.below(other.size());
      x.resize(at);
      x.insert(x.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
      break;
    }
  }
}

// A block of exactly this size, so that a sanitizer sees every read past its end.
void run(const Input& input, const std::string& name, long mutation) {
  where_size =
      static_cast<size_t>(std::max(0, std::snprintf(where, sizeof where, "died on %s, mutation %ld (%zu bytes)\n",
                                                    name.c_str(), mutation, input.size())));
  where_size = std::min(where_size, sizeof where - 1);
  const Input exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s CORPUS [MUTATIONS] [SEED]\n", argv[0]);
    return 2;
  }
  const long mutations = argc > 2 ? std::atol(argv[2]) : 2000;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], error)) paths.push_back(entry.path());
  if (paths.empty()) {
    std::fprintf(stderr, "%s: no corpus there\n", argv[1]);
    return 3;
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::signal(SIGABRT, report);
  std::signal(SIGSEGV, report);
  for (size_t i = 0; i < corpus.size(); ++i) {
    const std::string name = paths[i].filename().string();
    run(corpus[i], name, 0);
    Random random(seed + 0x10001 * i);
    for (long m = 1; m <= mutations; ++m) {
      Input input = corpus[i];
      for (size_t k = random.below(4) + 1; k > 0; --k) mutate_once(input, corpus[random.below(corpus.size())], random);
      run(input, name, m);
    }
  }
  std::printf("%zu files, %ld mutations each\n", corpus.size(), mutations);
  return 0;
}
