#include "cc/json/request_body.h"

#include <boost/json/basic_parser_impl.hpp>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/json/body_reader.h"

namespace persia {
namespace {

using boost::core::string_view;
using boost::system::error_code;

std::string_view StdView(string_view text) {
  return std::string_view(text.data(), text.size());
}

// Forwards the events of Boost's JSON parser to a BodyReader. The parser stops
// when a method returns false.
struct Handler {
  static constexpr size_t max_object_size = static_cast<size_t>(-1);
  static constexpr size_t max_array_size = static_cast<size_t>(-1);
  static constexpr size_t max_key_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);

  explicit Handler(BodyReader* to) : reader(to) {}

  // If the reader failed, sets any error code, because the parser requires one
  // to stop. The actual error is in the reader's status().
  static bool Checked(bool is_good, error_code* error) {
    if (!is_good) *error = boost::json::error::exception;
    return is_good;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code& error) {
    return Checked(reader->End(), &error);
  }
  bool on_array_begin(error_code& error) {
    return Checked(reader->BeginList(), &error);
  }
  bool on_array_end(size_t, error_code& error) {
    return Checked(reader->EndList(), &error);
  }
  bool on_object_begin(error_code& error) {
    return Checked(reader->BeginObject(), &error);
  }
  bool on_object_end(size_t, error_code& error) {
    return Checked(reader->EndObject(), &error);
  }
  bool on_key_part(string_view part, size_t, error_code& error) {
    return Checked(reader->AddNamePart(StdView(part)), &error);
  }
  bool on_key(string_view part, size_t, error_code& error) {
    return Checked(reader->AddNamePart(StdView(part)) && reader->EndName(),
                   &error);
  }
  bool on_string_part(string_view part, size_t, error_code& error) {
    return Checked(reader->AddTextPart(StdView(part)), &error);
  }
  bool on_string(string_view part, size_t, error_code& error) {
    return Checked(reader->AddTextPart(StdView(part)) && reader->EndText(),
                   &error);
  }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(int64_t value, string_view, error_code& error) {
    return Checked(
        reader->AddValue([=](Column* column) { column->AddInt(value); }),
        &error);
  }
  bool on_uint64(uint64_t value, string_view, error_code& error) {
    return Checked(
        reader->AddValue([=](Column* column) { column->AddUint(value); }),
        &error);
  }
  bool on_double(double value, string_view, error_code& error) {
    return Checked(
        reader->AddValue([=](Column* column) { column->AddDouble(value); }),
        &error);
  }
  bool on_bool(bool value, error_code& error) {
    return Checked(
        reader->AddValue([=](Column* column) { column->AddBool(value); }),
        &error);
  }
  bool on_null(error_code& error) {
    return Checked(
        reader->AddValue([](Column* column) { column->AddOther(kJsonNull); }),
        &error);
  }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  BodyReader* reader;
};

Status Parse(std::string_view text, BodyReader* reader) {
  boost::json::parse_options options;
  options.max_depth = RequestBody::kMaxDepth;
  options.numbers = boost::json::number_precision::precise;
  options.allow_infinity_and_nan = true;
  boost::json::basic_parser<Handler> parser(options, reader);
  error_code error;
  const size_t end =
      parser.write_some(/*more=*/false, text.data(), text.size(), error);
  if (!error && end < text.size()) error = boost::json::error::extra_data;
  if (!reader->status().ok()) return reader->status();
  if (error == boost::json::error::too_deep) {
    return InvalidArgument("the body of a request must nest at most ",
                           RequestBody::kMaxDepth,
                           " lists and objects, but nests more");
  }
  if (error) {
    return InvalidArgument("the body of a request must be JSON: ",
                           error.message());
  }
  return Status();
}

}  // namespace

Result<RequestBody> RequestBody::Scan(std::string_view text) {
  return CatchBadAlloc([&]() -> Result<RequestBody> {
    BodyReader reader;
    PERSIA_RETURN_IF_ERROR(Parse(text, &reader));
    RequestBody body(text);
    body.signature_ = reader.signature();
    body.in_rows_ = reader.in_rows();
    body.is_named_ = reader.is_named();
    body.columns_ = reader.TakeColumns();
    return body;
  });
}

Status RequestBody::Read(Span<const ColumnOutput> outputs) const {
  if (outputs.size() != columns_.size()) {
    return InvalidArgument("there must be an output for each of ",
                           columns_.size(),
                           " columns. Received: ", outputs.size());
  }
  return CatchBadAlloc([&] {
    std::vector<Column> columns = columns_;
    for (size_t i = 0; i < columns.size(); ++i) {
      PERSIA_RETURN_IF_ERROR(columns[i].Begin(outputs[i]));
    }
    BodyReader reader(std::move(columns));
    return Parse(text_, &reader);
  });
}

}  // namespace persia
