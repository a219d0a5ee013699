/**
 * @module Comparison of recorded checkpoints with the events before them: the note must be signed by the log, and its root must be that of exactly those
 * events. This detects a history that was rewritten with the sealing keys alone.
 */

import { CheckpointSigned } from '../../schemas/events/checkpoint-signed.ts'
import { CheckpointTimestamped } from '../../schemas/events/checkpoint-timestamped.ts'
import type { Header } from '../../schemas/header.ts'
import { parseJson } from '../../schemas/json.ts'
import { ledgerStream } from '../../schemas/names.ts'
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from '../merkle/checkpoint.ts'
import { CompactTree } from '../merkle/compact-tree.ts'
import { HASH_BYTES, leafHash, sameHash } from '../merkle/hashes.ts'
import { type NoteVerifier, noteVerifier } from '../merkle/note-key.ts'
import { openNote, parseNote } from '../merkle/signed-note.ts'
import { streamsRoot } from '../merkle/stream-tree.ts'
import { StreamTreeBuilder } from '../merkle/stream-tree-builder.ts'
import { digestBytes, digestText } from '../signing/digests.ts'
import { isValueStream, logTenant } from '../signing/stream-tenant.ts'
import type { AcknowledgedLosses } from './acknowledged-losses.ts'
import type { SoundRows } from './source-item.ts'

/** Number of leaves of all logs that may wait for a checkpoint that covers them: 32 bytes each. */
const WAITING_MAX = 4 * 1024 * 1024
/** Number of streams in the tree of one log: about 400 bytes each. */
const STREAMS_MAX = 1024 * 1024
const FIRST_CAPACITY = 256
/** Number of recent checkpoints per log that a later event may repeat. */
const REPEATED_MAX = 64

export interface RecordedCheckpointsOptions {
  /** Keys that the ledger has announced so far for its logs, oldest first; if absent, roots are checked but signatures are not. */
  readonly logKeys?: () => readonly NoteVerifier[]
  /** Events that are permanently lost: their leaves are taken from the acknowledgements. */
  readonly acknowledged?: AcknowledgedLosses
}

interface Leaf {
  readonly stream: string
  readonly revision: number
  readonly tenant: string
}

/** Whether events of this type may make a claim about all events before them. */
export function isCheckpoint(type: string): boolean {
  return type === 'CheckpointSigned' || type === 'CheckpointTimestamped'
}

export class RecordedCheckpoints {
  readonly #options: RecordedCheckpointsOptions
  readonly #logs = new Map<string, GrowingLog>()
  readonly #streams = new Set<string>()
  #waiting = 0
  #tooFar = false

  constructor(options: RecordedCheckpointsOptions) {
    this.#options = options
  }

  /** Whether some checkpoint was too far behind its events to be compared within the memory limit. */
  get tooFar(): boolean {
    return this.#tooFar
  }

  /** Stops the comparison of this stream's log, or of all logs: a fault in it is already reported, and its later checkpoints would only repeat it. */
  giveUp(stream: string | undefined): void {
    if (stream !== undefined && isValueStream(stream)) return
    const tenant = stream === undefined ? undefined : logTenant(stream)
    if (tenant !== undefined) this.#drop(tenant)
    else for (const known of this.#logs.keys()) this.#drop(known)
  }

  /** Takes the next event in store order; if it is a checkpoint with a fault, returns the fault's message. `digest` is the event's own. */
  take(header: Header, data: string, digest: string): string | undefined {
    const { stream, tenant, type } = header
    this.#passLost(header)
    const log = this.#logAt(header)
    if (log === undefined) return undefined
    // Judged before the event is appended as a leaf: no checkpoint covers its own record.
    const isOfLog = isCheckpoint(type) && stream === ledgerStream(tenant)
    const wrong = isOfLog ? this.#judge(type, log, tenant, data) : undefined
    if (wrong !== undefined) this.#drop(tenant)
    else this.#grow(log, { stream, tenant }, digestBytes(digest), 0)
    return wrong
  }

  /** Appends the leaves of lost events that come before this one. */
  #passLost({ stream, revision, tenant }: Leaf): void {
    const { acknowledged } = this.#options
    if (acknowledged === undefined || isValueStream(stream)) return
    const log = this.#logOf(tenant)
    for (;;) {
      const lost = log.dropped ? undefined : acknowledged.leaf(tenant, log.size)
      if (lost === undefined || (lost.stream === stream && lost.revision === revision)) return
      this.#streams.add(lost.stream)
      this.#grow(log, { stream: lost.stream, tenant }, digestBytes(lost.digest), 0)
    }
  }

