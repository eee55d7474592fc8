#ifndef XPB_CSQLITE_SHIM_H
#define XPB_CSQLITE_SHIM_H
#include <sqlite3.h>

/* sqlite3_db_config is variadic, which Swift cannot call. No statement, wherever it comes from, may then change the
   schema tables or shadow tables by hand. */
static inline int xpb_sqlite_set_defensive(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}
#endif
