#include "cc/capi/events.h"

#include <new>
#include <optional>
#include <utility>

#include "cc/capi/error.h"
#include "cc/capi/persia.h"
#include "cc/capi/timeout.h"

int persia_events_new(persia_events** events) {
  *events = new (std::nothrow) persia_events;
  if (*events != nullptr) return 0;
  return persia::ReportStatus(persia::Status(persia::Code::kResourceExhausted,
                                             "no memory for a log of events"));
}

int persia_events_take(persia_events* events, double seconds,
                       persia_event* event) {
  *event = persia_event{};
  const persia::Status status = persia::CheckTimeout(seconds);
  if (!status.ok()) return persia::ReportStatus(status);
  auto taken = events->log.Take(persia::DeadlineAfter(seconds));
  if (!taken) return 0;
  events->text = std::move(taken->text);
  event->level = static_cast<int>(taken->level);
  event->unix_seconds = taken->unix_seconds;
  event->text = events->text.c_str();
  return 0;
}

void persia_events_close(persia_events* events) { events->log.Close(); }

void persia_events_free(persia_events* events) { delete events; }
