#include "cc/client/table_parts.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace persia {
namespace {

bool IsThere(const TablePart& part) {
  return part.reply.state != TableState::kAbsent;
}

bool AllAreThere(const TableParts& parts) {
  return std::all_of(parts.begin(), parts.end(), IsThere);
}

// Returns the distinct table identities that the shards report; a shard may
// report none.
std::set<uint64_t> Identities(const TableParts& parts) {
  std::set<uint64_t> identities;
  for (const TablePart& part : parts) {
    if (part.reply.identity != 0) identities.insert(part.reply.identity);
  }
  return identities;
}

bool AreOfOneGeneration(const TableParts& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const TablePart& part) {
    return part.reply.generation == parts[0].reply.generation;
  });
}

// Returns a text with one line per shard whose part satisfies `condition`.
template <typename Condition>
std::string Listed(const TableParts& parts, const Condition& condition) {
  std::string lines;
  for (const TablePart& part : parts) {
    if (!condition(part)) continue;
    lines += "\n    " + part.shard;
    if (IsThere(part)) lines += Concat(": ", part.reply.rows, " rows");
  }
  return lines;
}

std::string Absent(const TableParts& parts) {
  const auto is_absent = [](const TablePart& part) { return !IsThere(part); };
  return Concat(
      "some shards lost their part of it\n  hold it:", Listed(parts, IsThere),
      "\n  lack it:", Listed(parts, is_absent));
}

std::string OfSeveralTables(const TableParts& parts) {
  std::string text =
      "the shards hold parts of different tables with this name: some shards "
      "lost their part of one, or belong to another cluster";
  for (const uint64_t identity : Identities(parts)) {
    text += Concat("\n  of one table:", Listed(parts, [&](const auto& part) {
                     return part.reply.identity == identity;
                   }));
  }
  return text;
}

}  // namespace

bool AnyIsComplete(const TableParts& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const TablePart& part) {
    return part.reply.state == TableState::kComplete;
  });
}

bool BelongTogether(const TableParts& parts) {
  if (!AnyIsComplete(parts)) return true;
  return AllAreThere(parts) && Identities(parts).size() <= 1;
}

TableState JointState(const TableParts& parts) {
  TableState state = TableState::kComplete;
  for (const TablePart& part : parts) {
    state = std::min(state, part.reply.state);
  }
  return state;
}

uint64_t JointIdentity(const TableParts& parts) {
  const std::set<uint64_t> identities = Identities(parts);
  return identities.empty() ? 0 : *identities.begin();
}

Status PartsError(const std::string& table, const TableParts& parts) {
  std::string text =
      Concat("table \"", table, "\" is not whole: ",
             AllAreThere(parts) ? OfSeveralTables(parts) : Absent(parts));
  text += Concat(
      "\nNothing was changed. Do one of these:"
      "\n  - restart the shards that lost it with the recovery folder that "
      "they had"
      "\n  - restore a checkpoint: ptf.checkpoint.restore(path)"
      "\n  - start the table over: drop what is left of it, with "
      "ptf.Table(name).drop() or `persia table drop ",
      table, "`");
  if (!AreOfOneGeneration(parts)) {
    text += "\n  - if a restore is in progress, try again after it";
  }
  return Status(Code::kFailedPrecondition, std::move(text));
}

}  // namespace persia
