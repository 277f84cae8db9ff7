/* Marks a symbol that libpersia.so exports. All symbols without this mark are
 * hidden. */

#ifndef PERSIA_CC_BASE_EXPORT_H_
#define PERSIA_CC_BASE_EXPORT_H_

#define PERSIA_EXPORT __attribute__((visibility("default")))

#endif /* PERSIA_CC_BASE_EXPORT_H_ */