  /** Takes the next events, none of which is a checkpoint. */
  pass({ count, links, places, digests }: Pick<SoundRows, 'count' | 'links' | 'places' | 'digests'>): void {
    const logs = links.map((link) => this.#logAt(link))
    for (let at = 0; at < count; at += 1) {
      const place = places[at] ?? 0
      const [log, link] = [logs[place], links[place]]
      // A log that has exceeded the memory limit in the meanwhile takes no more leaves.
      if (log?.dropped !== false || link === undefined) continue
      this.#grow(log, link, digests, at * HASH_BYTES)
    }
  }

  /** Undefined if the event is no leaf of a log that is still compared. */
  #logAt({ stream, revision, tenant }: Leaf): GrowingLog | undefined {
    if (isValueStream(stream)) return undefined
    if (revision === 0) this.#streams.add(stream)
    if (!this.#streams.has(stream)) return undefined
    const log = this.#logOf(tenant)
    return log.dropped ? undefined : log
  }

  /** Appends the leaf whose bytes begin at `at`. */
  #grow(log: GrowingLog, { stream, tenant }: Pick<Leaf, 'stream' | 'tenant'>, leaves: Uint8Array, at: number): void {
    if (this.#waiting < WAITING_MAX && log.streams < STREAMS_MAX) this.#waiting += log.add(stream, leaves, at)
    else this.#overflow(tenant)
  }

  #judge(type: string, log: GrowingLog, tenant: string, data: string): string | undefined {
    if (type === 'CheckpointTimestamped') return judgeStamped(log, tenant, data)
    // Two processes may have recorded the same checkpoint: the second record adds nothing.
    const digest = digestText(leafHash(data))
    if (log.checkpoints.has(digest)) return undefined
    const wrong = this.#judgeNew(log, tenant, data)
    if (wrong === undefined) log.remember(digest)
    return wrong
  }

  #judgeNew(log: GrowingLog, tenant: string, data: string): string | undefined {
    const body = CheckpointSigned.schema.safeParse(parseJson(data))
    if (!body.success) return undefined
    const { origin, size, root, note } = body.data
    const checkpoint = parseCheckpoint(parseNote(note)?.text ?? '')
    const says = checkpoint && { origin: checkpoint.origin, size: checkpoint.size, root: digestText(checkpoint.root) }
    if (says?.origin !== origin || says.size !== size || says.root !== root || !origin.endsWith(`/${tenant}`))
      return 'its note is not of the log, size and root that it names'
    const wrongKey = this.#judgeKey(log, origin, note)
    if (wrongKey !== undefined) return wrongKey
    if (size <= log.signedSize) return `it covers ${size} events, no more than the checkpoint before it`
    if (size > log.size) return `it covers ${size} events of the log, and only ${log.size} come before it`
    const before = log.waiting
    const fits = sameHash(log.rootAt(size), checkpoint?.root ?? new Uint8Array(0))
    this.#waiting -= before - log.waiting
    if (!fits) return `the ${size} events that it covers are not those that come before it`
    if (checkpoint !== undefined) log.rememberText(checkpoint)
    const streams = streamsRoot(checkpoint?.extensions ?? [])
    if (streams === undefined || sameHash(log.streamsRoot(), streams)) return undefined
    return `the streams that it names are not those of the ${size} events before it`
  }

  /** The note must be signed by a key that the ledger had announced, and that was not yet succeeded in this log. */
  #judgeKey(log: GrowingLog, origin: string, note: string): string | undefined {
    const announced = this.#options.logKeys?.()
    if (announced === undefined) return undefined
    const verifiers = announced.map(({ key }) => noteVerifier(origin, key))
    const opened = openNote(note, verifiers)
    if (!opened.ok) return 'its note is not signed by a key of the log that the ledger had announced'
    const place = Math.max(...opened.signers.map((signer) => verifiers.indexOf(signer)))
    if (place < log.keyPlace) return 'its note is signed by a key that was succeeded before it'
    log.keyPlace = place
    return undefined
  }

  #logOf(tenant: string): GrowingLog {
    const known = this.#logs.get(tenant)
    if (known !== undefined) return known
    const log = new GrowingLog()
    this.#logs.set(tenant, log)
    return log
  }

  #overflow(tenant: string): void {
    this.#tooFar = true
    this.#drop(tenant)
  }

  #drop(tenant: string): void {
    const log = this.#logOf(tenant)
    this.#waiting -= log.waiting
    log.drop()
  }
}

