// The names of layers are unique in a process, such as "user_rows#3". The user
// chose the part before the "#".

#ifndef PERSIA_CC_PIPELINE_LAYER_NAME_H_
#define PERSIA_CC_PIPELINE_LAYER_NAME_H_

#include <string>

namespace persia {

// Returns the name by which errors call a layer: the part that the user chose.
inline std::string ShownLayer(const std::string& layer) {
  return layer.substr(0, layer.rfind('#'));
}

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LAYER_NAME_H_
