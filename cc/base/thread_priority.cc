#include "cc/base/thread_priority.h"

#include <sys/resource.h>

#include <cerrno>

namespace persia {

void YieldToOthers() {
  constexpr int kCallingThread = 0, kNicer = 10;
  errno = 0;
  const int priority = getpriority(PRIO_PROCESS, kCallingThread);
  if (errno == 0) setpriority(PRIO_PROCESS, kCallingThread, priority + kNicer);
}

}  // namespace persia
