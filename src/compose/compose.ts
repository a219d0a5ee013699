/** @module Assembles the concrete parts in order and disposes of them in reverse order. No other module names them. */

import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { EVENTS, type EventBody } from '../../schemas/events.ts'
import { parseJson } from '../../schemas/json.ts'
import { SYSTEM_STREAM } from '../../schemas/names.ts'
import type { IndexingThread } from '../indexing/indexing-thread.ts'
import { httpJudge } from '../integrations/judge-client.ts'
import { timestampAuthority } from '../integrations/timestamp-client.ts'
import { readWitnesses } from '../integrations/witness-client.ts'
import { createLedger } from '../ledger/create-ledger.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { CheckpointFile } from '../ledger/log/checkpoint-file.ts'
import type { StartWatch } from '../ledger/log/log-deps.ts'
import type { LogSettings } from '../ledger/log/log-settings.ts'
import type { Log } from '../ledger/ports.ts'
import type { ReaderThreads } from '../read-workers/reader-threads.ts'
import { MemoryBudget } from '../resources/memory-budget.ts'
import { WorkQueue } from '../resources/work-queue.ts'
import type { Settings } from '../settings/config.ts'
import { guardedTarget } from '../settings/guarded-target.ts'
import { fixedKeys, readKeys, requireKeys, type WatchedKeys, watchKeyFile, wrappingOf } from '../settings/key-source.ts'
import { isOnServer, type KeyPlace } from '../settings/places.ts'
import { watchPolicies } from '../settings/policy-file.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { watchRetention } from '../settings/retention-file.ts'
import { makeFolder } from '../signing/durable-file.ts'
import { createLedgerKeys, writeNewKeyFile } from '../signing/key-file.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import type { EventStore } from '../store/event-store.ts'
import type { Patience } from '../store/eventstoredb/eventstoredb-store.ts'
import { takeDataFolder, takeOwnership } from '../store/sqlite/owner-lock.ts'
import { prepareStorePath } from '../store/sqlite/store-path.ts'
import type { WalLoss } from '../store/sqlite/wal-loss.ts'
import {
  checkpointsPath,
  openAuditIndex,
  openErasures,
  openFollowingFiles,
  openLogs,
  openSubjects,
  openViews,
} from './compose-files.ts'
import { budgetBytes } from './compose-memory.ts'
import { openReaders } from './compose-readers.ts'
import { SharedFiles } from './compose-sharing.ts'
import { NO_NOTES, openCopies, openReader, openStore } from './compose-stores.ts'
import { judgedLedger } from './judged-ledger.ts'
import { ownerCheck } from './lease-owner.ts'
import { heldStore } from './store-held.ts'

/** An error that keeps a ledger from starting; `message` says how to fix it. */
export class StartError extends Error {
  readonly code: 'keys-missing' | 'data-folder'

  constructor(code: StartError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartError'
    this.code = code
  }
}

export interface OpenLedger extends AsyncDisposable {
  readonly ledger: Ledger
  readonly keys: WatchedKeys
  readonly store: EventStore
  readonly memory: MemoryBudget
  readonly work: WorkQueue
  /** Absent: everything is read in this thread. */
  readonly readers?: ReaderThreads
  /** Absent: the derived files are written in this thread. */
  readonly indexing?: IndexingThread
}

/** Callbacks and cancellation of a caller that waits for a start that may take long. */
export type Waiting = Patience & StartWatch

/**
 * Opens keys, store, views and ledger, and creates whatever a first start needs. Throws `StartError`, `StoreLossError`, `KeyFileError` and `StoreOpenError`;
 * parts that were opened before the failure are closed. With `waiting`, a store on a server that does not respond yet is retried, and the caller is notified of
 * the progress of a long start.
 */
