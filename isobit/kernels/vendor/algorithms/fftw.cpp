#include "isobit/kernels/vendor/algorithms/fftw.h"

#include <mutex>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/base/text.h"
#include "isobit/kernels/vendor/library.h"

namespace isobit::kernels::algorithms {
namespace {

using vendor::Library;

using Complex = std::complex<float>;
using Handle = void*;
constexpr unsigned kEstimate = 1u << 6;  // FFTW_ESTIMATE of fftw3.h

struct Functions {
  Handle (*plan_r2c)(int, int, float*, Complex*, unsigned) = nullptr;
  Handle (*plan_c2r)(int, int, Complex*, float*, unsigned) = nullptr;
  void (*execute_r2c)(Handle, float*, Complex*) = nullptr;
  void (*execute_c2r)(Handle, Complex*, float*) = nullptr;
  void (*destroy)(Handle) = nullptr;
  const char* version = nullptr;
};

// Plans share tables in the library: one thread of the process at a time may make or end one.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

class LibraryPlan final : public Fftw::Plan {
 public:
  LibraryPlan(const Functions& f, Handle there, Handle back) : f_(f), there_(there), back_(back) {}
  ~LibraryPlan() override {
    const std::lock_guard lock(planner());
    if (there_ != nullptr) f_.destroy(there_);
    if (back_ != nullptr) f_.destroy(back_);
  }
  LibraryPlan(const LibraryPlan&) = delete;
  LibraryPlan& operator=(const LibraryPlan&) = delete;
  bool is_whole() const { return there_ != nullptr && back_ != nullptr; }

  // Its interface takes no const, but a transform out of place that may not destroy its input does not write to it.
  void forward(const float* real, Complex* frequencies) const override {
    f_.execute_r2c(there_, const_cast<float*>(real), frequencies);
  }
  void backward(Complex* frequencies, float* real) const override { f_.execute_c2r(back_, frequencies, real); }

 private:
  const Functions& f_;
  Handle there_, back_;
};

class LibraryFftw final : public Fftw {
 public:
  explicit LibraryFftw(const Functions& f) : f_(f) {}
  std::string version() const override { return f_.version; }

  Expected<const Plan*> plan(int64_t height, int64_t width) override {
    const std::pair size(height, width);
    if (const auto known = plans_.find(size); known != plans_.end()) return known->second.get();
    const int h = static_cast<int>(height), w = static_cast<int>(width);
    ScratchVector<float> real(static_cast<size_t>(height * width));
    ScratchVector<Complex> frequencies(static_cast<size_t>(height * (width / 2 + 1)));
    std::unique_ptr<LibraryPlan> made;
    {
      const std::lock_guard lock(planner());
      // FFTW destroys no input of a real transform out of place unless it is allowed to; c2r always does.
      const Handle there = f_.plan_r2c(h, w, real.data(), frequencies.data(), kEstimate);
      const Handle back = f_.plan_c2r(h, w, frequencies.data(), real.data(), kEstimate);
      made = std::make_unique<LibraryPlan>(f_, there, back);
    }
    if (!made->is_whole()) return unavailable(text_of(version(), ": no plan for planes of ", height, " x ", width));
    return plans_.emplace(size, std::move(made)).first->second.get();
  }

 private:
  const Functions f_;
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<LibraryPlan>> plans_;
};

}  // namespace

Expected<std::shared_ptr<Fftw>> Fftw::open() {
  const std::vector<std::string> usual = {"/usr/lib/x86_64-linux-gnu/libfftw3f.so.3",
                                          "/usr/lib/aarch64-linux-gnu/libfftw3f.so.3", "/usr/lib/libfftw3f.so.3"};
  const std::string path = vendor::first_existing(usual);
  if (path.empty()) {
    return unavailable(text_of("convolution by FFT: FFTW in single precision is not installed (", usual.front(),
                               "); install Debian's libfftw3-single3, or choose another algorithm"));
  }
  ISOBIT_TRY(const Library library, Library::open(path));
  Functions f;
  ISOBIT_RETURN_IF_ERROR(library.find("fftwf_plan_dft_r2c_2d", f.plan_r2c));
  ISOBIT_RETURN_IF_ERROR(library.find("fftwf_plan_dft_c2r_2d", f.plan_c2r));
  ISOBIT_RETURN_IF_ERROR(library.find("fftwf_execute_dft_r2c", f.execute_r2c));
  ISOBIT_RETURN_IF_ERROR(library.find("fftwf_execute_dft_c2r", f.execute_c2r));
  ISOBIT_RETURN_IF_ERROR(library.find("fftwf_destroy_plan", f.destroy));
  ISOBIT_RETURN_IF_ERROR(library.find("fftwf_version", f.version));
  return std::make_shared<LibraryFftw>(f);
}

}  // namespace isobit::kernels::algorithms
