import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { contextDiff } from '../../projections/context-diff.ts'
import { cellText, fitted, jsonLine, widthOf } from '../../src/cli/shown.ts'
import { type Output, printRows, widthsOf } from '../../src/cli/table.ts'
import { frames } from '../../src/client/sse-frames.ts'
import { openLedger } from '../../src/compose/compose.ts'
import { AUDIT_QUERIES, type AuditQueryName } from '../../src/ledger/audit/audit-queries.ts'
import { SERVICE_QUERIES } from '../../src/ledger/audit/service-queries.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { HOSTILE, inspectedLedger } from '../support/inspected-ledger.ts'
import { tempFolder } from '../support/temp-folder.ts'

const inspect = suite('cli: the inspector')
const folder = tempFolder()
inspect.after(() => folder[Symbol.dispose]())
const cwd = folder.path
/** Everything that a terminal would obey, but for the line feed. */
const OBEYED = /[^\P{Cc}\n]|\u202e/u

inspect.before(() => inspectedLedger(join(cwd, '.countersign')))

/** In this process, on the store of this test. */
function run(args: readonly string[]) {
  return runInProcess(args[0] === 'completions' ? args : [...args, '--data', join(cwd, '.countersign')])
}

const rowsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

async function rows(...args: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const { code, stdout, stderr } = await run(args)
  assert.is(code, 0, stderr)
  assert.is(stderr, '')
  return rowsOf(stdout)
}

inspect(
  'every audit command prints with --json the very rows that HTTP answers, those of the service among them',
  async () => {
    const settings = readSettings({ data: join(cwd, '.countersign') }, {})
    const more: Readonly<Record<string, readonly string[]>> = {
      search: ['--text', 'growth'],
      sample: ['--seed', 'abc'],
    }
    // As of one size: each question is itself on record.
    const size = ['--as-of', '7']
    const asked: Record<string, readonly Record<string, unknown>[]> = {}
    for (const name of Object.keys(AUDIT_QUERIES))
      asked[name] = await rows('audit', name, '--json', ...size, ...(more[name] ?? []))
    for (const name of Object.keys(SERVICE_QUERIES)) asked[name] = await rows('audit', name, '--json')
    assert.equal(
      (await rows('audit', '--json')).map(({ query }) => query),
      Object.keys(asked),
    )
    await using opened = await openLedger(settings, silentLog)
    const { audit, service } = opened.ledger
    const caller = { tenant: 'default', actor: 'alice' }
    const filters: Readonly<Record<string, object>> = { search: { text: 'growth' } }
    for (const name of Object.keys(AUDIT_QUERIES) as AuditQueryName[]) {
      const question = { name, filter: filters[name] ?? {}, ...(name === 'sample' && { seed: 'abc' }) }
      // Pages of a planned question are not put on record.
      const planned = await audit?.plan(caller, question, { limit: 500, treeSize: 7 })
      const page = planned === undefined || 'code' in planned ? undefined : await audit?.page(caller, planned)
      assert.equal(asked[name], JSON.parse(page?.itemsText() ?? 'null'), name)
    }
    assert.equal(asked.service, (await service.history({ limit: 500 })).items)
    assert.equal(asked.tokens, (await service.tokens('default', { limit: 500 })).items)
    assert.ok((asked.events?.length ?? 0) > 5 && asked.rejections?.length === 1)
  },
)

inspect('--as-of shows runs, a run, and its report as they were at that size of the log', async () => {
  const [early] = await rows('runs', 'show', 'r', '--as-of', '2')
  assert.equal([early?.step, early?.revision], [1, 1])
  const [now] = await rows('runs', 'show', 'r')
  assert.is(now?.step, 2)
  assert.equal(
    (await rows('runs', 'list', '--as-of', '7')).map(({ runId }) => runId),
    ['r'],
  )
  assert.is((await rows('runs', 'list')).length, 2)
  const [made = {}] = await rows('report', 'r', '--as-of', '2', '--json')
  assert.equal([(made.run as { step: number }).step, made.rejections], [1, []])
  assert.is((await run(['runs', 'show', 'r', '--as-of', '9999'])).code, 3)
  assert.is((await run(['runs', 'show', 's', '--as-of', '3'])).code, 3)
  for (const bad of ['0', '-1', 'x', '1e3']) assert.is((await run(['runs', 'list', '--as-of', bad])).code, 2, bad)
  const [, atStart] = [await rows('runs', 'list'), await rows('runs', 'list', '--as-of', '1')]
  assert.equal(
    atStart.map(({ runId, step, rejections }) => [runId, step, rejections]),
    [['r', 0, 0]],
  )
  assert.is((await run(['runs', 'list', '--as-of', '9999'])).code, 2)
  const remote = await run([
    'runs',
    'diff',
    'r',
    '0',
    '1',
    '--as-of',
    '3',
    '--url',
    'http://127.0.0.1:1',
    '--token',
    't',
  ])
  // A running ledger answers that by itself: here none does.
  assert.is(remote.code, 4)
  const shown = await run(['runs', 'show', 'r', '--as-of', '3', '--url', 'http://127.0.0.1:1', '--token', 't'])
  assert.is(shown.code, 4)
})

