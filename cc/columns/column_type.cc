#include "cc/columns/column_type.h"

namespace persia {

Result<ColumnType> ParseColumnType(std::string_view format) {
  using Values = ColumnType::Values;
  const std::string_view list = format.substr(0, 2);
  const bool is_list = list == "+l" || list == "+L";
  ColumnType type;
  if (is_list) type.list_width = list == "+l" ? 4 : 8;
  const std::string_view value = format.substr(is_list ? 2 : 0);
  switch (value.size() == 1 ? value[0] : '\0') {
    case 'b':
      type.values = Values::kBits;
      return type;
    case 'c':  // int8 and uint8
    case 'C':
      type.width = 1;
      return type;
    case 's':  // int16, uint16 and float16
    case 'S':
    case 'e':
      type.width = 2;
      return type;
    case 'i':  // int32, uint32 and float32
    case 'I':
    case 'f':
      type.width = 4;
      return type;
    case 'l':  // int64, uint64 and float64
    case 'L':
    case 'g':
      type.width = 8;
      return type;
    case 'u':  // Strings and binary.
    case 'z':
      type.values = Values::kTexts;
      type.width = 4;
      return type;
    case 'U':
    case 'Z':
      type.values = Values::kTexts;
      type.width = 8;
      return type;
    default:
      return InvalidArgument("a column of the Arrow format '", format,
                             "' cannot become a tensor");
  }
}

}  // namespace persia
