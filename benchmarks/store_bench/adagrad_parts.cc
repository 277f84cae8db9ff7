#include <vector>

#include "benchmarks/store_bench/parts.h"
#include "benchmarks/store_bench/requests.h"
#include "benchmarks/support/flat_array.h"
#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

constexpr float kLearningRate = 0.05f;

// A thread's requests and the memory for its answers, used for both the store
// and the array.
struct Client {
  Client(const Options& options, const Requests::Plan& plan)
      : requests(plan), rows(options.batch * kAdagradStride / 2) {}

  Span<float> answer() {
    return Span<float>(rows.floats(), requests.batch() * kAdagradDim);
  }

  Requests requests;
  HugeArray rows;
};

// If `disjoint`, no two clients request the same row, so that their threads can
// update rows of the array without locks.
std::vector<std::unique_ptr<Client>> MakeClients(const Options& options,
                                                 bool disjoint) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int t = 0; t < options.threads; ++t) {
    Requests::Plan plan{options.rows, options.batch, options.requests,
                        options.seed + t};
    if (disjoint) {
      plan.first = t;
      plan.step = options.threads;
    }
    clients.push_back(std::make_unique<Client>(options, plan));
  }
  return clients;
}

void RunLookups(const Options& options, Table* table, HugeArray* flat) {
  const auto clients = MakeClients(options, /*disjoint=*/false);
  const Body look_up = [&](int thread) {
    Client& client = *clients[thread];
    client.requests.Advance();
    table->Lookup(client.requests.ids(), /*read_only=*/false, client.answer());
    return client.requests.batch();
  };
  const Body gather = [&](int thread) {
    Client& client = *clients[thread];
    client.requests.Advance();
    GatherRows(flat->data(), client.requests.indices(), client.requests.batch(),
               client.rows.floats());
    return client.requests.batch();
  };
  const int all = options.threads;
  std::vector<double> store, array, store_one, array_one;
  for (int round = 0; round < options.rounds; ++round) {
    store.push_back(RowsPerSecond(all, options.seconds, look_up));
    array.push_back(RowsPerSecond(all, options.seconds, gather));
    store_one.push_back(RowsPerSecond(1, options.seconds, look_up));
    array_one.push_back(RowsPerSecond(1, options.seconds, gather));
  }
  Print(
      "lookup",
      {{"lookup_over_gather", Median(Ratios(store, array))},
       {"lookup_over_gather_one_thread", Median(Ratios(store_one, array_one))},
       {"two_threads_over_one",
        Median(Ratios(Ratios(store, store_one), Ratios(array, array_one)))},
       {"lookup_mrows_per_second", Median(store) / 1e6},
       {"gather_mrows_per_second", Median(array) / 1e6},
       {"lookup_one_thread_mrows_per_second", Median(store_one) / 1e6},
       {"gather_one_thread_mrows_per_second", Median(array_one) / 1e6}});
}

void RunUpdates(const Options& options, Table* table, HugeArray* flat) {
  const auto clients = MakeClients(options, /*disjoint=*/true);
  HugeArray gradient_memory(options.batch * kAdagradStride / 2);
  float* const gradients = gradient_memory.floats();
  for (size_t i = 0; i < options.batch * kAdagradDim; ++i) {
    gradients[i] = static_cast<float>(i % 1999) / 1000 - 0.9995f;
  }
  const auto update_store = [&](Client& client) {
    table->Update(client.requests.ids(),
                  Span<const float>(gradients, client.answer().size()),
                  kLearningRate);
    return client.requests.batch();
  };
  const auto update_array = [&](Client& client) {
    AdagradRows(flat->data(), client.requests.indices(),
                client.requests.batch(), gradients, kLearningRate);
    return client.requests.batch();
  };
  const Body step_store = [&](int thread) {
    Client& client = *clients[thread];
    client.requests.Advance();
    table->Lookup(client.requests.ids(), /*read_only=*/false, client.answer());
    return update_store(client);
  };
  const Body step_array = [&](int thread) {
    Client& client = *clients[thread];
    client.requests.Advance();
    GatherRows(flat->data(), client.requests.indices(), client.requests.batch(),
               client.rows.floats());
    return update_array(client);
  };
  const Body only_store = [&](int thread) {
    clients[thread]->requests.Advance();
    return update_store(*clients[thread]);
  };
  const Body only_array = [&](int thread) {
    clients[thread]->requests.Advance();
    return update_array(*clients[thread]);
  };
  const int all = options.threads;
  std::vector<double> store, array, store_only, array_only;
  for (int round = 0; round < options.rounds; ++round) {
    store.push_back(RowsPerSecond(all, options.seconds, step_store));
    array.push_back(RowsPerSecond(all, options.seconds, step_array));
    store_only.push_back(RowsPerSecond(all, options.seconds, only_store));
    array_only.push_back(RowsPerSecond(all, options.seconds, only_array));
  }
  Print("update",
        {{"update_over_loop", Median(Ratios(store, array))},
         {"update_only_over_loop", Median(Ratios(store_only, array_only))},
         {"lookup_update_mrows_per_second", Median(store) / 1e6},
         {"loop_mrows_per_second", Median(array) / 1e6},
         {"update_only_mrows_per_second", Median(store_only) / 1e6},
         {"loop_only_mrows_per_second", Median(array_only) / 1e6}});
}

}  // namespace

void RunAdagradParts(const Options& options, bool lookup, bool update) {
  const double resident_before = ResidentBytes();
  const double begin = Now();
  const auto table = MakeAdagradTable();
  Fill(options, 0, options.rows, table.get());
  const double fill_seconds = Now() - begin;
  WaitForHugePages();
  const auto rows = static_cast<double>(options.rows);
  const double payload = rows * kAdagradStride;
  const auto bytes = static_cast<double>(table->Stats().bytes);
  const double resident = ResidentBytes() - resident_before;
  Print("memory", {{"overhead_bytes_per_row", (bytes - payload) / rows},
                   {"rss_overhead_bytes_per_row", (resident - payload) / rows},
                   {"fill_mrows_per_second", rows / fill_seconds / 1e6}});
  HugeArray flat(options.rows * kAdagradStride);
  if (lookup) RunLookups(options, table.get(), &flat);
  if (update) RunUpdates(options, table.get(), &flat);
  CheckRows(*table, options.rows);
}

}  // namespace persia::bench