inspect('runs, events, searches and named queries are lines of JSON where the output is no terminal', async () => {
  assert.equal((await rows('runs', 'list')).map(({ runId }) => runId).sort(), ['r', 's'])
  assert.equal(
    (await rows('events', '--types', 'EnvelopeRejected')).map(({ actor }) => actor),
    ['mallory'],
  )
  assert.equal(
    (await rows('audit', 'rejections')).map(({ agent }) => agent),
    ['writer'],
  )
  assert.equal(
    (await rows('audit', 'open-calls')).map(({ tool }) => tool),
    ['charge'],
  )
  assert.equal(
    (await rows('search', 'growth')).map(({ type }) => type),
    ['EnvelopeRejected'],
  )
  assert.equal(
    (await rows('audit', 'spend', '--by', 'agent')).map(({ key, tokens }) => [key, tokens]),
    [['writer', 7]],
  )
  assert.ok((await rows('audit')).length > 10)
  assert.equal((await rows('audit', 'runs', '--limit', '1')).length, 1)
})

inspect('a question as of a size of the log is answered the same as it was then (LOG-22)', async () => {
  assert.equal(
    (await rows('audit', 'runs', '--as-of', '3')).map(({ run, events }) => [run, events]),
    [['r', 3]],
  )
})

inspect(
  'the difference of two steps names what changed, by matching list members, and the refusal in between',
  async () => {
    const changes = await rows('runs', 'diff', 'r', '1', '2')
    assert.equal(
      changes.map(({ kind, path, before, after, rule }) => [kind, path, before, after, rule]),
      [
        ['added', '/entities/1', undefined, 'Pear', undefined],
        ['changed', '/n', 1, 2, undefined],
        ['refused', '/entities', ['Apple'], undefined, 'critical-key-removed'],
        ['warning', '/entities/1', undefined, 'Pear', 'ungrounded'],
      ],
    )
  },
)

inspect('the report of a run says who, what, what was refused, what it cost and what is open', async () => {
  const { stdout, code } = await run(['report', 'r'])
  assert.is(code, 0)
  for (const part of [
    'VERIFIED',
    'mallory',
    'critical-key-removed',
    'charge',
    'Calls without an outcome',
    'not that an agent told the truth',
  ])
    assert.ok(stdout.includes(part), part)
  const [made] = await rows('report', 'r', '--json')
  assert.match(JSON.stringify(made?.verdict), 'VERIFIED')
})

inspect(
  'recorded text moves no cursor, breaks no line and turns no letters, in tables, lists, reports and lines of JSON (A45, A50)',
  async () => {
    const asked = ['runs list', 'runs show s', 'report s', 'report r', 'search evil', 'audit spend --by model', 'tail']
    for (const words of asked) {
      const { stdout, code } = await run(words.split(' '))
      assert.is(code, 0, words)
      assert.not.match(stdout, OBEYED, words)
    }
    const written: string[] = []
    const output: Output = { isTTY: true, columns: 80, write: (text) => written.push(text) }
    const one = async function* () {
      yield { name: HOSTILE, run: 'r' }
    }
    await printRows(one(), { columns: ['run', 'name'], json: false, output })
    assert.is(written.length, 2)
    assert.not.match(written[1] ?? '', OBEYED)
    assert.is(JSON.parse(jsonLine({ name: HOSTILE })).name, HOSTILE)
  },
)

inspect('a table fits the terminal: wide letters count twice, what is cut says so', () => {
  assert.is(widthOf('東京'), 4)
  assert.is(fitted('東京都', 5), '東京…')
  assert.is(fitted('abc', 5), 'abc  ')
  assert.is(cellText(['a', 'b']), 'a, b')
})

inspect('a question that cannot be answered ends with the exit code that says why, in one line', async () => {
  const ends: readonly (readonly [number, ...string[]])[] = [
    [2, 'runs'],
    [2, 'runs', 'paint'],
    [2, 'runs', 'diff', 'r', 'one', '2'],
    [2, 'runs', 'rollback', 'r'],
    [2, 'calls', 'resolve', 'r', 'c', '--reason', 'x'],
    [2, 'calls', 'resolve', 'r', 'c', '--executed', '--not-executed', '--reason', 'x'],
    [2, 'calls', 'resolve', 'r', 'c', '--executed'],
    [2, 'calls', 'resolve', 'r', 'c', '--executed', '--reason', 'x', '--result', '{'],
    [2, 'audit', 'everything'],
    [2, 'audit', 'runs', '--tool', 'x'],
    [2, 'events', '--types', 'Nope'],
    [2, 'events', '--limit', '0'],
    [2, 'events', '--url', 'ftp://x', '--token', 't'],
    [2, 'events', '--url', 'http://127.0.0.1:1'],
    [2, 'completions', 'tcsh'],
    [2, 'tail', '--lines', 'many'],
    [3, 'runs', 'show', 'nobody'],
    [3, 'report', 'nobody'],
    [4, 'events', '--url', 'http://127.0.0.1:59999', '--token', 't'],
  ]
  for (const [expected, ...args] of ends) {
    const { code, stdout, stderr } = await run(args)
    assert.equal([code, stdout], [expected, ''], args.join(' '))
    assert.match(stderr, /^countersign: [^\n]+\n$/, args.join(' '))
  }
})