export async function openLedger(settings: Settings, log: Log, waiting?: Waiting): Promise<OpenLedger> {
  const opened = new Closers()
  try {
    // Addresses that cannot be used are reported before anything is opened.
    const dialled = dialledBy(settings)
    makeDataFolder(settings)
    const memory = new MemoryBudget(budgetBytes(settings))
    const work = new WorkQueue()
    const { policies, retention } = watchedFiles(settings, log, opened)
    const known = readKeys(settings.keys)
    if (known === undefined && isOnServer(settings.store)) throw keysMissing(settings.keys)
    if (isOnServer(settings.store)) opened.add(takeDataFolder(settings.data))
    let keysInUse: WatchedKeys | undefined
    const bare = opened.add(
      await openStore(settings.store, {
        ring: () => (keysInUse?.current() ?? known ?? requireKeys(settings.keys)).ring,
        patience: waiting,
        memory,
        onWalLoss: walLossLog(log),
        acceptWalLoss: settings.acceptWalLoss === true,
      }),
    )
    // The lock of the store's file is taken first, because its error message is more specific.
    if (settings.store.kind === 'sqlite') opened.add(takeDataFolder(settings.data))
    const keys = opened.add(watchKeys(settings.keys, known ?? (await makeKeys(settings.keys, bare)), log))
    keysInUse = keys
    const store = opened.add(await heldStore(bare, { settings, keys, log }))
    const sharing = await shareFiles(settings, keys, log)
    if (sharing !== undefined) opened.add(sharing)
    const files = opened.add(openFollowingFiles(settings, { keys, log, store, memoryBytes: memory.totalBytes }))
    const { views, indexing } = files
    const logs = { store: files.logs, ...logSettings(settings), ...dialled.ofLogs }
    const subjects = isOnServer(settings.store) ? undefined : opened.add(openSubjects(settings))
    let created: Ledger | undefined
    const readers = openReaders(settings, log, { index: files.audit, indexing, ledger: () => created })
    created = await createLedger({
      store,
      views,
      keys,
      log,
      logs,
      ...{ subjects, erasures: subjects && openErasures(settings, keys) },
      audit: { index: files.audit, ...auditSettings(settings), remote: readers },
      memory,
      work,
      ...(indexing && { indexing: (host) => indexing.begin(host) }),
      isOwnerGone: ownerCheck(settings),
      values: settings.values,
      scrubDays: settings.scrubDays,
      starting: waiting,
      ...(retention && { retention: () => retention.current() }),
      ...(policies && { tenantPolicy: (tenant) => policies.current()(tenant) }),
      ...(settings.origin !== undefined && { origin: settings.origin }),
    })
    const ledger = opened.add(dialled.judged(created, log))
    if (sharing !== undefined) opened.add(sharing.keep())
    if (readers !== undefined) opened.add(readers)
    return {
      ...{ ledger, keys, store, memory, work },
      ...{ ...(readers && { readers }), ...(indexing && { indexing }) },
      [Symbol.asyncDispose]: () => opened.close(),
    }
  } catch (error) {
    await opened.close()
    throw error
  }
}

function auditSettings({ auditIfAsked, auditWaitMs }: Settings) {
  return { onlyIfAsked: auditIfAsked === true, waitMs: auditWaitMs }
}

/** The files of classes and policies that are read again when they change. */
function watchedFiles({ policy, retention }: Settings, log: Log, opened: Closers) {
  return {
    policies: policy === undefined ? undefined : opened.add(watchPolicies(policy, log)),
    retention: retention === undefined ? undefined : opened.add(watchRetention(retention, log)),
  }
}

/** Fetches a shared copy of each derived file that is missing. */
async function shareFiles({ store, data }: Settings, keys: WatchedKeys, log: Log): Promise<SharedFiles | undefined> {
  const copies = isOnServer(store) ? await openCopies(store) : undefined
  if (copies === undefined) return undefined
  const sharing = new SharedFiles({ copies, data, keys, log })
  await sharing.fetch()
  return sharing
}

/** The parts that make requests over the network. Throws `SettingsError` for an unusable address. */
function dialledBy({ judge, judgeAllow, timestamp, witnesses }: Settings) {
  const stamps = timestamp && { authority: timestampAuthority(timestamp), intervalMs: timestamp.intervalMs }
  const ofLogs: Pick<LogSettings, 'stamps' | 'witnesses'> = {
    witnesses: readWitnesses(witnesses),
    ...(stamps && { stamps }),
  }
  if (judge === undefined) return { ofLogs, judged: (ledger: Ledger) => ledger }
  const allow = guardedTarget({ url: judge, allow: judgeAllow, setting: 'judge', allowIn: '--judge-allow' })
  // The URL of the judge may contain a secret, so only its host is recorded.
  const by = { judge: httpJudge(judge, { allow }), name: new URL(judge).host }
  return { ofLogs, judged: (ledger: Ledger, log: Log) => judgedLedger(ledger, { ...by, log }) }
}

