/** @module A real ledger on the store under test, in memory by default, with a clock and ids that a test holds in its hand. */
import { randomBytes } from 'node:crypto'
import { v7 as uuidV7 } from 'uuid'
import type { RetentionClass } from '../../schemas/retention.ts'
import type { AuditReads } from '../../src/ledger/audit/audit-reads.ts'
import type { UnrecordedReads } from '../../src/ledger/audit/audit-service.ts'
import { createLedger } from '../../src/ledger/create-ledger.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { Sealer } from '../../src/ledger/identity/sealer.ts'
import type { Caller, Command, Ledger, Outcome, RequestInfo } from '../../src/ledger/ledger.ts'
import type { StampSettings } from '../../src/ledger/log/checkpoint-stamps.ts'
import type { Effects, KeySource, Log, TenantPolicies } from '../../src/ledger/ports.ts'
import type { ValueLimits } from '../../src/ledger/values/value-limits.ts'
import type { MemoryBudget } from '../../src/resources/memory-budget.ts'
import type { WorkQueue } from '../../src/resources/work-queue.ts'
import type { LedgerKeys } from '../../src/signing/ledger-keys.ts'
import type { AuditIndex } from '../../src/store/audit-index.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { openSqliteAudit } from '../../src/store/sqlite/sqlite-audit.ts'
import { openSqliteLogs } from '../../src/store/sqlite/sqlite-log.ts'
import { openSqliteSubjects } from '../../src/store/sqlite/sqlite-subjects.ts'
import { openSqliteViews } from '../../src/store/sqlite/sqlite-views.ts'
import type { SubjectStore } from '../../src/store/subject-store.ts'
import type { ViewStore } from '../../src/store/view-store.ts'
import { auditOfStore } from './audit-of-store.ts'
import { openTestStore, openUnsharedStore, ownTenant, testStoreKeys } from './test-store.ts'

/** A caller whose tenant is this one of the test that runs, on a store that tests share. A copy is for one test. */
export function ownCaller<T extends object>(tenant: string, more: T): T & { readonly tenant: string } {
  return {
    get tenant() {
      return ownTenant(tenant)
    },
    ...more,
  }
}

export const alice: Caller = ownCaller('acme', { actor: 'alice' })

export interface TestLedger extends AsyncDisposable {
  readonly ledger: Ledger
  readonly store: EventStore
  readonly views: ViewStore
  readonly keys: TestKeys
  readonly clock: TestClock
  /** Ids of the keys that it has begun to seal with since it was opened. */
  readonly rotatedTo: readonly string[]
  /** A second ledger process, as it were, on the same store and keys. */
  readonly sibling: () => Promise<Ledger>
  readonly run: (runId: string, command: Command, info?: RequestInfo) => Promise<Outcome>
}

export interface TestClock {
  /** Time as it passes. */
  nowMs: number
  /** How far the wall clock was set ahead of it; below zero: behind. */
  setAheadMs: number
}

function unrecordedAudit(store: EventStore, keys: KeySource): AuditReads {
  const index = openSqliteAudit({ path: ':memory:' })
  return {
    ...bound(auditOfStore({ store, index, sealer: new Sealer(keys) })),
    runs: async () => ({ ok: false, code: 'invalid-query', detail: 'this test ledger lists no past runs' }),
    approvals: async () => ({ ok: false, code: 'invalid-query', detail: 'this test ledger knows no past approvals' }),
    runMoment: async () => ({ ok: false, code: 'invalid-query', detail: 'this test ledger knows no moments' }),
    record: async () => undefined,
    recordPage: async () => undefined,
    notePayloads: () => undefined,
  }
}

const bound = (reads: UnrecordedReads): UnrecordedReads => ({
  asOf: (caller) => reads.asOf(caller),
  ask: (caller, question, page) => reads.ask(caller, question, page),
  plan: (caller, question, page) => reads.plan(caller, question, page),
  page: (caller, planned) => reads.page(caller, planned),
  event: (caller, eventId) => reads.event(caller, eventId),
  matchingRefusal: (caller, filter, range) => reads.matchingRefusal(caller, filter, range),
  matching: (caller, filter, range) => reads.matching(caller, filter, range),
})

/** A key source that a test rotates by hand. */
export class TestKeys implements KeySource {
  #keys: LedgerKeys
  readonly #listeners = new Set<(keys: LedgerKeys) => void>()

  constructor(keys: LedgerKeys) {
    this.#keys = keys
  }

