/** @module The runtime in both of its homes, over a real ledger with a clock in hand: the same tests run on each. */

import type { Caller } from '../../src/access/caller.ts'
import type { Connection } from '../../src/agent/runtime/connection.ts'
import { httpConnection } from '../../src/agent/runtime/http-connection.ts'
import { ledgerConnection } from '../../src/agent/runtime/ledger-connection.ts'
import { type Countersign, createRuntime, type RuntimeOptions } from '../../src/agent/runtime/runtime.ts'
import { createClient } from '../../src/client/client.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { testEdge } from '../support/test-edge.ts'
import { alice, type TestClock, testLedger } from '../support/test-ledger.ts'
import { openTestStore } from '../support/test-store.ts'
import { within } from '../support/within.ts'

export interface TestHome extends AsyncDisposable {
  readonly clock: TestClock
  readonly connection: Connection
  /** A process, as it were: a runtime with no tools yet. `change` puts something between it and the ledger. */
  readonly process: (change?: (connection: Connection) => Connection, options?: RuntimeOptions) => Countersign
  /** What somebody else, who may decide on approvals, has. */
  readonly connect: (actor: string, roles?: readonly string[]) => Promise<Connection>
  /** A runtime of theirs. */
  readonly as: (actor: string, roles?: readonly string[]) => Promise<Countersign>
}

export interface HomeKind {
  readonly name: string
  readonly open: () => Promise<TestHome>
}

export const HOMES: readonly HomeKind[] = [
  { name: 'in process', open: inProcess },
  { name: 'over HTTP', open: () => overHttp() },
]

/** Slower, for what is to hold on a cluster, too. */
export const EVENTSTOREDB_HOME: HomeKind = {
  name: 'over HTTP, on EventStoreDB',
  open: async () => overHttp(await openTestStore('eventstoredb')),
}

async function inProcess(): Promise<TestHome> {
  const inner = await testLedger()
  const as = (caller: Caller): Connection =>
    ledgerConnection({ ledger: inner.ledger, caller, place: 'test', close: async () => {} })
  return {
    ...home(inner.clock, as(alice), () => inner[Symbol.asyncDispose]()),
    ...decider(async (actor, roles = []) => as({ ...alice, actor, roles })),
  }
}

async function overHttp(store?: EventStore): Promise<TestHome> {
  const edge = await testEdge({ realClock: false, ...(store && { store }) })
  const fetch = async (url: string, init: RequestInit): Promise<Response> => edge.app.request(url, init)
  const by = (token: string): Connection =>
    httpConnection(createClient({ url: 'http://ledger.test', token, fetch, backoffMs: 1, retries: 5 }))
  return {
    ...home(edge.inner.clock, by(await edge.token()), () => edge[Symbol.asyncDispose]()),
    ...decider(async (subject, roles) => by(await edge.token({ subject, roles, scopes: ['approvals:write'] }))),
  }
}

const decider = (connect: TestHome['connect']): Pick<TestHome, 'as' | 'connect'> => ({
  connect,
  as: async (actor, roles) => createRuntime(await connect(actor, roles)),
})

function home(
  clock: TestClock,
  connection: Connection,
  close: () => PromiseLike<void>,
): Omit<TestHome, 'as' | 'connect'> {
  return {
    clock,
    connection,
    process: (change = (same) => same, options = {}) =>
      createRuntime(change(connection), { divergesAfterMs: DIVERGES_AFTER_MS, ...options }),
    [Symbol.asyncDispose]: close,
  }
}

/** Beyond all that the code of these tests does by itself between two calls. */
const DIVERGES_AFTER_MS = 500

export interface Killed {
  readonly change: (connection: Connection) => Connection
  /** Resolves at the moment of death. */
  readonly dead: Promise<void>
}

/** The process is gone after `commands` commands: the last of them may have reached the ledger, nothing is heard of any more. */
export function killedAfter(commands: number, lastArrives: boolean): Killed & { readonly asked: () => number } {
  const silence = new Promise<never>(() => {})
  let die = (): void => undefined
  const dies = new Promise<void>((resolve) => {
    die = resolve
  })
  const onTheWay = new Set<Promise<unknown>>()
  let asked = 0
  const until = async <T>(ask: () => Promise<T>): Promise<T> => {
    asked += 1
    const left = commands - asked
    if (left < 0 || (left === 0 && !lastArrives)) {
      die()
      return silence
    }
    const answer = ask()
    onTheWay.add(answer)
    await answer
    if (asked < commands) return answer
    die()
    return silence
  }
  // What was on its way arrives: nothing of this life comes later than its death.
  const dead = dies.then(async () => void (await Promise.allSettled(onTheWay)))
  const change = (connection: Connection): Connection => ({
    ...connection,
    execute: (...asked) => until(() => connection.execute(...asked)),
    batch: (...asked) => until(() => connection.batch(...asked)),
  })
  return { change, dead, asked: () => asked }
}

/** Beyond every lease. */
export const LONG_MS = 15 * 60_000

/** One life of a process: until it is killed after `at` commands, or ends before. Then every lease has ended. */
export async function shortLife(
  home: TestHome,
  kill: { readonly at: number; readonly lastArrives: boolean },
  work: (cs: Countersign) => Promise<unknown>,
): Promise<void> {
  const { change, dead } = killedAfter(kill.at, kill.lastArrives)
  const ended = work(home.process(change)).catch(() => undefined)
  await within(Promise.race([dead, ended]), 'death or end')
  home.clock.nowMs += LONG_MS
}

export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let output: unknown
  try {
    output = await promise
  } catch (error) {
    return error
  }
  throw new Error(`it should have failed, and gave ${JSON.stringify(output)}`)
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

export const NO_WAIT = { type: 'fixed', delayMs: 0 } as const
