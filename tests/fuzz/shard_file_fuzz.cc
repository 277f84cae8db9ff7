// Any bytes as a shard's file of a checkpoint: unchanged, with corrected
// checksums of blocks, and with corrected counts too. What was read is written
// again, and must read the same; tables are made from whole files.

#include "cc/base/crc32c.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/checkpoint/shard_file_writer.h"
#include "cc/checkpoint/store_loader.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/memory_files.h"
#include "tests/fuzz/support/shard_file_mending.h"

namespace persia {
namespace {

using Bytes = MemoryFiles::Bytes;

constexpr uint64_t kSaveId = 7;
constexpr uint64_t kParentId = 5;

// Writes what it is given to another file, and checks what readers may rely on.
class Copier : public ShardVisitor {
 public:
  Copier(MemoryFiles* files, const std::string& path)
      : writer_(std::move(*files->Create(path)), &progress_) {}

  Status OnHeader(const ShardHeader& header) override {
    is_increment_ = header.parent_id != 0;
    return writer_.Begin(header);
  }

  Status OnTable(const TableHead& table) override {
    const auto layout = LayoutOf(table.config);
    FuzzCheck(layout.ok(), "a table's settings are valid");
    FuzzCheck(layout->row_bytes == table.layout.row_bytes, "rows are its own");
    scope_ = table.scope;
    FuzzCheck(scope_ == SaveScope::kWhole || is_increment_,
              "only an increment has changes");
    row_bytes_ = table.layout.row_bytes;
    return writer_.AddTable(table);
  }

  Status OnErased(Span<const int64_t> ids) override {
    FuzzCheck(scope_ == SaveScope::kChanges, "only changes have erased ids");
    return writer_.AddErased(ids);
  }

  Status OnRows(Span<const int64_t> ids, Span<const std::byte> rows) override {
    FuzzCheck(rows.size() == ids.size() * row_bytes_, "rows are whole");
    return writer_.AddRows(ids, rows);
  }

  Status OnClients(const std::vector<ClientWindow>& clients) override {
    return writer_.Finish(clients);
  }

 private:
  ShardProgress progress_;
  ShardFileWriter writer_;
  bool is_increment_ = false;
  SaveScope scope_ = SaveScope::kWhole;
  size_t row_bytes_ = 0;
};

Status Copy(MemoryFiles* files, const std::string& from,
            const std::string& to) {
  Copier copier(files, to);
  ShardProgress progress;
  return ReadShard(files, from, &copier, &progress);
}

TableConfig SampleTable() {
  TableConfig config;
  config.name = "t";
  config.dim = 2;
  config.initializer = *Spec::Parse("zeros");
  config.optimizer = *Spec::Parse("adagrad");
  config.row_dtype = *Spec::Parse("float32");
  config.capacity = *Spec::Parse("unlimited");
  config.admission = *Spec::Parse("always");
  config.eviction = *Spec::Parse("ttl(steps=9)");
  return config;
}

SlotSet AllSlots() { return SlotSet().set(); }

// A few rows; those of an increment are changes.
Bytes SampleFile(const ShardHeader& header) {
  static const TableConfig config = SampleTable();
  const bool is_increment = header.parent_id != 0;
  const SaveScope scope =
      is_increment ? SaveScope::kChanges : SaveScope::kWhole;
  const auto layout = LayoutOf(config);
  FuzzCheck(layout.ok(), "the sample's settings are valid");
  const std::vector<int64_t> ids = {1, 2, 3};
  const std::vector<std::byte> rows(ids.size() * layout->row_bytes);
  MemoryFiles files;
  ShardProgress progress;
  ShardFileWriter writer(std::move(*files.Create("sample")), &progress);
  (void)writer.Begin(header);
  (void)writer.AddTable({config, *layout, 4, scope});
  if (is_increment) (void)writer.AddErased(ids);
  (void)writer.AddRows(ids, rows);
  (void)writer.Finish({ClientWindow{8, 9, {}}});
  return files["sample"];
}

// A store whose table holds rows in another form than the sample.
const Store& OtherStore() {
  static const Store* const store = [] {
    TableConfig config = SampleTable();
    config.optimizer = *Spec::Parse("adam");
    config.row_dtype = *Spec::Parse("int8");
    config.capacity = *Spec::Parse("rows(count=2)");
    config.eviction = *Spec::Parse("lru");
    auto* const made = new Store;
    FuzzCheck(made->CreateTable(config).ok(), "the other table can be made");
    return made;
  }();
  return *store;
}

// Loads an increment onto the sample. Only a quarter of all files is loaded,
// because making tables takes long; for half of these the store has the table.
void Load(MemoryFiles* files, const ShardHeader& header,
          const std::string& path) {
  const Bytes& file = (*files)[path];
  const uint32_t draw = Crc32c(file.data(), file.size());
  if (draw % 8 > 1) return;
  std::vector<std::string> chain = {path};
  if (header.parent_id != 0) {
    (*files)["base"] =
        SampleFile({header.parent_id, 0, header.member, header.slots});
    chain.insert(chain.begin(), "base");
  }
  const Store empty;
  StoreLoader loader(draw % 2 == 0 ? &OtherStore() : &empty,
                     {header.save_id, header.parent_id, 1, AllSlots()});
  ShardProgress progress;
  (void)loader.Load(files, chain, &progress);
}

void Read(Bytes bytes) {
  MemoryFiles files;
  files["read"] = std::move(bytes);
  const Status status = Copy(&files, "read", "copy");
  const auto header = ReadShardHeader(&files, "read");
  if (!status.ok()) {
    FuzzCheck(status.message().find("read") != std::string::npos,
              "an error names the file");
    return;
  }
  // Texts of settings may come in a longer form than they are written in.
  FuzzCheck(Copy(&files, "copy", "again").ok(), "what was read can be written");
  FuzzCheck(files["copy"] == files["again"], "a copy's copy is the same");
  FuzzCheck(header.ok(), "what was read has a header");
  Load(&files, *header, "read");
}

}  // namespace

void FuzzOne(Span<const uint8_t> bytes) {
  const Bytes plain(bytes.begin(), bytes.end());
  const Bytes with_checksums = WithChecksums(bytes);
  const Bytes with_counts = WithCounts(bytes);
  Read(plain);
  if (with_checksums != plain) Read(with_checksums);
  if (with_counts != with_checksums) Read(with_counts);
}

std::vector<FuzzInput> Seeds() {
  return {SampleFile({kSaveId, 0, 1, AllSlots()}),
          SampleFile({kSaveId, kParentId, 1, AllSlots()})};
}

}  // namespace persia

// An allocation beyond what a file may take fails, as when memory runs out: a
// table with a large filter must be an error.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=64";
}
