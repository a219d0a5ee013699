/** @module The JSONL export: one line per event, byte for byte as signed, and a last line that shows that no line is missing. */
import { createHash } from 'node:crypto'
import { type ExportTrailer, type PartHead, trailerInOrder } from '../../schemas/export-trailer.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { ExportFormat } from './format.ts'

/** The three texts of a stored record, with the salt in base64url. */
export interface ExportTexts {
  readonly header: string
  readonly salt: string
  readonly data: string
}

/** One line of an export, with its line feed. Header and data are JCS texts, so that the line equals the serialization of its parsed parts. */
export function exportLine(texts: ExportTexts): string {
  return `${recordText(texts)}\n`
}

/** One line of an export, without its line feed. */
export function recordText({ header, salt, data }: ExportTexts): string {
  return `{"header":${header},"salt":"${salt}","data":${data}}`
}

/** The first line of an export that contains the answer to a query, and so only parts of streams. */
export function exportHead(filter: JsonObject): string {
  return `${JSON.stringify({ filter })}\n`
}

/** The first line of a part of the log: the tree of the leaves before it, which shows that the part continues that tree. */
export function partHead({ from, root, edge }: PartHead): string {
  return `${JSON.stringify({ part: { from, root, edge } })}\n`
}

/** The last line. A file without it was truncated. */
export function exportTrailer(trailer: ExportTrailer): string {
  return `${JSON.stringify({ trailer: trailerInOrder(trailer) })}\n`
}

export interface ExportDigest {
  /** Takes the next bytes of the lines, in chunks of any size. */
  update(bytes: string | Uint8Array): void
  /** `sha256:<hex>` of all bytes so far. Finalizes the digest: call it once. */
  text(): string
}

/** Computes the digest of a trailer while the lines are read or written. */
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
  // Comes first, so that a verifier does not take omitted events for missing ones.
  open: ({ filter, part }) => ({
    head: filter === undefined ? (part === undefined ? '' : partHead(part)) : exportHead(filter),
    event: ({ texts }) => exportLine(texts),
    rest: () => '',
    trailer: exportTrailer,
  }),
}
