/** @module Hashes: SHA-256, the one base64 of bytes, and the tree of a log (RFC 6962 section 2.1). */
import * as crypto from 'node:crypto'

export const sha256 = (...parts: readonly (string | Uint8Array)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), crypto.createHash('sha256')).digest()
export const hexDigest = (hash: Buffer): string => `sha256:${hash.toString('hex')}`
export const HASH_BYTES = 32
/** Strict: one text for the same bytes, and no other. Undefined for any other text. */
export const base64 = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

export const leafHash = (entry: string): Buffer => sha256(Buffer.of(0), entry)
const nodeHash = (left: Uint8Array, right: Uint8Array): Buffer => sha256(Buffer.of(1), left, right)

/** The size of a tree, and its root. */
export interface TreeHead {
  readonly size: number
  readonly root: Buffer
}

/** Keeps the roots of the perfect subtrees so far, widest first; where two are of one width, they are joined. */
export function createTree() {
  const subtrees: Buffer[] = []
  const tree = {
    size: 0,
    add: (leaf: Buffer): void => {
      let hash = leaf
      for (let index = tree.size; index % 2 === 1; index = (index - 1) / 2)
        hash = nodeHash(subtrees.pop() as Buffer, hash)
      subtrees.push(hash)
      tree.size += 1
    },
    root: (): Buffer => (tree.size === 0 ? sha256() : subtrees.reduceRight((right, left) => nodeHash(left, right))),
  }
  return tree
}

/** Whether the tree of the one begins with that of the other, by a consistency proof (RFC 9162 section 2.1.4.2). */
export function continues(old: TreeHead, now: TreeHead, proof: readonly Buffer[]): boolean {
  if (old.size >= now.size) return old.size === now.size && proof.length === 0 && old.root.equals(now.root)
  let [node, last] = [old.size - 1, now.size - 1]
  for (; node % 2 === 1; node = (node - 1) / 2) last = Math.floor(last / 2)
  // A whole old tree is a node of the new one: the proof does not repeat its root.
  const [first, ...rest] = node === 0 ? [old.root, ...proof] : proof
  if (first === undefined) return false
  let [oldRoot, newRoot] = [first, first]
  for (const sibling of rest) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      oldRoot = nodeHash(sibling, oldRoot)
      newRoot = nodeHash(sibling, newRoot)
      for (; node % 2 === 0 && node !== 0; node /= 2) last = Math.floor(last / 2)
    } else newRoot = nodeHash(newRoot, sibling)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && oldRoot.equals(old.root) && newRoot.equals(now.root)
}

/** What an inclusion proof says. */
interface Inclusion extends TreeHead {
  readonly index: number
  readonly leaf: Buffer
  readonly path: readonly Buffer[]
}

/** RFC 9162 section 2.1.3.2. */
export function includes({ index, size, leaf, path, root }: Inclusion): boolean {
  let [node, last, hash]: [number, number, Buffer] = [index, size - 1, leaf]
  for (const sibling of path) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(sibling, hash)
      for (; node % 2 === 0 && node !== 0; last = Math.floor(last / 2)) node /= 2
    } else hash = nodeHash(hash, sibling)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && hash.equals(root)
}
