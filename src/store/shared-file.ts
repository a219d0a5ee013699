/**
 * @module A derived file as a shared copy: cut into parts of one size, each known by its digest, so that a newer copy adds only what changed.
 * The list of parts, with the position that the file has reached, lies under a seal that nobody makes without the ledger's keys.
 */

import { createHash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { parseJson } from '../../schemas/json.ts'
import type { FileGuard } from './derived-file.ts'
import type { Position } from './event-store.ts'
import type { PartReader, PartWriter, SharedCopy, WrittenCopy } from './shared-copies.ts'

/** A whole number of SQLite's pages. */
const PART_BYTES = 256 * 1024
const PREFIX = 'countersign/shared-copy/v1\n'
const DIGEST_PATTERN = /^[0-9a-f]{64}$/
const OWNER_ONLY = 0o600

/** What a copy says of itself. */
export interface CopyNote {
  readonly name: string
  /** The last record in it. */
  readonly reached: Position
  /** Events up to there. */
  readonly events: number
  readonly bytes: number
  readonly parts: readonly string[]
}

/** Puts the file's parts, and returns the sealed list of them. */
export async function putFile(
  path: string,
  { guard, ...note }: Pick<CopyNote, 'name' | 'reached' | 'events'> & { readonly guard: FileGuard },
  put: PartWriter,
): Promise<WrittenCopy> {
  const file = await open(path, 'r')
  try {
    const parts: string[] = []
    let bytes = 0
    for (;;) {
      const part = await readPart(file, bytes)
      if (part.length === 0) break
      const digest = digestOf(part)
      await put(digest, part)
      parts.push(digest)
      bytes += part.length
    }
    const text = JSON.stringify({ ...note, bytes, parts })
    return { text, seal: guard.seal(PREFIX + text), parts }
  } finally {
    await file.close()
  }
}

/** What the copy says, where this ledger's keys vouch for it under this name. */
export function noteOf({ text, seal }: SharedCopy, name: string, guard: FileGuard): CopyNote | undefined {
  if (!guard.holds(PREFIX + text, seal)) return undefined
  const note = parseJson<CopyNote>(text)
  return note.name === name && note.parts.every((part) => DIGEST_PATTERN.test(part)) ? note : undefined
}

/** Puts the copy at `path`, whole and synced; false, and nothing, where a part is missing or is another. */
export async function takeFile(note: CopyNote, path: string, part: PartReader): Promise<boolean> {
  const partial = `${path}.fetched`
  try {
    if (!(await writeParts(note, partial, part))) return false
    await rename(partial, path)
    return true
  } finally {
    await rm(partial, { force: true })
  }
}

async function writeParts({ parts, bytes }: CopyNote, path: string, part: PartReader): Promise<boolean> {
  const file = await open(path, 'w', OWNER_ONLY)
  try {
    let written = 0
    for (const digest of parts) {
      const found = await part(digest)
      if (found === undefined || found.length > PART_BYTES || digestOf(found) !== digest) return false
      await file.writeFile(found)
      written += found.length
    }
    await file.sync()
    return written === bytes
  } finally {
    await file.close()
  }
}

async function readPart(file: Awaited<ReturnType<typeof open>>, from: number): Promise<Uint8Array> {
  const buffer = Buffer.alloc(PART_BYTES)
  let filled = 0
  while (filled < PART_BYTES) {
    const { bytesRead } = await file.read(buffer, filled, PART_BYTES - filled, from + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
