import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import { ledgerStream, runStream } from '../../schemas/names.ts'
import { FORMAT_NAMES, type FormatName } from '../../src/export/formats.ts'
import { exportText, prepareExport } from '../../src/export/issue-export.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { judgeChain } from '../../src/verify/export-chain.ts'
import { collect } from '../support/records.ts'
import { drive } from '../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'
import { openTestStore } from '../support/test-store.ts'
import { wrapStore } from '../support/wrap-store.ts'

const test = suite('export: parts of the log')

async function exported(ledger: Ledger, format: FormatName, from?: number): Promise<string> {
  let text = ''
  for await (const part of exportText(ledger, alice, { format, ...(from !== undefined && { from }) })) text += part
  return text
}

/** The trailer, in whatever form its format gives it. */
function trailerOf(format: FormatName, text: string): ExportTrailer {
  const lines = text.trimEnd().split('\n')
  const last = lines.at(format === 'cloudevents-batch' ? -2 : -1) ?? ''
  if (format === 'csv')
    return JSON.parse(last.slice(last.indexOf('"{') + 1, last.lastIndexOf('"')).replaceAll('""', '"'))
  const value = JSON.parse(last)
  if (format === 'otlp') return JSON.parse(value.resourceSpans[0].resource.attributes.at(-1).value.stringValue)
  return value.trailer ?? value.unmapped?.trailer ?? value.data
}

/** The lines of events alone: neither what stands before the first, nor the trailer. */
function eventLines(format: FormatName, text: string): readonly string[] {
  const lines = text.trimEnd().split('\n')
  if (format === 'cloudevents-batch') return lines.slice(1, -2)
  const isHead = format === 'csv' || lines[0]?.startsWith('{"part":') === true
  return lines.slice(isHead ? 1 : 0, -1)
}

/** What a run does between two pulls: each thing begins in one part and ends in another. */
async function acts(home: TestLedger): Promise<readonly (() => Promise<unknown>)[]> {
  const run = drive(home, 'followed')
  const calls: string[] = []
  return [
    () => run.start(),
    async () => calls.push(await run.claimed('charge')),
    () => run.hand('writer', { facts: { a: 1 } }),
    async () => calls.push(await run.claimed('ship')),
    () => run.settle(calls[0] ?? '', { fence: 1, result: 'ok' }),
    () => run.settle(calls[1] ?? '', { fence: 1, error: { message: 'broke', code: 'EBROKE' } }),
    () => run.do({ kind: 'complete', body: { output: {} } }),
  ]
}

test('whoever pulls from where the last trailer ended gets every event once: the parts of each format join to the whole, byte for byte (HTTP-17)', async () => {
  for (const format of FORMAT_NAMES) {
    await using home = await testLedger({ merkleLogs: true, realClock: true })
    const { ledger } = home
    const parts: string[] = []
    let from = 0
    for (const act of await acts(home)) {
      await act()
      const part = await exported(ledger, format, from)
      const trailer = trailerOf(format, part)
      assert.equal([trailer.from, trailer.to], [from, trailer.treeSize], format)
      from = trailer.to ?? 0
      parts.push(part)
    }
    const joined = parts.flatMap((part) => eventLines(format, part))
    const whole = eventLines(format, await exported(ledger, format))
    assert.ok(joined.length > 3, format)
    assert.equal(joined, whole.slice(0, joined.length), format)
    if (format === 'otlp') continue
    assert.is(joined.length, from, `${format}: as many as the log has leaves`)
    const chain = judgeChain(parts.map((part, n) => ({ name: `${n}`, trailer: trailerOf(format, part) })))
    assert.equal([chain?.from, chain?.to, chain?.faults], [0, from, []], format)
  }
})

test('the events of JSONL parts, joined, have the digest that the whole export names at that size (HTTP-17)', async () => {
  await using home = await testLedger({ merkleLogs: true, realClock: true })
  const hash = createHash('sha256')
  let from = 0
  for (const act of await acts(home)) {
    await act()
    const part = await exported(home.ledger, 'jsonl', from)
    for (const line of eventLines('jsonl', part)) hash.update(`${line}\n`)
    from = trailerOf('jsonl', part).to ?? 0
  }
  const resume = { until: home.ledger.logs?.edgeAt(alice.tenant, from).last?.position, offset: 0 }
  const prepared = await prepareExport(home.ledger, alice, { format: 'jsonl', resume })
  assert.ok(prepared.ok)
  const bytes: Uint8Array[] = []
  for await (const chunk of prepared.value.chunks()) bytes.push(chunk)
  const trailer = trailerOf('jsonl', Buffer.concat(bytes).toString())
  assert.equal([trailer.treeSize, trailer.digest], [from, `sha256:${hash.digest('hex')}`])
})

