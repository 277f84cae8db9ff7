// Boost.JSON's definitions: one source file of a program must include them.

#include <boost/json/src.hpp>
