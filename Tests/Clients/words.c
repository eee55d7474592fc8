#include "words.h"
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char complaint[512];

bool complain(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(complaint, sizeof complaint, format, list);
    va_end(list);
    return false;
}

int words_split(char *line, char **words, int limit) {
    int count = 0;
    char *save = NULL;
    for (char *w = strtok_r(line, " \t\r\n", &save); w && count < limit; w = strtok_r(NULL, " \t\r\n", &save)) words[count++] = w;
    return count;
}

const char *word_value(const char *word, const char *key) {
    size_t n = strlen(key);
    return !strncmp(word, key, n) && word[n] == '=' ? word + n + 1 : NULL;
}

bool word_number(const char *word, const char *what, long long *number) {
    char *end;
    errno = 0;
    *number = strtoll(word, &end, 0);
    if (end == word || *end || errno) return complain("%s: expected a number, found `%s`", what, word);
    return true;
}

bool word_size(const char *word, const char *what, size_t *size) {
    char *end;
    unsigned long long n = strtoull(word, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (end == word || end[shift ? 1 : 0]) return complain("%s: expected a size such as 10, 64K or 5M, found `%s`", what, word);
    *size = (size_t)n << shift;
    return true;
}

bool word_flag(const char *word, const char *what, bool *flag) {
    *flag = !strcmp(word, "yes");
    if (!*flag && strcmp(word, "no")) return complain("%s: expected yes or no, found `%s`", what, word);
    return true;
}

static Content *content_new(unsigned char *bytes, size_t count) {
    Content *c = malloc(sizeof *c);
    *c = (Content){bytes, count, 1};
    return c;
}

static int digit(char c) {
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

static Content *from_text(const char *word) {
    unsigned char *out = malloc(strlen(word) + 1);
    size_t n = 0;
    for (const char *p = word; *p; p++) {
        if (*p != '\\') {
            out[n++] = (unsigned char)*p;
            continue;
        }
        p++;
        if (*p == 'x' && digit(p[1]) >= 0 && digit(p[2]) >= 0) {
            out[n++] = (unsigned char)(digit(p[1]) * 16 + digit(p[2]));
            p += 2;
            continue;
        }
        const char *names = "n\nr\rt\t\\\\_ 0", *at = *p ? strchr(names, *p) : NULL;
        if (!at) {
            free(out);
            return complain("text: expected one of \\n \\r \\t \\0 \\_ \\\\ \\xHH, found `\\%c`", *p), NULL;
        }
        out[n++] = *p == '0' ? 0 : (unsigned char)at[1];
    }
    return content_new(out, n);
}

static Content *from_hex(const char *word) {
    size_t n = strlen(word);
    unsigned char *out = malloc(n / 2 + 1);
    for (size_t i = 0; i < n; i += 2) {
        if (n % 2 || digit(word[i]) < 0 || digit(word[i + 1]) < 0) {
            free(out);
            return complain("hex: expected pairs of hexadecimal digits, found `%.40s`", word), NULL;
        }
        out[i / 2] = (unsigned char)(digit(word[i]) * 16 + digit(word[i + 1]));
    }
    return content_new(out, n / 2);
}

/* size:N repeats the pattern, or a counter whose period (251) divides no chunk size, so that a lost or doubled chunk shows. */
static Content *from_size(const char *word) {
    char number[32];
    size_t size, length = strcspn(word, ":");
    snprintf(number, sizeof number, "%.*s", (int)length, word);
    if (!word_size(number, "size", &size)) return NULL;
    unsigned char *out = malloc(size + 1);
    Content *pattern = word[length] ? from_text(word + length + 1) : NULL;
    if (word[length] && (!pattern || !pattern->count)) {
        free(out);
        return complain("size: expected a pattern after the second colon, found `%s`", word), NULL;
    }
    for (size_t i = 0; i < size; i++) out[i] = pattern ? pattern->bytes[i % pattern->count] : (unsigned char)(i % 251);
    content_drop(pattern);
    return content_new(out, size);
}

static Content *from_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return complain("%s: expected a readable file, found: %s", path, strerror(errno)), NULL;
    size_t n = 0, room = 1 << 16, got;
    unsigned char *out = malloc(room);
    while ((got = fread(out + n, 1, room - n, f)) > 0)
        if ((n += got) == room) out = realloc(out, room *= 2);
    fclose(f);
    return content_new(out, n);
}

Content *content_parse(const char *spec) {
    if (!strncmp(spec, "text:", 5)) return from_text(spec + 5);
    if (!strncmp(spec, "hex:", 4)) return from_hex(spec + 4);
    if (!strncmp(spec, "size:", 5)) return from_size(spec + 5);
    if (!strncmp(spec, "file:", 5)) return from_file(spec + 5);
    if (!strcmp(spec, "empty")) return content_new(malloc(1), 0);
    return complain("content: expected text:, hex:, size:, file: or empty, found `%s`", spec), NULL;
}

Content *content_use(Content *c) {
    if (c) c->uses++;
    return c;
}

void content_drop(Content *c) {
    if (!c || --c->uses) return;
    free(c->bytes);
    free(c);
}
