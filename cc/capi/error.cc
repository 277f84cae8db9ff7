#include "cc/capi/error.h"

#include "cc/capi/persia.h"

namespace persia {
namespace {
thread_local std::string last_error;
}  // namespace

int ReportStatus(const Status& status) {
  last_error = status.message();
  return static_cast<int>(status.code());
}

}  // namespace persia

const char* persia_last_error(void) { return persia::last_error.c_str(); }
