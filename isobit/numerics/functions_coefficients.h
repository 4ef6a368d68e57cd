// Polynomial coefficients of functions_impl.h, made by scripts/elementary_coefficients.py. Part of ordered-1: another
// set would change the last bits of the f64_ functions and the exceptional inputs of the cr_ functions.
#pragma once

namespace isobit::numerics::impl {

// (e^r - 1 - r) / r^2 on |r| <= ln2 / 2; degree 10, relative error 2^-61.4
static constexpr double kExp[] = {0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555556p-5,
                                  0x1.11111111100dcp-7,  0x1.6c16c16c162d4p-10, 0x1.a01a01abe7fe1p-13,
                                  0x1.a01a01a6d889cp-16, 0x1.71de0231960ebp-19, 0x1.27e4db646b17ep-22,
                                  0x1.af4de97ca4194p-26, 0x1.1f730349868cep-29};
// (log((1+s)/(1-s)) - 2s) / s^3 in z = s^2; degree 7, relative error 2^-60.7
static constexpr double kLog[] = {0x1.5555555555555p-1, 0x1.9999999999a38p-2, 0x1.2492492476ba1p-2,
                                  0x1.c71c72017a15cp-3, 0x1.745cf8f6c9119p-3, 0x1.3b1c38474d3eep-3,
                                  0x1.0fbe478772696p-3, 0x1.0c06cf14c641bp-3};
// (sin r - r) / r^3 in z = r^2; degree 6, relative error 2^-57.3
static constexpr double kSin[] = {-0x1.5555555555555p-3, 0x1.1111111111110p-7,   -0x1.a01a01a019936p-13,
                                  0x1.71de3a54605eep-19, -0x1.ae64541266378p-26, 0x1.61217ec01749dp-33,
                                  -0x1.ab17a79237a19p-41};
// (cos r - 1 + r^2/2) / r^4 in z = r^2; degree 6, relative error 2^-59.5
static constexpr double kCos[] = {0x1.5555555555555p-5,   -0x1.6c16c16c16c16p-10, 0x1.a01a01a019d0ap-16,
                                  -0x1.27e4fb7712bdfp-22, 0x1.1eed8deb6d561p-29,  -0x1.9394b9c9c20a4p-37,
                                  0x1.ab783376962cfp-45};
// erf(x)/x - 0x1.20dd750000000p+0 in z = x^2 on 0 <= x <= 1; degree 15, relative error 2^-56.4
static constexpr double kErfSmall[] = {
    0x1.0a6db446b8ea2p-30, -0x1.812746b0379e7p-2,  0x1.ce2f21a042be2p-4,  -0x1.b82ce31288b51p-6,
    0x1.565bcd0e6a530p-8,  -0x1.c02db400406a3p-11, 0x1.f9a326f9a7769p-14, -0x1.f4d25c3b729a6p-17,
    0x1.b9e6c9944bd7ep-20, -0x1.5f74291398641p-23, 0x1.fcc4c8ec29638p-27, -0x1.51cfe00be885fp-30,
    0x1.9df7fd0b39a12p-34, -0x1.d332e777f7344p-38, 0x1.cf915d8f3c685p-42, -0x1.3aa422cc5d833p-46};
// erf(x) in t = x - 2.5 on 1 <= x <= 4; degree 34, relative error 2^-54.2
static constexpr double kErfLarge[] = {
    0x1.ffcaa8f4c9beap-1,   0x1.1d83170fbf6fbp-9,   -0x1.64e3dcd3af4bap-8,  0x1.119da0c46ccb1p-7,
    -0x1.1a89b97ceac69p-7,  0x1.90e81283faac9p-8,   -0x1.6ecdbf67c97f4p-9,  0x1.1c610bcb9f4fap-11,
    0x1.11551df3649e3p-12,  -0x1.067178c83096ep-12, 0x1.4a84485ac3d1ep-14,  0x1.58bd11417813dp-18,
    -0x1.d87265f6d3b5ep-17, 0x1.3acdbed89531dp-18,  0x1.857cc69e61a2ap-23,  -0x1.584349741c244p-21,
    0x1.80e36ad31a7a6p-23,  0x1.356ce04b0713cp-26,  -0x1.97f313255ac26p-26, 0x1.3260445d9e1a9p-28,
    0x1.37fcfd8306dfcp-30,  -0x1.725649989e7ebp-31, 0x1.e256e681d9e73p-35,  0x1.831f1df539d01p-35,
    -0x1.dc847889f9a70p-37, -0x1.7b77fee3d27b2p-41, 0x1.3e8ee95067b68p-40,  -0x1.6475bbb727ed3p-43,
    -0x1.c5b8639d85bafp-45, 0x1.4a189fabb9266p-46,  0x1.dd8a10ef88474p-52,  -0x1.2da689a75f1bcp-50,
    0x1.b859368c33579p-54,  0x1.0a348137ce57ep-55,  -0x1.5f7b2a79ecdadp-58};
// (Phi(x) - 1/2) / x in z = x^2 on |x| <= 1.25; degree 14, relative error 2^-53.2
static constexpr double kPhiSmall[] = {0x1.9884533d43651p-2,   -0x1.1058377e2cee0p-4,  0x1.46d04297691dap-7,
                                       -0x1.37403f6ba1100p-10, 0x1.e42b0d5216f8bp-14,  -0x1.3ce8fac15d76ep-17,
                                       0x1.658a2177865bdp-21,  -0x1.62226a4351b42p-25, 0x1.3878b745e2b87p-29,
                                       -0x1.f107bbf00f52ep-34, 0x1.67bf2368728ecp-38,  -0x1.dd939dc135a88p-43,
                                       0x1.23739f50ba4ccp-47,  -0x1.3d3a81b049ed2p-52, 0x1.ee4d3ec12a3a9p-58};
// Phi(-x) e^(x^2/2) (x + 1) in t = (x - 4.5) / (x + 4.5) on 1.25 <= x <= 14.5; degree 24, relative error 2^-54.0
static constexpr double kPhiTail[] = {
    0x1.dd9cda313e3a2p-2,   -0x1.82e51724f987dp-4,  0x1.86a4a47b13429p-6,  0x1.36075fe14546cp-6,
    -0x1.f1b1ea5029b0ap-6,  0x1.728bae6e69eebp-6,   -0x1.5b0c769241600p-7, 0x1.635e52b76be09p-9,
    0x1.f431cd178d01ap-14,  -0x1.7226351855955p-12, 0x1.299866f0637e6p-14, 0x1.1bd4d02840735p-15,
    -0x1.f3d8bfaa82f45p-17, -0x1.e16c5c7bd5f73p-19, 0x1.5685a16c7bfd6p-19, 0x1.1bbc5f53edf39p-21,
    -0x1.cd236bfe10ba3p-22, -0x1.df01dded51e1bp-24, 0x1.2ec850a75b365p-24, 0x1.dfcba21e7e6d4p-26,
    -0x1.5aa3d62564058p-27, -0x1.d2228f3109c8ep-28, 0x1.a93fb0bf3f0fbp-31, 0x1.428355fedff72p-30,
    0x1.19aaf2dddce87p-33};
// Phi(-x) e^(x^2/2) (x + 1) in t = (x - 5) / (x + 5) on 0.84 <= x <= 40; degree 34, relative error 2^-53.8
static constexpr double kPhiTailWide[] = {
    0x1.d8979b0f2b39dp-2,   -0x1.76ff86859eb14p-4,  0x1.fc66cc64a13e7p-6,   0x1.47c1d03054825p-7,
    -0x1.b08e0007b4e27p-6,  0x1.92037bab4808cp-6,   -0x1.f11aab0307c12p-7,  0x1.ab6d038cf8fa0p-8,
    -0x1.b75f4f80b9f79p-10, 0x1.0571ab28e6d8bp-17,  0x1.7e61e0be0884dp-13,  -0x1.c1b1da5eaba8dp-15,
    -0x1.4c0da8ad1b8c4p-17, 0x1.30053fff00e78p-17,  -0x1.2f78db0525c4bp-24, -0x1.5f61fbe62bd8ap-20,
    0x1.1399ad5af1256p-23,  0x1.aaa55eeaf523cp-23,  -0x1.caad718ceca59p-26, -0x1.1f8d120b91a27p-25,
    0x1.056c0783f9b2bp-28,  0x1.a8da260765a4cp-28,  -0x1.0ca7c36c7370dp-32, -0x1.4716809156d69p-30,
    -0x1.9881d2f560c8fp-34, 0x1.e97f6d661ccf1p-33,  0x1.daa1489f76040p-35,  -0x1.42e26ad3758e3p-35,
    -0x1.44f9f46a5b133p-36, 0x1.34cc00b665b87p-38,  0x1.59eb69f365385p-38,  -0x1.521bfd60b22d3p-43,
    -0x1.17b23a3060a60p-40, -0x1.8655e6ff3f0b4p-45, 0x1.07d6894b7bea2p-43};
// e^r on |r| <= ln2 / 2; degree 8, relative error 2^-39.8
static constexpr double kExpNear[] = {0x1.0000000000000p+0,  0x1.ffffffffd382fp-1,  0x1.fffffffff71b2p-2,
                                      0x1.555555a279c87p-3,  0x1.555555742d965p-5,  0x1.1110809f385f6p-7,
                                      0x1.6c164de86dafdp-10, 0x1.a1aa939e677aep-13, 0x1.a15a600528a0fp-16};
// Phi(-x) e^(x^2/2) in t = (x - 5) / (x + 5) on 0 <= x <= 14.5; degree 15, relative error 2^-40.3
static constexpr double kPhiTailNear[] = {
    0x1.3b0fbcb4c7337p-4,  -0x1.25cd1321cb4b4p-3,  0x1.db6af87274d39p-4,   -0x1.4b4ce47811c75p-4,
    0x1.8807f28a8dcd2p-5,  -0x1.7f9d051d3375fp-6,  0x1.26a1193a3ec02p-7,   -0x1.37cc64f6c7599p-9,
    0x1.cc6bb74098bfdp-13, 0x1.1972776408e70p-13,  -0x1.fb48f651fa33bp-15, 0x1.381eeb690a2cbp-20,
    0x1.d29a29712ab70p-18, -0x1.6b248a5833ae3p-20, -0x1.3b89df8058a7dp-20, -0x1.4ee00256b7a84p-23};

}  // namespace isobit::numerics::impl
