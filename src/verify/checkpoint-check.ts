/**
 * @module Holding a history against a checkpoint that was stored elsewhere: it shows what no chain and no mac can, a cut end, a vanished
 * run, and a history that the holder of the key wrote anew.
 */

import { CheckpointSigned } from '../../schemas/events/checkpoint-signed.ts'
import { parseJsonOrUndefined } from '../../schemas/json.ts'
import { ledgerStream } from '../../schemas/names.ts'
import { type Checkpoint, formatCheckpoint, parseCheckpoint } from '../merkle/checkpoint.ts'
import { CompactTree } from '../merkle/compact-tree.ts'
import { leafHash, sameHash } from '../merkle/hashes.ts'
import type { NoteVerifier } from '../merkle/note-key.ts'
import { openNote, parseNote } from '../merkle/signed-note.ts'
import { digestBytes } from '../signing/digests.ts'
import { logTenant } from '../signing/stream-tenant.ts'
import type { AcknowledgedLosses } from './acknowledged-losses.ts'
import { DIGEST_BYTES } from './packed-text.ts'
import type { PlacedRecord, SoundRows, SourceFault, SourceItem, SourcePages } from './source-item.ts'

export type ReadCheckpoint =
  | { readonly ok: true; readonly checkpoint: Checkpoint; readonly tenant: string }
  /** Malformed, signed by nobody known, or under a signature that does not fit. */
  | { readonly ok: false; readonly message: string }

/** Origin of the checkpoint in a note, unverified: to find the key that it should be under. */
export function claimedOrigin(note: string): string {
  return note.slice(0, Math.max(note.indexOf('\n'), 0))
}

/** A checkpoint under a key of its log: that of now, or one before it. `<origin>/<tenant>` names all of them. */
export function readLogCheckpoint(note: string, verifiers: readonly NoteVerifier[]): ReadCheckpoint {
  const opened = openNote(note, verifiers)
  if (!opened.ok) return { ok: false, message: MESSAGES[opened.code] }
  const checkpoint = parseCheckpoint(opened.text)
  if (checkpoint === undefined || opened.signers.some(({ name }) => name !== checkpoint.origin)) {
    return { ok: false, message: 'what was signed is no checkpoint of this log' }
  }
  return { ok: true, checkpoint, tenant: checkpoint.origin.slice(checkpoint.origin.lastIndexOf('/') + 1) }
}

const MESSAGES = {
  'malformed-note': 'it is no signed note',
  'unknown-key': 'the key of this log did not sign it',
  'invalid-signature': 'its signature does not fit',
} as const

/** The checkpoint that an event of this tenant's log records; undefined for any other event. */
function recordedIn({ stream, header, data }: PlacedRecord, tenant: string): Checkpoint | undefined {
  if (stream !== ledgerStream(tenant) || !header.includes('"type":"CheckpointSigned"')) return undefined
  const { data: body } = CheckpointSigned.schema.safeParse(parseJsonOrUndefined(data))
  return parseCheckpoint(parseNote(body?.note ?? '')?.text ?? '')
}

/**
 * Whether an event records another checkpoint of the same size: a log signs one text of each size, and a line beside size and root
 * makes it another one as well.
 */
export function isForkOf(held: Checkpoint, record: PlacedRecord, tenant: string): boolean {
  const recorded = recordedIn(record, tenant)
  return recorded?.size === held.size && formatCheckpoint(recorded) !== formatCheckpoint(held)
}

export type HeldCheckpoint = Extract<ReadCheckpoint, { ok: true }>

/** The same pages, and last what they hold less, or otherwise, than the checkpoints cover. */
export async function* withCheckpoints(
  pages: SourcePages,
  held: readonly HeldCheckpoint[],
  acknowledged?: AcknowledgedLosses,
): AsyncGenerator<readonly SourceItem[]> {
  const streams = new Set<string>()
  const logs = new Map<string, CheckedLog>()
  for (const { tenant, checkpoint } of held) {
    const log = logs.get(tenant) ?? new CheckedLog(tenant, acknowledged)
    log.hold(checkpoint)
    logs.set(tenant, log)
  }
  for await (const page of pages) {
    for (const item of page) {
      if ('fault' in item) continue
      if ('sound' in item) takeRows(item, logs, streams)
      else {
        logs.get(logTenant(item.stream) ?? '')?.passLost(item, streams)
        const log = logOf(item, logs, streams)
        log?.take(() => log.leafOf(item))
        log?.compareRecorded(item)
      }
    }
    yield page
  }
  for (const log of logs.values()) {
    log.passLost(undefined, streams)
    yield log.faults()
  }
}

