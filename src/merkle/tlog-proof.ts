/** @module Proof files: a leaf's index, its inclusion proof and the checkpoint that the proof leads to, in one text (C2SP tlog-proof). */
import { fromBase64, toBase64 } from './base64.ts'
import { parseNote } from './signed-note.ts'
import { parseDecimal, parseHashes } from './text-parts.ts'

const FIRST_LINE = 'c2sp.org/tlog-proof@v1'
/** No path in a tree of up to 2**63 leaves is longer. */
const HASHES_MAX = 63

export interface TlogProof {
  /** Opaque and not authenticated. */
  readonly extra?: Uint8Array
  readonly index: number
  readonly hashes: readonly Uint8Array[]
  /** The signed note, verbatim. */
  readonly checkpoint: string
}

export function formatTlogProof({ extra, index, hashes, checkpoint }: TlogProof): string {
  const lines = [
    FIRST_LINE,
    ...(extra === undefined ? [] : [`extra ${toBase64(extra)}`]),
    `index ${index}`,
    ...hashes.map(toBase64),
    '',
    checkpoint,
  ]
  return lines.join('\n')
}

/** Parses a proof; undefined unless it is in its one canonical spelling. The checkpoint is only checked to be a note: the caller checks its signatures. */
export function parseTlogProof(text: string): TlogProof | undefined {
  const border = text.indexOf('\n\n')
  const checkpoint = text.slice(border + 2)
  const [first, ...lines] = text.slice(0, Math.max(border, 0)).split('\n')
  if (first !== FIRST_LINE || parseNote(checkpoint) === undefined) return undefined

  const extraText = lines[0]?.startsWith('extra ') ? lines.shift()?.slice('extra '.length) : undefined
  const extra = extraText === undefined ? undefined : fromBase64(extraText)
  const indexLine = lines.shift() ?? ''
  const index = indexLine.startsWith('index ') ? parseDecimal(indexLine.slice('index '.length)) : undefined
  const hashes = parseHashes(lines)
  if (index === undefined || hashes === undefined || hashes.length > HASHES_MAX) return undefined
  if (extraText !== undefined && extra === undefined) return undefined
  return { ...(extra !== undefined && { extra }), index, hashes, checkpoint }
}