/** The time-stamped text must equal, byte for byte, the text of the recorded checkpoint of its size. */
function judgeStamped(log: GrowingLog, tenant: string, data: string): string | undefined {
  const { data: body } = CheckpointTimestamped.schema.safeParse(parseJson(data))
  if (body === undefined) return undefined
  const { size, root, text } = body
  const checkpoint = parseCheckpoint(text)
  if (!checkpoint?.origin.endsWith(`/${tenant}`) || checkpoint.size !== size || digestText(checkpoint.root) !== root)
    return 'what was time-stamped is no checkpoint of the log, size and root that it names'
  const signed = log.texts.get(size)
  if (signed === undefined || signed === text) return undefined
  return `what was time-stamped is another checkpoint of ${size} events than the recorded one`
}

/** One log's tree up to its last checkpoint, and the leaves after it. */
class GrowingLog {
  readonly #tree = new CompactTree()
  readonly #heads = new StreamTreeBuilder()
  #leaves = Buffer.alloc(0)
  /** Streams of the waiting leaves. */
  #streams: string[] = []
  #waiting = 0
  /** Index of the last checkpoint's signing key among those that the ledger announced. */
  keyPlace = 0
  dropped = false
  /** Digests of the bodies of the last checkpoints that were found valid. */
  readonly checkpoints = new Set<string>()
  /** Signed texts of the last checkpoints, by size. */
  readonly texts = new Map<number, string>()

  get signedSize(): number {
    return this.#tree.size
  }

  get waiting(): number {
    return this.#waiting
  }

  get size(): number {
    return this.#tree.size + this.#waiting
  }

  get streams(): number {
    return this.#heads.streams
  }

  /** Root of the tree of streams over the leaves up to the last checkpoint. */
  streamsRoot(): Uint8Array {
    return this.#heads.root()
  }

  /** Takes the 32 bytes at `from`. Returns the number of leaves that were added to the waiting ones. */
  add(stream: string, leaves: Uint8Array, from: number): number {
    this.#streams.push(stream)
    const at = this.#waiting * HASH_BYTES
    if (at === this.#leaves.length)
      this.#leaves = Buffer.concat([this.#leaves], Math.max(FIRST_CAPACITY, 2 * this.#waiting) * HASH_BYTES)
    // Copied byte by byte, because creating a view of each leaf would take longer.
    for (let i = 0; i < HASH_BYTES; i += 1) this.#leaves[at + i] = leaves[from + i] ?? 0
    this.#waiting += 1
    return 1
  }

  /** Root of the first `size` leaves, where `size` is at least that of the last checkpoint; the leaves that it covers no longer wait. */
  rootAt(size: number): Uint8Array {
    const count = size - this.#tree.size
    for (let i = 0; i < count; i += 1) {
      const leaf = Uint8Array.prototype.slice.call(this.#leaves, i * HASH_BYTES, (i + 1) * HASH_BYTES)
      this.#tree.append(leaf)
      this.#heads.take(this.#streams[i] ?? '', leaf)
    }
    this.#streams = this.#streams.slice(count)
    this.#leaves.copyWithin(0, count * HASH_BYTES, this.#waiting * HASH_BYTES)
    this.#waiting -= count
    return this.#tree.root()
  }

  remember(digest: string): void {
    this.checkpoints.add(digest)
    dropOldest(this.checkpoints)
  }

  rememberText(checkpoint: Checkpoint): void {
    this.texts.set(checkpoint.size, formatCheckpoint(checkpoint))
    dropOldest(this.texts)
  }

  drop(): void {
    this.dropped = true
    this.checkpoints.clear()
    this.texts.clear()
    this.#leaves = Buffer.alloc(0)
    this.#streams = []
    this.#waiting = 0
  }
}

function dropOldest<K>(known: { readonly size: number; keys(): Iterator<K>; delete(key: K): boolean }): void {
  const oldest = known.keys().next()
  if (known.size > REPEATED_MAX && oldest.done !== true) known.delete(oldest.value)
}
