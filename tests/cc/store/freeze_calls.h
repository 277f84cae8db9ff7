// What tests of frozen tables share.

#ifndef PERSIA_TESTS_CC_STORE_FREEZE_CALLS_H_
#define PERSIA_TESTS_CC_STORE_FREEZE_CALLS_H_

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {

using Rows = std::map<int64_t, TableRow>;

inline TableConfig ConfigOf(const std::string& dtype = "float32") {
  TableConfig config = MakeConfig("t", 4, "uniform", "adagrad");
  config.row_dtype = SpecOf(dtype);
  return config;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_STORE_FREEZE_CALLS_H_