test('a part of a log that has not grown is a signed trailer and no event, in each format; none has the id of another (HTTP-17)', async () => {
  await using home = await testLedger({ merkleLogs: true, realClock: true })
  await drive(home, 'one').start()
  const { until, tree } = await home.ledger.exports.pin(alice)
  const from = tree?.size ?? 0
  for (const format of FORMAT_NAMES) {
    const prepared = await prepareExport(home.ledger, alice, { format, from, resume: { until, offset: 0 } })
    assert.ok(prepared.ok)
    const bytes: Uint8Array[] = []
    for await (const chunk of prepared.value.chunks()) bytes.push(chunk)
    const text = Buffer.concat(bytes).toString()
    const { events, from: first, to, fromRoot, root, v } = trailerOf(format, text)
    assert.equal([v, events, first, to], [2, 0, from, from], format)
    assert.is(fromRoot, root, format)
    assert.equal(eventLines(format, text), [], format)
    if (format === 'ocsf' || format === 'cloudevents')
      assert.match(text, new RegExp(`export-[0-9a-f]{64}-${from}-${from}"`))
    if (format === 'ocsf') assert.ok(JSON.parse(text).time > Date.parse('2020-01-01'), 'an empty part is not of 1970')
  }
})

test('a part goes with no filter and no run, begins at a leaf that there is, and needs a log: else it is refused, and nothing is on record (HTTP-17)', async () => {
  await using home = await testLedger({ merkleLogs: true, realClock: true })
  await drive(home, 'one').start()
  const code = async (from: number, query = {}): Promise<string> => {
    const prepared = await prepareExport(home.ledger, alice, { format: 'jsonl', from, query })
    return prepared.ok ? 'ok' : prepared.code
  }
  assert.equal(
    [await code(0), await code(1), await code(2), await code(0, { run: 'one' }), await code(0, { agent: 'a' })],
    ['ok', 'ok', 'beyond-log', 'invalid-query', 'invalid-query'],
  )
  assert.equal(await collect(home.store.readStream(ledgerStream(alice.tenant))), [])
  await using without = await testLedger()
  const refused = await prepareExport(without.ledger, alice, { format: 'jsonl', from: 0 })
  assert.is(refused.ok ? 'ok' : refused.code, 'not-found')
})

test('a part that lacks events of its leaves names them in its trailer, and is not whole (F185)', async () => {
  await using home = await testLedger({ merkleLogs: true, realClock: true })
  const run = drive(home, 'one')
  await run.start()
  for (let n = 0; n < 5; n += 1) await run.hand('a', { n })
  const short: Ledger = {
    ...home.ledger,
    tenantEvents: async function* (...asked) {
      for await (const page of home.ledger.tenantEvents(...asked)) yield page.slice(1)
    },
  }
  const prepared = await prepareExport(short, alice, { format: 'jsonl', from: 2 })
  assert.ok(prepared.ok)
  await prepared.value.start()
  let text = ''
  for await (const chunk of prepared.value.chunks()) text += Buffer.from(chunk)
  const { trailer } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')
  const stream = runStream(alice.tenant, 'one')
  assert.equal([trailer.v, trailer.losses], [3, [{ scope: 'run', code: 'missing', stream, revision: 2 }]])
})

test('a follower goes on behind an event that was damaged, and is told where the store lost it (F186)', async () => {
  await using inner = await openTestStore()
  let harm: 'damaged' | 'lost' | undefined
  const store = wrapStore(inner, {
    recordAt: async (position: string) => {
      const record = await inner.recordAt(position)
      if (harm === 'lost') return undefined
      return harm === 'damaged' && record !== undefined ? { ...record, header: '{"id":' } : record
    },
  })
  await using home = await testLedger({ store, merkleLogs: true, realClock: true })
  const run = drive(home, 'one')
  await run.start()
  for (let n = 0; n < 3; n += 1) await run.hand('a', { n })
  harm = 'damaged'
  for (const format of FORMAT_NAMES) {
    const { from, to, events } = trailerOf(format, await exported(home.ledger, format, 2))
    assert.equal([from, events], [2, Number(to) - 2], format)
  }
  harm = 'lost'
  try {
    await prepareExport(home.ledger, alice, { format: 'jsonl', from: 2 })
    assert.unreachable('there is nothing to go on from')
  } catch (error) {
    assert.match(String(error), /does not hold leaf 1 of the log .*countersign verify/)
  }
})

test.run()
