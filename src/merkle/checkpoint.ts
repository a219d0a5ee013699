/** @module The body of a checkpoint: origin, size and root of a log, one per line (C2SP tlog-checkpoint). */
import { toBase64 } from './base64.ts'
import { emptyRoot, HASH_BYTES, sameHash } from './hashes.ts'
import { isNoteText } from './signed-note.ts'
import { parseDecimal, parseHash } from './text-parts.ts'

export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  /** Lines after the third. A line of this ledger's logs names the tree of streams (`stream-tree.ts`); other logs may write others. */
  readonly extensions: readonly string[]
}

/** The text to be signed. Throws `TypeError` for values that do not form a valid checkpoint. */
export function formatCheckpoint({
  origin,
  size,
  root,
  extensions = [],
}: Omit<Checkpoint, 'extensions'> & Partial<Checkpoint>): string {
  const text = `${[origin, size, toBase64(root), ...extensions].join('\n')}\n`
  const read = parseCheckpoint(text)
  const isOne = read?.origin === origin && read.extensions.length === extensions.length && root.length === HASH_BYTES
  if (!isOne) throw new TypeError('not a checkpoint')
  return text
}

/** Parses a checkpoint; undefined unless the text is its one canonical spelling. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  if (!isNoteText(text)) return undefined
  const [origin = '', sizeText = '', rootText = '', ...extensions] = text.slice(0, -1).split('\n')
  const size = parseDecimal(sizeText)
  const root = parseHash(rootText)
  if (origin === '' || size === undefined || root === undefined || extensions.includes('')) return undefined
  // There is only one empty tree: with any other root, no proof could show that the checkpoint is false.
  if (size === 0 && !sameHash(root, emptyRoot())) return undefined
  return { origin, size, root, extensions }
}