inspect('at 80 columns a table shows every date and id whole, and says which columns it has no room for', async () => {
  const at = '2026-11-22T08:35:00.000Z'
  const row = {
    runId: '0190f3a2-7c11-7abc-8def-0123456789ab',
    name: 'x'.repeat(60),
    startedAt: at,
    step: 3,
    cost: '1.5',
  }
  const columns = ['runId', 'name', 'status', 'startedAt', 'step', 'rejections', 'cost', 'agents']
  const rows = async function* () {
    yield { ...row, status: 'compensated', rejections: 2, agents: ['researcher', 'writer', 'reviewer'] }
  }
  const written: string[] = []
  const write = (text: string): void => void written.push(text)
  await printRows(rows(), { columns, json: false, output: { write, isTTY: true, columns: 80 } })
  const table = written.join('').split('\n')
  const [, line = ''] = table
  assert.ok(line.includes(at) && line.includes(row.runId), line)
  for (const each of table) assert.ok(widthOf(each) <= 80 + 8, each)
  const narrow = widthsOf(columns, [{ ...row, at }], 30)
  assert.is(narrow[3], at.length)
})

inspect('a name of 128 characters pushes no column out: what a run is and cost stays beside it at 80 columns', () => {
  const long = 'reconciliation_'.repeat(9)
  const widthOfAll = (widths: readonly number[]) => {
    const shown = widths.filter((width) => width > 0)
    return shown.reduce((sum, width) => sum + width, 2 * (shown.length - 1))
  }
  const runs = {
    runId: long,
    name: long,
    status: 'open',
    startedAt: '2026-11-22T08:35:00.000Z',
    step: 12,
    tokens: 1200,
  }
  const widths = widthsOf(Object.keys(runs), [runs], 80)
  assert.ok(widths[0] !== undefined && widths[0] >= 20 && widths[2] === 'status'.length, String(widths))
  assert.is(widths[3], 24)
  assert.ok(widthOfAll(widths) <= 80, String(widths))
  const spend = { key: long, tokens: 36_480, cost: '0.2694', currency: 'USD' }
  for (const columns of [80, 60]) {
    const shown = widthsOf(Object.keys(spend), [spend], columns)
    assert.ok(widthOfAll(shown) <= columns && shown.every((width) => width > 0), String(shown))
  }
  const keys = { kid: 'k1-38959f6a', announced: runs.startedAt, first: runs.startedAt, last: runs.startedAt }
  for (const columns of [80, 60]) {
    const shown = widthsOf(Object.keys(keys), [keys], columns)
    assert.ok(widthOfAll(shown) <= columns, `${shown} at ${columns}`)
    assert.ok(
      shown.every((width, at) => at === 0 || width === 0 || width >= 24),
      'a date is whole or not there',
    )
  }
})

inspect('frames of a tail are read whole, however the line cuts them', async () => {
  const text = 'retry: 2000\nid: a\n\nid: b\nevent: X\ndata: {"n":1}\n\n:\n\n'
  const byLetter = async function* () {
    yield* text
  }
  const seen: unknown[] = []
  for await (const frame of frames(byLetter())) seen.push([frame.id, frame.data])
  assert.equal(seen, [
    ['a', undefined],
    ['b', '{"n":1}'],
    [undefined, undefined],
  ])
})

inspect('two contexts are compared by what their members are, not by where they stand', () => {
  const before = {
    entities: ['a', 'b'],
    facts: [
      { id: 1, v: 'x' },
      { id: 2, v: 'y' },
    ],
    gone: 1,
    same: { deep: [1] },
  }
  const after = {
    same: { deep: [1] },
    facts: [
      { id: 2, v: 'z' },
      { id: 1, v: 'x' },
    ],
    entities: ['b', 'a'],
    new: null,
  }
  assert.equal(
    contextDiff(before, after),
    [
      { kind: 'changed', path: '/facts/1/v', before: 'y', after: 'z' },
      { kind: 'removed', path: '/gone', before: 1 },
      { kind: 'added', path: '/new', after: null },
    ].sort((a, b) => (a.path < b.path ? -1 : 1)),
  )
})

inspect.run()
