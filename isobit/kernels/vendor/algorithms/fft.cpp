#include "isobit/kernels/vendor/algorithms/fft.h"

#include <algorithm>
#include <atomic>

#include "isobit/base/fp_env.h"
#include "isobit/base/scratch.h"
#include "isobit/base/text.h"

namespace isobit::kernels::algorithms {
namespace {

using Complex = std::complex<float>;

struct Sizes {
  int64_t height, width, bins;  // bins: complex numbers of a spectrum
  int64_t real, spectrum;       // numbers from one plane, or spectrum, to the next: both begin at multiples of 64 bytes

  explicit Sizes(const ConvShape& s)
      : height(transform_size(s.ih + s.pad_top + s.pad_bottom)),
        width(transform_size(s.iw + s.pad_left + s.pad_right)),
        bins(height * (width / 2 + 1)),
        real((height * width + 15) / 16 * 16),
        spectrum((bins + 7) / 8 * 8) {}
};

// Numbers of the plane of one channel of one image, where they stand among the padding.
void transform_plane(const ConvShape& s, const Sizes& z, const Fftw::Plan& plan, const float* from, float* plane,
                     Complex* to) {
  std::fill_n(plane, z.height * z.width, 0.0f);
  for (int64_t y = 0; y < s.ih; ++y) {
    std::copy_n(from + y * s.iw, s.iw, plane + (y + s.pad_top) * z.width + s.pad_left);
  }
  plan.forward(plane, to);
}

void transform_taps(const ConvShape& s, const Sizes& z, const Fftw::Plan& plan, const float* from, float* plane,
                    Complex* to) {
  std::fill_n(plane, z.height * z.width, 0.0f);
  for (int64_t y = 0; y < s.kh; ++y) {
    for (int64_t x = 0; x < s.kw; ++x) plane[y * s.dilation_h * z.width + x * s.dilation_w] = from[y * s.kw + x];
  }
  plan.forward(plane, to);
}

// sum[i] += src[i] * conjugate of taps[i]; written out, since operator* of complex numbers looks for infinities.
void add_product(int64_t bins, const Complex* src, const Complex* taps, Complex* sum) {
  const float* a = reinterpret_cast<const float*>(src);
  const float* b = reinterpret_cast<const float*>(taps);
  float* c = reinterpret_cast<float*>(sum);
  for (int64_t i = 0; i < 2 * bins; i += 2) {
    c[i] += a[i] * b[i] + a[i + 1] * b[i + 1];
    c[i + 1] += a[i + 1] * b[i] - a[i] * b[i + 1];
  }
}

void store(const ConvShape& s, const Sizes& z, const float* plane, const float* bias, float* to) {
  const int64_t oh = s.oh(), ow = s.ow();
  const float size = static_cast<float>(z.height * z.width);
  for (int64_t y = 0; y < oh; ++y) {
    for (int64_t x = 0; x < ow; ++x) {
      const float value = plane[y * z.width + x] / size;
      to[y * ow + x] = bias == nullptr ? value : value + *bias;
    }
  }
}

int64_t image_bytes(const ConvShape& s, const Sizes& z) {
  return (s.ic + 1) * z.spectrum * static_cast<int64_t>(sizeof(Complex));
}

}  // namespace

int64_t transform_size(int64_t n) {
  for (;; ++n) {
    int64_t rest = n;
    for (const int64_t factor : {2, 3, 5, 7}) {
      while (rest % factor == 0) rest /= factor;
    }
    if (rest == 1) return n;
  }
}

std::string Fft::refuses(const ConvShape& s) const {
  if (s.stride_h != 1 || s.stride_w != 1) return "it has stride 1 only";
  if (s.groups != 1) return "it has one group only";
  constexpr int64_t kMost = 1 << 14;  // of either extent, so that sizes can be multiplied
  if (s.ih + s.pad_top + s.pad_bottom > kMost || s.iw + s.pad_left + s.pad_right > kMost) {
    return text_of("it has planes of up to ", kMost, " x ", kMost, " only");
  }
  // Beside those of an image, what one thread needs to transform taps and back.
  return image_bytes(s, Sizes(s)) > kWorkspaceBytes ? "its transforms do not fit the workspace" : "";
}

Status Fft::forward(const Call& call) {
  const ConvShape& s = call.shape;
  const Sizes z(s);
  ISOBIT_TRY(const Fftw::Plan* plan, library_->plan(z.height, z.width));
  const int64_t at_once = std::clamp<int64_t>(kWorkspaceBytes / image_bytes(s, z), 1, std::max<int64_t>(1, s.n));
  const int64_t out_area = s.oh() * s.ow();
  std::atomic<int> faults = 0;
  const auto watch = [&] {
    if (fp_environment_is_standard()) return;
    pin_fp_environment();
    ++faults;
  };
  ScratchVector<Complex> spectra(static_cast<size_t>(at_once * s.ic * z.spectrum));
  for (int64_t first = 0; first < s.n; first += at_once) {
    const int64_t images = std::min(at_once, s.n - first);
    pool_.parallel_for(images * s.ic, grain_of(8 * z.real), [&](int64_t i, int64_t end) {
      ScratchVector<float> plane(static_cast<size_t>(z.real));
      for (; i < end; ++i) {
        const float* from = call.src + (first * s.ic + i) * s.ih * s.iw;
        transform_plane(s, z, *plan, from, plane.data(), spectra.data() + i * z.spectrum);
      }
      watch();
    });
    pool_.parallel_for(s.oc, 1, [&](int64_t oc, int64_t end) {
      ScratchVector<float> plane(static_cast<size_t>(z.real));
      ScratchVector<Complex> taps(static_cast<size_t>(z.spectrum)), sums(static_cast<size_t>(images * z.spectrum));
      for (; oc < end; ++oc) {
        std::fill(sums.begin(), sums.end(), Complex(0, 0));
        for (int64_t c = 0; c < s.ic; ++c) {
          transform_taps(s, z, *plan, call.weights + (oc * s.ic + c) * s.kh * s.kw, plane.data(), taps.data());
          for (int64_t n = 0; n < images; ++n) {
            add_product(z.bins, spectra.data() + (n * s.ic + c) * z.spectrum, taps.data(),
                        sums.data() + n * z.spectrum);
          }
        }
        for (int64_t n = 0; n < images; ++n) {
          plan->backward(sums.data() + n * z.spectrum, plane.data());
          store(s, z, plane.data(), call.bias == nullptr ? nullptr : call.bias + oc,
                call.dst + ((first + n) * s.oc + oc) * out_area);
        }
      }
      watch();
    });
  }
  if (faults == 0) return {};
  return unavailable(text_of(library_->version(),
                             ": a transform left the thread with another rounding mode or with flush to zero; its "
                             "results cannot be used, use another algorithm"));
}

}  // namespace isobit::kernels::algorithms
