#include "cc/wire/row_messages.h"

#include <algorithm>

#include "cc/service/pooling.h"
#include "cc/wire/fields.h"

namespace persia {

// Lists only the lengths of the arrays; ArrayFields lists the arrays.
template <>
struct FieldsOf<TableIds> {
  template <typename Visit, typename Ids>
  static void Fields(Visit& visit, Ids& ids) {
    visit(ids.table);
    visit.Count(ids.ids);
    visit(ids.dim, ids.combiner);
    visit.Count(ids.bag_offsets);
    visit.Count(ids.weights);
  }
};

template <>
struct FieldsOf<TableLookup> {
  template <typename Visit, typename Table>
  static void Fields(Visit& visit, Table& table) {
    FieldsOf<TableIds>::Fields(visit, table.ids);
    visit(table.absent, kReserved);
  }
};

namespace {

Status CheckProgram(const std::string& program) {
  if (program.size() <= TrainerState::kMostProgramBytes) return Status();
  return InvalidArgument("the name of an update's program must have at most ",
                         TrainerState::kMostProgramBytes, " bytes, received ",
                         program.size());
}

// The fields of one table of an update, and its gradients' wire dtype.
template <typename Visit, typename Table, typename Gradients>
void UpdateRecord(Visit& visit, Table& table, Gradients& gradients) {
  FieldsOf<TableIds>::Fields(visit, table.ids);
  visit(table.learning_rate, gradients.dtype, table.step, kReserved);
}

}  // namespace

// Used only to compute the record's least size. UpdateFields writes and reads
// the record, since that needs the gradients' wire dtype, which a TableUpdate
// does not contain.
template <>
struct FieldsOf<TableUpdate> {
  template <typename Visit, typename Table>
  static void Fields(Visit& visit, Table& table) {
    WireVectors none;
    UpdateRecord(visit, table, none);
  }
};

namespace {

template <typename Visit, typename Ids>
void ArrayFields(Visit& visit, Ids& ids) {
  visit.Array(ids.ids);
  visit.Array(ids.bag_offsets);
  visit.Pad();
  visit.Array(ids.weights);
  visit.Pad();
  visit.Check([&] {
    PERSIA_RETURN_IF_ERROR(CheckDim(ids.dim));
    return CheckBags(ids);
  });
}

// The encoded vectors of one table; vector_codec.h describes the encoding.
template <typename Visit, typename Bytes>
void VectorFields(Visit& visit, Bytes& bytes, uint64_t encoded_bytes) {
  visit.Array(bytes, encoded_bytes);
  visit.Pad();
}

template <typename Visit, typename Request, typename Dtype>
void LookupFields(Visit& visit, Request& request, Dtype& reply_dtype) {
  uint32_t flags = request.read_only ? 1 : 0;
  visit(request.client, request.visible_sequence, flags);
  visit.Size(request.tables, &RequestLimits::CheckTables);
  visit(reply_dtype, kReserved);
  visit.Each(request.tables);
  for (auto& table : request.tables) {
    ArrayFields(visit, table.ids);
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
void UpdateFields(Visit& visit, Request& request, Gradients& gradients) {
  visit(request.client, request.sequence, request.generation);
  visit.Size(request.tables, &RequestLimits::CheckTables);
  visit(request.trainer.staleness, request.trainer.program);
  visit.Check([&] { return CheckProgram(request.trainer.program); });
  if constexpr (Visit::kReads) gradients.assign(request.tables.size(), {});
  for (size_t t = 0; t < gradients.size(); ++t) {
    UpdateRecord(visit, request.tables[t], gradients[t]);
  }
  for (size_t t = 0; t < gradients.size(); ++t) {
    auto& ids = request.tables[t].ids;
    auto& vectors = gradients[t];
    ArrayFields(visit, ids);
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
  FieldWriter writer;
  LookupFields(writer, request, reply_dtype);
  return writer.Seal(kRequestType<LookupRequest>, request_id);
}

Status DecodeLookup(ConstBytes body, LookupRequest* request,
                    WireDtype* reply_dtype, const RequestLimits& limits) {
  FieldReader reader(body, limits);
  LookupFields(reader, *request, *reply_dtype);
  return reader.Finish("Lookup");
}

OutFrame EncodeUpdate(uint64_t request_id, const UpdateRequest& request,
                      const std::vector<WireVectors>& gradients) {
  FieldWriter writer;
  UpdateFields(writer, request, gradients);
  return writer.Seal(kRequestType<UpdateRequest>, request_id);
}

Status DecodeUpdate(ConstBytes body, UpdateRequest* request,
                    std::vector<WireVectors>* gradients,
                    const RequestLimits& limits) {
  FieldReader reader(body, limits);
  UpdateFields(reader, *request, *gradients);
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
