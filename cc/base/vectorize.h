// PERSIA_VECTORIZE: marks a free function with a hot loop to be compiled for
// AVX-512, for AVX2 and for the baseline. The program selects the version for
// its CPU when it is loaded. All versions return bitwise equal results, because
// the build forbids the compiler to fuse a multiplication with an addition.

#ifndef PERSIA_CC_BASE_VECTORIZE_H_
#define PERSIA_CC_BASE_VECTORIZE_H_

// Builds with sanitizers compile only the baseline, because the version would
// be selected before the sanitizer's runtime is initialized.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PERSIA_VECTORIZE \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PERSIA_VECTORIZE
#endif

#endif  // PERSIA_CC_BASE_VECTORIZE_H_
