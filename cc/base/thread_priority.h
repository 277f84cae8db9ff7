// The priorities of threads.

#ifndef PERSIA_CC_BASE_THREAD_PRIORITY_H_
#define PERSIA_CC_BASE_THREAD_PRIORITY_H_

namespace persia {

// Lowers the priority of the calling thread for good, so that a request on the
// same processor does not wait for the thread's work. Does nothing where the
// system does not allow it.
void YieldToOthers();

}  // namespace persia

#endif  // PERSIA_CC_BASE_THREAD_PRIORITY_H_
