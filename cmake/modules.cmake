# Reads cc/modules.json: PERSIA_MODULES are the modules, and for each
# PERSIA_INCLUDES_<module> are those whose headers it may include.
set(table ${PROJECT_SOURCE_DIR}/cc/modules.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
file(READ ${table} table)
set(PERSIA_MODULES)
string(JSON count LENGTH ${table})
math(EXPR last "${count} - 1")
foreach(index RANGE ${last})
  string(JSON module MEMBER ${table} ${index})
  string(JSON includes GET ${table} ${module})
  string(REGEX MATCHALL "[a-z_]+" PERSIA_INCLUDES_${module} "${includes}")
  list(APPEND PERSIA_MODULES ${module})
endforeach()
