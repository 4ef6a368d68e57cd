// Coefficients and constants of more than 53 bits, made by scripts/elementary_coefficients.py. Part of ordered-1, as
// those of functions_coefficients.h.
#pragma once

#include <cstdint>

#include "isobit/numerics/functions_impl_pair.h"

namespace isobit::numerics::impl {

// (e^r - 1 - r) / r^2 on |r| <= ln2 / 2; degree 19, relative error 2^-122.3
static constexpr Pair kExpPair[] = {{0x1.0000000000000p-1, -0x1.6a098ffcecc5bp-120},
                                    {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                    {0x1.5555555555555p-5, 0x1.555555555555ap-59},
                                    {0x1.1111111111111p-7, 0x1.1111111111114p-63},
                                    {0x1.6c16c16c16c17p-10, -0x1.f49f49f4b3064p-65},
                                    {0x1.a01a01a01a01ap-13, 0x1.a01a019f3e5c4p-73},
                                    {0x1.a01a01a01a01ap-16, 0x1.a01a4355acfcap-76},
                                    {0x1.71de3a556c734p-19, -0x1.c154f8825cd38p-73},
                                    {0x1.27e4fb7789f5cp-22, 0x1.cbae22948a95ep-76},
                                    {0x1.ae64567f544e4p-26, -0x1.c06c895966af7p-80},
                                    {0x1.1eed8eff8d898p-29, -0x1.4c9cb3fad2ecap-85},
                                    {0x1.6124613a86d0ap-33, -0x1.775b17a732b25p-87},
                                    {0x1.93974a8c078a1p-37, -0x1.3d8fa443f9bb0p-91},
                                    {0x1.ae7f3e733b559p-41, 0},
                                    {0x1.ae7f3e76262edp-45, 0},
                                    {0x1.952c77051237ep-49, 0},
                                    {0x1.6827719938af8p-53, 0},
                                    {0x1.2f49a60da1346p-57, 0},
                                    {0x1.e5e458bc174b4p-62, 0},
                                    {0x1.72295c3ce872dp-66, 0}};
// (log((1+s)/(1-s)) - 2s) / s^3 in z = s^2; degree 14, relative error 2^-115.2
static constexpr Pair kLogPair[] = {{0x1.5555555555555p-1, 0x1.5555555555556p-55},
                                    {0x1.999999999999ap-2, -0x1.999999999b6f1p-56},
                                    {0x1.2492492492492p-2, 0x1.24924936ba15cp-56},
                                    {0x1.c71c71c71c71cp-3, 0x1.c71be3f05da03p-57},
                                    {0x1.745d1745d1746p-3, -0x1.72190eb037057p-58},
                                    {0x1.3b13b13b13b13p-3, 0x1.60063ba2541c6p-57},
                                    {0x1.1111111111159p-3, -0x1.4936885fa4065p-57},
                                    {0x1.e1e1e1e1dcf5fp-4, 0x1.3fc020538fac0p-59},
                                    {0x1.af286bcc03cd6p-4, 0x1.81d37319c9689p-58},
                                    {0x1.861860fe22e55p-4, 0},
                                    {0x1.642ca0c2f35bep-4, 0},
                                    {0x1.47aa344b4e27fp-4, 0},
                                    {0x1.2fca62592fdd2p-4, 0},
                                    {0x1.141e075a11b4ep-4, 0},
                                    {0x1.45eeced643e07p-4, 0}};
// (atan t - t) / t^3 in z = t^2 for |t| <= 0.2385; degree 10, relative error 2^-75.8
static constexpr Pair kAtanPair[] = {{-0x1.5555555555555p-2, -0x1.5553f5fb1b00fp-56},
                                     {0x1.999999999999ap-3, -0x1.c736944c56ec4p-57},
                                     {-0x1.2492492492473p-3, 0x1.0096a570fb3d1p-59},
                                     {0x1.c71c71c7183d4p-4, -0x1.8f799618d21f6p-59},
                                     {-0x1.745d1743804f9p-4, 0},
                                     {0x1.3b13b07c275b8p-4, 0},
                                     {-0x1.1110eaacdb42ap-4, 0},
                                     {0x1.e1d7ef3e41b80p-5, 0},
                                     {-0x1.ae53469a68527p-5, 0},
                                     {0x1.7ae49ef68bb4ep-5, 0},
                                     {-0x1.0c9db58e370b3p-5, 0}};
// (sin r - r) / r^3 in z = r^2; degree 8, relative error 2^-89.5
static constexpr Pair kSinPair[] = {{-0x1.5555555555555p-3, -0x1.55555554247e4p-57},
                                    {0x1.1111111111111p-7, 0x1.1110c2e64a69dp-63},
                                    {-0x1.a01a01a01a01ap-13, -0x1.6b4f6c2ec1a88p-73},
                                    {0x1.71de3a556c733p-19, 0},
                                    {-0x1.ae64567f54150p-26, 0},
                                    {0x1.6124613a00d4dp-33, 0},
                                    {-0x1.ae7f3d029ae73p-41, 0},
                                    {0x1.952a27cbf0236p-49, 0},
                                    {-0x1.2d4a194f2b28dp-57, 0}};
// (cos r - 1 + r^2/2) / r^4 in z = r^2; degree 8, relative error 2^-94.2
static constexpr Pair kCosPair[] = {{0x1.5555555555555p-5, 0x1.555555551de1fp-59},
                                    {-0x1.6c16c16c16c17p-10, 0x1.f49f582c9b76ap-65},
                                    {0x1.a01a01a01a01ap-16, 0},
                                    {-0x1.27e4fb7789f5cp-22, 0},
                                    {0x1.1eed8eff8d74bp-29, 0},
                                    {-0x1.93974a8ba64e0p-37, 0},
                                    {0x1.ae7f3d6708847p-45, 0},
                                    {-0x1.6825d81b0ac53p-53, 0},
                                    {0x1.e25a600e24214p-62, 0}};
constexpr double kLn2Middle = 0x1.ef35793c76000p-45;  // 42 bits, as kLn2High has
constexpr double kLn2Rest = 0x1.cc01f97b57a08p-87;
constexpr Pair kHalfPi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
constexpr Pair kPi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
constexpr Pair kQuarterPi = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
constexpr Pair kAtanHalf = {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56};
// The first 1,216 bits of 2/pi, behind a word of zeros.
static constexpr uint64_t kTwoOverPiWords[] = {0,
                                               0xa2f9836e4e441529,
                                               0xfc2757d1f534ddc0,
                                               0xdb6295993c439041,
                                               0xfe5163abdebbc561,
                                               0xb7246e3a424dd2e0,
                                               0x06492eea09d1921c,
                                               0xfe1deb1cb129a73e,
                                               0xe88235f52ebb4484,
                                               0xe99c7026b45f7e41,
                                               0x3991d639835339f4,
                                               0x9c845f8bbdf9283b,
                                               0x1ff897ffde05980f,
                                               0xef2f118b5a0a6d1f,
                                               0x6d367ecf27cb09b7,
                                               0x4f463f669e5fea2d,
                                               0x7527bac7ebe5f17b,
                                               0x3d0739f78a5292ea,
                                               0x6bfb5fb11f8d5d08,
                                               0x56033046fc7b6bab};

}  // namespace isobit::numerics::impl
