#ifndef XPB_CSODIUM_SHIM_H
#define XPB_CSODIUM_SHIM_H
#include <sodium.h>
#endif
