/**
 * @module The tree of streams next to a log's tree of events: the number of events of each stream up to a checkpoint, and a digest over them. Its root is an
 * extension line of the checkpoint, so that "this stream has exactly these n events" is proved by one path of logarithmic length.
 *
 * Keys are SHA-256 of a stream's name, read bit by bit from the most significant one. The hash of no stream is 32 zero bytes; of one stream, the hash of its
 * head; of several, the hash of the two halves by the next bit. So each set of heads has exactly one root, whatever the order of insertion.
 */
import { toBase64 } from './base64.ts'
import { HASH_BYTES, sameHash, sha256 } from './hashes.ts'
import { parseHash } from './text-parts.ts'

/** The state of one stream in a log up to some size. */
export interface StreamHead {
  /** 32 bytes: `streamKey` of the name. */
  readonly key: Uint8Array
  readonly events: number
  /** 32 bytes: `grownDigest` over the leaves, in order. */
  readonly digest: Uint8Array
}

/** Different from the prefixes of RFC 6962, so that no hash of one tree is valid in the other. */
const HEAD_PREFIX = 0x10
const NODE_PREFIX = 0x11
const DIGEST_PREFIX = 0x12
const COUNT_BYTES = 8
const KEY_BITS = 8 * HASH_BYTES
const LINE_NAME = 'streams/v1'

/** Reused inputs of a hash: two hashes after a prefix, and a head with its count between them. */
const pair = Buffer.alloc(1 + 2 * HASH_BYTES)
const counted = Buffer.alloc(1 + 2 * HASH_BYTES + COUNT_BYTES)

/** Digest of a stream without events. */
export const NO_EVENTS: Uint8Array = new Uint8Array(HASH_BYTES)
/** Root of the tree without streams. */
const NO_STREAMS: Uint8Array = new Uint8Array(HASH_BYTES)

export function streamKey(stream: string): Uint8Array {
  return sha256(stream)
}

/** The digest of a stream after one more leaf. */
export function grownDigest(digest: Uint8Array, leaf: Uint8Array): Uint8Array {
  return pairHash(DIGEST_PREFIX, digest, leaf)
}

function headHash({ key, events, digest }: StreamHead): Uint8Array {
  if (!isComplete({ key, digest })) throw new RangeError('a key and a digest have 32 bytes each')
  counted[0] = HEAD_PREFIX
  counted.set(key, 1)
  counted.writeBigUInt64BE(BigInt(events), 1 + HASH_BYTES)
  counted.set(digest, 1 + HASH_BYTES + COUNT_BYTES)
  return sha256(counted)
}

/** Throws `RangeError` unless both sides have 32 bytes: otherwise bytes of an earlier hash would remain in the reused buffer. */
function pairHash(prefix: number, left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES) throw new RangeError('a hash has 32 bytes')
  pair[0] = prefix
  pair.set(left, 1)
  pair.set(right, 1 + HASH_BYTES)
  return sha256(pair)
}

function isComplete({ key, digest }: Pick<StreamHead, 'key' | 'digest'>): boolean {
  return key.length === HASH_BYTES && digest.length === HASH_BYTES
}

/** A part of the tree: whether it has no stream, one or several, and its hash. */
export interface Subtree {
  readonly streams: 'none' | 'one' | 'several'
  readonly hash: Uint8Array
}

export const EMPTY_SUBTREE: Subtree = { streams: 'none', hash: NO_STREAMS }

/** Joins two halves; a stream that is the only one is its own parent on all levels above. */
export function joined(left: Subtree, right: Subtree): Subtree {
  if (left.streams === 'none' && right.streams !== 'several') return right
  if (right.streams === 'none' && left.streams !== 'several') return left
  return { streams: 'several', hash: pairHash(NODE_PREFIX, left.hash, right.hash) }
}

/** The subtree of streams whose keys agree in their first `depth` bits. */
export function subtreeOf(heads: readonly StreamHead[], depth: number): Subtree {
  const [first] = heads
  if (first === undefined) return EMPTY_SUBTREE
  if (heads.length === 1) return { streams: 'one', hash: headHash(first) }
  const [left, right] = halves(heads, depth)
  return joined(subtreeOf(left, depth + 1), subtreeOf(right, depth + 1))
}

function halves(heads: readonly StreamHead[], depth: number): readonly [readonly StreamHead[], readonly StreamHead[]] {
  if (depth >= KEY_BITS) throw new RangeError('two heads of one stream')
  const right = heads.filter(({ key }) => bitOf(key, depth) === 1)
  return [right.length === 0 ? heads : heads.filter(({ key }) => bitOf(key, depth) === 0), right]
}

/** Sibling hashes on the path from a stream up to level `depth`, the lowest first. Throws `RangeError` if the stream is not among the heads. */
export function pathWithin(heads: readonly StreamHead[], key: Uint8Array, depth: number): readonly Uint8Array[] {
  if (heads.length <= 1) {
    if (heads[0] === undefined || !sameHash(heads[0].key, key)) throw new RangeError('there is no such stream')
    return []
  }
  const [left, right] = halves(heads, depth)
  const [own, other] = bitOf(key, depth) === 0 ? [left, right] : [right, left]
  return [...pathWithin(own, key, depth + 1), subtreeOf(other, depth + 1).hash]
}

export interface StreamPath {
  /** The head whose place in the tree is proved. */
  readonly head: StreamHead
  /** The lowest first. */
  readonly path: readonly Uint8Array[]
  readonly root: Uint8Array
}

/** Whether the tree of that root contains this head, and so no other head for its stream. */
export function provesHead({ head, path, root }: StreamPath): boolean {
  if (!isComplete(head) || path.length > KEY_BITS || path.some(({ length }) => length !== HASH_BYTES)) return false
  const made = path.reduce((own, sibling, at) => {
    const isRight = bitOf(head.key, path.length - 1 - at) === 1
    return isRight ? pairHash(NODE_PREFIX, sibling, own) : pairHash(NODE_PREFIX, own, sibling)
  }, headHash(head))
  return sameHash(made, root)
}

export function bitOf(key: Uint8Array, at: number): 0 | 1 {
  return (((key[at >> 3] ?? 0) >> (7 - (at & 7))) & 1) === 1 ? 1 : 0
}

/** The extension line of a checkpoint with the root. */
export function streamsLine(root: Uint8Array): string {
  return `${LINE_NAME} ${toBase64(root)}`
}

/** The root in a checkpoint's extension lines; undefined unless exactly one line names a valid one. */
export function streamsRoot(extensions: readonly string[]): Uint8Array | undefined {
  const lines = extensions.filter((line) => line.startsWith(`${LINE_NAME} `))
  return lines.length === 1 ? parseHash(lines[0]?.slice(LINE_NAME.length + 1) ?? '') : undefined
}
