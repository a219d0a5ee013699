/**
 * @module A disk that records what it is asked to do, for child processes: a shared library, preloaded, writes every change of a file below one
 * folder and every sync to a trace, in the order of all threads and processes that share it.
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'

const SOURCE = `
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, SYNC_FOLDER, RENAME, LINK, UNLINK, MAKE_FOLDER };
struct entry { uint32_t kind, path_bytes, other_bytes, data_bytes; uint64_t inode; int64_t at; };
static int trace = -1;
static char root[4096];
static size_t root_bytes;
static int folder_sync_ms;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void attach(void) {
  const char *path = getenv("DISK_TRACE_FILE"), *folder = getenv("DISK_TRACE_ROOT"), *ms = getenv("DISK_TRACE_FOLDER_SYNC_MS");
  if (path == NULL || folder == NULL) return;
  root_bytes = strlen(folder);
  memcpy(root, folder, root_bytes + 1);
  folder_sync_ms = ms == NULL ? 0 : atoi(ms);
  int (*real_open)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
  trace = real_open(path, O_RDWR | O_APPEND | O_CLOEXEC);
}

static int below(const char *path) {
  return trace >= 0 && strncmp(path, root, root_bytes) == 0 && path[root_bytes] == '/';
}

static const char *path_of(int fd, char *path) {
  char link[64];
  if (trace < 0) return NULL;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, 4095);
  if (length < 0) return NULL;
  path[length] = 0;
  return below(path) ? path : NULL;
}

/* One operation at a time over all processes: the trace has the order in which they were done. */
static void begin(void) { pthread_mutex_lock(&mutex); while (flock(trace, LOCK_EX) != 0 && errno == EINTR) {} }
static void end(int error) { flock(trace, LOCK_UN); pthread_mutex_unlock(&mutex); errno = error; }

static void put(int kind, const char *path, const char *other, uint64_t inode, int64_t at, const void *data, size_t bytes) {
  static ssize_t (*real)(int, const struct iovec *, int);
  if (!real) real = dlsym(RTLD_NEXT, "writev");
  struct entry entry = { kind, strlen(path), strlen(other), bytes, inode, at };
  struct iovec parts[4] = { { &entry, sizeof entry }, { (void *)path, entry.path_bytes }, { (void *)other, entry.other_bytes }, { (void *)data, bytes } };
  if (real(trace, parts, 4) != (ssize_t)(sizeof entry + entry.path_bytes + entry.other_bytes + bytes)) abort();
}

static uint64_t inode_of(int fd) { struct stat s; return fstat(fd, &s) == 0 ? s.st_ino : 0; }
static uint64_t inode_at(const char *path) { struct stat s; return lstat(path, &s) == 0 ? s.st_ino : 0; }

static int opened(const char *path, int flags, mode_t mode, int (*real)(const char *, int, ...)) {
  if (!below(path) || (flags & (O_CREAT | O_TRUNC)) == 0 || (flags & O_TMPFILE) == O_TMPFILE) return real(path, flags, mode);
  begin();
  uint64_t before = inode_at(path);
  int fd = real(path, flags, mode), error = errno;
  if (fd >= 0 && before == 0) put(CREATE, path, "", inode_of(fd), 0, "", 0);
  else if (fd >= 0 && (flags & O_TRUNC)) put(TRUNCATE, path, "", inode_of(fd), 0, "", 0);
  end(error);
  return fd;
}
#define OPEN(name) int name(const char *path, int flags, ...) { \\
  va_list list; va_start(list, flags); mode_t mode = va_arg(list, mode_t); va_end(list); \\
  REAL(int, name, const char *, int, ...); return opened(path, flags, mode, real); }
OPEN(open)
OPEN(open64)

