#include "cc/server/call_vectors.h"

#include "cc/wire/row_messages.h"

namespace persia {
namespace {

// Upper bound of the padding bytes after a table's rows in a reply.
constexpr uint64_t kMostPadding = 8;

// The number of floats in the vectors of `ids`. The product cannot overflow,
// because the ids fit into a message's body, and `dim` is limited.
uint64_t NumberCount(const TableIds& ids) {
  return uint64_t{ids.vectors()} * ids.dim;
}

VectorPlaces AllOf(const TableIds& ids) {
  return VectorPlaces{ids.vectors(), 0, nullptr};
}

Status CheckBytes(const char* what, uint64_t bytes, uint64_t max_bytes) {
  if (bytes <= max_bytes) return Status();
  return Status(Code::kResourceExhausted,
                Concat(what, " ", bytes, " bytes, over the limit of ",
                       max_bytes, ": send fewer ids at once"));
}

}  // namespace

// Checks the number of ids, and the memory that bags need. A service pools a
// bag from one row per id, and spreads the bag's gradient to one row per id.
// These rows are neither in the request nor in its reply, so the limits on
// messages do not bound them.
template <typename Request>
Status CallVectors::CheckIdsAndBags(const Request& request,
                                    const Limits& limits) {
  uint64_t bytes = 0;
  uint64_t ids = 0;
  for (const auto& table : request.tables) {
    ids += table.ids.ids.size();
    if (table.ids.combiner == Combiner::kNone) continue;
    bytes += uint64_t{table.ids.ids.size()} * table.ids.dim * sizeof(float);
  }
  other_bytes_ = bytes + request.tables.size() * kMostPadding;
  PERSIA_RETURN_IF_ERROR(limits.request.CheckIds(ids));
  return CheckBytes("the rows of this request's bags have", bytes,
                    limits.bytes);
}

// Sets the sizes that TakeMemory allocates. The buffers retain the memory of an
// earlier call, but bytes() no longer counts it.
void CallVectors::SetNeeded(uint64_t numbers, uint64_t encoded_bytes) {
  floats_bytes_ = numbers * sizeof(float);
  encoded_bytes_ = encoded_bytes;
  (void)floats_.Resize(0);
  (void)encoded_.Resize(0);
}

void CallVectors::Clear() {
  other_bytes_ = 0;
  (void)ids_.Resize(0);
  SetNeeded(0, 0);
}

Status CallVectors::TakeNeeded(const char* what) {
  if (floats_.Resize(floats_bytes_) && encoded_.Resize(encoded_bytes_)) {
    return Status();
  }
  return Status(Code::kResourceExhausted,
                Concat("no memory for ", what, " of ",
                       floats_bytes_ + encoded_bytes_, " bytes"));
}

Status CallVectors::Decode(ConstBytes body, const Limits& limits,
                           LookupRequest* request) {
  Clear();
  PERSIA_RETURN_IF_ERROR(
      DecodeLookup(body, request, &reply_dtype_, &ids_, limits.request));
  PERSIA_RETURN_IF_ERROR(CheckIdsAndBags(*request, limits));
  uint64_t numbers = 0;
  uint64_t rows_bytes = 0;
  for (const TableLookup& table : request->tables) {
    numbers += NumberCount(table.ids);
    rows_bytes += PaddedBytes(reply_dtype_, table.ids.vectors(), table.ids.dim);
  }
  PERSIA_RETURN_IF_ERROR(CheckBytes("the reply to this lookup has",
                                    kLookupReplyHeadBytes + rows_bytes,
                                    limits.bytes));
  PERSIA_RETURN_IF_ERROR(
      CheckBytes("the rows of this lookup, before they are encoded, have",
                 numbers * sizeof(float), limits.bytes));
  const bool converts = reply_dtype_ != WireDtype::kFloat32;
  SetNeeded(numbers, converts ? rows_bytes : 0);
  return Status();
}

Status CallVectors::TakeMemory(LookupRequest* request) {
  PERSIA_RETURN_IF_ERROR(TakeNeeded("a reply"));
  Span<float> rest = floats_.As<float>(floats_bytes_ / sizeof(float));
  for (TableLookup& table : request->tables) {
    table.rows = rest.first(NumberCount(table.ids));
    rest = rest.subspan(table.rows.size());
  }
  return Status();
}

OutFrame CallVectors::EncodeReply(uint64_t request_id,
                                  const LookupRequest& request) {
  std::vector<ConstBytes> rows;
  uint8_t* bytes = encoded_.data();
  for (const TableLookup& table : request.tables) {
    if (reply_dtype_ == WireDtype::kFloat32) {
      rows.push_back(AsWireVectors(table.rows).bytes);
      continue;
    }
    const VectorPlaces all = AllOf(table.ids);
    const uint32_t dim = table.ids.dim;
    EncodeVectors(reply_dtype_, VectorKind::kRows, table.rows.data(), all, dim,
                  bytes);
    rows.emplace_back(bytes, EncodedBytes(reply_dtype_, all.count, dim));
    bytes += PaddedBytes(reply_dtype_, all.count, dim);
  }
  return EncodeLookupReply(request_id, request.generation, reply_dtype_, rows);
}

Status CallVectors::Decode(ConstBytes body, const Limits& limits,
                           UpdateRequest* request) {
  Clear();
  PERSIA_RETURN_IF_ERROR(
      DecodeUpdate(body, request, &gradients_, &ids_, limits.request));
  request->counts = UpdateCounts();
  PERSIA_RETURN_IF_ERROR(CheckIdsAndBags(*request, limits));
  uint64_t numbers = 0;
  for (size_t t = 0; t < gradients_.size(); ++t) {
    if (gradients_[t].dtype == WireDtype::kFloat32) continue;
    numbers += NumberCount(request->tables[t].ids);
  }
  PERSIA_RETURN_IF_ERROR(
      CheckBytes("the gradients of this update, decoded, have",
                 numbers * sizeof(float), limits.bytes));
  SetNeeded(numbers, 0);
  return Status();
}

Status CallVectors::TakeMemory(UpdateRequest* request) {
  PERSIA_RETURN_IF_ERROR(TakeNeeded("gradients"));
  Span<float> rest = floats_.As<float>(floats_bytes_ / sizeof(float));
  for (size_t t = 0; t < gradients_.size(); ++t) {
    TableUpdate& table = request->tables[t];
    const size_t count = NumberCount(table.ids);
    if (gradients_[t].dtype == WireDtype::kFloat32) {
      const auto* in_body =
          reinterpret_cast<const float*>(gradients_[t].bytes.data());
      table.gradients = Span<const float>(in_body, count);
      continue;
    }
    DecodeVectors(gradients_[t], AllOf(table.ids), table.ids.dim, rest.data());
    table.gradients = rest.first(count);
    rest = rest.subspan(count);
  }
  return Status();
}

}  // namespace persia
