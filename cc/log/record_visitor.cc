#include "cc/log/record_visitor.h"

namespace persia {

Status VisitRecords(Span<const uint8_t> bytes, uint64_t first,
                    const std::function<Status(const LogRecord&)>& visit) {
  for (uint64_t position = first; !bytes.empty(); ++position) {
    uint64_t size = 0;
    const auto record = FirstRecord(bytes, position, &size);
    if (!record) {
      return Status(Code::kDataLoss,
                    Concat("record ", position, " was damaged on its way"));
    }
    PERSIA_RETURN_IF_ERROR(visit(*record));
    bytes = bytes.subspan(size);
  }
  return Status();
}

}  // namespace persia
