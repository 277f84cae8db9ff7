// Two clients that train at once, while shards save, restore, write bases and
// are killed, and while another job makes and drops tables. Each update adds 1
// to its client's own column of some rows, and always of the first row. So a
// table shows which updates it has: for each client they must be the first
// ones, and include all acknowledged ones.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_STEPS_THREADS_H_
#define PERSIA_TESTS_FUZZ_SERVICE_STEPS_THREADS_H_

#include <cstdint>

namespace persia {

// Runs some rounds in a new world; returns the number of steps. Fails if
// something that must hold does not.
uint64_t RunThreads(uint64_t seed);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_STEPS_THREADS_H_
