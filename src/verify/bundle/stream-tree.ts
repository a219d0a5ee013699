/** @module The tree of streams: SHA-256 of a stream's name is its key, read bit by bit. A part of the tree without streams is 32 zero bytes, one with
 * a single stream the hash of its head, any other the hash of its two halves by the next bit. A head is key, number of events, and the digest
 * over their leaves. */
import type { Header } from '../../../schemas/header.ts'
import type { Checkpoint, SignedHead } from './checkpoint.ts'
import { DATES_UNKNOWN } from './dates.ts'
import { type Bundle, jsonOf, textOf } from './file-text.ts'
import { isCount, isDigest, isTime } from './forms.ts'
import type { SealedEvent } from './gathered.ts'
import { base64, HASH_BYTES, hexDigest, sha256 } from './hashes.ts'
import type { BundlePredicate } from './predicate.ts'
import { place } from './shown-text.ts'
import { type Fail, Stop } from './verdict.ts'

/** What was signed: the manifest, the checkpoint, one that was kept, and one that was time-stamped. */
export interface Signed {
  readonly manifest: BundlePredicate
  readonly checkpoint: Checkpoint
  readonly kept: Checkpoint | undefined
  readonly stamped: SignedHead | undefined
}

/** What takes the events of a bundle, once it is known which they are. */
export interface CheckedLog {
  /** Events that the checkpoint covers. */
  readonly size: number
  /** The place of an event in the log, where the log is here. */
  placeOf(event: SealedEvent, leaf: Buffer, fail: Fail): number | undefined
  /** Behind the last event. */
  end(bundle: Bundle, fail: Fail): void
  /** What is to be said of it, without a verdict. */
  readonly notes: readonly string[]
  /** The latest time that an event of it has. */
  latest(): string
}

/** The last event of a stream so far. */
export interface StreamHead {
  readonly revision: number
  readonly digest?: string
  readonly type?: string | undefined
  readonly time: string
}

/** What the tree of streams says of a stream. */
interface Head {
  readonly key: Buffer
  readonly events: number
  readonly digest: Buffer
}

interface StreamProof {
  readonly events: number
  readonly digest: string
  readonly path: readonly string[]
}

const NOTHING: Buffer = Buffer.alloc(HASH_BYTES)
const grown = (digest: Buffer, leaf: Buffer): Buffer => sha256(Buffer.of(0x12), digest, leaf)
const bitOf = (key: Buffer, at: number): number => ((key[at >> 3] as number) >> (7 - (at & 7))) & 1

function headHash({ key, events, digest }: Head): Buffer {
  const count = Buffer.alloc(8)
  count.writeBigUInt64BE(BigInt(events))
  return sha256(Buffer.of(0x10), key, count, digest)
}

const pairHash = (left: Buffer, right: Buffer): Buffer => sha256(Buffer.of(0x11), left, right)

export function createStreamTree() {
  const heads = new Map<string, Head>()
  const add = (stream: string, leaf: Buffer): void => {
    const head = heads.get(stream) ?? { key: sha256(stream), events: 0, digest: NOTHING }
    heads.set(stream, { key: head.key, events: head.events + 1, digest: grown(head.digest, leaf) })
  }
  const rootOf = (some: readonly Head[], depth: number): Buffer => {
    if (some.length <= 1) return some.length === 0 ? NOTHING : headHash(some[0] as Head)
    const half = (bit: number) => some.filter(({ key }) => bitOf(key, depth) === bit)
    return pairHash(rootOf(half(0), depth + 1), rootOf(half(1), depth + 1))
  }
  return { add, root: () => rootOf([...heads.values()], 0) }
}

const PATH_MAX = 8 * HASH_BYTES

