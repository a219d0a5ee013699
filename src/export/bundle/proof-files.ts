/** @module Proof files of the events of one bundle, from the tiles of its log. Proofs of one tree share most of their hashes, so each hash is computed once. */
import type { SealedPin } from '../../ledger/ledger.ts'
import { proveInclusion } from '../../merkle/inclusion.ts'
import { type HashReader, rangeRoot } from '../../merkle/subtrees.ts'
import { tileHashReader } from '../../merkle/tile-hashes.ts'
import { formatTlogProof } from '../../merkle/tlog-proof.ts'
import { digestText } from '../../signing/digests.ts'
import type { LogStore } from '../../store/log-store.ts'
import { ChangedContentError } from './bundle-file.ts'

export type ProofFile = (eventId: string) => string

/**
 * Proofs against the checkpoint of the pin. Throws `ChangedContentError` if the tiles are not those of the signed tree, and `RangeError` if tiles, or an
 * event's leaf, are missing.
 */
export function proofFiles(
  leaves: Pick<LogStore, 'leafOf' | 'tile'>,
  tenant: string,
  { tree: { size, root }, note }: Pick<SealedPin, 'tree' | 'note'>,
): ProofFile {
  const read = eachOnce(tileHashReader((level, index) => leaves.tile(tenant, level, index)))
  if (digestText(rangeRoot({ begin: 0, end: size }, read)) !== root) throw new ChangedContentError('checkpoint')
  return (eventId) => {
    const index = leaves.leafOf(tenant, eventId)?.index
    if (index === undefined || index >= size)
      throw new RangeError(
        `by log.db the checkpoint does not cover ${eventId}: run "countersign rebuild", and try again`,
      )
    return formatTlogProof({ index, hashes: proveInclusion(index, size, read), checkpoint: note })
  }
}

function eachOnce(read: HashReader): HashReader {
  const known = new Map<string, Uint8Array>()
  return (node) => {
    const name = `${node.level}/${node.index}`
    const hash = known.get(name) ?? read(node)
    known.set(name, hash)
    return hash
  }
}