function takeRows(rows: SoundRows, logs: ReadonlyMap<string, CheckedLog>, streams: Set<string>): void {
  const { count, links, places, digests } = rows
  const grown = links.map((link) => logOf(link, logs, streams))
  if (grown.every((log) => log === undefined)) return
  for (let at = 0; at < count; at += 1)
    grown[places[at] ?? 0]?.take(() => digests.slice(at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES))
}

/** The log in which an event is a leaf; undefined where no checkpoint of it is held. */
function logOf(
  event: { readonly stream: string; readonly revision: number },
  logs: ReadonlyMap<string, CheckedLog>,
  streams: Set<string>,
): CheckedLog | undefined {
  const tenant = logTenant(event.stream) ?? ''
  const log = logs.get(tenant)
  return log !== undefined && isLeaf(event, tenant, streams) ? log : undefined
}

/** One log, grown from its leaves and compared at the size of each checkpoint. */
class CheckedLog {
  readonly #tree = new CompactTree()
  readonly #checkpoints: Checkpoint[] = []
  readonly #tenant: string
  readonly #wrong: Checkpoint[] = []
  readonly #forked = new Set<Checkpoint>()

  readonly #acknowledged: AcknowledgedLosses | undefined

  constructor(tenant: string, acknowledged: AcknowledgedLosses | undefined) {
    this.#tenant = tenant
    this.#acknowledged = acknowledged
  }

  /** Leaves of events that are acknowledged as lost and come before that of `next`. */
  passLost(next: PlacedRecord | undefined, streams: Set<string>): void {
    for (;;) {
      const lost = this.#acknowledged?.leaf(this.#tenant, this.#tree.size)
      if (lost === undefined || (lost.stream === next?.stream && lost.revision === next.revision)) return
      streams.add(lost.stream)
      const { size } = this.#tree
      this.take(() => digestBytes(lost.digest))
      if (this.#tree.size === size) return
    }
  }

  /** What is left of a lost event says nothing of its leaf. */
  leafOf(record: PlacedRecord): Uint8Array {
    const lost = this.#acknowledged?.at(record)
    return lost === undefined ? leafHash(record.header) : digestBytes(lost.digest)
  }

  hold(checkpoint: Checkpoint): void {
    const text = formatCheckpoint(checkpoint)
    if (this.#checkpoints.some((each) => each.size === checkpoint.size && formatCheckpoint(each) !== text))
      this.#forked.add(checkpoint)
    this.#checkpoints.push(checkpoint)
    this.#compare()
  }

  /** The next leaf, made where a checkpoint covers it. */
  take(leaf: () => Uint8Array): void {
    if (this.#checkpoints.every(({ size }) => size <= this.#tree.size)) return
    this.#tree.append(leaf())
    this.#compare()
  }

  #compare(): void {
    for (const each of this.#checkpoints)
      if (each.size === this.#tree.size && !sameHash(this.#tree.root(), each.root)) this.#wrong.push(each)
  }

  /** A recorded checkpoint, against those of its size. */
  compareRecorded(record: PlacedRecord): void {
    for (const each of this.#checkpoints) if (isForkOf(each, record, this.#tenant)) this.#forked.add(each)
  }

  faults(): readonly SourceFault[] {
    return [
      ...this.#checkpoints.filter(({ size }) => size > this.#tree.size).map((each) => this.#behind(each)),
      ...this.#wrong.map(mismatch),
      ...[...this.#forked].map((each) => ({ fault: forkFault(each) })),
    ]
  }

  #behind({ size, origin }: Checkpoint): SourceFault {
    const counts = `the checkpoint covers ${size} events of the log ${origin}, only ${this.#tree.size} are here`
    const message = `${counts}: the end was cut off, a run is gone, or this is an older copy`
    return { fault: { code: 'log-behind-checkpoint', message } }
  }
}

function mismatch({ size, origin }: Checkpoint): SourceFault {
  const message = `the first ${size} events of the log ${origin} are not those that the checkpoint signed`
  return { fault: { code: 'checkpoint-mismatch', message } }
}

export function forkFault({ size, origin }: Checkpoint) {
  const message = `two checkpoints of ${size} events of the log ${origin} differ, this one and another that is recorded or was kept: the log signed two histories; keep both as evidence`
  return { code: 'checkpoint-mismatch', message } as const
}

/** Events of the tenant's streams, from revision 0 on: a stream without it is in no log. */
export function isLeaf(
  { stream, revision }: { readonly stream: string; readonly revision: number },
  tenant: string,
  streams: Set<string>,
): boolean {
  if (logTenant(stream) !== tenant) return false
  if (revision === 0) streams.add(stream)
  return streams.has(stream)
}