/** Of one run: the checkpoint says how many events it has and what their digest is, and stream.json shows where it says so. */
export function checkStream(bundle: Bundle, { manifest, checkpoint, kept }: Signed, fail: Fail): CheckedLog {
  const stream = `run-${manifest.tenant}.${manifest.query.run}`
  const text = textOf(bundle, 'stream.json')
  const { events, digest, path } = jsonOf<StreamProof>(text, 'stream.json')
  const isForm =
    isCount(events) &&
    isDigest(digest) &&
    Array.isArray(path) &&
    path.length <= PATH_MAX &&
    path.every((hash) => typeof hash === 'string' && base64(hash)?.length === HASH_BYTES)
  if (!isForm || text !== `${JSON.stringify({ events, digest, path })}\n`)
    throw new Stop('TAMPERED', 'stream-form', 'stream.json is not written as a bundle writes it')
  const head = { key: sha256(stream), events, digest: Buffer.from(digest.slice('sha256:'.length), 'hex') }
  const root = (path.map(base64) as Buffer[]).reduce((own, sibling, at) => {
    const isRight = bitOf(head.key, path.length - 1 - at) === 1
    return isRight ? pairHash(sibling, own) : pairHash(own, sibling)
  }, headHash(head))
  if (checkpoint.streams === undefined || !root.equals(checkpoint.streams))
    fail('TAMPERED', 'stream-path', 'the checkpoint does not say that the run has these events, and no more')
  if (kept !== undefined && kept.size !== checkpoint.size) fail('UNVERIFIABLE', 'kept-checkpoint', NO_LOG_HERE)
  return { size: checkpoint.size, notes: [DATES_UNKNOWN], ...eventsOfStream({ stream, head }) }
}

const NO_LOG_HERE =
  'a bundle of one run has no log to hold an earlier checkpoint against: ask for one with the whole log, or hold the two checkpoints against each other with a consistency proof'

/** Takes the events of the run, each continuing the one before, and at last counts and digests them. */
function eventsOfStream({
  stream,
  head,
}: {
  readonly stream: string
  readonly head: Head
}): Omit<CheckedLog, 'size' | 'notes'> {
  const streams = new Map<string, StreamHead>()
  let [count, digest]: [number, Buffer] = [0, NOTHING]
  let latest = ''
  const placeOf: CheckedLog['placeOf'] = ({ header, headerText }, leaf, fail) => {
    if (JSON.stringify(header) !== headerText)
      fail('TAMPERED', 'header-form', `${place(header)} is not written as a header is`)
    if (header.stream !== stream) fail('TAMPERED', 'other-stream', `${place(header)} is none of the run's events`)
    checkChain(header, hexDigest(leaf), streams, fail)
    count += 1
    digest = grown(digest, leaf)
    if (isTime(header.time) && header.time > latest) latest = header.time
    return undefined
  }
  const end: CheckedLog['end'] = (_, fail) => {
    if (count < head.events)
      fail('INCOMPLETE', 'event-missing', `the run has ${head.events} events, ${count} of them are here`)
    else if (count > head.events || !digest.equals(head.digest))
      fail('TAMPERED', 'other-events', 'the events of the run are not those that the checkpoint covers')
  }
  return { placeOf, end, latest: () => latest }
}

export function checkChain(header: Header, digest: string, streams: Map<string, StreamHead>, fail: Fail): void {
  const { stream, revision, prev, type, time } = header
  const last: StreamHead = streams.get(stream) ?? { revision: -1, time: '' }
  if (header.v !== 1)
    fail('UNVERIFIABLE', 'unknown-version', `${place(header)} has a header of a version that is not known here`)
  if (revision !== last.revision + 1 || prev !== last.digest)
    fail('TAMPERED', 'chain', `${place(header)} does not continue the event before it`)
  if (!isTime(time) || time < last.time)
    fail('TAMPERED', 'time-order', `${place(header)} is earlier than the event before it`)
  if (last.type === 'RunKeyDisclosed')
    fail('TAMPERED', 'after-disclosure', `${place(header)} stands after the run's keys were disclosed`)
  streams.set(stream, { revision, digest, type: last.type === 'RunKeyDisclosed' ? last.type : type, time })
}
