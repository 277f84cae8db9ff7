// Await: turns an asynchronous call of a service into a blocking call.

#ifndef PERSIA_CC_SERVICE_AWAIT_H_
#define PERSIA_CC_SERVICE_AWAIT_H_

#include <future>
#include <utility>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Calls start(done), blocks until `done` is called, and returns its outcome.
// Service calls complete by their deadline, so Await returns by then too. It
// must not be called on a thread of the service, because that could deadlock.
template <typename Start>
Status Await(const Start& start) {
  std::promise<Status> outcome;
  start(DoneCallback(
      [&](Status status) { outcome.set_value(std::move(status)); }));
  return outcome.get_future().get();
}

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_AWAIT_H_
