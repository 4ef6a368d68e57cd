// How functions are written that translation units of one instruction set call: each is expanded into its caller, so
// that it follows the unit's flags and leaves no symbol which the linker could share with units of other flags.
#pragma once

// Before a function, and before a member function.
#define ISOBIT_INLINE [[gnu::always_inline]] static inline
#define ISOBIT_INLINE_MEMBER [[gnu::always_inline]] inline

// Before a loop no iteration of which reads what another writes. The array that is written may be one that is read,
// element for element; that, too, is no dependence between iterations, but the compiler cannot know.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // a permission, not a promise
#define ISOBIT_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ISOBIT_INDEPENDENT _Pragma("GCC ivdep")
#endif
