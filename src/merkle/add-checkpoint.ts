/** @module The request of a log to a witness: old size, consistency proof from that size, checkpoint (C2SP tlog-witness). */
import { toBase64 } from './base64.ts'
import { parseNote } from './signed-note.ts'
import { parseDecimal, parseHashes } from './text-parts.ts'

const PROOF_LINES_MAX = 63
/** Media type of the size in a witness's answer to a stale request. */
export const SIZE_TYPE = 'text/x.tlog.size'

export interface AddCheckpoint {
  /** Size of the checkpoint that the witness cosigned last; 0 for none. */
  readonly oldSize: number
  readonly proof: readonly Uint8Array[]
  /** The signed note, verbatim. */
  readonly checkpoint: string
}

export function formatAddCheckpoint({ oldSize, proof, checkpoint }: AddCheckpoint): string {
  return [`old ${oldSize}`, ...proof.map(toBase64), '', checkpoint].join('\n')
}

/** Parses a request; undefined unless the text is its one canonical spelling. */
export function parseAddCheckpoint(text: string): AddCheckpoint | undefined {
  const border = text.indexOf('\n\n')
  const checkpoint = text.slice(border + 2)
  const [first = '', ...lines] = text.slice(0, Math.max(border, 0)).split('\n')
  const oldSize = first.startsWith('old ') ? parseDecimal(first.slice('old '.length)) : undefined
  const proof = parseHashes(lines)
  if (oldSize === undefined || proof === undefined || proof.length > PROOF_LINES_MAX) return undefined
  return parseNote(checkpoint) === undefined ? undefined : { oldSize, proof, checkpoint }
}

/** The body of a 409 answer: the size that the witness knows. */
export function formatSize(size: number): string {
  return `${size}\n`
}

export function parseSize(text: string): number | undefined {
  return text.endsWith('\n') ? parseDecimal(text.slice(0, -1)) : undefined
}
