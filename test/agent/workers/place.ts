/** @module A ledger by the real clock for workers, in process or over HTTP. */

import * as assert from 'uvu/assert'
import type { Connection } from '../../../src/agent/runtime/connection.ts'
import { httpConnection } from '../../../src/agent/runtime/http-connection.ts'
import { ledgerConnection } from '../../../src/agent/runtime/ledger-connection.ts'
import { type Countersign, createRuntime } from '../../../src/agent/runtime/runtime.ts'
import { createClient, type DuePage, type DueQuery } from '../../../src/client/client.ts'
import { testEdge } from '../../support/test-edge.ts'
import { alice } from '../../support/test-ledger.ts'

export const QUICK = { holdMs: 2_000, retryMs: 20, onError: () => undefined } as const

export type Listed = (query: DueQuery, ledger: Connection['due']) => Promise<DuePage>

export interface Place extends AsyncDisposable {
  /** `noted` hears of each request for due runs; `listed` answers each, instead of the ledger. */
  readonly process: (noted?: (what: string) => void, listed?: Listed, divergesAfterMs?: number) => Countersign
  /** Types of all events of the tenant's runs. */
  readonly events: () => Promise<string[]>
  readonly bob: Countersign
  readonly typesOf: (runId: string) => Promise<string[]>
}

export async function place(kind: 'in process' | 'over HTTP', streamsPerTenant = 64): Promise<Place> {
  const edge = await testEdge({ realClock: true, settings: { streamsPerTenant } })
  const fetch = async (url: string, init: RequestInit): Promise<Response> => edge.app.request(url, init)
  const runtime = (
    connection: Connection,
    noted?: (what: string) => void,
    listed?: Listed,
    divergesAfterMs = 200,
  ): Countersign => {
    const { due } = connection
    const heard: Connection['due'] = async (query, wait) => {
      noted?.('due')
      return listed === undefined ? due(query, wait) : listed(query, due)
    }
    return createRuntime({ ...connection, due: heard }, { divergesAfterMs })
  }
  const token = await edge.token()
  const { ledger } = edge.inner
  const inside = (actor = alice.actor): Connection =>
    ledgerConnection({
      ledger,
      caller: { ...alice, tenant: edge.tenant, actor },
      place: 'test',
      close: async () => {},
    })
  const outside = (): Connection =>
    httpConnection(createClient({ url: 'http://ledger.test', token, fetch, backoffMs: 1 }))
  return {
    process: (noted, listed, divergesAfterMs) =>
      runtime(kind === 'in process' ? inside() : outside(), noted, listed, divergesAfterMs),
    bob: runtime(inside('bob')),
    events: async () => {
      const types: string[] = []
      for await (const page of ledger.tenantEvents({ ...alice, tenant: edge.tenant }, {}))
        types.push(...page.map(({ header }) => header.type))
      return types
    },
    typesOf: async (runId) => {
      const types: string[] = []
      const found = await ledger.runEvents({ ...alice, tenant: edge.tenant }, runId, { from: 0 })
      assert.ok(found.ok)
      for await (const page of found.value) types.push(...page.map(({ header }) => header.type))
      return types
    },
    [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose](),
  }
}
