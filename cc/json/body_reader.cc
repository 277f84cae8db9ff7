#include "cc/json/body_reader.h"

#include "cc/json/request_body.h"

namespace persia {
namespace {

constexpr char kNotARequest[] =
    "a request must be a JSON object with either \"instances\" or \"inputs\"";
constexpr char kNotRows[] =
    "\"instances\" must be a list of at least one example";
constexpr char kBytesName[] = "b64";

}  // namespace

BodyReader::BodyReader(std::vector<Column> columns)
    : rereads_(true), columns_(std::move(columns)) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    by_name_.emplace(columns_[i].name(), i);
  }
  last_rows_.resize(columns_.size());
}

bool BodyReader::FailRow() {
  return Fail(
      "all of \"instances\" must be objects with the same names; number ", row_,
      " differs from the first");
}

bool BodyReader::BeginList() {
  if (skipped_ > 0) {
    ++skipped_;
    return true;
  }
  switch (place_) {
    case Place::kSkipped:
      skipped_ = 1;
      return true;
    case Place::kRows:
      place_ = Place::kRow;
      return true;
    case Place::kObject:
      has_more_ = true;
      skipped_ = 1;
      return true;
    case Place::kRow:
    case Place::kColumns:
      if (!BeginAlone()) return false;
      break;
    case Place::kValue:
      break;
    case Place::kSignature:
      return Fail("signature_name must be a string. Received: a list");
    default:
      return Fail(kNotARequest);
  }
  column()->BeginList();
  return true;
}

bool BodyReader::EndList() {
  if (skipped_ > 0) {
    if (--skipped_ == 0 && place_ == Place::kSkipped) place_ = Place::kRequest;
    return true;
  }
  if (place_ == Place::kValue) {
    column()->EndList();
    return EndValue();
  }
  if (row_ == 0) return Fail(kNotRows);
  for (Column& column : columns_) column.EndRows();
  place_ = Place::kRequest;
  return true;
}

bool BodyReader::BeginObject() {
  if (skipped_ > 0) {
    ++skipped_;
    return true;
  }
  switch (place_) {
    case Place::kOutside:
      place_ = Place::kRequest;
      return true;
    case Place::kSkipped:
      skipped_ = 1;
      return true;
    case Place::kObject:
      has_more_ = true;
      skipped_ = 1;
      return true;
    case Place::kRow:
    case Place::kColumns:
      place_ = Place::kUndecided;
      return true;
    case Place::kValue:
      BeginBytesOrObject(/*are_bytes=*/false);
      return true;
    case Place::kSignature:
      return Fail("signature_name must be a string. Received: an object");
    case Place::kRows:
      return Fail(kNotRows);
    default:
      return Fail(kNotARequest);
  }
}

bool BodyReader::EndObject() {
  if (skipped_ > 0) {
    if (--skipped_ == 0 && place_ == Place::kSkipped) place_ = Place::kRequest;
    return true;
  }
  switch (place_) {
    case Place::kUndecided:
      return Decide(Naming::kNamed) && EndNames();
    case Place::kNames:
      return EndNames();
    case Place::kObject:
      if (has_bytes_ && !has_more_) {
        column()->EndText(kJsonBytes);
      } else {
        column()->AddOther(kJsonObject);
      }
      place_ = Place::kValue;
      return EndValue();
    default:
      place_ = Place::kDone;
      return true;
  }
}

bool BodyReader::AddNamePart(std::string_view part) {
  if (skipped_ > 0) return true;
  if (name_.size() + part.size() > RequestBody::kMaxNameBytes) {
    return Fail("a name in a request must have at most ",
                RequestBody::kMaxNameBytes,
                " bytes. Received: ", name_.size() + part.size(), " or more");
  }
  name_ += part;
  return true;
}

bool BodyReader::EndName() {
  if (skipped_ > 0) return true;
  if (name_.find('\0') != std::string::npos) {
    return Fail("a name in a request must not contain a NUL");
  }
  bool is_good = true;
  switch (place_) {
    case Place::kRequest:
      is_good = BeginMember();
      break;
    case Place::kUndecided:
      if (name_ == kBytesName) {
        is_good = BeginAlone();
        if (is_good) BeginBytesOrObject(/*are_bytes=*/true);
      } else {
        names_in_row_ = 0;
        is_good = Decide(Naming::kNamed) && BeginNamed();
      }
      break;
    case Place::kNames:
      is_good = BeginNamed();
      break;
    default:  // Here the place is kObject.
      are_bytes_next_ = name_ == kBytesName && !has_bytes_ && !has_more_;
      has_more_ = !are_bytes_next_;
  }
  name_.clear();
  return is_good;
}

