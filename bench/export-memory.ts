/** @module P11: growth of the server's memory while it exports a million events, and the speed of the export. */
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { runStream } from '../schemas/names.ts'
import { realEffects } from '../src/ledger/effects.ts'
import { createRunKeys, currentKey } from '../src/signing/key-ring.ts'
import { type SealContext, sealEvents } from '../src/signing/seal.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import { CALLER, type LocalLedger, openLocalLedger, startRun } from './local-ledger.ts'
import type { BenchOptions } from './options.ts'
import type { Row } from './report.ts'
import { makeToken, residentBytes, type ServerChild, serveLedger } from './server-child.ts'
import { makeTempFolder } from './temp-folder.ts'

const EVENTS = 1_000_000
const APPEND_EVENTS = 1_000
const APPENDS_A_RUN = 50
/** Number of concurrent appends: the store never waits for the next one, and memory is bounded. */
const IN_FLIGHT = 4
const SAMPLE_MS = 25
const MIB = 1024 * 1024

export const exportMemory: BenchGroup = { name: 'export of a million events', ids: ['P11 export'], open }

async function open(options: BenchOptions): Promise<Bench | { readonly skipped: string }> {
  if (residentBytes(process.pid) === undefined)
    return { skipped: 'the system does not say how much memory a process has' }
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  const least = scaled(options, EVENTS)
  await fill(data, { least, appends: scaled(options, APPENDS_A_RUN) })
  let measured: Exported | undefined
  return {
    // Measured once: growth occurs on the first large export of a process, and a million events take long.
    round: async () => {
      measured ??= await measure(data, least)
    },
    rows: () => (measured === undefined ? [] : [rowOf(measured)]),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  }
}

function rowOf({ growth, eventsPerSecond, restBytes }: Exported): Row {
  return {
    id: 'P11 export',
    what: "growth of the server's memory while it exports 1,000,000 events",
    unit: 'MiB',
    numerator: growth / MIB,
    floor: 64,
    target: 32,
    bound: 'at-most',
    note: `${Math.round(eventsPerSecond).toLocaleString('en-GB')} events/s over HTTP; ${Math.round(restBytes / MIB)} MiB before it`,
  }
}

async function fill(data: string, { least, appends }: { least: number; appends: number }): Promise<void> {
  await using local = await openLocalLedger(data)
  await startRun(local.ledger, 'warm')
  for (let run = 0; run * appends * APPEND_EVENTS < least; run += 1) await fillRun(local, `r${run}`, appends)
}

/** Seals events as the ledger does, and appends them as fast as the store accepts them. */
async function fillRun({ store, keys }: LocalLedger, runId: string, appends: number): Promise<void> {
  const { newId, newSalt } = realEffects()
  const { kid } = currentKey(keys.ring)
  const stream = runStream(CALLER.tenant, runId)
  const key = createRunKeys(keys.ring).keyFor(kid, CALLER.tenant, stream)
  if (key === undefined) throw new TypeError('the ring has no key for the run')
  const place = { stream, tenant: CALLER.tenant, actor: CALLER.actor, kid, key, newId, newSalt }
  const waiting: Promise<unknown>[] = []
  let prev: string | undefined
  for (let append = 0; append < appends; append += 1) {
    const revision = append * APPEND_EVENTS
    const context: SealContext = { ...place, revision, prev, clock: new Date().toISOString() }
    const events = sealEvents(Array.from({ length: APPEND_EVENTS }, draft), context)
    prev = events.at(-1)?.digest
    const records = events.map(({ record }) => record)
    waiting.push(store.append({ stream, expectedRevision: revision - 1, records }))
    if (waiting.length >= IN_FLIGHT) mustBeAppended(await waiting.shift())
  }
  for (const each of await Promise.all(waiting)) mustBeAppended(each)
}

const filler = randomBytes(150).toString('base64url')

function draft() {
  return { type: 'UsageRecorded', data: { v: 1, agent: 'researcher', note: filler, usage: { tokens: 100 } } }
}

function mustBeAppended(result: unknown): void {
  if ((result as { kind?: string }).kind !== 'appended') throw new Error(`the store refused: ${JSON.stringify(result)}`)
}

interface Exported {
  readonly growth: number
  readonly restBytes: number
  readonly eventsPerSecond: number
}

async function measure(data: string, least: number): Promise<Exported> {
  await using server = await serveLedger(data)
  const token = makeToken(data, 'audit:export')
  // A small export first: modules that are loaded and code that is compiled once do not count as growth.
  await exported(server, token, '/v1/runs/warm/export')
  const restBytes = residentBytes(server.pid) ?? 0
  const startedMs = performance.now()
  const { peakBytes, events } = await exported(server, token, '/v1/export')
  const seconds = (performance.now() - startedMs) / 1000
  if (events < least) throw new Error(`the export holds ${events} events of ${least}`)
  return { growth: peakBytes - restBytes, restBytes, eventsPerSecond: events / seconds }
}

/** Reads an export to its trailer, which contains the number of events, without keeping it. */
function exported(server: ServerChild, token: string, path: string): Promise<{ peakBytes: number; events: number }> {
  return new Promise((resolve, reject) => {
    let peakBytes = 0
    let tail = ''
    const look = (): void => {
      peakBytes = Math.max(peakBytes, residentBytes(server.pid) ?? 0)
    }
    const looking = setInterval(look, SAMPLE_MS)
    const clientRequest = request(server.url + path, { headers: { authorization: `Bearer ${token}` } }, (answer) => {
      answer.on('data', (chunk: Buffer) => {
        tail = (tail + chunk.subarray(-1_000).toString('latin1')).slice(-1_000)
      })
      answer.on('close', () => {
        clearInterval(looking)
        look()
        const events = /"trailer":\{.*"events":(\d+)/.exec(tail)?.[1]
        if (answer.statusCode === 200 && events !== undefined) resolve({ peakBytes, events: Number(events) })
        else reject(new Error(`the export of ${path} broke off (${answer.statusCode})`))
      })
    })
    clientRequest.on('error', reject)
    clientRequest.end()
  })
}
