/** @module The cost of a server on a large store: its start, a bundle, an export, the pages, and its memory during all of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { pageSession } from './page-session.ts'
import { makeToken, processorMs, residentBytes, serveLedger } from './server-child.ts'
import { percentile } from './statistics.ts'

const MIB = 1024 * 1024
const SCOPES = 'runs:read audit:read audit:export payloads:read'
/** Visits per page, after one to warm up. */
const VISITS = 20
const P95 = 0.95

const PAGES = [
  ['run list', '/ui/runs'],
  ['overview', '/ui/overview'],
  ['spending', '/ui/spend'],
  ['sample', '/ui/audit/sample?seed=s'],
  ['open work', '/ui/doubts'],
  ['open calls', '/ui/audit/open-calls'],
  ['population', '/ui/audit/runs'],
  ['search', '/ui/audit/search?text=%22revenue+of+run%22'],
] as const

const EXPORTS = ['jsonl', 'ocsf'] as const

export interface Served {
  readonly question: string
  readonly answer: string
}

/** Queries of the API, measured in the same way. */
const QUERIES = [
  ['run list', '/v1/runs?limit=50'],
  ['envelopes of a run', '/v1/runs/r0/envelopes?limit=50'],
  ['audit index, a run', '/v1/audit/events?run=r0&limit=50'],
  ['audit index, a page', '/v1/audit/events?limit=50'],
] as const

export interface ServedPlace {
  readonly data: string
  /** Flags of `serve` in addition to the data folder. */
  readonly flags?: readonly string[]
  /** Also measure the export of the whole store. */
  readonly exports?: boolean
}

/** `say` is called with each answer when it is available. */
export async function servedRows(
  { data, flags = [], exports = false }: ServedPlace,
  say: (text: string) => void,
): Promise<readonly Served[]> {
  const rows: Served[] = []
  const add = (question: string, answer: string): void => {
    rows.push({ question, answer })
    say(`${question}: ${answer}`)
  }
  const startedMs = performance.now()
  // Without flags for node, like the command: the larger young generation is for writes, and there are none.
  await using server = await serveLedger(data, [], flags)
  const startMs = performance.now() - startedMs
  add('server start', `${seconds(startMs)} (CPU ${seconds(processorMs(server.pid) ?? Number.NaN)})`)
  let largest = 0
  const watch = setInterval(() => {
    largest = Math.max(largest, residentBytes(server.pid) ?? 0)
  }, 100)
  try {
    const token = makeToken(data, SCOPES)
    const bundle = await fetched(`${server.url}/v1/bundle?run=r7`, token)
    add('bundle of one run of 25 events', `${(bundle.bytes / 1000).toFixed(0)} kB, ${seconds(bundle.ms)}`)
    const { page } = await pageSession(server.url, token)
    const { pid } = server
    for (const [name, path] of PAGES) add(`page: ${name}, p95 warm`, await p95Of(pid, () => page(path)))
    for (const [name, path] of QUERIES)
      add(`API: ${name}, p95 warm`, await p95Of(pid, () => fetched(`${server.url}${path}`, token)))
    for (const format of exports ? EXPORTS : []) {
      const { bytes, ms } = await fetched(`${server.url}/v1/export?format=${format}`, token)
      add(`export ${format}`, `${seconds(ms)}, ${((bytes / MIB / ms) * 1_000).toFixed(0)} MiB/s`)
    }
  } finally {
    clearInterval(watch)
  }
  add('memory under all of this (RSS)', `${Math.round(largest / MIB)} MiB`)
  return rows
}

/** Includes the server's CPU time per visit, with that of its background work. */
async function p95Of(pid: number, visit: () => Promise<unknown>): Promise<string> {
  await visit()
  const usedMs = processorMs(pid) ?? Number.NaN
  const times: number[] = []
  for (let visits = 0; visits < VISITS; visits += 1) {
    const beganMs = performance.now()
    await visit()
    times.push(performance.now() - beganMs)
  }
  const visitMs = ((processorMs(pid) ?? Number.NaN) - usedMs) / VISITS
  return `${seconds(percentile(times, P95))} (CPU ${seconds(visitMs)})`
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`

const AGAIN_MAX = 30

/** Reads the response to its end without keeping it. If it is not ready, the request is retried after the stated delay, which counts as time. */
async function fetched(url: string, token: string): Promise<{ readonly bytes: number; readonly ms: number }> {
  const startedMs = performance.now()
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    if (response.status === 200 && response.body !== null) {
      let bytes = 0
      for await (const chunk of response.body) bytes += chunk.length
      return { bytes, ms: performance.now() - startedMs }
    }
    const text = await response.text()
    if (response.status !== 503 || tries === AGAIN_MAX) throw new Error(`${url}: ${response.status} ${text}`)
    await sleep(Number(response.headers.get('retry-after') ?? 1) * 1_000)
  }
}
