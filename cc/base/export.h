/* Marks the symbols that libpersia.so exports: all others are hidden. */

#ifndef PERSIA_CC_BASE_EXPORT_H_
#define PERSIA_CC_BASE_EXPORT_H_

#define PERSIA_EXPORT __attribute__((visibility("default")))

#endif /* PERSIA_CC_BASE_EXPORT_H_ */
