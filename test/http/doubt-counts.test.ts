import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { Caller } from '../../src/ledger/ledger.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { drive, ok, type RunDriver } from '../support/run-driver.ts'
import { socketOver } from '../support/served-ledger.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { signedIn, type UiClient } from '../support/ui-client.ts'

const test = suite('http: calls in doubt and overdue, at every exit')

/** With the calls of each, more than a page of any exit has. */
const RUNS = 55
const ROLLED_BACK = 12
const LEASE_MS = 1_000
const LATER_MS = 60_000
/** Of leases that are still running by then. */
const LONG_MS = 600_000
const GRACE_MS = 2_000

interface Counts {
  readonly inDoubt: number
  readonly overdue: number
}

/** Of each kind that may be mistaken for another. */
async function seedRun(run: RunDriver): Promise<void> {
  await run.start()
  const doubt = async (more: Parameters<RunDriver['claimed']>[1] = {}) => {
    const call = await run.claimed('pay', more)
    ok(await run.settle(call, { unknown: { reason: 'timed out' } }))
    return call
  }
  await doubt()
  await doubt({ onUnknown: 'retry' })
  await doubt({ phase: 'model' })
  ok(await run.settle(await doubt()))
  ok(await run.do({ kind: 'resolve', callId: await doubt(), body: { outcome: 'not-executed', evidence: {} } }))
  await doubt({ key: 'again', args: {}, onUnknown: 'retry' })
  await run.claimed('pay', { key: 'again', args: {}, onUnknown: 'retry', leaseMs: LONG_MS })
  await run.claimed('ship', { leaseMs: LEASE_MS })
  await run.claimed('ship', { leaseMs: LEASE_MS })
  await run.claimed('ship', { leaseMs: LEASE_MS, onUnknown: 'retry' })
  await run.claimed('chat', { leaseMs: LEASE_MS, phase: 'model' })
  await run.claimed('ship', { leaseMs: LONG_MS })
  const renewed = await run.claimed('ship', { leaseMs: LATER_MS - 20_000 })
  ok(await run.do({ kind: 'renew', callId: renewed, body: { fence: 1 } }))
}

/** One doubt is undone, and of the undoing of another call nobody knows. */
async function seedRollback(run: RunDriver): Promise<void> {
  await run.start()
  const compensate = { tool: 'undo' }
  const sure = await run.called('pay', { compensate })
  const unsure = await run.claimed('pay', { compensate, compensateUnknown: true })
  ok(await run.settle(unsure, { unknown: { reason: 'timed out' } }))
  ok(await run.do({ kind: 'compensate', body: { reason: 'enough' } }))
  ok(await run.undo(unsure))
  ok(await run.undo(sure, { unknown: { reason: 'timed out' } }))
}

/** Counted over the events of the run alone, at a time in milliseconds. */
async function countedIn(run: RunDriver, nowMs: number): Promise<Counts> {
  const open = new Map<unknown, { isInDoubt: boolean; leaseUntil: string }>()
  for (const { header, data } of await run.events()) {
    const call = open.get(data.callId)
    if (header.type === 'ToolCallClaimed' && data.phase !== 'model') {
      open.set(data.callId, { isInDoubt: false, leaseUntil: String(data.leaseUntil) })
      open.delete(data.compensates)
    } else if (/^(ToolCall(Succeeded|Failed|Resolved)|Compensation(Succeeded|Failed))$/.test(header.type))
      open.delete(data.callId)
    else if (call !== undefined && header.type.endsWith('InDoubt')) call.isInDoubt = true
    else if (call !== undefined && header.type === 'ToolCallLeaseRenewed') call.leaseUntil = String(data.leaseUntil)
  }
  const calls = [...open.values()]
  return {
    inDoubt: calls.filter(({ isInDoubt }) => isInDoubt).length,
    overdue: calls.filter((call) => !call.isInDoubt && Date.parse(call.leaseUntil) < nowMs - GRACE_MS).length,
  }
}

async function itemsOf(edge: TestEdge, path: string): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = []
  let pages = 0
  for (let cursor = ''; ; pages += 1) {
    const answer = await edge.get(`${path}${cursor}`)
    const body = (await answer.json()) as { items: JsonObject[]; nextCursor: string | null }
    assert.is(answer.status, 200, JSON.stringify(body))
    items.push(...body.items)
    if (body.nextCursor === null) break
    cursor = `&cursor=${body.nextCursor}`
  }
  assert.ok(pages > 0, `${path} has one page`)
  return items
}

/** Heading and rows of a list of the page, over all of its pages. */
async function listedOn(client: UiClient, of: 'in-doubt' | 'overdue'): Promise<readonly [string, number]> {
  const sectionIn = (html: string) =>
    new RegExp(`<section aria-labelledby="${of}">[\\s\\S]*?</section>`).exec(html)?.[0]
  let section = sectionIn(await client.html('/ui/doubts')) ?? ''
  const heading = new RegExp(`<h2 id="${of}">([^<]*)</h2>`).exec(section)?.[1] ?? ''
  for (let rows = 0, pages = 1; ; pages += 1) {
    rows += /<tbody>[\s\S]*<\/tbody>/.exec(section)?.[0].match(/<tr[ >]/g)?.length ?? 0
    const next = /<a href="([^"]+)" rel="next"/.exec(section)?.[1]?.replaceAll('&amp;', '&')
    if (next === undefined) {
      assert.ok(pages > 1, `${of} has one page`)
      return [heading, rows]
    }
    section = sectionIn(await client.html(next)) ?? ''
  }
}

