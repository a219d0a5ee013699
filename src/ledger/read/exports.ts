/** @module Exports: the position to which an export is pinned, its proofs, and the recorded facts about it. */

import type { LostEvent } from '../../../schemas/acknowledged-loss.ts'
import { ValueStored } from '../../../schemas/events/value-stored.ts'
import type { EventBody } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Loss } from '../../../schemas/loss.ts'
import { runStream, valueStream } from '../../../schemas/names.ts'
import { parseVerifierKey } from '../../merkle/note-key.ts'
import { openNote } from '../../merkle/signed-note.ts'
import type { StreamPath } from '../../merkle/stream-tree.ts'
import { formatTlogProof } from '../../merkle/tlog-proof.ts'
import { digestText } from '../../signing/digests.ts'
import { type DsseEnvelope, signDsse } from '../../signing/dsse.ts'
import { type EventStore, type Position, StoreUnavailableError } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import { type LedgerFacts, NotOnRecordError } from '../identity/ledger-facts.ts'
import type { LogKeys } from '../identity/log-keys.ts'
import {
  type EventReading,
  type LeafRange,
  LeafReading,
  type OnMissing,
  RunReading,
  SealReading,
} from '../integrity/event-reading.ts'
import type { KnownLosses } from '../integrity/known-losses.ts'
import { lostBehind } from '../integrity/lost-behind.ts'
import type {
  Caller,
  ExportFact,
  ExportPin,
  LedgerExports,
  PinnedEdge,
  PinnedTree,
  PinOf,
  ReadRange,
  SealedPin,
} from '../ledger.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import { acknowledgedIn } from '../log/acknowledged-holes.ts'
import { LogGapError, type LogTree, type TenantLogs, type TimestampedCheckpoint } from '../log/tenant-logs.ts'
import type { Effects } from '../ports.ts'
import { ledgerEvent } from './parse-record.ts'

export interface ExportsDeps {
  readonly store: EventStore
  readonly logs: TenantLogs | undefined
  readonly logKeys: LogKeys
  readonly effects: Effects
  readonly facts: LedgerFacts
  readonly losses: KnownLosses
  /** Called when an event is found to be missing. */
  readonly onMissing: OnMissing
}

const RETRY_AFTER_MS = 5_000
/** Number of further attempts to sign the events that existed when a bundle was requested. */
const SIGN_TRIES = 4

/** If the file of the logs accepts no writes, as on a full disk, nothing can be pinned or recorded. */
function asUnrecorded(error: unknown): never {
  if (error instanceof StoreUnavailableError) throw new NotOnRecordError(error.message, error.retryAfterMs)
  const isFile = error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_')
  if (!isFile) throw error
  throw new NotOnRecordError(`the log cannot be brought up to date (${error.message}): make room`, RETRY_AFTER_MS)
}

/** An answer is not refused because its `asOf` cannot be determined. */
function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailableError)) throw error
}

function isSignedUnder(note: string, verifierKey: string): boolean {
  const verifier = parseVerifierKey(verifierKey)
  return verifier !== undefined && openNote(note, [verifier]).ok
}

/** The losses, of the tenant or of one of its runs, that kept a checkpoint from being signed. */
async function uncoveredOf(logs: TenantLogs, tenant: string, run: string | undefined): Promise<readonly Loss[]> {
  const lost = await logs.lostUncovered(tenant)
  return run === undefined ? lost : lost.filter(({ stream }) => stream === runStream(tenant, run))
}

function pinned({ size, root, eventId }: LogTree): PinnedTree {
  return { size, root: digestText(root), eventId }
}

export class Exports implements LedgerExports {
  readonly #deps: ExportsDeps

  constructor(deps: ExportsDeps) {
    this.#deps = deps
  }

