/* process_idle PID SECONDS: voluntary context switches of all threads of a process while nothing happens, the processor time
 * that it has used in its life, and its memory. */
#include "measure.h"
#include <dirent.h>

static long field(const char *path, const char *name) {
    char line[256];
    long value = 0;
    size_t n = strlen(name);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, name, n)) value = atol(line + n);
    fclose(f);
    return value;
}

static long switches(long pid) {
    char folder[64], path[512];
    long sum = 0;
    snprintf(folder, sizeof folder, "/proc/%ld/task", pid);
    DIR *tasks = opendir(folder);
    if (!tasks) return fprintf(stderr, "%s: expected a running process, found none\n", folder), exit(1), 0;
    for (struct dirent *e; (e = readdir(tasks));)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s/status", folder, e->d_name);
            sum += field(path, "voluntary_ctxt_switches:");
        }
    closedir(tasks);
    return sum;
}

/* Nanoseconds on a processor, of all threads that live. */
static long long processor_ns(long pid) {
    char folder[64], path[512];
    long long sum = 0, one;
    snprintf(folder, sizeof folder, "/proc/%ld/task", pid);
    DIR *tasks = opendir(folder);
    for (struct dirent *e; tasks && (e = readdir(tasks));)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s/schedstat", folder, e->d_name);
            FILE *f = fopen(path, "r");
            if (f && fscanf(f, "%lld", &one) == 1) sum += one;
            if (f) fclose(f);
        }
    if (tasks) closedir(tasks);
    return sum;
}

int main(int argc, char **argv) {
    long pid = number_argument(argc, argv, 1, "a process id", 1), seconds = number_argument(argc, argv, 2, "a number of seconds", 0);
    char path[64];
    long before = switches(pid);
    struct timespec rest = {seconds, 0};
    nanosleep(&rest, NULL); /* the measure itself: what happens while nothing happens */
    long after = switches(pid);
    snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", pid);
    printf("pid=%ld seconds=%ld switches=%ld processor_us=%lld pss_kb=%ld pss_anon_kb=%ld\n", pid, seconds, after - before, processor_ns(pid) / 1000, field(path, "Pss:"), field(path, "Pss_Anon:"));
    return 0;
}
