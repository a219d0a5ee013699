/** @module The JSONL export: one line an event, byte for byte what was signed, and a last line that proves that none is missing. */
import { createHash } from 'node:crypto'
import type { Position } from '../store/event-store.ts'

/** Version of the trailer. */
export const EXPORT_VERSION = 1

/** The three texts of a stored record, the salt in base64url. */
export interface ExportTexts {
  readonly header: string
  readonly salt: string
  readonly data: string
}

export interface ExportTrailer {
  readonly v: typeof EXPORT_VERSION
  readonly ledgerId: string
  readonly tenant: string
  /** Null where the export holds the whole tenant. */
  readonly run: string | null
  readonly events: number
  /** `sha256:<hex>` over all bytes of the lines before, their line feeds included. */
  readonly digest: string
  /** Position of the last event that the export takes into account; null where the store was empty. */
  readonly asOf: Position | null
}

/** One line with its line feed. Header and data are JCS texts, so that the line is the one its parsed parts would make again. */
export function exportLine({ header, salt, data }: ExportTexts): string {
  return `{"header":${header},"salt":"${salt}","data":${data}}\n`
}

/** The last line. A file without it was cut. */
export function exportTrailer(trailer: ExportTrailer): string {
  const { v, ledgerId, tenant, run, events, digest, asOf } = trailer
  return `${JSON.stringify({ trailer: { v, ledgerId, tenant, run, events, digest, asOf } })}\n`
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