  async pin({ tenant }: Caller, { until: at, run, isSigned = false }: PinOf = {}): Promise<ExportPin> {
    const { store, logs, losses } = this.#deps
    const until = at ?? (await store.end())
    const tree = until === undefined ? undefined : await logs?.treeAt(tenant, until).catch(asUnrecorded)
    const uncovered = isSigned && logs !== undefined ? await uncoveredOf(logs, tenant, run) : []
    const known = [...losses({ tenant, run }), ...uncovered]
    return { until, tree: tree === undefined ? null : pinned(tree), losses: known }
  }

  reading(caller: Caller, { pin, run, isMatched = false, after, until = pin.until }: ReadRange): EventReading {
    const { logs, onMissing } = this.#deps
    if (isMatched) return new SealReading()
    if (run !== undefined) return new RunReading(onMissing)
    if (logs === undefined || pin.tree === null || until === undefined) return new SealReading()
    return this.leafReading(caller, { size: pin.tree.size, after, until })
  }

  leafReading({ tenant }: Caller, range: Omit<LeafRange, 'tenant'>): LeafReading {
    const { store, logs, onMissing } = this.#deps
    if (logs === undefined) throw new RangeError('this ledger keeps no log')
    const source = { leaves: logs.leaves, comparePositions: store.comparePositions }
    return new LeafReading(source, { tenant, ...range }, onMissing)
  }

  async lostBehind(
    { tenant }: Caller,
    run: string,
    { events, until }: { readonly events: number; readonly until: Position },
  ): Promise<readonly Loss[]> {
    const { store, logs } = this.#deps
    const stream = runStream(tenant, run)
    return lostBehind({ store, known: logs?.knownHead(stream) }, stream, { events, until })
  }

  async lastEventId({ tenant }: Caller, until: Position | undefined): Promise<string | null> {
    const { logs } = this.#deps
    if (logs === undefined || until === undefined) return null
    const tree = await logs.treeAt(tenant, until).catch(asUnrecorded).catch(unlessUnavailable)
    return tree?.eventId ?? null
  }

  async edgeAt({ tenant }: Caller, size: number): Promise<PinnedEdge> {
    const { store, logs } = this.#deps
    const found = logs?.edgeAt(tenant, size)
    if (found === undefined) throw new RangeError('this ledger keeps no log')
    const edge = { root: digestText(found.root), edge: found.hashes.map(digestText) }
    const isAcknowledged = acknowledgedIn(logs?.leaves)
    for (let index = size - 1; ; index -= 1) {
      const leaf = logs?.leaves.leaf(tenant, index)
      const record = leaf && (await store.recordAt(leaf.position))
      // Compared by place: an event whose text was damaged keeps its leaf, and readers of the log continue after it.
      if (record?.stream === leaf?.stream && record?.revision === leaf?.revision)
        return { ...edge, last: record && ledgerEvent(record) }
      if (leaf === undefined || !isAcknowledged(leaf)) throw new LogGapError(tenant, index)
    }
  }

  async lostInLog({ tenant }: Caller): Promise<readonly LostEvent[]> {
    const { logs } = this.#deps
    const byIndex = new Map<number, LostEvent>()
    for (const { stream, revision: first, to = first } of logs?.leaves.holedLogs().find((row) => row.tenant === tenant)
      ?.holes ?? [])
      for (let revision = first; revision <= to; revision += 1) {
        const found = await logs?.lostAt({ tenant, stream, revision })
        if (found?.kind !== 'lost') continue
        for (const leaf of found.lost.leaves.slice(0, to - revision + 1)) {
          byIndex.set(leaf.index, { stream, revision, ...leaf })
          revision += 1
        }
        revision -= 1
      }
    return [...byIndex.values()].sort((one, other) => one.index - other.index)
  }

