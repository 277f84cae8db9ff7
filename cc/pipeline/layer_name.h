// Names of layers: unique in a process, as "user_rows#3", of which users know
// what comes before the number.

#ifndef PERSIA_CC_PIPELINE_LAYER_NAME_H_
#define PERSIA_CC_PIPELINE_LAYER_NAME_H_

#include <string>

namespace persia {

// As errors show it.
inline std::string ShownLayer(const std::string& layer) {
  return layer.substr(0, layer.rfind('#'));
}

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LAYER_NAME_H_
