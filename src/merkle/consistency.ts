/** @module Consistency proofs: that a tree begins with all leaves of an earlier one (RFC 6962 section 2.1.2, RFC 9162 section 2.1.4). */
import { emptyRoot, HASH_BYTES, nodeHash, sameHash } from './hashes.ts'
import { type HashReader, type LeafRange, rangeRoot, splitPoint } from './subtrees.ts'

/** The proof from the tree of `from` leaves to that of `to`; empty if `from` is 0, as in C2SP. Throws `RangeError` unless 0 <= from <= to. */
export function proveConsistency(from: number, to: number, read: HashReader): readonly Uint8Array[] {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || from > to) {
    throw new RangeError(`no tree of ${to} leaves continues one of ${from}`)
  }
  if (from === 0) return []
  return subproof(from, { begin: 0, end: to }, true).map((range) => rangeRoot(range, read))
}

/** SUBPROOF(m, D[n], b) of RFC 6962; `known` means that the verifier has this subtree's hash as the old root. */
function subproof(from: number, { begin, end }: LeafRange, known: boolean): readonly LeafRange[] {
  if (from === end - begin) return known ? [] : [{ begin, end }]
  const width = splitPoint(end - begin)
  const middle = begin + width
  if (from <= width) return [...subproof(from, { begin, end: middle }, known), { begin: middle, end }]
  return [...subproof(from - width, { begin: middle, end }, false), { begin, end: middle }]
}

export interface ConsistencyClaim {
  readonly from: number
  readonly fromRoot: Uint8Array
  readonly to: number
  readonly toRoot: Uint8Array
  readonly proof: readonly Uint8Array[]
}

/** Whether the proof shows that the first tree is the beginning of the second. Never throws. */
export function verifyConsistency({ from, fromRoot, to, toRoot, proof }: ConsistencyClaim): boolean {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from < 0 || from > to) return false
  if (![fromRoot, toRoot, ...proof].every((hash) => hash.length === HASH_BYTES)) return false
  if (from === to) return proof.length === 0 && sameHash(fromRoot, toRoot)
  if (from === 0) return proof.length === 0 && sameHash(fromRoot, emptyRoot())

  const roots = rebuiltRoots({ from, fromRoot, to, proof })
  return roots !== undefined && sameHash(roots.old, fromRoot) && sameHash(roots.new, toRoot)
}

/**
 * Whether the proof shows a fork: its nodes yield the second root, but a different root than the first one for the first tree's size. A proof that yields
 * neither root shows nothing, and no fork can be shown from a size that is a power of two. Never throws.
 */
export function showsFork({ from, fromRoot, to, toRoot, proof }: ConsistencyClaim): boolean {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to) || from <= 0 || from >= to) return false
  if (![fromRoot, toRoot, ...proof].every((hash) => hash.length === HASH_BYTES)) return false
  const roots = rebuiltRoots({ from, fromRoot, to, proof })
  return roots !== undefined && sameHash(roots.new, toRoot) && !sameHash(roots.old, fromRoot)
}

interface Roots {
  readonly old: Uint8Array
  readonly new: Uint8Array
}

/** Both roots, computed from the same nodes; undefined if the proof has too few or too many. Requires 0 < from < to. */
function rebuiltRoots({ from, fromRoot, to, proof }: Omit<ConsistencyClaim, 'toRoot'>): Roots | undefined {
  let node = from - 1
  let last = to - 1
  while (node % 2 === 1) {
    node = (node - 1) / 2
    last = Math.floor(last / 2)
  }
  // If the whole old tree is a node of the new one, the proof need not repeat its root.
  const [first, ...rest] = node === 0 ? [fromRoot, ...proof] : proof
  if (first === undefined) return undefined
  let oldRoot = first
  let newRoot = first
  for (const sibling of rest) {
    if (last === 0) return undefined
    if (node % 2 === 1 || node === last) {
      oldRoot = nodeHash(sibling, oldRoot)
      newRoot = nodeHash(sibling, newRoot)
      while (node % 2 === 0 && node !== 0) {
        node /= 2
        last = Math.floor(last / 2)
      }
    } else {
      newRoot = nodeHash(newRoot, sibling)
    }
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 ? { old: oldRoot, new: newRoot } : undefined
}
