// History: the messages that led to a state, in a file that outlives a crash.
//
// To make a state costs more than most inputs do, so several inputs share one.
// The file of what they said is itself an input, which finds the crash again.

#ifndef PERSIA_TESTS_FUZZ_SUPPORT_HISTORY_H_
#define PERSIA_TESTS_FUZZ_SUPPORT_HISTORY_H_

#include <cstddef>

#include "tests/cc/support/sample_messages.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace persia {

class History {
 public:
  // Maps a file of `bytes` zeros at `path`, relative to the target's working
  // folder. Ends the process if that fails.
  History(const char* path, size_t bytes);

  // Forgets all.
  void Clear();

  // Returns false, and adds nothing, if it is full.
  bool Add(const SampleMessage& message);

 private:
  uint8_t* memory_;
  const size_t capacity_;
  size_t size_ = 0;
};

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SUPPORT_HISTORY_H_