  async sealedPin({ tenant }: Caller, run?: string): Promise<SealedPin | undefined> {
    const { logs, losses } = this.#deps
    await logs?.publish().catch(asUnrecorded)
    // Another append may have taken the place of the checkpoint; events acknowledged before the request have to be in the answer.
    const facts = logs?.facts(tenant) ?? 0
    for (let tries = 0; tries < SIGN_TRIES && (logs?.published(tenant)?.size ?? facts) < facts; tries += 1)
      await logs?.publish().catch(asUnrecorded)
    const published = logs?.published(tenant)
    if (logs === undefined || published === undefined) return undefined
    const { note, position } = published
    const verifierKey = logs.verifierKey(tenant)
    // Right after a rotation, or if another process signs with a newer key: manifest and checkpoint have to be signed with the same key.
    if (!isSignedUnder(note, verifierKey)) return undefined
    const unsigned: readonly Loss[] = published.size < facts ? [{ scope: 'tenant', code: 'not-signed' }] : []
    const known = [...losses({ tenant, run }), ...(await uncoveredOf(logs, tenant, run)), ...unsigned]
    return {
      until: position,
      tree: pinned(published),
      losses: known,
      note,
      verifierKey,
      successions: logs.successions(),
    }
  }

  async timestamp({ tenant }: Caller, { tree }: SealedPin): Promise<TimestampedCheckpoint | undefined> {
    const found = await this.#deps.logs?.timestamp(tenant, tree.size)
    return found?.ok === true ? found.value : undefined
  }

  async *leaves(
    { tenant, pace }: Caller,
    size: number,
    lost: readonly LostEvent[] = [],
  ): AsyncGenerator<readonly LedgerEvent[], void> {
    const { logs } = this.#deps
    if (logs === undefined) return
    for await (const page of pacedPages(logs.leafRecords({ tenant, size, lost }), pace)) yield page.map(ledgerEvent)
  }

  async streamPath({ tenant }: Caller, runId: string, { tree, note }: SealedPin): Promise<StreamPath | undefined> {
    return this.#deps.logs?.streamPath(tenant, runStream(tenant, runId), { size: tree.size, note })
  }

  async *runEvents(
    { tenant, pace }: Caller,
    runId: string,
    count: number,
  ): AsyncGenerator<readonly LedgerEvent[], void> {
    const pages = this.#deps.store.readStream(runStream(tenant, runId), { from: 0, to: count - 1 })
    for await (const page of pacedPages(pages, pace)) yield page.map(ledgerEvent)
  }

  async *valueParts({ tenant, pace }: Caller, digest: string): AsyncGenerator<EventBody<'ValueStored'>, void> {
    for await (const page of pacedPages(this.#deps.store.readStream(valueStream(tenant, digest)), pace)) {
      for (const record of page) {
        const body = ValueStored.schema.safeParse(ledgerEvent(record).data)
        if (body.success) yield body.data
      }
    }
  }

  proofFile({ tenant }: Caller, eventId: string, { tree, note }: SealedPin): string {
    const found = this.#deps.logs?.inclusion(tenant, { eventId }, tree.size)
    if (found?.ok !== true)
      throw new RangeError(
        `by log.db the checkpoint does not cover ${eventId}: run "countersign rebuild", and try again`,
      )
    const { index, proof } = found.value
    return formatTlogProof({ index, hashes: proof, checkpoint: note })
  }

  sign({ tenant }: Caller, payloadType: string, payload: Uint8Array): DsseEnvelope | undefined {
    const { logs, logKeys } = this.#deps
    if (logs === undefined) return undefined
    // Name and id of the key without the key itself: a hint, as defined by DSSE.
    const keyid = logs.verifierKey(tenant).split('+').slice(0, 2).join('+')
    return signDsse(payload, { payloadType, keyid, key: logKeys.signer })
  }

  now(): string {
    return new Date(this.#deps.effects.nowMs()).toISOString()
  }

  async record(caller: Caller, { type, data }: ExportFact): Promise<void> {
    await this.#deps.facts.record({ tenant: caller.tenant, type, data: data as JsonObject, by: caller })
  }
}
