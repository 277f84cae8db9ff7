#include "cc/wire/row_messages.h"

#include <cstring>
#include <utility>

#include "cc/service/pooling.h"
#include "cc/wire/fields.h"
#include "cc/wire/id_layout.h"

namespace persia {
namespace {

using IdLayouts = std::vector<IdLayout>;

Status CheckProgram(const std::string& program) {
  if (program.size() <= TrainerState::kMostProgramBytes) return Status();
  return InvalidArgument("the name of an update's program must have at most ",
                         TrainerState::kMostProgramBytes, " bytes, received ",
                         program.size());
}

// The lengths of one table's arrays; PackedIdFields and ArrayFields list the
// arrays.
template <typename Visit, typename Ids, typename Layout>
void IdsRecord(Visit& visit, Ids& ids, Layout& layout) {
  visit(ids.table, layout.count, ids.dim, ids.combiner);
  visit.Count(ids.bag_offsets);
  visit.Count(ids.weights);
}

template <typename Visit, typename Table, typename Layout>
void LookupRecord(Visit& visit, Table& table, Layout& layout) {
  IdsRecord(visit, table.ids, layout);
  visit(table.absent, layout.width);
}

// The fields of one table of an update, and its gradients' wire dtype.
template <typename Visit, typename Table, typename Gradients, typename Layout>
void UpdateRecord(Visit& visit, Table& table, Gradients& gradients,
                  Layout& layout) {
  IdsRecord(visit, table.ids, layout);
  visit(table.learning_rate, gradients.dtype, table.step, layout.width);
}

}  // namespace

// Used only to compute the least size of a table's record. LookupFields and
// UpdateFields write and read the record, which has more fields than the struct
// of the service's request.
template <>
struct FieldsOf<TableLookup> {
  template <typename Visit, typename Table>
  static void Fields(Visit& visit, Table& table) {
    IdLayout none;
    LookupRecord(visit, table, none);
  }
};

template <>
struct FieldsOf<TableUpdate> {
  template <typename Visit, typename Table>
  static void Fields(Visit& visit, Table& table) {
    WireVectors no_gradients;
    IdLayout none;
    UpdateRecord(visit, table, no_gradients, none);
  }
};

namespace {

// Writes the packed ids of all tables. They come before all arrays, in the
// frame's own memory.
template <typename Tables>
void PackedIdFields(FieldWriter& writer, const Tables& tables,
                    const IdLayouts& layouts, ByteBuffer*) {
  for (size_t t = 0; t < layouts.size(); ++t) {
    if (!layouts[t].packed()) continue;
    PackIds(tables[t].ids.ids, layouts[t],
            writer.Zeros(PackedIdBytes(layouts[t].count, layouts[t].width)));
  }
}

// Reads where the packed ids of a table begin; sets layout->least.
const uint8_t* ReadPackedIds(FieldReader& reader, IdLayout* layout) {
  reader.Check([&] { return CheckIdWidth(layout->width); });
  if (reader.stopped() || !layout->packed()) return nullptr;
  const ConstBytes least = reader.Elements(1, sizeof(layout->least));
  (void)reader.Elements(layout->count, layout->width);
  reader.Pad();
  if (reader.stopped()) return nullptr;
  std::memcpy(&layout->least, least.data(), sizeof(layout->least));
  return least.data();
}

// Resizes the memory for unpacked ids. A packed id takes at least a byte of the
// body, so the number of ids is at most that of the body's bytes.
Status Resize(ByteBuffer* unpacked, uint64_t ids) {
  if (unpacked->Resize(ids * sizeof(int64_t))) return Status();
  return Status(Code::kResourceExhausted,
                Concat("no memory to unpack ", ids, " ids"));
}

// Reads the packed ids of all tables, and unpacks them to `unpacked`, if they
// are within the limit.
template <typename Tables>
void PackedIdFields(FieldReader& reader, Tables& tables, IdLayouts& layouts,
                    ByteBuffer* unpacked) {
  std::vector<const uint8_t*> packed;
  uint64_t total = 0;
  for (IdLayout& layout : layouts) {
    packed.push_back(ReadPackedIds(reader, &layout));
    if (packed.back() != nullptr) total += layout.count;
  }
  reader.Limit(&RequestLimits::CheckIds, total);
  reader.Check([&] { return Resize(unpacked, total); });
  if (reader.stopped()) return;
  auto* next = reinterpret_cast<int64_t*>(unpacked->data());
  for (size_t t = 0; t < layouts.size(); ++t) {
    if (packed[t] == nullptr) continue;
    UnpackIds(packed[t], layouts[t], next);
    tables[t].ids.ids = Span<const int64_t>(next, layouts[t].count);
    next += layouts[t].count;
  }
}

template <typename Visit, typename Ids>
void ArrayFields(Visit& visit, Ids& ids, const IdLayout& layout,
                 WireDtype dtype) {
  if (!layout.packed()) visit.Array(ids.ids, layout.count);
  visit.Array(ids.bag_offsets);
  visit.Pad();
  visit.Array(ids.weights);
  visit.Pad();
  visit.Check([&] {
    PERSIA_RETURN_IF_ERROR(CheckDim(ids.dim));
    PERSIA_RETURN_IF_ERROR(CheckLayout(layout, ids.ids, dtype));
    return CheckBags(ids);
  });
}

// The encoded vectors of one table; vector_codec.h describes the encoding.
template <typename Visit, typename Bytes>
void VectorFields(Visit& visit, Bytes& bytes, uint64_t encoded_bytes) {
  visit.Array(bytes, encoded_bytes);
  visit.Pad();
}

// `unpacked` is null for a writer.
template <typename Visit, typename Request, typename Dtype>
void LookupFields(Visit& visit, Request& request, Dtype& reply_dtype,
                  IdLayouts layouts, ByteBuffer* unpacked) {
  uint32_t flags = request.read_only ? 1 : 0;
  visit(request.client, request.visible_sequence, request.route, flags);
  visit.Size(request.tables, &RequestLimits::CheckTables);
  visit(reply_dtype, kReserved);
  layouts.resize(request.tables.size());
  for (size_t t = 0; t < layouts.size(); ++t) {
    LookupRecord(visit, request.tables[t], layouts[t]);
  }
  PackedIdFields(visit, request.tables, layouts, unpacked);
  for (size_t t = 0; t < layouts.size(); ++t) {
    auto& table = request.tables[t];
    ArrayFields(visit, table.ids, layouts[t], reply_dtype);
    visit.Check([&] {
      return CheckEnum(table.absent, {}, AbsentRows::kMarked,
                       "the mode of absent ids must be 0 to 2, received ");
    });
  }
  visit.Expect([&] {
    if (flags <= 1) return CheckWireDtype(reply_dtype);
    return InvalidArgument("a lookup's flags must be 0 or 1, received ", flags);
  });
  if constexpr (Visit::kReads) request.read_only = flags == 1;
}

template <typename Visit, typename Request, typename Gradients>
void UpdateFields(Visit& visit, Request& request, Gradients& gradients,
                  IdLayouts layouts, ByteBuffer* unpacked) {
  visit(request.client, request.sequence, request.generation, request.route);
  visit.Size(request.tables, &RequestLimits::CheckTables);
  visit(request.trainer.staleness, request.trainer.program);
  visit.Check([&] { return CheckProgram(request.trainer.program); });
  if constexpr (Visit::kReads) gradients.assign(request.tables.size(), {});
  layouts.resize(gradients.size());
  for (size_t t = 0; t < gradients.size(); ++t) {
    UpdateRecord(visit, request.tables[t], gradients[t], layouts[t]);
  }
  PackedIdFields(visit, request.tables, layouts, unpacked);
  for (size_t t = 0; t < gradients.size(); ++t) {
    auto& ids = request.tables[t].ids;
    auto& vectors = gradients[t];
    ArrayFields(visit, ids, layouts[t], vectors.dtype);
    visit.Check([&] { return CheckWireDtype(vectors.dtype); });
    if (visit.stopped()) return;
    // EncodedBytes does not overflow: a body has fewer than 2^30 ids and bags.
    VectorFields(visit, vectors.bytes,
                 EncodedBytes(vectors.dtype, ids.vectors(), ids.dim));
  }
}

template <typename Visit, typename Head>
void LookupReplyHeadFields(Visit& visit, Head& head) {
  visit(head.generation, head.dtype, kReserved);
  visit.Check([&] { return CheckWireDtype(head.dtype); });
}

}  // namespace

OutFrame EncodeLookup(uint64_t request_id, const LookupRequest& request,
                      WireDtype reply_dtype) {
  IdLayouts layouts;
  for (const TableLookup& table : request.tables) {
    layouts.push_back(LayoutOf(table.ids.ids, reply_dtype));
  }
  FieldWriter writer;
  LookupFields(writer, request, reply_dtype, std::move(layouts), nullptr);
  return writer.Seal(kRequestType<LookupRequest>, request_id);
}

Status DecodeLookup(ConstBytes body, LookupRequest* request,
                    WireDtype* reply_dtype, ByteBuffer* unpacked,
                    const RequestLimits& limits) {
  FieldReader reader(body, limits);
  LookupFields(reader, *request, *reply_dtype, {}, unpacked);
  return reader.Finish("Lookup");
}

OutFrame EncodeUpdate(uint64_t request_id, const UpdateRequest& request,
                      const std::vector<WireVectors>& gradients) {
  IdLayouts layouts;
  for (size_t t = 0; t < gradients.size(); ++t) {
    layouts.push_back(LayoutOf(request.tables[t].ids.ids, gradients[t].dtype));
  }
  FieldWriter writer;
  UpdateFields(writer, request, gradients, std::move(layouts), nullptr);
  return writer.Seal(kRequestType<UpdateRequest>, request_id);
}

Status DecodeUpdate(ConstBytes body, UpdateRequest* request,
                    std::vector<WireVectors>* gradients, ByteBuffer* unpacked,
                    const RequestLimits& limits) {
  FieldReader reader(body, limits);
  UpdateFields(reader, *request, *gradients, {}, unpacked);
  return reader.Finish("Update");
}

OutFrame EncodeLookupReply(uint64_t request_id, uint64_t generation,
                           WireDtype dtype,
                           const std::vector<ConstBytes>& rows) {
  FieldWriter writer;
  const LookupReplyHead head{generation, dtype};
  LookupReplyHeadFields(writer, head);
  for (const ConstBytes of_table : rows) {
    VectorFields(writer, of_table, of_table.size());
  }
  return writer.Seal(kReplyType<LookupRequest>, request_id);
}

Status DecodeLookupReplyHead(ConstBytes head, LookupReplyHead* decoded) {
  FieldReader reader(head);
  LookupReplyHeadFields(reader, *decoded);
  return reader.Finish("LookupReply");
}

Status DecodeLookupReply(ConstBytes body,
                         const std::vector<VectorsShape>& tables,
                         uint64_t* generation, std::vector<WireVectors>* rows) {
  FieldReader reader(body);
  LookupReplyHead head;
  LookupReplyHeadFields(reader, head);
  *generation = head.generation;
  rows->clear();
  for (const VectorsShape& shape : tables) {
    WireVectors& vectors = rows->emplace_back();
    vectors.dtype = head.dtype;
    VectorFields(reader, vectors.bytes,
                 EncodedBytes(head.dtype, shape.count, shape.dim));
  }
  return reader.Finish("LookupReply");
}

}  // namespace persia