static ssize_t wrote(int fd, const struct iovec *parts, int count, int64_t at, ssize_t (*write)(int, const struct iovec *, int, int64_t)) {
  char path[4096];
  if (path_of(fd, path) == NULL) return write(fd, parts, count, at);
  begin();
  int64_t start = at >= 0 ? at : (fcntl(fd, F_GETFL) & O_APPEND) ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR);
  ssize_t length = write(fd, parts, count, at);
  int error = errno;
  if (length > 0) {
    char *all = malloc(length);
    ssize_t done = 0;
    for (int i = 0; i < count && done < length; i++) {
      size_t bytes = parts[i].iov_len < (size_t)(length - done) ? parts[i].iov_len : (size_t)(length - done);
      memcpy(all + done, parts[i].iov_base, bytes);
      done += bytes;
    }
    put(WRITE, path, "", inode_of(fd), start, all, length);
    free(all);
  }
  end(error);
  return length;
}
static ssize_t do_write(int fd, const struct iovec *p, int n, int64_t at) {
  REAL(ssize_t, write, int, const void *, size_t);
  return real(fd, p->iov_base, p->iov_len);
}
static ssize_t do_pwrite(int fd, const struct iovec *p, int n, int64_t at) {
  REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
  return real(fd, p->iov_base, p->iov_len, at);
}
static ssize_t do_writev(int fd, const struct iovec *p, int n, int64_t at) {
  REAL(ssize_t, writev, int, const struct iovec *, int);
  return real(fd, p, n);
}
static ssize_t do_pwritev(int fd, const struct iovec *p, int n, int64_t at) {
  REAL(ssize_t, pwritev64, int, const struct iovec *, int, off64_t);
  return real(fd, p, n, at);
}
ssize_t write(int fd, const void *bytes, size_t length) { struct iovec one = { (void *)bytes, length }; return wrote(fd, &one, 1, -1, do_write); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { struct iovec one = { (void *)bytes, length }; return wrote(fd, &one, 1, at, do_pwrite); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) { return wrote(fd, parts, count, -1, do_writev); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return wrote(fd, parts, count, at, do_pwritev); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) { return pwritev64(fd, parts, count, at); }
/* Callers fall back to reading and writing. */
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags) { errno = ENOSYS; return -1; }
ssize_t sendfile64(int out, int in, off64_t *from, size_t length) { errno = EINVAL; return -1; }
ssize_t sendfile(int out, int in, off_t *from, size_t length) { errno = EINVAL; return -1; }

static int synced(int fd, int (*sync)(int)) {
  char path[4096];
  struct stat status;
  if (trace < 0 || fstat(fd, &status) != 0 || (path_of(fd, path) == NULL && strcmp(path, root) != 0)) return sync(fd);
  int is_folder = S_ISDIR(status.st_mode);
  if (is_folder && folder_sync_ms > 0) usleep(folder_sync_ms * 1000);
  begin();
  int done = sync(fd), error = errno;
  if (done == 0) put(is_folder ? SYNC_FOLDER : SYNC, path, "", status.st_ino, 0, "", 0);
  end(error);
  return done;
}
int fsync(int fd) { REAL(int, fsync, int); return synced(fd, real); }
int fdatasync(int fd) { REAL(int, fdatasync, int); return synced(fd, real); }

