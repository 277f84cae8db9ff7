#include "tests/fuzz/service/program.h"

#include <utility>

namespace persia {
namespace {

struct Share {
  Action action;
  int parts;  // Of 64.
  const char* name;
};

constexpr Share kShares[] = {
    {Action::kTrain, 22, "train"},
    {Action::kTrainTwo, 4, "train two tables"},
    {Action::kRead, 3, "read"},
    {Action::kCreate, 6, "create"},
    {Action::kCreateOdd, 3, "create odd"},
    {Action::kAssign, 2, "assign"},
    {Action::kRemove, 2, "remove"},
    {Action::kDrop, 1, "drop"},
    {Action::kRepeatDrop, 1, "repeat drop"},
    {Action::kResend, 2, "resend"},
    {Action::kSave, 3, "save"},
    {Action::kEndSave, 1, "end save"},
    {Action::kRestore, 3, "restore"},
    {Action::kRemoveCheckpoint, 1, "remove checkpoint"},
    {Action::kBase, 2, "base"},
    {Action::kEndBase, 1, "end base"},
    {Action::kKill, 2, "kill"},
    {Action::kRestart, 1, "restart"},
    {Action::kCrash, 3, "crash later"},
    {Action::kCheck, 1, "check"}};

constexpr int Sum() {
  int sum = 0;
  for (const Share& share : kShares) sum += share.parts;
  return sum;
}
static_assert(Sum() == 64, "each number is an action's");

}  // namespace

Step StepOf(Span<const uint8_t> bytes) {
  int left = bytes[0] % 64;
  size_t i = 0;
  while (left >= kShares[i].parts) left -= kShares[i++].parts;
  return {kShares[i].action, bytes[1], bytes[2], bytes[3]};
}

const char* NameOf(Action action) {
  for (const Share& share : kShares) {
    if (share.action == action) return share.name;
  }
  return "?";
}

std::vector<uint8_t> RandomProgram(std::mt19937_64* random, size_t steps) {
  std::vector<uint8_t> program(kSettingsBytes + steps * kStepBytes);
  for (uint8_t& byte : program) byte = static_cast<uint8_t>((*random)() >> 17);
  return program;
}

}  // namespace persia
