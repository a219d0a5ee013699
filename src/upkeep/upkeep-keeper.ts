/** @module The side of the thread that writes the files: brings each up to the store when it is requested, and tells what came of it. */
import type { AuditProjection } from '../ledger/audit/audit-projection.ts'
import type { IndexProgress } from '../ledger/audit/index-building.ts'
import type { LogFact } from '../ledger/log/log-deps.ts'
import type { RunListProjection } from '../ledger/read/run-list-projection.ts'
import type { LogUpkeep } from '../ledger/upkeep.ts'
import type { AuditIndex } from '../store/audit-index.ts'
import type { DerivedFile } from '../store/derived-file.ts'
import type { AppendResult, Position } from '../store/event-store.ts'
import type { ViewStore } from '../store/view-store.ts'
import type { PinnedStore } from './pinned-store.ts'
import type { FileName, FromUpkeep, TaskDone, ToUpkeep, UpkeepTask } from './protocol.ts'
import { failureOf } from './upkeep-failure.ts'

const FACT_RETRY_MS = 1_000

export interface KeeperParts {
  readonly runs: Pick<RunListProjection, 'pass' | 'faults'>
  readonly index: Pick<AuditProjection, 'pass' | 'progress' | 'building'>
  readonly logs: LogUpkeep
  readonly files: {
    readonly views: Pick<ViewStore, 'saveFold' | 'saveNote' | 'renew'>
    readonly audit: Pick<AuditIndex, 'renew' | 'isAuthentic' | 'knownState' | 'opening' | 'opened'>
    readonly logs: Pick<DerivedFile, 'renew'>
  }
  /** The store as each of them follows it. */
  readonly stores: Readonly<Record<FileName, PinnedStore>>
  readonly keysChanged: () => Promise<void>
}

export interface KeeperDeps {
  readonly say: (message: FromUpkeep) => void
  readonly warn: (fields: object, message: string) => void
}

type Message = Exclude<ToUpkeep, { readonly kind: 'take' | 'end' }>

/** Facts of the ledger's own that the thread with the store is to append. */
export class HostAppends {
  readonly #say: KeeperDeps['say']
  readonly #waiting = new Map<number, (result: AppendResult | undefined) => void>()
  #lastId = 0

  constructor(say: KeeperDeps['say']) {
    this.#say = say
  }

  async append(fact: LogFact): Promise<AppendResult> {
    const id = ++this.#lastId
    const answered = new Promise<AppendResult | undefined>((resolve) => this.#waiting.set(id, resolve))
    this.#say({ kind: 'append', id, fact })
    const result = await answered
    return result ?? { kind: 'unavailable', detail: 'it could not be handed to the store', retryAfterMs: FACT_RETRY_MS }
  }

  answered(id: number, result: AppendResult | undefined): void {
    this.#waiting.get(id)?.(result)
    this.#waiting.delete(id)
  }
}

export class UpkeepKeeper {
  readonly #parts: KeeperParts
  readonly #deps: KeeperDeps
  readonly #appends: HostAppends
  /** What runs, with what stops it. */
  readonly #running = new Map<number, { readonly stop: AbortController; readonly over: Promise<void> }>()
  /** As last told; undefined before the first pass, when nobody knows what the threads before this one have seen. */
  #faultsTold: number | undefined

  constructor(parts: KeeperParts, appends: HostAppends, deps: KeeperDeps) {
    this.#parts = parts
    this.#appends = appends
    this.#deps = deps
  }

  /** Never throws. */
  receive(message: Message): void {
    if (message.kind === 'task') this.#begin(message.id, message.task)
    else if (message.kind === 'abort') this.#running.get(message.id)?.stop.abort()
    else if (message.kind === 'appended') this.#appends.answered(message.id, message.result)
    else if (message.kind === 'keys-changed') {
      this.#parts
        .keysChanged()
        .catch((error: unknown) =>
          this.#warn(error, 'the thread that follows the store has not taken the new keys over'),
        )
    } else this.#write(message)
  }

  /** What is being made from far behind. */
  building(): Partial<Record<FileName, IndexProgress>> {
    const { index, logs } = this.#parts
    return { ...(index.building && { audit: index.building }), ...(logs.building && { logs: logs.building }) }
  }

  /** Stops what runs; resolves when nothing does. */
  async end(): Promise<void> {
    for (const { stop } of this.#running.values()) stop.abort()
    await Promise.all([...this.#running.values()].map(({ over }) => over))
  }

  #begin(id: number, task: UpkeepTask): void {
    const stop = new AbortController()
    const over = this.#done(task, stop.signal)
      .then(
        (done) => this.#deps.say({ kind: 'done', id, done }),
        (error: unknown) => this.#deps.say({ kind: 'failed', id, failure: failureOf(error) }),
      )
      .finally(() => this.#running.delete(id))
    this.#running.set(id, { stop, over })
  }

  async #done(task: UpkeepTask, signal: AbortSignal): Promise<TaskDone> {
    const { runs, index, logs, stores } = this.#parts
    if (!('until' in task)) return await this.#answer(task)
    const goOn = (): boolean => !signal.aborted
    await stores[FILE_OF[task.what]].reach(task.until)
    switch (task.what) {
      case 'list-runs':
        await runs.pass(goOn)
        return { hasFaults: this.#hasNewFaults() }
      case 'index':
        await index.pass(goOn)
        return {}
      case 'follow-logs':
        await logs.catchUp(signal)
        return {}
      case 'sign-logs':
        return { signed: await logs.sign(signal) }
      case 'restore-heads':
        await logs.restoreHeads(signal)
        return {}
    }
  }

  async #answer(task: Exclude<UpkeepTask, { readonly until: Position }>): Promise<TaskDone> {
    const { logs, files } = this.#parts
    if (task.what === 'stream-path')
      return { path: await logs.streamPath(task.tenant, task.stream, task.size, task.root) }
    if (task.what === 'opening') files.audit.opening()
    if (task.what === 'opened') files.audit.opened()
    if (task.what !== 'vouch') return {}
    if (task.damage !== undefined) files.audit.renew(task.damage)
    return { state: (await files.audit.isAuthentic()) ? files.audit.knownState() : undefined }
  }

  #hasNewFaults(): boolean {
    const { faults } = this.#parts.runs
    const isNew = this.#faultsTold !== faults
    this.#faultsTold = faults
    return isNew
  }

  /** Of what nobody waits for: a cached fold that is lost costs time, the place of the scrub comes with its next slice. */
  #write(message: Extract<Message, { readonly kind: 'save-fold' | 'save-note' | 'renew' }>): void {
    const { files } = this.#parts
    try {
      if (message.kind === 'save-fold') files.views.saveFold(message.row)
      else if (message.kind === 'save-note') files.views.saveNote(message.name, message.text)
      else files[message.file].renew(message.reason)
    } catch (error) {
      this.#warn(error, 'a file that follows the store takes no writes now')
    }
  }

  #warn(error: unknown, message: string): void {
    this.#deps.warn({ reason: error instanceof Error ? error.message : String(error) }, message)
  }
}

const FILE_OF = {
  'list-runs': 'views',
  index: 'audit',
  'follow-logs': 'logs',
  'sign-logs': 'logs',
  'restore-heads': 'logs',
} as const satisfies Record<Extract<UpkeepTask, { readonly until: Position }>['what'], FileName>