bool BodyReader::AddTextPart(std::string_view part) {
  if (skipped_ > 0) return true;
  switch (place_) {
    case Place::kSignature:
      if (signature_.size() + part.size() > RequestBody::kMaxNameBytes) {
        return Fail(
            "signature_name must have at most ", RequestBody::kMaxNameBytes,
            " bytes. Received: ", signature_.size() + part.size(), " or more");
      }
      signature_ += part;
      return true;
    case Place::kColumns:
    case Place::kRow:
      // The first part of a text determines the text's column.
      if (!BeginAlone()) return false;
      [[fallthrough]];
    case Place::kValue:
      column()->AddTextPart(part);
      return true;
    case Place::kObject:
      if (are_bytes_next_) column()->AddTextPart(part);
      return true;
    default:
      return true;
  }
}

bool BodyReader::EndText() {
  if (skipped_ > 0) return true;
  if (place_ == Place::kSignature) {
    if (signature_.find('\0') != std::string::npos) {
      return Fail("signature_name must not contain a NUL");
    }
    place_ = Place::kRequest;
    return true;
  }
  if (place_ == Place::kObject && are_bytes_next_) {
    has_bytes_ = true;
    are_bytes_next_ = false;
    return true;
  }
  return AddValue([](Column* column) { column->EndText(kJsonText); });
}

bool BodyReader::BeginValue(bool* is_wanted) {
  *is_wanted = false;
  if (skipped_ > 0) return true;
  switch (place_) {
    case Place::kSkipped:
      place_ = Place::kRequest;
      return true;
    case Place::kObject:
      has_more_ = true;
      return true;
    case Place::kSignature:
      return Fail(
          "signature_name must be a string. Received: a number, true, false or "
          "null");
    case Place::kRows:
      return Fail(kNotRows);
    case Place::kRow:
    case Place::kColumns:
      *is_wanted = true;
      return BeginAlone();
    case Place::kValue:
      *is_wanted = true;
      return true;
    default:
      return Fail(kNotARequest);
  }
}

bool BodyReader::EndValue() {
  if (!column()->IsValueWhole()) return true;
  if (naming_ == Naming::kNamed) {
    place_ = Place::kNames;
  } else if (in_rows_) {
    ++row_;
    place_ = Place::kRow;
  } else {
    place_ = Place::kRequest;
  }
  return true;
}

bool BodyReader::EndNames() {
  if (!in_rows_) {
    place_ = Place::kRequest;
    return true;
  }
  if (names_in_row_ != columns_.size()) return FailRow();
  ++row_;
  place_ = Place::kRow;
  return true;
}

bool BodyReader::BeginMember() {
  const bool are_rows = name_ == "instances";
  if (are_rows || name_ == "inputs") {
    if (has_examples_) return Fail(kNotARequest, ", given only once");
    has_examples_ = true;
    in_rows_ = are_rows;
    place_ = are_rows ? Place::kRows : Place::kColumns;
    return true;
  }
  if (name_ != "signature_name") {
    place_ = Place::kSkipped;
    return true;
  }
  if (has_signature_) return Fail("signature_name must be given only once");
  has_signature_ = true;
  place_ = Place::kSignature;
  return true;
}

bool BodyReader::BeginAlone() {
  if (!Decide(Naming::kAlone)) return false;
  if (columns_.empty()) columns_.emplace_back("", in_rows_);
  column_ = 0;
  place_ = Place::kValue;
  return true;
}

bool BodyReader::BeginNamed() {
  if (!FindColumn()) return false;
  if (last_rows_[column_] == row_ + 1) {
    return Fail("input '", name_, "' is given twice in one example");
  }
  last_rows_[column_] = row_ + 1;
  ++names_in_row_;
  place_ = Place::kValue;
  return true;
}

bool BodyReader::Decide(Naming naming) {
  if (naming_ == Naming::kUnknown) naming_ = naming;
  if (naming_ != naming) return FailRow();
  if (naming == Naming::kNamed) names_in_row_ = 0;
  return true;
}

bool BodyReader::FindColumn() {
  // The next column in order is tried first, because most rows name their
  // inputs in the same order as the first row.
  if (names_in_row_ < columns_.size() &&
      columns_[names_in_row_].name() == name_) {
    column_ = names_in_row_;
    return true;
  }
  const auto found = by_name_.find(name_);
  if (found != by_name_.end()) {
    column_ = found->second;
    return true;
  }
  if (row_ > 0 || rereads_) return FailRow();
  if (columns_.size() == RequestBody::kMaxColumns) {
    return Fail("a request must have at most ", RequestBody::kMaxColumns,
                " inputs. Received: more");
  }
  column_ = columns_.size();
  by_name_.emplace(name_, column_);
  columns_.emplace_back(name_, in_rows_);
  last_rows_.push_back(0);
  return true;
}

void BodyReader::BeginBytesOrObject(bool are_bytes) {
  has_bytes_ = false;
  are_bytes_next_ = are_bytes;
  has_more_ = false;
  place_ = Place::kObject;
}

bool BodyReader::End() {
  if (!has_examples_) return Fail(kNotARequest);
  return true;
}

}  // namespace persia
