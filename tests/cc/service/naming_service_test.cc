#include "cc/service/naming_service.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cc/shard/local_service.h"
#include "tests/cc/support/row_requests.h"

namespace persia {
namespace {

// Another service, without tables, takes the place of the first.
class LosingService : public ForwardingService {
 public:
  LosingService() : ForwardingService(MakeLocalService()) {}
  ~LosingService() override { EndInner(); }

  void Lose() { others_ = MakeLocalService(); }

 protected:
  void OtherCall(const AnyRequest& request, DoneCallback done) override {
    now()->Call(request, std::move(done));
  }

 private:
  EmbeddingService* now() { return others_ ? others_.get() : inner(); }

  std::unique_ptr<EmbeddingService> others_;
};

class NamingServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    CreateRowTable(&service_, "user");
    losing_->Lose();
  }

  void ExpectNamed(const Status& status) {
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_EQ(status.message().rfind("table \"user\" is not there any more", 0),
              0u)
        << status.message();
  }

  LosingService* const losing_ = new LosingService();
  NamingService service_{std::unique_ptr<EmbeddingService>(losing_)};
};

TEST_F(NamingServiceTest, ALookupNamesTheTable) {
  ExpectNamed(PendingLookup(&service_, "user", {1, 2}).Wait());
}

TEST_F(NamingServiceTest, AnUpdateNamesTheTable) {
  ExpectNamed(PendingUpdate(&service_, "user", {1, 2}, 7, 1).Wait());
}

TEST_F(NamingServiceTest, AnExportNamesTheTable) {
  ExportRequest request;
  request.table = HashName("user");
  request.max_rows = 1;
  CallResult result;
  service_.Export(&request, result.done());
  ExpectNamed(result.Wait());
}

TEST_F(NamingServiceTest, ARemovalNamesTheTable) {
  RemoveRequest request;
  request.table = HashName("user");
  CallResult result;
  service_.Remove(&request, result.done());
  ExpectNamed(result.Wait());
}

TEST_F(NamingServiceTest, ATableThatItNeverSawStaysAKey) {
  const Status status = PendingLookup(&service_, "item", {1}).Wait();
  EXPECT_EQ(MissingTableKey(status), HashName("item"));
}

}  // namespace
}  // namespace persia
