// Saves and loads checkpoints of stores, with few arguments.

#ifndef PERSIA_TESTS_CC_CHECKPOINT_CHECKPOINT_CALLS_H_
#define PERSIA_TESTS_CC_CHECKPOINT_CHECKPOINT_CALLS_H_

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cc/checkpoint/shard_file.h"
#include "cc/checkpoint/store_loader.h"
#include "cc/store/store.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"
#include "tests/cc/support/shard_of.h"

namespace persia {

// The header of a file of one of some shards, whose slots are even.
inline ShardHeader HeaderOf(uint64_t save, uint64_t parent, uint32_t shard = 0,
                            uint32_t shard_count = 1) {
  return {save, parent, shard + uint64_t{100},
          SlotsOfShard(shard, shard_count)};
}

// Saves an increment if the header has a parent. The save is not committed.
inline Status Save(const Store& store, const ShardHeader& header,
                   const std::string& path,
                   const std::vector<ClientWindow>& clients = {}) {
  std::vector<std::unique_ptr<FrozenRows>> frozen;
  std::vector<SavedTable> tables;
  for (Table* table : store.All()) {
    const SaveScope scope = header.parent_id != 0 && table->was_saved()
                                ? SaveScope::kChanges
                                : SaveScope::kWhole;
    auto rows = table->FreezeToSave(scope);
    if (!rows.ok()) return rows.status();
    frozen.push_back(std::move(*rows));
    tables.push_back({{table->config(), table->layout(), table->time(), scope},
                      frozen.back().get()});
  }
  ShardProgress progress;
  return WriteShard(LocalFiles(), path, header, tables, clients, &progress);
}

inline void Commit(const Store& store) {
  for (Table* table : store.All()) table->CommitSave();
}

inline Status Load(const std::vector<std::string>& paths, StoreLoader* loader) {
  ShardProgress progress;
  return loader->Load(LocalFiles(), paths, &progress);
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_CHECKPOINT_CHECKPOINT_CALLS_H_
