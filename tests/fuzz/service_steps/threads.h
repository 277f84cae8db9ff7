// Two clients that train at once, while shards save, restore, write bases, are
// killed, and while another job makes and drops tables.
//
// Each update adds 1 to a client's own column of some rows, and always of the
// first one: so a table tells which updates it has, and they must be the first
// ones of each client, all that were acknowledged among them.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_STEPS_THREADS_H_
#define PERSIA_TESTS_FUZZ_SERVICE_STEPS_THREADS_H_

#include <cstdint>

namespace persia {

// Runs some rounds in a new world; returns how many steps they had. Fails where
// something does not hold.
uint64_t RunThreads(uint64_t seed);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_STEPS_THREADS_H_