/** Marks of the runs in the list of a filter, over all of its pages. */
async function marksIn(client: UiClient, filter: string, mark: RegExp): Promise<readonly string[]> {
  const marks: string[] = []
  for (let path: string | undefined = `/ui/runs?${filter}`; path !== undefined; ) {
    const html = await client.html(path)
    for (const [, row = ''] of html.matchAll(/<tr id="run-[^"]+">([\s\S]*?)<\/tr>/g))
      marks.push(mark.exec(row)?.[1] ?? '')
    path = /<a href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  }
  return marks
}

async function metricsOf(edge: TestEdge): Promise<Counts> {
  await edge.get('/v1/runs')
  const text = await (await edge.get('/metrics')).text()
  const shown = (name: string) => Number(new RegExp(`^countersign_${name} (\\d+)$`, 'm').exec(text)?.[1])
  return { inDoubt: shown('calls_in_doubt'), overdue: shown('calls_overdue') }
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0)

test('in doubt and overdue are two sets, and every exit has the number that the raw events add up to (HTTP-103, F350)', async () => {
  await using edge = await testEdge({ realClock: false, audit: true })
  const caller: Caller = { tenant: edge.tenant, actor: 'alice' }
  // Of every tenant of the store, where other tests may have left some.
  edge.inner.clock.nowMs += LATER_MS
  const before = await metricsOf(edge)
  const runs: RunDriver[] = []
  const add = async (id: string, seed: (run: RunDriver) => Promise<void>) => {
    const run = drive(edge.inner, id, caller)
    await seed(run)
    runs.push(run)
  }
  for (let i = 0; i < RUNS; i += 1) await add(`r-${i}`, seedRun)
  for (let i = 0; i < ROLLED_BACK; i += 1) await add(`back-${i}`, seedRollback)
  edge.inner.clock.nowMs += LATER_MS

  const counted: Counts[] = []
  for (const run of runs) counted.push(await countedIn(run, edge.inner.clock.nowMs))
  const inDoubt = sumOf(counted.map((of) => of.inDoubt))
  const overdue = sumOf(counted.map((of) => of.overdue))
  assert.equal([inDoubt, overdue], [2 * RUNS + ROLLED_BACK, 3 * RUNS])
  const runsOf = (name: keyof Counts) => counted.filter((of) => of[name] > 0).length

  const api = async (status: string) => itemsOf(edge, `/v1/calls?limit=50&status=${status}`)
  assert.is((await api('in-doubt')).length, inDoubt)
  assert.is((await api('overdue')).length, overdue)
  const open = await api('open')
  const alike = (is: (item: JsonObject) => boolean) => open.filter(is).length
  assert.equal(
    [alike(({ status }) => status === 'in-doubt'), alike((item) => item.overdue === true)],
    [inDoubt, overdue],
  )

  const doubtful = await itemsOf(edge, '/v1/runs?limit=40&inDoubt=true')
  assert.equal([doubtful.length, sumOf(doubtful.map((row) => Number(row.inDoubtCalls)))], [runsOf('inDoubt'), inDoubt])
  assert.is((await itemsOf(edge, '/v1/runs?limit=40&overdue=true')).length, runsOf('overdue'))

  const metrics = await metricsOf(edge)
  assert.equal([metrics.inDoubt - before.inDoubt, metrics.overdue - before.overdue], [inDoubt, overdue])

  const audited = await itemsOf(edge, '/v1/audit/open-calls?limit=100')
  const statuses = audited.map(({ status }) => status)
  assert.is(statuses.filter((status) => status === 'in-doubt').length, inDoubt)
  assert.is(statuses.filter((status) => status === 'unanswered').length, RUNS, 'of models')

  const client = await signedIn(edge)
  assert.equal(await listedOn(client, 'in-doubt'), [`${inDoubt} calls in doubt`, inDoubt])
  assert.equal(await listedOn(client, 'overdue'), [`${overdue} calls overdue`, overdue])
  const marked = await marksIn(client, 'inDoubt=true', /(\d+) calls? in doubt</)
  assert.equal([marked.length, sumOf(marked.map(Number))], [runsOf('inDoubt'), inDoubt])
  assert.is(
    (await marksIn(client, 'overdue=true', />(overdue)</)).filter((mark) => mark === 'overdue').length,
    runsOf('overdue'),
  )
  const page = await client.html('/ui/runs/r-0')
  assert.match(page, />2 calls in doubt</)
  assert.match(page, /2 calls: the outcome is not known/)
  assert.match(page, /3 calls: the lease is over/)

  await using served = await socketOver((url, init) => edge.app.request(url, init))
  const there = ['--url', served.url, '--token', await edge.token()]
  const lines = async (...args: string[]): Promise<readonly JsonObject[]> => {
    const { code, stdout, stderr } = await runInProcess([...args, ...there])
    assert.is(code, 0, stderr)
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as JsonObject)
  }
  assert.is((await lines('calls', 'list', '--in-doubt')).length, inDoubt)
  assert.is((await lines('calls', 'list', '--overdue')).length, overdue)
  assert.is((await lines('runs', 'list', '--in-doubt')).length, runsOf('inDoubt'))
  assert.is((await lines('audit', 'open-calls')).filter(({ status }) => status === 'in-doubt').length, inDoubt)
  const both = await runInProcess(['calls', 'list', '--in-doubt', '--overdue', ...there])
  assert.equal([both.code, both.stdout], [2, ''])
})

test.run()
