/** @module The JSONL export: one line an event, byte for byte what was signed, and a last line that proves that none is missing. */
import { createHash } from 'node:crypto'
import { type ExportTrailer, type PartHead, trailerInOrder } from '../../schemas/export-trailer.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ExportFormat } from './format.ts'

/** The three texts of a stored record, the salt in base64url. */
export interface ExportTexts {
  readonly header: string
  readonly salt: string
  readonly data: string
}

/** One line with its line feed. Header and data are JCS texts, so that the line is the one its parsed parts would make again. */
export function exportLine(texts: ExportTexts): string {
  return `${recordText(texts)}\n`
}

/** The same without its line feed. */
export function recordText({ header, salt, data }: ExportTexts): string {
  return `{"header":${header},"salt":"${salt}","data":${data}}`
}

/** The first line of an export that holds the answer to a query, and so parts of streams. */
export function exportHead(filter: JsonObject): string {
  return `${JSON.stringify({ filter })}\n`
}

/** The first line of a part of the log: the tree of the leaves before, so that what follows is seen to go on from it. */
export function partHead({ from, root, edge }: PartHead): string {
  return `${JSON.stringify({ part: { from, root, edge } })}\n`
}

/** The last line. A file without it was cut. */
export function exportTrailer(trailer: ExportTrailer): string {
  return `${JSON.stringify({ trailer: trailerInOrder(trailer) })}\n`
}

export interface ExportDigest {
  /** Takes the next bytes of the lines, in any portions. */
  update(bytes: string | Uint8Array): void
  /** `sha256:<hex>` of all bytes taken. Ends the digest: call it once. */
  text(): string
}

/** The digest of a trailer, built while the lines go by. */
export function exportDigest(): ExportDigest {
  const hash = createHash('sha256')
  return {
    update: (bytes) => {
      hash.update(bytes)
    },
    text: () => `sha256:${hash.digest('hex')}`,
  }
}

export const jsonl: ExportFormat = {
  contentType: 'application/x-ndjson',
  extension: 'jsonl',
  isByEvent: true,
  // Said first, so that whoever verifies does not take what was left out for missing.
  open: ({ filter, part }) => ({
    head: filter === undefined ? (part === undefined ? '' : partHead(part)) : exportHead(filter),
    event: ({ texts }) => exportLine(texts),
    rest: () => '',
    trailer: exportTrailer,
  }),
}
