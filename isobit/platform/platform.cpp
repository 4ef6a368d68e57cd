#include "isobit/platform/platform.h"

#include <sched.h>

#include <algorithm>
#include <charconv>

#include "isobit/base/text.h"
#include "isobit/kernels/correct/integer/table.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/platform/convolutions.h"
#include "isobit/platform/vendor_product.h"

namespace isobit::platform {

namespace {

constexpr int kMostThreads = 1024;

std::vector<std::string> platform_names() {
  std::vector<std::string> names = {std::string(kOrdered), std::string(kInteger)};
  for (const std::string& library : vendor_libraries()) names.push_back(library);
  for (const kernels::Isa isa : kernels::all_isas()) names.push_back(text_of(kOrdered, "@", kernels::name_of(isa)));
  return names;
}

tl::unexpected<Error> unknown(std::string_view text) {
  const std::string near = nearest_word(text, platform_names());
  return usage_error(text_of(
      "platform '", text, "' is not known", near.empty() ? "." : "; did you mean '" + near + "'?",
      " Write NAME[@ISA or core type][/THREADSt][+ALGORITHM], for instance ordered@avx2/2t or openblas@haswell/1t; ",
      "'isobit platforms' lists what this machine has, with --vendors and --engines more"));
}

// What stands behind the plus of `text`.
Expected<std::string> parse_algorithm(std::string_view text, std::string_view name) {
  const std::vector<std::string> names = convolution_algorithms();
  if (names.empty()) {
    return unavailable(
        text_of("platform '", text, "': this build has no convolution algorithms; leave out '+", name, "'"));
  }
  if (std::find(names.begin(), names.end(), name) != names.end()) return std::string(name);
  const std::string near = nearest_word(name, names);
  return usage_error(text_of("platform '", text, "': found '", name, "' after the plus",
                             near.empty() ? "" : "; did you mean '" + near + "'?",
                             " Expected a convolution algorithm, ", "last: ", join_or(names)));
}

// With the kind that stands behind the @, or the fastest.
Expected<Platform> parse_integer(std::string_view text, std::string_view kind, Platform platform) {
  const std::vector<std::string> here = integer_products();
  platform.library = kInteger;
  platform.isa = kernels::best_isa();
  platform.core = kind.empty() ? here.back() : std::string(kind);
  if (std::find(here.begin(), here.end(), platform.core) != here.end()) return platform;
  if (kind == "amx") {
    return unavailable(text_of("platform '", text, "': this machine has no AMX that it lets a process use; ",
                               "integer@plain computes the same bits"));
  }
  return usage_error(text_of("platform '", text, "': found '", kind, "' after the @, expected plain or amx"));
}

}  // namespace

std::string Platform::text() const {
  const std::string which = is_ordered() ? kernels::name_of(isa) : core;
  return text_of(library, which.empty() ? "" : "@", which, "/", threads, "t", algorithm.empty() ? "" : "+", algorithm);
}

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

Expected<Platform> parse_platform(std::string_view text) {
  Platform platform;
  platform.threads = available_threads();
  std::string_view rest = text;
  if (rest.find('~') != rest.npos) {
    return usage_error(text_of("platform '", text, "': found '", rest.substr(rest.find('~')),
                               "'; an emulated processor is part of a platform's name for 'isobit measure' alone"));
  }
  if (const size_t plus = rest.find('+'); plus != std::string_view::npos) {
    ISOBIT_TRY(platform.algorithm, parse_algorithm(text, rest.substr(plus + 1)));
    rest = rest.substr(0, plus);
  }
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
    std::string_view threads = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
    const char* end = threads.data() + threads.size();
    if (threads.find(':') != std::string_view::npos) {
      return usage_error(text_of("platform '", text, "': found '", threads.substr(threads.find(':')),
                                 "'; an arithmetic is part of a platform's name for 'isobit measure' alone"));
    }
    const auto parsed = std::from_chars(threads.data(), end, platform.threads);
    if (parsed.ec != std::errc() || parsed.ptr + 1 != end || *parsed.ptr != 't' || platform.threads < 1 ||
        platform.threads > kMostThreads) {
      return usage_error(text_of("platform '", text, "': found '", threads,
                                 "' after the slash, expected a thread count from 1 to ", kMostThreads,
                                 " followed by t, like /2t"));
    }
  }
  const size_t at = rest.find('@');
  const std::vector<std::string> vendors = vendor_libraries();
  if (std::find(vendors.begin(), vendors.end(), rest.substr(0, at)) != vendors.end()) {
    platform.library = rest.substr(0, at);
    platform.isa = kernels::best_isa();
    if (at != std::string_view::npos) platform.core = rest.substr(at + 1);
    return platform;
  }
  if (rest.substr(0, at) == kInteger) {
    if (at != std::string_view::npos && at + 1 == rest.size()) return unknown(text);
    return parse_integer(text, at == std::string_view::npos ? "" : rest.substr(at + 1), platform);
  }
  if (rest.substr(0, at) != kOrdered) return unknown(text);
  if (at == std::string_view::npos) {
    platform.isa = kernels::best_isa();
    return platform;
  }
  const auto isa = kernels::parse_isa(rest.substr(at + 1));
  if (!isa) return unknown(text);
  if (!kernels::isa_available(*isa)) {
    return unavailable(text_of("platform '", text, "': this CPU has no ", kernels::name_of(*isa),
                               "; 'isobit platforms' lists what it has"));
  }
  platform.isa = *isa;
  return platform;
}

std::vector<std::string> integer_products() {
  std::vector<std::string> kinds = {"plain"};
  if (kernels::correct::integer::amx_available()) kinds.emplace_back("amx");
  return kinds;
}

std::vector<Platform> available_platforms() {
  std::vector<Platform> platforms;
  for (kernels::Isa isa : kernels::available_isas())
    platforms.push_back({.isa = isa, .core = "", .threads = available_threads()});
  return platforms;
}

}  // namespace isobit::platform
