/** @module What a witness files against a log: two of its own notes that contradict each other, in one file that anybody can check. */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { toBase64 } from '../merkle/base64.ts'
import type { Evidence } from '../merkle/witness.ts'
import { linkNewFile } from '../signing/durable-file.ts'

/** One pair proves the misdeed. A log that signs many more must not fill the disk of its witness. */
const FILES_PER_LOG_MAX = 4
/** Two notes of requests that are at most 64 KiB each, escaped as JSON, and a proof. */
const FILE_MAX_BYTES = 512 * 1024
const NAME_HEX = 16

/** Path of the file that was added; undefined where it is there already, or enough is known of this log. */
export function fileEvidence(folder: string, evidence: Evidence): string | undefined {
  const { origin, kind, notes, proof } = evidence
  const prefix = `evidence-${shortDigest(origin)}-`
  const known = readdirSync(folder).filter((name) => name.startsWith(prefix) && name.endsWith('.json'))
  if (known.length >= FILES_PER_LOG_MAX) return undefined
  const text = `${JSON.stringify({ v: 1, origin, kind, notes, proof: proof.map(toBase64) }, null, 2)}\n`
  if (Buffer.byteLength(text) > FILE_MAX_BYTES) return undefined
  const path = join(folder, `${prefix}${shortDigest(text)}.json`)
  return linkNewFile(path, text) ? path : undefined
}

function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, NAME_HEX)
}
