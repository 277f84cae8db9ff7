#include "cc/store/missing_table.h"

#include <charconv>
#include <string_view>

namespace persia {
namespace {

constexpr std::string_view kBegin = "no table has key ";
constexpr std::string_view kEnd =
    " here: the layer that makes it was not built, or the process was started "
    "again without its rows";

}  // namespace

Status MissingTable(TableKey key) {
  return Status(Code::kNotFound, Concat(kBegin, key, kEnd));
}

std::optional<TableKey> MissingTableKey(const Status& status) {
  if (status.code() != Code::kNotFound) return std::nullopt;
  const std::string& message = status.message();
  const size_t begin = message.find(kBegin);
  if (begin == std::string::npos) return std::nullopt;
  TableKey key = 0;
  const char* const digits = message.data() + begin + kBegin.size();
  const auto [end, error] =
      std::from_chars(digits, message.data() + message.size(), key);
  if (error != std::errc()) return std::nullopt;
  return key;
}

Status NamedMissingTable(const Status& status, const std::string& table) {
  const std::string& message = status.message();
  // The beginning of the message names the shard, such as "shard 0 of 2
  // (127.0.0.1:7000): ". It is empty for a store in the client's own process.
  const std::string where = message.substr(0, message.find(kBegin));
  const std::string cause =
      where.empty()
          ? "it was dropped. Build the model again, which creates it again"
          : Concat(
                "the shard was restarted without its rows, or the table was "
                "dropped. Restore its rows by ptf.checkpoint.restore; or start "
                "over: drop what other shards hold of it (`persia table drop ",
                table,
                "`), and build the model again. With --recovery-folder a shard "
                "recovers its rows when it is restarted");
  return Status(status.code(), Concat(where, "table \"", table,
                                      "\" is not there any more: ", cause));
}

}  // namespace persia
