// The handle of the C interface's event logs.

#ifndef PERSIA_CC_CAPI_EVENTS_H_
#define PERSIA_CC_CAPI_EVENTS_H_

#include <string>

#include "cc/base/event_log.h"

struct persia_events {
  persia::EventLog log;
  std::string text;  // Of the event taken last.
};

#endif  // PERSIA_CC_CAPI_EVENTS_H_
