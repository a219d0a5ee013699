/**
 * @module A disk that fails on command, for a child process: a shared library, preloaded, lets the n-th sync, write, truncation, open or read
 * of the files of a name fail. The child arms it through a small file that the library maps.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readSync, writeFileSync, writeSync } from 'node:fs'

const SOURCE = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { SYNC = 1, WRITE = 2, TRUNCATE = 4, OPEN = 8, READ = 16 };
struct control { int32_t ops, countdown, times, error, cut_short, seen, sync_ms; char name[64]; };
static volatile struct control *control;

__attribute__((constructor)) static void attach(void) {
  const char *path = getenv("DISK_FAULT_FILE");
  if (path == NULL) return;
  int fd = open(path, O_RDWR);
  if (fd < 0) return;
  void *map = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (map != MAP_FAILED) control = map;
}

static int is_named(const char *path) {
  if (control->name[0] != 0) return strstr(path, (const char *)control->name) != NULL;
  return strstr(path, ".sqlite") != NULL && strstr(path, ".lock") == NULL && strstr(path, ".owner") == NULL;
}

static int of_store(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return is_named(path);
}

static int counted(int op) {
  control->seen++;
  if (control->countdown <= 0) return 0;
  if (control->countdown > 1) { control->countdown--; return 0; }
  if (--control->times <= 0) control->countdown = 0;
  errno = control->error;
  return 1;
}

static int fails(int op, int fd) {
  return control != NULL && (control->ops & op) != 0 && of_store(fd) && counted(op);
}

#define OPENS(name) int name(const char *path, int flags, ...) { \\
  static int (*real)(const char *, int, ...); \\
  va_list list; va_start(list, flags); mode_t mode = va_arg(list, mode_t); va_end(list); \\
  if (!real) real = dlsym(RTLD_NEXT, #name); \\
  if (control != NULL && (control->ops & OPEN) != 0 && is_named(path) && counted(OPEN)) return -1; \\
  return real(path, flags, mode); }
OPENS(open)
OPENS(open64)

ssize_t pread64(int fd, void *bytes, size_t length, off64_t at) {
  static ssize_t (*real)(int, void *, size_t, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "pread64");
  if (!fails(READ, fd)) return real(fd, bytes, length, at);
  return control->cut_short ? real(fd, bytes, (length + 1) / 2, at) : -1;
}
ssize_t pread(int fd, void *bytes, size_t length, off_t at) { return pread64(fd, bytes, length, at); }
ssize_t read(int fd, void *bytes, size_t length) {
  static ssize_t (*real)(int, void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "read");
  if (!fails(READ, fd)) return real(fd, bytes, length);
  return control->cut_short ? real(fd, bytes, (length + 1) / 2) : -1;
}
ssize_t write(int fd, const void *bytes, size_t length) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  if (!fails(WRITE, fd)) return real(fd, bytes, length);
  if (control->cut_short) real(fd, bytes, length / 2);
  errno = control->error;
  return -1;
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fsync");
  if (control != NULL && control->sync_ms > 0 && of_store(fd)) usleep(control->sync_ms * 1000);
  return fails(SYNC, fd) ? -1 : real(fd);
}
int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
  return fails(SYNC, fd) ? -1 : real(fd);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  static ssize_t (*real)(int, const void *, size_t, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
  if (!fails(WRITE, fd)) return real(fd, bytes, length, at);
  if (control->cut_short) real(fd, bytes, length / 2, at);
  errno = control->error;
  return -1;
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }
int ftruncate64(int fd, off64_t length) {
  static int (*real)(int, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "ftruncate64");
  return fails(TRUNCATE, fd) ? -1 : real(fd, length);
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }
`

const FAULT_OPS = { sync: 1, write: 2, truncate: 4, open: 8, read: 16 } as const
const FAULT_ERRORS = { EIO: 5, EMFILE: 24, ENOSPC: 28 } as const
const NAME_AT = 28
const NAME_BYTES = 64

export interface Fault {
  readonly op: keyof typeof FAULT_OPS
  readonly error: keyof typeof FAULT_ERRORS
  /** The n-th operation from now on fails; 0 disarms. */
  readonly nth: number
  /** How many fail in a row. Default 1. */
  readonly times?: number
  /** A failing write leaves half of its bytes; a failing read gives half of them. Default false. */
  readonly cutShort?: boolean
  /** What the paths of these files have in them. Default: `.sqlite`. */
  readonly name?: string
}

/** Compiles the library into `folder`. Undefined where there is no C compiler. */
export function buildFaultyDisk(folder: string): NodeJS.ProcessEnv | undefined {
  const [source, library, control] = ['fault.c', 'fault.so', 'fault.control'].map((name) => `${folder}/${name}`)
  if (source === undefined || library === undefined || control === undefined) return undefined
  writeFileSync(source, SOURCE)
  writeFileSync(control, Buffer.alloc(NAME_AT + NAME_BYTES))
  const compiled = spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-w', '-o', library, source, '-ldl'])
  if (compiled.status !== 0) return undefined
  return { ...process.env, LD_PRELOAD: library, DISK_FAULT_FILE: control }
}

/** In the child: arms the disk it runs on. */
export function armDisk({ op, error, nth, times = 1, cutShort = false, name = '' }: Fault): void {
  const named = Buffer.alloc(NAME_BYTES)
  named.write(name)
  const fields = Int32Array.of(FAULT_OPS[op], nth, times, FAULT_ERRORS[error], cutShort ? 1 : 0, 0)
  withControl((fd) => {
    writeSync(fd, named, 0, NAME_BYTES, NAME_AT)
    writeSync(fd, new Uint8Array(fields.buffer), 0, 24, 0)
  })
}

/** From now on each sync of a store's file takes this long. */
export function slowDisk(syncMs: number): void {
  withControl((fd) => writeSync(fd, new Uint8Array(Int32Array.of(syncMs).buffer), 0, 4, 24))
}

/** Operations of the armed kind since it was armed: proof that the library looks at the right files. */
export function seenOperations(): number {
  const seen = new Int32Array(1)
  withControl((fd) => readSync(fd, new Uint8Array(seen.buffer), 0, 4, 20))
  return seen[0] ?? 0
}

/** The operation that was to fail has failed, as often as it was to. */
export function hasStruck(): boolean {
  const countdown = new Int32Array(1)
  withControl((fd) => readSync(fd, new Uint8Array(countdown.buffer), 0, 4, 4))
  return countdown[0] === 0
}

function withControl(use: (fd: number) => void): void {
  const fd = openSync(process.env.DISK_FAULT_FILE ?? '', 'r+')
  try {
    use(fd)
  } finally {
    closeSync(fd)
  }
}
