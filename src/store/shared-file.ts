/**
 * @module A derived file as a shared copy: split into parts of equal size, each identified by its digest, so that a newer copy adds only the parts that
 * changed. The list of parts, with the position that the file has reached, is sealed with the ledger's keys.
 */

import { createHash } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { parseJson } from '../../schemas/json.ts'
import type { FileGuard } from './derived-file.ts'
import type { Position } from './event-store.ts'
import type { PartReader, PartWriter, SharedCopy, WrittenCopy } from './shared-copies.ts'

/** A multiple of the page size of SQLite. */
const PART_BYTES = 256 * 1024
const PREFIX = 'countersign/shared-copy/v1\n'
const DIGEST_PATTERN = /^[0-9a-f]{64}$/
const OWNER_ONLY = 0o600

/** Sealed description of a copy. */
export interface CopyNote {
  readonly name: string
  /** Position of the last record in the copy. */
  readonly reached: Position
  /** Number of events up to that position. */
  readonly events: number
  readonly bytes: number
  readonly parts: readonly string[]
}

/** Stores the parts of the file, and returns the sealed list of them. */
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

/** Returns the description of the copy if its seal is valid under this ledger's keys and it has this name. */
export function noteOf({ text, seal }: SharedCopy, name: string, guard: FileGuard): CopyNote | undefined {
  if (!guard.holds(PREFIX + text, seal)) return undefined
  const note = parseJson<CopyNote>(text)
  return note.name === name && note.parts.every((part) => DIGEST_PATTERN.test(part)) ? note : undefined
}

/** Writes the complete copy to `path` and fsyncs it; writes nothing and returns false if a part is missing or has another digest. */
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
