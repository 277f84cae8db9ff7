// ShardName: a shard's name in errors and events, such as "shard 0 of 2
// (127.0.0.1:7000)". Its address changes when the shard moves, and its title
// when other shards come or go.
//
// Thread-safe.

#ifndef PERSIA_CC_CLIENT_SHARD_NAME_H_
#define PERSIA_CC_CLIENT_SHARD_NAME_H_

#include <mutex>
#include <string>
#include <utility>

#include "cc/base/status.h"
#include "cc/wire/address.h"

namespace persia {

class ShardName {
 public:
  // `title` is the name without the address: "shard 0 of 2".
  ShardName(std::string title, const Address& address)
      : title_(std::move(title)), address_(address.ToString()) {}

  std::string text() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return Concat(title_, " (", address_, ")");
  }

  std::string address() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return address_;
  }

  // Returns whether the title is another one.
  bool SetTitle(const std::string& title) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (title_ == title) return false;
    title_ = title;
    return true;
  }

  void SetAddress(const Address& address) {
    std::lock_guard<std::mutex> lock(mutex_);
    address_ = address.ToString();
  }

 private:
  mutable std::mutex mutex_;
  std::string title_;    // Guarded by mutex_.
  std::string address_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_SHARD_NAME_H_
