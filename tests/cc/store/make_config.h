// Settings of tables that tests make.

#ifndef PERSIA_TESTS_CC_STORE_MAKE_CONFIG_H_
#define PERSIA_TESTS_CC_STORE_MAKE_CONFIG_H_

#include <string>

#include "cc/store/table_config.h"

namespace persia {

// `text` must parse.
inline Spec SpecOf(const std::string& text) { return *Spec::Parse(text); }

// `initializer` and `optimizer` must parse.
inline TableConfig MakeConfig(const std::string& name, uint32_t dim,
                              const std::string& initializer = "uniform",
                              const std::string& optimizer = "sgd") {
  TableConfig config;
  config.name = name;
  config.dim = dim;
  config.initializer = SpecOf(initializer);
  config.optimizer = SpecOf(optimizer);
  return config;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_STORE_MAKE_CONFIG_H_
