// PERSIA_VECTORIZE: put on a free function with a hot loop, compiles it for
// AVX-512, AVX2 and the baseline; the version for the CPU is selected when the
// program is loaded. All versions give bitwise equal results: the build
// forbids the compiler to fuse a multiply with an add.

#ifndef PERSIA_CC_BASE_VECTORIZE_H_
#define PERSIA_CC_BASE_VECTORIZE_H_

// Not with sanitizers: their runtimes are initialized only after the version is
// selected.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PERSIA_VECTORIZE \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PERSIA_VECTORIZE
#endif

#endif  // PERSIA_CC_BASE_VECTORIZE_H_
