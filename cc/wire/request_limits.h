// RequestLimits: what one request may contain, apart from its size in bytes.

#ifndef PERSIA_CC_WIRE_REQUEST_LIMITS_H_
#define PERSIA_CC_WIRE_REQUEST_LIMITS_H_

#include <cstdint>

#include "cc/base/status.h"

namespace persia {

struct RequestLimits {
  uint64_t tables = uint64_t{1} << 14;
  uint64_t ids = uint64_t{1} << 24;  // In all tables of the request.

  // kResourceExhausted if `count` is over the limit.
  Status CheckTables(uint64_t count) const {
    return Check("tables", count, tables, "--max-request-tables");
  }
  Status CheckIds(uint64_t count) const {
    return Check("ids", count, ids, "--max-request-ids");
  }

 private:
  static Status Check(const char* what, uint64_t count, uint64_t most,
                      const char* option) {
    if (count <= most) return Status();
    return Status(
        Code::kResourceExhausted,
        Concat("a request must have at most ", most, " ", what, ", received ",
               count, ": send fewer at once, or raise ", option,
               " of the server"));
  }
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_REQUEST_LIMITS_H_
