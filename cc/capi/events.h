// persia_events: the handle that the C interface returns for an event log.

#ifndef PERSIA_CC_CAPI_EVENTS_H_
#define PERSIA_CC_CAPI_EVENTS_H_

#include <string>

#include "cc/base/event_log.h"

struct persia_events {
  persia::EventLog log;
  std::string text;  // The text of the event that was taken last.
};

#endif  // PERSIA_CC_CAPI_EVENTS_H_
