/* Slows the disk and records what is on it for certain. Preloaded into a measured Valkey; disk.py builds it.
 *
 * Waits in fdatasync and fsync before the real call, in whichever thread calls, as if the disk were busy. Records how
 * long the append-only file was when the last completed call began: everything before that is on the disk, and a power
 * cut may lose what comes after it. Both are in the page of shared memory that SLOW_DISK names; its fields are those of
 * disk.py, in the same order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct page {
    int64_t delay_ns;     /* read here: how long to wait */
    int64_t under_way;    /* calls that have not returned */
    int64_t began_ns;     /* when the last call began, by CLOCK_MONOTONIC */
    int64_t done;         /* calls that have returned */
    int64_t spent_ns;     /* how long they took together */
    int64_t synced_bytes; /* of the append-only file, for certain on the disk */
};

static struct page *page;

__attribute__((constructor)) static void open_page(void) {
    const char *path = getenv("SLOW_DISK");
    int fd = path ? open(path, O_RDWR) : -1;
    void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "slow_disk: SLOW_DISK cannot be opened: %s\n", strerror(errno));
        _exit(1);
    }
    close(fd);
    page = memory;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int is_append_only_file(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, ".incr.aof") != NULL;
}

static int slowly(long call, int fd) {
    struct stat file;
    /* Before the call: what is written during the call may or may not be synced by it. */
    int64_t bytes = fstat(fd, &file) == 0 && is_append_only_file(fd) ? (int64_t)file.st_size : -1;
    int64_t began = now_ns();
    __atomic_store_n(&page->began_ns, began, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&page->under_way, 1, __ATOMIC_SEQ_CST);
    int64_t delay = __atomic_load_n(&page->delay_ns, __ATOMIC_SEQ_CST);
    struct timespec left = {delay / 1000000000, delay % 1000000000};
    while (delay && nanosleep(&left, &left) == -1 && errno == EINTR) {}
    int result = (int)syscall(call, fd);
    int error = errno;
    if (result == 0 && bytes >= 0) __atomic_store_n(&page->synced_bytes, bytes, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&page->spent_ns, now_ns() - began, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&page->done, 1, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&page->under_way, 1, __ATOMIC_SEQ_CST);
    errno = error;
    return result;
}

int fdatasync(int fd) { return slowly(SYS_fdatasync, fd); }
int fsync(int fd) { return slowly(SYS_fsync, fd); }
