#ifndef XPB_WORDS_H
#define XPB_WORDS_H
#include <stdbool.h>
#include <stddef.h>

/* A command is a line of words. In a word, \_ is a blank and \n \r \t \0 \\ \xHH are what they are in C. */
enum { WORDS_MAX = 512 };

/* Shared by an offer and the transfers that still send it. */
typedef struct {
    unsigned char *bytes;
    size_t count;
    int uses;
} Content;

/* What was wrong with the command, in the grammar `position: expected X, found Y`. */
extern char complaint[512];
bool complain(const char *format, ...) __attribute__((format(printf, 1, 2))); /* always false */

int words_split(char *line, char **words, int limit);
/* The value of a `key=value` word, or NULL. */
const char *word_value(const char *word, const char *key);
bool word_number(const char *word, const char *what, long long *number);
/* 10, 64K, 5M */
bool word_size(const char *word, const char *what, size_t *size);
bool word_flag(const char *word, const char *what, bool *flag); /* yes, no */

/* text:WORD hex:DIGITS size:N[:WORD] file:PATH empty */
Content *content_parse(const char *spec);
Content *content_use(Content *);
void content_drop(Content *);
#endif
