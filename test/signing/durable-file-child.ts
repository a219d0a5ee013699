/**
 * @module Child of `durable-file.test.ts`, on a disk whose n-th sync fails. Argument: a folder. Prints, for each n, what became of a
 * file that was to be replaced, what a watcher of a key file that was put in place did, and how many syncs a deep new folder took.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { watchKeyFile } from '../../src/settings/key-source.ts'
import { linkNewFile, makeFolder, replaceFile } from '../../src/signing/durable-file.ts'
import { createLedgerKeys, writeNewKeyFile } from '../../src/signing/key-file.ts'
import { rotateKeyRing } from '../../src/signing/key-ring.ts'
import { formatLedgerKeys } from '../../src/signing/ledger-keys.ts'
import { armDisk, seenOperations } from '../support/disk-fault.ts'

export interface DurableFileReport {
  /** By the sync that failed, from the first on: whether the call threw, and what the file held then. */
  readonly replaced: readonly { readonly threw: boolean; readonly text: string }[]
  readonly made: readonly { readonly threw: boolean; readonly text: string | null }[]
  readonly folderSyncs: number
  readonly watcher: { readonly whileFailing: number; readonly errors: number; readonly afterwards: number }
}

const NOW = '2026-01-01T00:00:00.000Z'
const FAULTS = [1, 2, 3]

function failing<T>(nth: number, times: number, work: () => T): { readonly threw: boolean; readonly value?: T } {
  armDisk({ op: 'sync', error: 'EIO', nth, times })
  try {
    return { threw: false, value: work() }
  } catch {
    return { threw: true }
  } finally {
    armDisk({ op: 'sync', error: 'EIO', nth: 0 })
  }
}

function replaced(folder: string, nth: number): DurableFileReport['replaced'][number] {
  const path = join(folder, `replaced-${nth}`)
  writeFileSync(path, 'old')
  const { threw } = failing(nth, 1, () => replaceFile(path, 'new'))
  return { threw, text: readFileSync(path, 'utf8') }
}

function made(folder: string, nth: number): DurableFileReport['made'][number] {
  const path = join(folder, `made-${nth}`)
  const { threw } = failing(nth, 1, () => linkNewFile(path, 'new'))
  try {
    return { threw, text: readFileSync(path, 'utf8') }
  } catch {
    return { threw, text: null }
  }
}

function folderSyncs(folder: string): number {
  armDisk({ op: 'sync', error: 'EIO', nth: 0 })
  makeFolder(join(folder, 'one', 'two', 'three'))
  return seenOperations()
}

function watcher(folder: string): DurableFileReport['watcher'] {
  const path = join(folder, 'keys.json')
  const keys = createLedgerKeys(NOW, randomBytes)
  writeNewKeyFile(path, keys)
  const errors: unknown[] = []
  using watched = watchKeyFile({
    place: { kind: 'file', path },
    keys,
    pollMs: 2 ** 30,
    onError: (error) => errors.push(error),
  })
  const rotated = { ...keys, ring: rotateKeyRing(keys.ring, NOW, randomBytes) }
  writeFileSync(`${path}.new`, formatLedgerKeys(rotated), { mode: 0o600 })
  renameSync(`${path}.new`, path)
  const looked = failing(1, 1_000, () => [watched.current(), watched.current(), watched.current()])
  const whileFailing = looked.value?.at(-1)?.ring.keys.length ?? 0
  return { whileFailing, errors: errors.length, afterwards: watched.current().ring.keys.length }
}

const parent = process.argv[2] ?? ''
// The faulty disk looks at paths of this name only.
const folder = join(parent, 'all.sqlite')
mkdirSync(folder)
const report: DurableFileReport = {
  replaced: FAULTS.map((nth) => replaced(folder, nth)),
  made: FAULTS.map((nth) => made(folder, nth)),
  folderSyncs: folderSyncs(folder),
  watcher: watcher(folder),
}
process.stdout.write(`${JSON.stringify(report)}\n`)
