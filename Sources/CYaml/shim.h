#ifndef XPB_CYAML_SHIM_H
#define XPB_CYAML_SHIM_H
#include <yaml.h>
#endif
