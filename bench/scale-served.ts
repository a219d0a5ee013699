/** @module What a server on a large store takes: its start, a bundle, an export, the pages, and its memory under all of them. */
import { pageSession } from './page-session.ts'
import { makeToken, residentBytes, START_FLAGS, serveLedger } from './server-child.ts'
import { percentile } from './statistics.ts'

const MIB = 1024 * 1024
const SCOPES = 'runs:read audit:read audit:export payloads:read'
/** Each page once to warm up, then so many times. */
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

/** `say` is told each answer as it comes. */
export async function servedRows(data: string, say: (text: string) => void): Promise<readonly Served[]> {
  const rows: Served[] = []
  const add = (question: string, answer: string): void => {
    rows.push({ question, answer })
    say(`${question}: ${answer}`)
  }
  const startedMs = performance.now()
  await using server = await serveLedger(data, START_FLAGS)
  add('server start', seconds(performance.now() - startedMs))
  let largest = 0
  const watch = setInterval(() => {
    largest = Math.max(largest, residentBytes(server.pid) ?? 0)
  }, 100)
  try {
    const token = makeToken(data, SCOPES)
    const bundle = await fetched(`${server.url}/v1/bundle?run=r7`, token)
    add('bundle of one run of 25 events', `${(bundle.bytes / 1000).toFixed(0)} kB, ${seconds(bundle.ms)}`)
    const { page } = await pageSession(server.url, token)
    for (const [name, path] of PAGES) {
      const times: number[] = []
      for (let visit = 0; visit <= VISITS; visit += 1) {
        const beganMs = performance.now()
        await page(path)
        if (visit > 0) times.push(performance.now() - beganMs)
      }
      add(`page: ${name}, p95 warm`, seconds(percentile(times, P95)))
    }
    for (const format of EXPORTS) {
      const { bytes, ms } = await fetched(`${server.url}/v1/export?format=${format}`, token)
      add(`export ${format}`, `${seconds(ms)}, ${((bytes / MIB / ms) * 1_000).toFixed(0)} MiB/s`)
    }
  } finally {
    clearInterval(watch)
  }
  add('memory under all of this (RSS)', `${Math.round(largest / MIB)} MiB`)
  return rows
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`

/** Read to its end, and kept nowhere. */
async function fetched(url: string, token: string): Promise<{ readonly bytes: number; readonly ms: number }> {
  const startedMs = performance.now()
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  if (response.status !== 200 || response.body === null) throw new Error(`${url}: ${response.status}`)
  let bytes = 0
  for await (const chunk of response.body) bytes += chunk.length
  return { bytes, ms: performance.now() - startedMs }
}
