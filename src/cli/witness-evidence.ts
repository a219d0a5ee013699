/** @module Files the evidence of a witness against a log: two contradicting notes of that log, in one file that anyone can check. */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { toBase64 } from '../merkle/base64.ts'
import type { Evidence } from '../merkle/witness.ts'
import { linkNewFile } from '../signing/durable-file.ts'

/** Maximum number of files per log: one pair proves the violation, and a log that signs many more must not fill the disk of its witness. */
const FILES_PER_LOG_MAX = 4
/** Maximum size, in bytes: two notes from requests of at most 64 KiB each, escaped as JSON, and a proof. */
const FILE_MAX_BYTES = 512 * 1024
const NAME_HEX = 16

/** Path of the new file; undefined if it exists already, is too large, or there is enough evidence against this log. */
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
