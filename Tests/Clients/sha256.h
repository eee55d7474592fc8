#ifndef XPB_SHA256_H
#define XPB_SHA256_H
#include <stddef.h>
#include <stdint.h>

/* FIPS 180-4, fed in pieces so that an incremental transfer needs no second copy. */
typedef struct {
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64];
} Sha256;

void sha256_begin(Sha256 *);
void sha256_add(Sha256 *, const void *bytes, size_t count);
/* Leaves 64 hexadecimal digits and a NUL in `digits`. */
void sha256_end(Sha256 *, char digits[65]);
#endif
