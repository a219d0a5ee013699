/**
 * @module esdb http: envelopes over HTTP to a ledger on EventStoreDB, compared with appends of events of the same size by the bare client to the same node, at
 * 1, 16 and 64 connections, each of which waits for its answer. The node is the tests' own: measured is the ledger's overhead over the client.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { EventStoreDBClient } from '@eventstore/db-client'
import { KEY_FILE } from '../src/settings/places.ts'
import { createLedgerKeys, writeNewKeyFile } from '../src/signing/key-file.ts'
import { type Bench, type BenchGroup, directMs } from './bench.ts'
import { byClient, perSecond, sealedRecords } from './eventstoredb.ts'
import { singleRequests } from './http-requests.ts'
import { RUNS, startRuns } from './http-stage.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { makeToken, type ServerChild, START_FLAGS, serveLedger, startChild } from './server-child.ts'
import { Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'
import { hasWrk, runWrk } from './wrk.ts'

const CONNECTIONS = [1, 16, 64] as const
const WARM_UP_SECONDS = 1
const REQUESTS = singleRequests(RUNS)

const idOf = (connections: number): string => `esdb http ${connections}`

export const eventStoreDbHttp: BenchGroup = {
  name: 'ledger on EventStoreDB over HTTP',
  ids: CONNECTIONS.map(idOf),
  open,
}

async function open(options: BenchOptions): Promise<Bench | { readonly skipped: string }> {
  if (!hasWrk()) return { skipped: 'wrk is not installed (Debian: apt-get install wrk)' }
  const templates = await sealedRecords(options)
  const folder = makeTempFolder(options.folder)
  const node = await startChild('./eventstoredb-node-child.js', [])
  const server = await serve(folder.at('data'), node)
  const target = { url: server.url, token: makeToken(folder.at('data'), 'runs:write runs:read') }
  await startRuns(target)
  const client = EventStoreDBClient.connectionString(node.url)
  const append = byClient(client, templates)
  const posted = async (connections: number, seconds: number): Promise<number> => {
    const load = { ...target, requests: REQUESTS, connections, seconds, script: folder.at('load.lua') }
    const result = await runWrk(load)
    return result.requests / result.seconds
  }
  const samples = new Samples()
  await posted(Math.max(...CONNECTIONS), WARM_UP_SECONDS)
  await perSecond(append, directMs(options))
  return {
    round: async () => {
      for (const connections of CONNECTIONS) {
        samples.add(`ledger ${connections}`, await posted(connections, options.seconds))
        samples.add(`bare ${connections}`, await perSecond(append, directMs(options), connections))
      }
    },
    rows: () => CONNECTIONS.map((connections) => rowOf(samples, connections)),
    [Symbol.asyncDispose]: async () => {
      await client.dispose()
      await server[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

function serve(data: string, node: ServerChild): Promise<ServerChild> {
  mkdirSync(data, { recursive: true })
  writeNewKeyFile(join(data, KEY_FILE), createLedgerKeys(new Date().toISOString(), randomBytes))
  return serveLedger(data, START_FLAGS, ['--store', node.url])
}

function rowOf(samples: Samples, connections: number) {
  return ratioRow(samples, {
    id: idOf(connections),
    what: `envelopes over HTTP to a ledger on EventStoreDB ÷ appends by the bare client, ${connections} at once`,
    unit: 'envelopes/s',
    over: [`ledger ${connections}`, `bare ${connections}`],
    target: 0.8,
    note: 'both against the protocol node of the tests, which is no real server and shares this machine',
  })
}
