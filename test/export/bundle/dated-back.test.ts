/** @module Events that were written late and dated back: by the holder of all keys: no seal shows it, and the order of the log does. */
import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { type AuditeeEvent, bundleOfLog, bundleOfRun, eventsOf, type History, resealed } from '../../support/auditee.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { partsOf } from '../../support/forged-bundle.ts'
import { packedBundle, predicateOf } from '../../support/forgery.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

interface Context {
  history: History
  key: string
  /** A checkpoint of the log before run `late` was written. */
  kept: string
  size: number
  dated: readonly AuditeeEvent[]
}

const test = suite<Context>('export: events that are dated back')
const MINUTE_MS = 60_000

test.before(async (context) => {
  using folder = tempFolder()
  await using home = await testLogs()
  await home.fill('acme', 'one', 2)
  await home.logs.publish()
  const kept = home.logs.checkpoint('acme')
  await home.fill('acme', 'late', 1)
  await writeBundle(home.ledger, folder.file('log.tar'))
  const base = await unpackTar(readFileSync(folder.file('log.tar')))
  const { lines, predicate } = partsOf(base)
  context.history = { base, lines, predicate, log: { name: 'ledger.example/acme', key: home.keys.checkpointKey } }
  context.key = home.logs.verifierKey('acme')
  context.kept = kept.ok ? kept.value : ''
  context.size = Number(context.kept.split('\n')[1])
})

/** The events of run `late` dated so many minutes before the newest of run `one`, and everything sealed anew. */
function datedBack({ history }: Context, minutes: number): readonly string[] {
  const events = eventsOf(history.lines)
  const newest = Math.max(...events.filter(({ header }) => header.stream.endsWith('.one')).map(timeOf))
  const time = new Date(newest - minutes * MINUTE_MS).toISOString()
  const isLate = ({ header }: AuditeeEvent) => header.stream.endsWith('.late')
  return resealed(events.map((each) => (isLate(each) ? { ...each, header: { ...each.header, time } } : each)))
}

const timeOf = ({ header }: AuditeeEvent): number => Date.parse(header.time)

async function notesOf({ key }: Context, files: ReturnType<typeof bundleOfLog>, checkpoint?: string) {
  const found = verifyBundle(await packedBundle(files), { key, checkpoint })
  assert.equal(found.faults, [])
  assert.is(found.verdict, 'VERIFIED')
  return found.notes.filter((note) => note.includes('dated'))
}

test('a run that was written behind a kept checkpoint and dated ten months before it is VERIFIED with a note that names it (A371)', async (context) => {
  const lines = datedBack(context, 300 * 24 * 60)
  for (const checkpoint of [undefined, context.kept]) {
    const [note = '', ...more] = await notesOf(context, bundleOfLog({ ...context.history, lines }), checkpoint)
    assert.equal(more, [])
    assert.match(note, /^3 events are dated more than 5 minutes before others/)
    assert.match(note, /"run-acme.late" @ 0 \("RunStarted"\), leaf \d+, dated \d{4}-.*, and 2 more of its stream/)
    assert.is(note.includes('behind the checkpoint that was kept'), checkpoint !== undefined)
  }
  assert.equal(await notesOf(context, bundleOfLog(context.history), context.kept), [])
})

test('a query of the time that it is dated in brings it along, with the note; one of another time names it as outside (A371)', async (context) => {
  const lines = datedBack(context, 300 * 24 * 60)
  const late = lines.filter((line) => line.includes('"run-acme.late"'))
  const time = eventsOf(late)[0]?.header.time ?? ''
  for (const [query, own] of [
    [{ until: new Date(Date.parse(time) + MINUTE_MS).toISOString() }, late],
    [{ since: new Date(Date.parse(time) + MINUTE_MS).toISOString() }, lines.filter((line) => !late.includes(line))],
  ] as const) {
    const predicate = { ...predicateOf(context.history.base), query, complete: query }
    const [note = ''] = await notesOf(context, bundleOfLog({ ...context.history, lines, predicate }, own))
    assert.is(note.includes('outside the query'), 'since' in query)
    assert.match(note, /"run-acme.late" @ 0/)
  }
})

test('clocks that differ by less than five minutes are not worth a note (A371)', async (context) => {
  assert.equal(await notesOf(context, bundleOfLog({ ...context.history, lines: datedBack(context, 4) })), [])
  assert.is((await notesOf(context, bundleOfLog({ ...context.history, lines: datedBack(context, 6) }))).length, 1)
})

test('a bundle of one run says that it cannot tell (A371)', async (context) => {
  const lines = datedBack(context, 300 * 24 * 60)
  const notes = await notesOf(context, bundleOfRun({ ...context.history, lines }, 'late'))
  assert.equal(notes.length, 1)
  assert.match(notes[0] ?? '', /a bundle of one run cannot tell whether its events are dated before others/)
})

test.run()
