// Numbers as text: the shortest text that parses to the same number, so that
// texts can be compared and errors show exactly what was received. Independent
// of the locale.

#ifndef PERSIA_CC_BASE_NUMBER_H_
#define PERSIA_CC_BASE_NUMBER_H_

#include <string>

namespace persia {

// Zero has no sign: both zeros are "0".
std::string NumberText(double value);
std::string NumberText(float value);

}  // namespace persia

#endif  // PERSIA_CC_BASE_NUMBER_H_
