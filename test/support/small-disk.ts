/** @module A file system of a fixed size or of no writing at all, for a test that may mount one. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { type TempFolder, tempFolder } from './temp-folder.ts'

export interface SmallDisk extends Disposable {
  readonly path: string
  /** Takes room that `free` gives back. */
  fill(bytes: number): void
  free(): void
  makeReadOnly(): void
}

/** Undefined where this user may not mount. */
export function smallDisk(sizeMiB: number): SmallDisk | undefined {
  const folder: TempFolder = tempFolder()
  const path = folder.file('disk')
  mkdirSync(path)
  if (!mount(['-t', 'tmpfs', '-o', `size=${sizeMiB}m`, 'tmpfs', path])) {
    folder[Symbol.dispose]()
    return undefined
  }
  const ballast = `${path}/ballast`
  return {
    path,
    fill: (bytes) => writeFileSync(ballast, Buffer.alloc(bytes)),
    free: () => rmSync(ballast, { force: true }),
    makeReadOnly: () => {
      if (!mount(['-o', 'remount,ro', path])) throw new Error('the disk cannot be made read-only')
    },
    [Symbol.dispose]: () => {
      spawnSync('umount', ['-l', path])
      folder[Symbol.dispose]()
    },
  }
}

function mount(args: readonly string[]): boolean {
  return spawnSync('mount', [...args]).status === 0
}
