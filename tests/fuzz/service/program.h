// A program of steps, as bytes: so that libFuzzer can change and shorten one.
//
//   program = settings, steps*
//   settings = 0, options, 0, 0                (u8 each)
//   step = what, a, b, c                       (u8 each)

#ifndef PERSIA_TESTS_FUZZ_SERVICE_PROGRAM_H_
#define PERSIA_TESTS_FUZZ_SERVICE_PROGRAM_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "cc/base/span.h"

namespace persia {

inline constexpr size_t kStepBytes = 4;
inline constexpr size_t kSettingsBytes = 4;

enum class Action {
  kTrain,      // Looks rows up and updates them.
  kTrainTwo,   // Uses two tables in each request.
  kRead,       // Looks rows up as a model server does.
  kCreate,     // With the usual settings; may attach.
  kCreateOdd,  // With other, too large or invalid ones.
  kAssign,
  kRemove,
  kDrop,        // Drops a table, or all its rows.
  kRepeatDrop,  // Sends the last drop late, again.
  kResend,      // Sends the last update again.
  kSave,        // Saves all or changes; may commit it.
  kEndSave,     // Lets a held save end.
  kRestore,
  kRemoveCheckpoint,
  kBase,     // Writes a base, or only begins to.
  kEndBase,  // Lets a held base end.
  kKill,
  kRestart,
  kCrash,  // Kills a shard some writes later.
  kCheck
};

struct Step {
  Action action;
  uint8_t a;
  uint8_t b;
  uint8_t c;
};

Step StepOf(Span<const uint8_t> bytes);

const char* NameOf(Action action);

std::vector<uint8_t> RandomProgram(std::mt19937_64* random, size_t steps);

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_PROGRAM_H_
