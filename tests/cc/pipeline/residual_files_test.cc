#include "cc/pipeline/residual_files.h"

#include <gtest/gtest.h>

#include <vector>

namespace persia {
namespace {

using File = std::vector<uint8_t>;

TableResiduals Table(TableKey key, uint32_t dim, size_t count) {
  TableResiduals table;
  table.table = key;
  table.dim = dim;
  for (size_t i = 0; i < count; ++i) {
    table.ids.push_back(static_cast<int64_t>(i) - 5);
    for (uint32_t d = 0; d < dim; ++d) {
      table.values.push_back(static_cast<float>(i * dim + d) / 8);
    }
  }
  return table;
}

Status Decode(const std::vector<File>& files,
              std::vector<TableResiduals>* tables) {
  std::vector<ConstBytes> bytes;
  for (const File& file : files) bytes.emplace_back(file);
  return DecodeResiduals(bytes, tables);
}

void ExpectEqual(const TableResiduals& a, const TableResiduals& b) {
  EXPECT_EQ(a.table, b.table);
  EXPECT_EQ(a.dim, b.dim);
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.values, b.values);
}

TEST(ResidualFilesTest, HaveTheseBytes) {
  const std::vector<File> files = EncodeResiduals({Table(7, 1, 1)});
  ASSERT_EQ(files.size(), 1u);
  const File parts = {7,    0,    0,    0,    0,    0,    0,    0,  //
                      1,    0,    0,    0,    1,    0,    0,    0,  //
                      0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                      0,    0,    0,    0,    0,    0,    0,    0};
  EXPECT_EQ(File(files[0].begin(), files[0].begin() + 4),
            (File{'P', 'R', 'R', '1'}));
  EXPECT_EQ(File(files[0].begin() + 8, files[0].end()), parts);
}

TEST(ResidualFilesTest, HoldAllTables) {
  const std::vector<TableResiduals> tables = {Table(1, 3, 10), Table(2, 8, 1),
                                              Table(9, 1, 77)};
  for (const uint64_t most : {100, 200, 1000, 1 << 20}) {
    const std::vector<File> files = EncodeResiduals(tables, most);
    for (const File& file : files) EXPECT_LE(file.size(), most);
    std::vector<TableResiduals> decoded = {Table(5, 5, 5)};
    ASSERT_TRUE(Decode(files, &decoded).ok());
    ASSERT_EQ(decoded.size(), tables.size());
    for (size_t t = 0; t < tables.size(); ++t) {
      ExpectEqual(decoded[t], tables[t]);
    }
  }
}

TEST(ResidualFilesTest, WithoutResidualsThereIsNone) {
  EXPECT_TRUE(EncodeResiduals({}).empty());
  EXPECT_TRUE(EncodeResiduals({Table(1, 3, 0)}).empty());
  std::vector<TableResiduals> decoded = {Table(1, 1, 1)};
  EXPECT_TRUE(Decode({}, &decoded).ok());
  EXPECT_TRUE(decoded.empty());
}

TEST(ResidualFilesTest, AreReadAtAnyAddress) {
  File bytes = EncodeResiduals({Table(1, 3, 10)})[0];
  bytes.insert(bytes.begin(), 1);
  std::vector<TableResiduals> decoded;
  const ConstBytes file(bytes.data() + 1, bytes.size() - 1);
  ASSERT_TRUE(DecodeResiduals({&file, 1}, &decoded).ok());
  ExpectEqual(decoded.at(0), Table(1, 3, 10));
}

TEST(ResidualFilesTest, DamageIsFound) {
  const File whole = EncodeResiduals({Table(1, 3, 2), Table(2, 1, 1)})[0];
  std::vector<TableResiduals> decoded;
  for (size_t i = 0; i < whole.size(); ++i) {
    File changed = whole;
    changed[i] ^= 1;
    EXPECT_EQ(Decode({changed}, &decoded).code(), Code::kDataLoss) << i;
    const File cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_EQ(Decode({cut}, &decoded).code(), Code::kDataLoss) << i;
  }
  // Two files whose tables differ.
  const File other = EncodeResiduals({Table(1, 2, 2)})[0];
  EXPECT_EQ(Decode({whole, other}, &decoded).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace persia