int ftruncate64(int fd, off64_t length) {
  char path[4096];
  REAL(int, ftruncate64, int, off64_t);
  if (path_of(fd, path) == NULL) return real(fd, length);
  begin();
  int done = real(fd, length), error = errno;
  if (done == 0) put(TRUNCATE, path, "", inode_of(fd), length, "", 0);
  end(error);
  return done;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int named(int kind, const char *path, const char *other, int (*act)(const char *, const char *)) {
  if (!below(path) && !below(other)) return act(path, other);
  begin();
  uint64_t inode = inode_at(path);
  int done = act(path, other), error = errno;
  if (done == 0) put(kind, path, other, kind == MAKE_FOLDER ? inode_at(path) : inode, 0, "", 0);
  end(error);
  return done;
}
static int do_rename(const char *a, const char *b) { REAL(int, rename, const char *, const char *); return real(a, b); }
static int do_link(const char *a, const char *b) { REAL(int, link, const char *, const char *); return real(a, b); }
static int do_unlink(const char *a, const char *b) { REAL(int, unlink, const char *); return real(a); }
static int do_remove(const char *a, const char *b) { REAL(int, remove, const char *); return real(a); }
static mode_t folder_mode;
static int do_mkdir(const char *a, const char *b) { REAL(int, mkdir, const char *, mode_t); return real(a, folder_mode); }
int rename(const char *a, const char *b) { return named(RENAME, a, b, do_rename); }
int link(const char *a, const char *b) { return named(LINK, a, b, do_link); }
int unlink(const char *a) { return named(UNLINK, a, "", do_unlink); }
int remove(const char *a) { return named(UNLINK, a, "", do_remove); }
int mkdir(const char *a, mode_t mode) { folder_mode = mode; return named(MAKE_FOLDER, a, "", do_mkdir); }
`

const KINDS = [
  'create',
  'write',
  'truncate',
  'sync',
  'sync-folder',
  'rename',
  'link',
  'unlink',
  'make-folder',
  'mark',
] as const
const ENTRY_BYTES = 32

/** One thing that was done to the disk, or a mark that the test put between them. */
export interface DiskOperation {
  readonly kind: (typeof KINDS)[number]
  /** Whole path; of a mark its text. */
  readonly path: string
  /** The new name, of a rename or a link. */
  readonly other: string
  /** Tells a file from another that had its name before. */
  readonly inode: bigint
  /** Where a write begins, in bytes; the length that a file is cut to. */
  readonly at: number
  readonly bytes: Buffer
}

export interface DiskRecorder {
  /** Of every child that is to be recorded. */
  readonly env: NodeJS.ProcessEnv
  /** Between what was done before now and what is done after. */
  mark(text: string): void
  operations(): readonly DiskOperation[]
}

/** Undefined where there is no C compiler. `folder` is where library and trace go; `root` is what is recorded, a path without links. */
export function recordDisk(
  folder: string,
  root: string,
  { folderSyncMs = 0, name = 'disk' } = {},
): DiskRecorder | undefined {
  const [source, library, trace] = [`${folder}/trace.c`, `${folder}/trace.so`, `${folder}/${name}.trace`]
  writeFileSync(source, SOURCE)
  writeFileSync(trace, '')
  const compiled = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-w', '-o', library, source, '-ldl', '-lpthread'])
  if (compiled.status !== 0) return undefined
  return {
    env: {
      ...process.env,
      LD_PRELOAD: library,
      DISK_TRACE_FILE: trace,
      DISK_TRACE_ROOT: root,
      DISK_TRACE_FOLDER_SYNC_MS: String(folderSyncMs),
      // What the kernel does by itself passes the library by.
      UV_USE_IO_URING: '0',
    },
    mark: (text) => markTrace(trace, text),
    operations: () => parsed(readFileSync(trace)),
  }
}

/** A mark of a recorded child in its own trace. */
export function markOwnTrace(text: string): void {
  markTrace(process.env.DISK_TRACE_FILE ?? '', text)
}

/** One small append to a file is one step, so that it lies between two entries. */
function markTrace(trace: string, text: string): void {
  const path = Buffer.from(text)
  const entry = Buffer.alloc(ENTRY_BYTES)
  entry.writeUInt32LE(KINDS.indexOf('mark') + 1, 0)
  entry.writeUInt32LE(path.length, 4)
  appendFileSync(trace, Buffer.concat([entry, path]))
}

function parsed(trace: Buffer): readonly DiskOperation[] {
  const operations: DiskOperation[] = []
  for (let at = 0; at < trace.length; ) {
    const [kind = 0, pathBytes = 0, otherBytes = 0, dataBytes = 0] = [0, 4, 8, 12].map((field) =>
      trace.readUInt32LE(at + field),
    )
    const inode = trace.readBigUInt64LE(at + 16)
    const place = Number(trace.readBigInt64LE(at + 24))
    const path = at + ENTRY_BYTES
    const other = path + pathBytes
    const data = other + otherBytes
    const name = KINDS[kind - 1]
    if (name === undefined) throw new Error(`the trace is broken at byte ${at}`)
    operations.push({
      kind: name,
      path: trace.toString('utf8', path, other),
      other: trace.toString('utf8', other, data),
      inode,
      at: place,
      bytes: trace.subarray(data, data + dataBytes),
    })
    at = data + dataBytes
  }
  return operations
}