  readonly current = (): LedgerKeys => this.#keys

  readonly onChange = (listener: (keys: LedgerKeys) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  replace(keys: LedgerKeys): void {
    this.#keys = keys
    for (const listener of this.#listeners) listener(keys)
  }
}

export interface TestLedgerOptions {
  readonly store?: EventStore
  readonly keys?: LedgerKeys
  /** Its keys change: it shares its store with no other test. */
  readonly rotates?: boolean
  readonly caller?: Caller
  /** Let the real clock run instead of the one in hand. */
  readonly realClock?: boolean
  readonly cachedRunsMax?: number
  readonly memory?: MemoryBudget
  readonly work?: WorkQueue
  /** Which values of calls stand in their events. */
  readonly values?: Partial<ValueLimits>
  readonly views?: ViewStore
  readonly log?: Log
  /** Keys of subjects; default: in memory. */
  readonly subjects?: SubjectStore | 'none'
  readonly tenantPolicy?: TenantPolicies
  readonly retention?: () => readonly RetentionClass[]
  /** Keep the auditors' index; `unrecorded` puts no read on record, as recording takes its time. */
  readonly audit?: boolean | 'unrecorded'
  /** How long a question of auditors waits for the index. */
  readonly auditWaitMs?: number
  readonly auditIndex?: AuditIndex
  /** Keep the Merkle logs; checkpoints are signed when the test asks for them. */
  readonly merkleLogs?: boolean
  /** Who time-stamps their checkpoints. */
  readonly stamps?: StampSettings
}

export async function testLedger(options: TestLedgerOptions = {}): Promise<TestLedger> {
  const store = options.store ?? (options.rotates === true ? await openUnsharedStore() : await openTestStore())
  const views = options.views ?? openSqliteViews({ path: ':memory:' })
  const keys = new TestKeys(options.keys ?? testStoreKeys())
  const clock: TestClock = { nowMs: Date.now(), setAheadMs: 0 }
  const effects: Effects = {
    nowMs: options.realClock === true ? Date.now : () => clock.nowMs + clock.setAheadMs,
    monotonicMs: options.realClock === true ? () => performance.now() : () => clock.nowMs,
    newId: () => uuidV7(),
    newSalt: () => new Uint8Array(randomBytes(16)),
    random: Math.random,
    // With the clock in hand nobody gains by waiting: only the turn has to end.
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, options.realClock === true ? ms : 1)),
  }
  const rotatedTo: string[] = []
  const info = (fields: object, message: string): void => {
    if (message === 'key rotated') rotatedTo.push((fields as { kid: string }).kid)
  }
  const subjects = options.subjects ?? openSqliteSubjects(':memory:')
  const open = (viewStore: ViewStore, log = silentLog) =>
    createLedger({
      store,
      log,
      views: viewStore,
      keys,
      ...(subjects !== 'none' && { subjects }),
      effects,
      ...(options.log && { log: options.log }),
      ...(options.merkleLogs === true && {
        logs: {
          store: openSqliteLogs({ path: ':memory:' }),
          maxDelayMs: 0,
          ...(options.stamps && { stamps: options.stamps }),
        },
      }),
      ...(options.audit === true && {
        audit: { index: options.auditIndex ?? openSqliteAudit({ path: ':memory:' }), waitMs: options.auditWaitMs },
      }),
      ...(options.memory && { memory: options.memory }),
      ...(options.work && { work: options.work }),
      ...(options.values && { values: options.values }),
      ...(options.retention && { retention: options.retention }),
      ...(options.tenantPolicy && { tenantPolicy: options.tenantPolicy }),
      ...(options.cachedRunsMax === undefined ? {} : { cachedRunsMax: options.cachedRunsMax }),
    })
  const opened = await open(views, { ...silentLog, info }).catch(async (error: unknown) => {
    if (options.store === undefined) await store[Symbol.asyncDispose]()
    throw error
  })
  const ledger = options.audit === 'unrecorded' ? { ...opened, audit: unrecordedAudit(store, keys) } : opened
  const caller = options.caller ?? alice
  return {
    ledger,
    store,
    views,
    keys,
    clock,
    rotatedTo,
    sibling: () => open(openSqliteViews({ path: ':memory:' })),
    run: (runId, command, info = {}) => ledger.execute(caller, runId, command, info),
    [Symbol.asyncDispose]: async () => {
      await ledger[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      views[Symbol.dispose]()
    },
  }
}
