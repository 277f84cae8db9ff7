// Members: the servers that a client knows, with a channel to each, and what
// cluster they form.
//
// Before a client knows the cluster, it has the servers whose addresses it was
// given. If these are shards, it has the cluster's members from then on.
//
// Thread-safe; never blocks beyond a short lock.

#ifndef PERSIA_CC_CLIENT_MEMBERS_H_
#define PERSIA_CC_CLIENT_MEMBERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/client/channel.h"
#include "cc/client/cluster_view.h"
#include "cc/topology/topology.h"
#include "cc/wire/address.h"

namespace persia {

class Members {
 public:
  // Makes a channel to a server with this name in errors.
  using MakeServerChannel = std::function<std::unique_ptr<Channel>(
      const Address& address, const std::string& title)>;

  // `listed`, of which there must be 1 to kSlots, are the addresses that the
  // client was given.
  Members(const std::vector<Address>& listed, MakeServerChannel make);

  // The listed servers, in their order, whatever cluster they form.
  const SharedView& listed() const { return listed_; }

  // The view for the next call.
  SharedView view() const;

  // Whether the cluster is known, or that the servers are no shards.
  bool is_settled() const;
  // Call it once it is known that the servers are no shards.
  void SettleAsNoShards();

  // Settles for the listed servers for good, whatever cluster they form.
  void Fix();

  // Call it once it is known which shard a listed server is.
  void SetMember(size_t listed, uint64_t member);

  // Null unless the servers are shards of a cluster.
  SharedTopology topology() const;
  // Learns what is newer in `topology`. Returns kFailedPrecondition if it is
  // that of another cluster, and kInvalidArgument if it has an address that
  // does not parse.
  Status Learn(const Topology& topology);
  // The same of an encoded one; kDataLoss if it is malformed.
  Status Learn(ConstBytes bytes);

  // Call it once it is known that another shard answers on a channel.
  void Relabel(const Channel* channel, uint64_t member);

  // Uses another address for a listed server: see MoveShard.
  Status Move(uint32_t listed, const std::string& address);

  // Uses another address for a server that is, or will be, known by `from`: see
  // MoveAddress.
  Status MoveAddress(const std::string& from, const std::string& to);

  // Shuts all channels down, and those that will be made later.
  void ShutDown();

 private:
  struct Server {
    std::unique_ptr<Channel> channel;
    std::string listed_address;  // "" if the server is not listed.
    uint64_t member = 0;         // 0: not known.
    uint32_t incarnation = 0;    // Of the member.
    uint32_t version = 0;        // Of the member's description,
    std::string member_address;  // and the address there.
    // The addresses at which the server was, as far as MoveAddress is to know
    // it by them.
    std::set<std::string> names;
  };

  // The functions below require mutex_ to be held.
  Result<Server*> ServerOf(const Member& member, const std::string& title);
  Status MakeView(const Topology& topology);
  Result<Address> Resolve(const std::string& address) const;
  void AddNames(const std::string& name, const Address& address,
                std::set<std::string>* names) const;

  const MakeServerChannel make_;
  mutable std::mutex mutex_;
  // Everything below is guarded by mutex_, except listed_, which never changes.
  std::vector<std::unique_ptr<Server>> servers_;  // The listed ones come first.
  SharedView listed_;
  SharedView view_;
  SharedTopology topology_;
  // Where servers are that have moved from the address in the topology.
  std::map<std::string, Address> moved_;
  bool is_settled_ = false;
  bool is_fixed_ = false;  // Learns of no cluster.
  bool is_shut_down_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_MEMBERS_H_
