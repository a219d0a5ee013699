/**
 * @module The passes of retention of a served ledger: one a minute after the start, then one each day, tenant by tenant (LIFE-58). The space of moved bodies is
 * taken by new events; only `countersign retention run` gives it back, since that rewrites the whole file.
 */
import { realpathSync } from 'node:fs'
import type { RetentionPass, RetentionPassesAnswer } from '../../schemas/answers/archives.ts'
import { SYSTEM_TENANT } from '../../schemas/names.ts'
import { runRetention } from '../export/archive/retention-pass.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Log } from '../ledger/ports.ts'
import type { WorkQueue } from '../resources/work-queue.ts'
import type { Settings } from '../settings/config.ts'
import { readRetention } from '../settings/retention-file.ts'
import type { EventStore } from '../store/event-store.ts'
import { archivesOf } from '../store/sqlite/archive-reader.ts'

const FIRST_MS = 60_000
const EVERY_MS = 86_400_000
/** The recorded actor. */
const ACTOR = 'countersign'

interface RetentionParts {
  readonly ledger: Ledger
  readonly store: EventStore
  readonly work: WorkQueue
  readonly settings: Pick<Settings, 'retention' | 'store'>
  readonly log: Log
  readonly firstMs?: number
}

export interface RetentionPasses extends AsyncDisposable {
  /** Runs a pass now. Never rejects: what goes wrong is logged, and the next pass tries again. */
  pass(): Promise<void>
  /** The last pass over a tenant, and the next. */
  of(tenant: string): RetentionPassesAnswer
}

/** Undefined if no classes are set. Throws `SettingsError` if their file cannot be used, or the store moves no bodies. */
export function retentionPasses({ firstMs = FIRST_MS, ...parts }: RetentionParts): RetentionPasses | undefined {
  const { settings, log } = parts
  const { retention, store: place } = settings
  if (retention === undefined) return undefined
  readRetention(retention)
  if (place.kind !== 'sqlite') {
    log.warn({ store: place.kind }, 'nothing is archived: archives need a store in a file (SQLite)')
    return undefined
  }
  const closing = new AbortController()
  const ended = new Map<string, RetentionPass>()
  const passing = { ...parts, retention, folder: archivesOf(realpathSync(place.path)), signal: closing.signal, ended }
  let last: Promise<void> = Promise.resolve()
  let nextMs = Date.now() + firstMs
  const pass = (): Promise<void> => {
    nextMs = Date.now() + EVERY_MS
    last = last
      .then(() => passAll(passing))
      .catch((error: unknown) => {
        log.error({ err: error }, 'a pass of retention ended early: the next one tries again')
      })
    return last
  }
  let timer: NodeJS.Timeout
  const later = (afterMs: number): void => {
    timer = setTimeout(() => {
      void pass()
      later(EVERY_MS)
    }, afterMs).unref()
  }
  later(firstMs)
  return {
    pass,
    of: (tenant) => {
      const before = ended.get(tenant)
      return { nextAt: new Date(nextMs).toISOString(), ...(before && { last: before }) }
    },
    [Symbol.asyncDispose]: async () => {
      clearTimeout(timer)
      closing.abort()
      await last
    },
  }
}

interface Passing extends Omit<RetentionParts, 'settings' | 'firstMs'> {
  readonly retention: string
  readonly folder: string
  readonly signal: AbortSignal
  /** The last pass over each tenant. */
  readonly ended: Map<string, RetentionPass>
}

async function passAll(parts: Passing): Promise<void> {
  for (const tenant of parts.ledger.logs?.signed() ?? []) {
    if (tenant === SYSTEM_TENANT || parts.signal.aborted) continue
    try {
      parts.ended.set(tenant, { at: new Date().toISOString(), ...(await passTenant(parts, tenant)) })
    } catch (error) {
      const failure = 'it ended with an error, which the log of the ledger names'
      parts.ended.set(tenant, { at: new Date().toISOString(), archived: 0, left: 0, failure })
      parts.log.error(
        { err: error, tenant },
        'a pass of retention ended early: what it had recorded is good, and the next one goes on',
      )
    }
  }
}

async function passTenant(
  { ledger, store, work, retention, folder, signal, log }: Passing,
  tenant: string,
): Promise<Omit<RetentionPass, 'at'>> {
  const pace = work.begin({ tenant, caller: ACTOR })
  try {
    const caller = { tenant, actor: ACTOR, pace }
    const classes = readRetention(retention)
    const found = await runRetention({ ledger, store, caller, classes, folder, signal, nowMs: Date.now })
    if (found.ok) {
      const { archives, unsound, postponed } = found.value
      for (const made of archives) log.info({ tenant, ...made }, 'runs that have ended were archived')
      for (const { run, why } of unsound) log.warn({ tenant, run }, why)
      for (const { runs, why } of postponed) log.warn({ tenant, runs }, why)
    }
    const refused = found.ok ? found.value.refusal : found.refusal
    if (refused !== undefined)
      log.warn({ tenant, code: refused.code }, `a pass of retention was refused: ${refused.detail}`)
    const { archives = [], unsound = [], postponed = [] } = found.ok ? found.value : {}
    return {
      archived: sumOf(archives),
      left: unsound.length + sumOf(postponed),
      ...(refused !== undefined && { failure: refused.detail }),
    }
  } finally {
    pace.leave()
  }
}

function sumOf(archives: readonly { readonly runs: number }[]): number {
  return archives.reduce((sum, { runs }) => sum + runs, 0)
}
