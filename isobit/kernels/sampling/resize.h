// Which places of an axis a resized one is made of (ONNX Resize-19).
//
// Everything is computed in float64, one operation after another as written, each rounded. `in` and `out` are the axis'
// extents, `scale` and `length` real numbers: the result's extent is `length` before it is rounded to `out`. Place o of
// the result lies at x of the source:
//
//   kHalfPixel           ((o + 0.5) / scale) - 0.5
//   kHalfPixelSymmetric  (((in / 2) * (1 - out / length)) + ((o + 0.5) / scale)) - 0.5
//   kPytorchHalfPixel    as kHalfPixel; 0 where length <= 1
//   kAlignCorners        (o * (in - 1)) / (length - 1); 0 where length = 1
//   kAsymmetric          o / scale
//   kCropAndResize       x' + begin * (in - 1), x' = ((o * (end - begin)) * (in - 1)) / (length - 1), or where length =
//   1
//                        ((end - begin) * (in - 1)) / 2; a place with x < 0 or x > in - 1 has no taps
//
// f = floor(x), r = x - f. Its taps, in this order; places outside [0, in) are the nearest one inside, and those of
// weight 0 are left out:
//
//   kNearest   f where r = 0; else f or f + 1 as `nearest` says: kRoundPreferFloor takes f + 1 for r > 0.5,
//              kRoundPreferCeil for r >= 0.5, kFloor never, kCeil always. The weight is 1.
//   kLinear    f with 1 - r, f + 1 with r
//   kCubic     f - 1 .. f + 2 with the four weights of Keys' convolution with the coefficient a, by Horner's rule:
//              (((a (r + 1) - 5a) (r + 1)) + 8a) (r + 1) - 4a, ((a + 2) r - (a + 3)) r r + 1, and with r' = 1 - r
//              ((a + 2) r' - (a + 3)) r' r' + 1, (((a (r' + 1) - 5a) (r' + 1)) + 8a) (r' + 1) - 4a
//   antialias  (kLinear, kCubic): with s = min(scale, 1) and the reach h = 1 or 2 of the filter, the places f + i for
//              floor(-h / s) + 1 <= i <= -floor(-h / s) with filter((i - r) * s): linear 1 - |t| where that is
//              positive; cubic (a + 2) t3 - (a + 3) t2 + 1 for t = |.| <= 1, ((a t3 - 5a t2) + 8a t) - 4a up to 2, else
//              0
//
// Where antialias or exclude_outside is set, every weight is divided by the sum of all in this order; with
// exclude_outside those of places outside are 0 first, and where nothing is left the nearest place has weight 1.
//
// An axis with in = out and scale = 1 is the identity in every mode but kCropAndResize.
#pragma once

#include "isobit/kernels/sampling/taps.h"

namespace isobit::kernels {

enum class Interpolation { kNearest, kLinear, kCubic };
enum class Coordinates {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCropAndResize,
};
enum class Nearest { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };

struct ResizeRule {
  Interpolation mode = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  Nearest nearest = Nearest::kRoundPreferFloor;
  double cubic_a = -0.75;
  bool antialias = false, exclude_outside = false;
};

struct ResizeAxis {
  int64_t in = 1, out = 1;
  double scale = 1, length = 1;
  double begin = 0, end = 1;  // kCropAndResize: the part of the axis that is resized
};

// REQUIRES in >= 1 or out = 0; scale and length finite and above 0, scale at least out / in / 4; begin and
// end finite.
AxisTaps resize_taps(const ResizeAxis& axis, const ResizeRule& rule);

}  // namespace isobit::kernels
