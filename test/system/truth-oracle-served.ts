/** @module What the truth oracle asks: a ledger that is opened in this process, or a server in a process of its own. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { startServer } from '../support/server-process.ts'
import { ALL_SCOPES } from '../support/test-edge.ts'
import { type Edge, edgeOfServer, edgeOver } from './truth-oracle-edge.ts'
import { caseSettings } from './truth-oracle-history.ts'

export interface Served extends AsyncDisposable {
  readonly edge: (tenant: string) => Promise<Edge>
  /** Verifier key of the tenant's log; undefined where none is given. */
  readonly key: (tenant: string) => Promise<string | undefined>
  /** Resolves once checkpoints were signed, as far as they can be. */
  readonly publish: () => Promise<void>
}

export interface ServedPlace {
  readonly data: string
  /** The URL of a server; absent, the store is in the folder. */
  readonly store: string | undefined
}

/** How a case is served. */
export type Serving = 'module' | 'process'

/** Undefined where the start is refused. */
export async function serve(place: ServedPlace, by: Serving): Promise<Served | undefined> {
  return (by === 'module' ? servedHere(place) : servedByProcess(place)).catch(() => undefined)
}

async function servedHere({ data, store }: ServedPlace): Promise<Served> {
  const opened = await openLedger(caseSettings(data, store), silentLog)
  return {
    edge: (tenant) => edgeOver(opened, tenant),
    key: async (tenant) => opened.ledger.logs?.verifierKey(tenant),
    publish: async () => {
      await opened.ledger.logs?.publish().catch(() => undefined)
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}

/** Seconds between checkpoints, and milliseconds after which one was due. */
const EACH_SECONDS = 1
const SIGNED_MS = 1_500

async function servedByProcess({ data, store }: ServedPlace): Promise<Served> {
  const more = store === undefined ? [] : ['--store', store]
  const args = ['--checkpoint-seconds', String(EACH_SECONDS), '--scrub-days', '0', '--work-ms-per-second', '0', ...more]
  const server = await startServer({ data, args })
  const edge = async (tenant: string): Promise<Edge> =>
    edgeOfServer(server.url, await server.token({ tenant, subject: `${tenant}-agent`, scopes: ALL_SCOPES }))
  return {
    edge,
    key: async (tenant) => {
      const { status, text } = await (await edge(tenant)).get('/v1/log/key')
      return status === 200 ? text.trim() : undefined
    },
    publish: () => sleep(SIGNED_MS),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
