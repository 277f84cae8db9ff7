#include "cc/store/table_config_codec.h"

#include <array>
#include <string>
#include <utility>

namespace persia {
namespace {

constexpr std::array<Spec TableConfig::*, 6> kSpecs = {
    &TableConfig::initializer, &TableConfig::optimizer, &TableConfig::row_dtype,
    &TableConfig::capacity,    &TableConfig::admission, &TableConfig::eviction,
};

}  // namespace

void WriteTableConfig(const TableConfig& config, ByteWriter* writer) {
  writer->U32(config.dim);
  writer->F32(config.default_value);
  writer->U64(config.seed);
  writer->Text(config.name);
  for (const Spec TableConfig::*setting : kSpecs) {
    writer->Text((config.*setting).ToString());
  }
}

Status ReadTableConfig(ByteReader* reader, TableConfig* config) {
  config->dim = reader->U32();
  config->default_value = reader->F32();
  config->seed = reader->U64();
  config->name = reader->Text();
  std::array<std::string, kSpecs.size()> texts;
  for (std::string& text : texts) text = reader->Text();
  if (reader->failed()) return Status();
  for (size_t i = 0; i < kSpecs.size(); ++i) {
    Result<Spec> spec = Spec::Parse(texts[i]);
    if (!spec.ok()) return spec.status();
    config->*kSpecs[i] = std::move(*spec);
  }
  return Status();
}

}  // namespace persia
