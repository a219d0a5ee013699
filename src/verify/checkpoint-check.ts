/**
 * @module Comparison of a history with a checkpoint stored outside the ledger. It detects changes that no hash chain and no MAC can show: a truncated end, a
 * missing run, and a history rewritten by the holder of the key.
 */

import { placeText } from '../../schemas/acknowledged-loss.ts'
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
  /** Malformed, signed by an unknown key, or with an invalid signature. */
  | { readonly ok: false; readonly message: string }

/** Origin of the checkpoint in a note, unverified, for finding the key that should have signed it. */
export function claimedOrigin(note: string): string {
  return note.slice(0, Math.max(note.indexOf('\n'), 0))
}

/** Reads a checkpoint signed by one of its log's keys, current or earlier. All of them are named `<origin>/<tenant>`. */
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
 * Whether an event records a different checkpoint of the same size: a log signs exactly one text for each size, and another line next to size and root makes
 * it a different text.
 */
export function isForkOf(held: Checkpoint, record: PlacedRecord, tenant: string): boolean {
  const recorded = recordedIn(record, tenant)
  return recorded?.size === held.size && formatCheckpoint(recorded) !== formatCheckpoint(held)
}

export type HeldCheckpoint = Extract<ReadCheckpoint, { ok: true }>

/** A checkpoint from the file beside a store. Its signature does not matter: it shows a loss in any case. Undefined if it is none of the tenant's log. */
export function filedCheckpoint(tenant: string, note: string): HeldCheckpoint | undefined {
  const checkpoint = parseCheckpoint(parseNote(note)?.text ?? '')
  return checkpoint?.origin.endsWith(`/${tenant}`) === true ? { ok: true, checkpoint, tenant } : undefined
}

/** The same pages, followed by a last page of faults where the events are fewer than, or differ from, those that the checkpoints cover. */
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
        if (log?.hasLeafOf(item) === false) log.take(() => log.leafOf(item))
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

/** The log in which an event is a leaf; undefined if no checkpoint of that log is given. */
function logOf(
  event: { readonly stream: string; readonly revision: number },
  logs: ReadonlyMap<string, CheckedLog>,
  streams: Set<string>,
): CheckedLog | undefined {
  const tenant = logTenant(event.stream) ?? ''
  const log = logs.get(tenant)
  return log !== undefined && isLeaf(event, tenant, streams) ? log : undefined
}

/** One log, grown from its leaves and compared with each checkpoint at its size. */
class CheckedLog {
  readonly #tree = new CompactTree()
  readonly #checkpoints: Checkpoint[] = []
  readonly #tenant: string
  readonly #wrong: Checkpoint[] = []
  readonly #forked = new Set<Checkpoint>()
  /** Acknowledged events whose leaves were appended before a record in their places. */
  readonly #passed = new Set<string>()

  readonly #acknowledged: AcknowledgedLosses | undefined

  constructor(tenant: string, acknowledged: AcknowledgedLosses | undefined) {
    this.#tenant = tenant
    this.#acknowledged = acknowledged
  }

  /** Appends the leaves of events that are acknowledged as lost and come before `next`. */
  passLost(next: PlacedRecord | undefined, streams: Set<string>): void {
    for (;;) {
      const lost = this.#acknowledged?.leaf(this.#tenant, this.#tree.size)
      if (lost === undefined || (lost.stream === next?.stream && lost.revision === next.revision)) return
      streams.add(lost.stream)
      const { size } = this.#tree
      this.take(() => digestBytes(lost.digest))
      if (this.#tree.size === size) return
      this.#passed.add(placeText(lost))
    }
  }

  /** Whether the leaf of the lost event in whose place the record is was appended already. */
  hasLeafOf(record: PlacedRecord): boolean {
    return this.#passed.has(placeText(record))
  }

  /** The leaf of a record; for a lost event it comes from the acknowledgement, since the remains of the record do not determine it. */
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

  /** Appends the next leaf, which is computed only if a checkpoint covers it. */
  take(leaf: () => Uint8Array): void {
    if (this.#checkpoints.every(({ size }) => size <= this.#tree.size)) return
    this.#tree.append(leaf())
    this.#compare()
  }

  #compare(): void {
    for (const each of this.#checkpoints)
      if (each.size === this.#tree.size && !sameHash(this.#tree.root(), each.root)) this.#wrong.push(each)
  }

  /** Compares a recorded checkpoint with the given ones of its size. */
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

/** Whether an event is in the tenant's log: its stream must have been seen from revision 0; without that event, a stream is in no log. */
export function isLeaf(
  { stream, revision }: { readonly stream: string; readonly revision: number },
  tenant: string,
  streams: Set<string>,
): boolean {
  if (logTenant(stream) !== tenant) return false
  if (revision === 0) streams.add(stream)
  return streams.has(stream)
}
