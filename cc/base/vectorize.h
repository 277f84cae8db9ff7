// PERSIA_VECTORIZE: on a free function with a hot loop, compiles it for
// AVX-512, AVX2 and the baseline, and picks one when the program starts.
// Results are the same to the bit: the build lets no compiler fuse a multiply
// with an add.

#ifndef PERSIA_CC_BASE_VECTORIZE_H_
#define PERSIA_CC_BASE_VECTORIZE_H_

// Sanitizers set themselves up later than the choice is made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PERSIA_VECTORIZE \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PERSIA_VECTORIZE
#endif

#endif  // PERSIA_CC_BASE_VECTORIZE_H_