/** Drops the views: the next start rebuilds them from the store. Throws `StoreOpenError` if a process owns the store or the data folder. */
export function dropViews(settings: Settings): void {
  if (settings.store.kind === 'memory') return
  makeDataFolder(settings)
  using _store = settings.store.kind === 'sqlite' ? takeOwnership(prepareStorePath(settings.store.path)) : undefined
  using _folder = takeDataFolder(settings.data)
  using views = openViews(settings)
  using logs = openLogs(settings)
  using audit = openAuditIndex(settings)
  for (const file of [views, logs, audit]) file.renew('requested')
}

/** The body of the founding event, unverified; undefined if no ledger has been founded yet. */
export async function readIdentity({ store }: Settings): Promise<EventBody<'LedgerCreated'> | undefined> {
  if (store.kind === 'memory' || (store.kind === 'sqlite' && !existsSync(store.path))) return undefined
  using reader = await openReader(store, NO_NOTES)
  for await (const page of reader.readStream(SYSTEM_STREAM, { to: 0 })) {
    const body = EVENTS.LedgerCreated.schema.safeParse(parseJson(page[0]?.data ?? 'null'))
    return body.success ? body.data : undefined
  }
  return undefined
}

function makeDataFolder({ data }: Settings): void {
  try {
    makeFolder(data)
  } catch (error) {
    throw new StartError('data-folder', `the data folder ${data} cannot be made: ${reasonOf(error)}`, { cause: error })
  }
}

/** A torn log loses no acknowledged event; the damaged end of a log is skipped only because the operator accepted the loss. */
function walLossLog(log: Log): (loss: WalLoss) => void {
  return ({ kind, ...loss }) =>
    kind === 'torn'
      ? log.warn(loss, 'the log of the store ends in an append that was cut off; its success was never acknowledged')
      : log.error(loss, 'the log of the store is damaged: the ledger goes on without its last frames, as requested')
}

function logSettings(settings: Settings): Pick<LogSettings, 'maxDelayMs' | 'kept' | 'acknowledges'> {
  const path = checkpointsPath(settings)
  const { checkpointDelayMs: maxDelayMs, acknowledges } = settings
  return { maxDelayMs, acknowledges, ...(path !== undefined && { kept: new CheckpointFile(path) }) }
}

/** Two processes that each create keys for a shared store would found two ledgers on it. */
function keysMissing(place: KeyPlace): StartError {
  const path = place.kind === 'file' ? place.path : ''
  const todo = 'make them once with "countersign keys create", and give the same file to every process'
  return new StartError(
    'keys-missing',
    `a store that processes share needs its keys supplied, and ${path} is missing: ${todo}`,
  )
}

/** Only for an empty store, which this process owns by now: new keys could not verify an existing history. */
async function makeKeys(place: KeyPlace, store: EventStore): Promise<LedgerKeys> {
  if (place.kind === 'text') throw new StartError('keys-missing', 'the text of the keys is empty')
  if ((await store.end()) !== undefined) {
    throw new StartError(
      'keys-missing',
      `${place.path} is missing and the store ${store.url} holds events: restore the key file`,
    )
  }
  const keys = createLedgerKeys(new Date().toISOString(), randomBytes)
  // A store in memory is lost with its process, so its keys need not be kept.
  if (store.url !== 'memory:') writeNewKeyFile(place.path, keys, wrappingOf(place))
  return keys
}

function watchKeys(place: KeyPlace, keys: LedgerKeys, log: Log): WatchedKeys {
  if (place.kind === 'text' || !existsSync(place.path)) return fixedKeys(keys)
  const onError = (error: unknown): void => log.error({ reason: reasonOf(error) }, 'the key file cannot be read again')
  return watchKeyFile({ place, keys, onError })
}

/** Node 22 has no `AsyncDisposableStack`. */
class Closers {
  readonly #parts: (Disposable | AsyncDisposable)[] = []

  add<T extends Disposable | AsyncDisposable>(part: T): T {
    this.#parts.push(part)
    return part
  }

  async close(): Promise<void> {
    for (const part of this.#parts.splice(0).reverse()) {
      if (Symbol.asyncDispose in part) await part[Symbol.asyncDispose]()
      else part[Symbol.dispose]()
    }
  }
}
