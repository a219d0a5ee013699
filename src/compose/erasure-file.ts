/** @module `store.db.erasures`: the list of erasures next to the store. Keep copies of it on another machine (LIFE-13). */
import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { logFileGuard } from '../ledger/identity/file-guard.ts'
import type { KeySource } from '../ledger/ports.ts'
import {
  type ErasureList,
  erasureLine,
  type Listed,
  type ListedErasure,
  type NotedKeyFile,
  parseErasures,
} from '../ledger/subjects/erasure-list.ts'
import { syncPlaced } from '../signing/durable-file.ts'

const OWNER_ONLY = 0o600

interface ErasureFileOptions {
  /** Path next to the store. */
  readonly path: string
  /** Path of a copy that was passed to this start. */
  readonly given: string | undefined
  readonly keys: KeySource
}

/** The list cannot be read, is damaged, or was sealed with other keys; `message` says how to fix it. An unreadable list is never treated as an empty one. */
export class ErasureListError extends Error {
  override readonly name = 'ErasureListError'
  readonly code = 'erasures-unreadable'
}

/** Opens the list and merges the copy that was passed to this start. Throws `ErasureListError`. */
export function openErasureFile({ path, given, keys }: ErasureFileOptions): ErasureList {
  const guard = logFileGuard(keys)
  const own = existsSync(path) ? readList(path, guard) : NOTHING
  const other = given === undefined ? NOTHING : readList(given, guard)
  const known = new Set(own.erasures.map(nameOf))
  const append = (line: string): void => appendLine(path, line)
  return {
    isGiven: given !== undefined,
    listed: {
      erasures: [...own.erasures, ...other.erasures.filter((each) => !known.has(nameOf(each)))],
      keyFiles: [...own.keyFiles, ...other.keyFiles],
    },
    add(erased: ListedErasure): void {
      if (known.has(nameOf(erased))) return
      append(erasureLine({ erased }, guard))
      known.add(nameOf(erased))
    },
    noteKeys: (keyFile: NotedKeyFile) => append(erasureLine({ keyFile }, guard)),
  }
}

const NOTHING: Listed = { erasures: [], keyFiles: [] }

const nameOf = ({ tenant, request, keyIds }: ListedErasure): string => [tenant, request, ...keyIds].join('\n')

function readList(path: string, guard: Parameters<typeof parseErasures>[1]): Listed {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw new ErasureListError(`the list of erasures ${path} cannot be read (${reason}): name the file with --erasures`)
  }
  const parsed = parseErasures(text, guard)
  if (parsed.ok) return parsed.listed
  throw new ErasureListError(
    `the list of erasures ${path} is damaged or of other keys (line ${parsed.line}): put a copy in its place that you keep on another machine; only if there is none, move it away, and repeat the erasures from your own list of requests`,
  )
}

/** Writes after the last complete line: a crash may have left a partial line. */
function appendLine(path: string, line: string): void {
  const isNew = !existsSync(path)
  const before = isNew ? Buffer.alloc(0) : readFileSync(path)
  const end = before.lastIndexOf(0x0a) + 1
  const file = openSync(path, isNew ? 'wx' : 'r+', OWNER_ONLY)
  try {
    ftruncateSync(file, end)
    const bytes = Buffer.from(line)
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at, end + at)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  if (isNew) syncPlaced(path)
}
