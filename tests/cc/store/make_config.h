// Settings of tables that tests make.

#ifndef PERSIA_TESTS_CC_STORE_MAKE_CONFIG_H_
#define PERSIA_TESTS_CC_STORE_MAKE_CONFIG_H_

#include <string>

#include "cc/store/table_config.h"

namespace persia {

// `initializer` and `optimizer` must parse.
inline TableConfig MakeConfig(const std::string& name, uint32_t dim,
                              const std::string& initializer = "uniform",
                              const std::string& optimizer = "sgd") {
  TableConfig config;
  config.name = name;
  config.dim = dim;
  config.initializer = Spec::Parse(initializer).value();
  config.optimizer = Spec::Parse(optimizer).value();
  return config;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_STORE_MAKE_CONFIG_H_
