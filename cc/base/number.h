// NumberText: formats a number as the shortest text that parses to the same
// number. Equal numbers therefore have equal texts, and an error message shows
// exactly the number that was received. Independent of the locale.

#ifndef PERSIA_CC_BASE_NUMBER_H_
#define PERSIA_CC_BASE_NUMBER_H_

#include <string>

namespace persia {

// Both zeros, 0.0 and -0.0, become "0".
std::string NumberText(double value);
std::string NumberText(float value);

}  // namespace persia

#endif  // PERSIA_CC_BASE_NUMBER_H_
