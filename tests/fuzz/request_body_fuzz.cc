// Any text as the body of a request for predictions, which is read into arrays
// of exactly the sizes that it needs.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cc/json/request_body.h"
#include "tests/fuzz/support/exact_bytes.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/fuzz_target.h"

namespace persia {
namespace {

using Form = ColumnOutput::Form;

// Exactly as much memory as a column says that it needs.
struct Memory {
  std::vector<uint64_t> values;
  std::vector<uint8_t> bools;
  std::vector<char> texts;
  std::vector<uint8_t> are_base64;
};

Form FormOf(uint32_t kinds) {
  if (kinds == 0) return Form::kNone;
  if ((kinds & ~uint32_t{kJsonBool}) == 0) return Form::kBools;
  if ((kinds & ~uint32_t{kJsonInteger}) == 0) return Form::kIntegers;
  if ((kinds & ~uint32_t{kJsonInteger | kJsonFloat}) == 0) {
    return Form::kDoubles;
  }
  return Form::kTexts;
}

ColumnOutput OutputFor(const Column& column, Memory* memory) {
  ColumnOutput output;
  output.form = FormOf(column.kinds());
  output.value_count = column.value_count();
  output.text_bytes = column.text_bytes();
  if (output.form == Form::kBools) {
    memory->bools.resize(output.value_count);
    output.values = memory->bools.data();
  } else {
    memory->values.resize(output.value_count);
    output.values = memory->values.data();
  }
  memory->texts.resize(output.text_bytes);
  memory->are_base64.resize(output.value_count);
  output.texts = memory->texts.data();
  output.are_base64 = memory->are_base64.data();
  return output;
}

bool CanBeRead(const Column& column) {
  constexpr uint32_t kTexts = kJsonText | kJsonBytes;
  const Form form = FormOf(column.kinds());
  return !column.is_ragged() &&
         (form != Form::kTexts || (column.kinds() & ~kTexts) == 0);
}

void CheckColumn(const Column& column, size_t text_size) {
  FuzzCheck(column.value_count() <= text_size, "a value has a byte at least");
  FuzzCheck(column.text_bytes() <= text_size, "a text is in the text");
  FuzzCheck(column.name().size() <= RequestBody::kMaxNameBytes,
            "a name is short");
  if (column.is_ragged()) return;
  FuzzCheck(column.shape().size() <= Column::kMaxRank, "lists are bounded");
  uint64_t count = 1;
  for (const uint64_t length : column.shape()) count *= length;
  FuzzCheck(count == column.value_count(), "a shape is that of the values");
}

void CheckTexts(const Memory& memory, const ColumnOutput& output) {
  uint64_t end = 0;
  for (const uint64_t next : memory.values) {
    FuzzCheck(end <= next && next <= output.text_bytes, "texts follow");
    end = next;
  }
  FuzzCheck(end == output.text_bytes, "the last text ends them");
}

}  // namespace

void FuzzOne(Span<const uint8_t> bytes) {
  const ExactBytes exact(bytes);
  const std::string_view text(
      reinterpret_cast<const char*>(exact.bytes().data()), bytes.size());
  const auto body = RequestBody::Scan(text);
  if (!body.ok()) {
    FuzzCheck(!body.status().message().empty(), "an error says why");
    return;
  }
  const std::vector<Column>& columns = body->columns();
  std::vector<Memory> memory(columns.size());
  std::vector<ColumnOutput> outputs;
  bool can_be_read = true;
  for (size_t i = 0; i < columns.size(); ++i) {
    CheckColumn(columns[i], text.size());
    outputs.push_back(OutputFor(columns[i], &memory[i]));
    can_be_read = can_be_read && CanBeRead(columns[i]);
  }
  const Status status = body->Read(outputs);
  FuzzCheck(status.ok() == can_be_read, "what fits its forms is read");
  if (!status.ok()) return;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (outputs[i].form == Form::kTexts) CheckTexts(memory[i], outputs[i]);
  }
}

std::vector<FuzzInput> Seeds() {
  std::vector<FuzzInput> seeds;
  for (const std::string& text : {
           std::string("{\"instances\": [{\"a\": 1, \"b\": [\"x\", \"\"]}, "
                       "{\"b\": [\"yz\", \"\\u00e9\"], \"a\": -2}], "
                       "\"signature_name\": \"s\", \"more\": [{}, null]}"),
           std::string("{\"inputs\": {\"a\": [[1, 2.5], [NaN, -Infinity]], "
                       "\"b\": [true, false], \"c\": {\"b64\": \"YQ==\"}}}"),
           std::string("{\"inputs\": [18446744073709551615, -1, 1e400, 0.1]}"),
           std::string("{\"instances\": [{\"b64\": \"\"}, \"x\"]}"),
           std::string("{\"inputs\": [[[], []], [[], []]]}"),
       }) {
    seeds.emplace_back(text.begin(), text.end());
  }
  return seeds;
}

}  // namespace persia
