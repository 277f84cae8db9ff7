// FlatTable: reads a table of FlatBuffers, the encoding of Arrow's metadata,
// without code that is generated for it.
//
// The bytes may be damaged: a read that would leave them returns the default,
// or an empty vector. Not thread-safe, and it must not outlive the bytes.
// https://flatbuffers.dev/internals/

#ifndef PERSIA_CC_COLUMNS_FLAT_TABLE_H_
#define PERSIA_CC_COLUMNS_FLAT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cc/base/span.h"

namespace persia {

class FlatTable {
 public:
  // Returns the table that the bytes encode.
  static FlatTable Root(ConstBytes bytes) {
    return FlatTable(bytes, Load<uint32_t>(bytes, 0, 0));
  }

  // Whether there is such a table.
  bool exists() const { return at_ != 0; }

  // Returns a number of the table; 0 if the table does not have it.
  template <typename T>
  T Number(int field) const {
    const size_t at = PlaceOf(field);
    return at == 0 ? T{} : Load<T>(bytes_, at, T{});
  }

  // Returns a table within the table. It has no fields if there is none.
  FlatTable Table(int field) const {
    return FlatTable(bytes_, TargetOf(field));
  }

  // Returns the elements of a vector of structs of `each` bytes.
  ConstBytes Vector(int field, size_t each) const {
    const size_t at = TargetOf(field);
    if (at == 0) return {};
    const uint64_t size = uint64_t{Load<uint32_t>(bytes_, at, 0)} * each;
    const size_t begin = at + sizeof(uint32_t);
    if (begin > bytes_.size() || size > bytes_.size() - begin) return {};
    return bytes_.subspan(begin, size);
  }

 private:
  FlatTable(ConstBytes bytes, size_t at) : bytes_(bytes), at_(at) {}

  template <typename T>
  static T Load(ConstBytes bytes, size_t at, T otherwise) {
    if (at > bytes.size() || bytes.size() - at < sizeof(T)) return otherwise;
    std::memcpy(&otherwise, bytes.data() + at, sizeof(T));
    return otherwise;
  }

  // Returns where a field lies; 0, where none can lie, if there is none.
  size_t PlaceOf(int field) const {
    if (at_ == 0) return 0;
    const int64_t fields =
        static_cast<int64_t>(at_) - Load<int32_t>(bytes_, at_, 0);
    if (fields < 0) return 0;
    const auto begin = static_cast<size_t>(fields);
    const size_t entry = sizeof(uint16_t) * (2 + static_cast<size_t>(field));
    if (entry >= Load<uint16_t>(bytes_, begin, 0)) return 0;
    const auto offset = Load<uint16_t>(bytes_, begin + entry, 0);
    return offset == 0 ? 0 : at_ + offset;
  }

  // Returns where that lies to which a field points; 0 if there is no such
  // field.
  size_t TargetOf(int field) const {
    const size_t at = PlaceOf(field);
    return at == 0 ? 0 : at + Load<uint32_t>(bytes_, at, 0);
  }

  ConstBytes bytes_;
  size_t at_;
};

}  // namespace persia

#endif  // PERSIA_CC_COLUMNS_FLAT_TABLE_H_
