import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { type CommandAnswer, runInProcess } from '../support/in-process-command.ts'
import { startServer } from '../support/server-process.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: export')
const CALLER = { tenant: 'default', actor: 'tester' }

async function site(): Promise<TempFolder> {
  const folder = tempFolder()
  await using opened = await openLedger(readSettings({ data: folder.path }, {}), silentLog)
  for (const runId of ['one', 'two']) {
    await opened.ledger.execute(CALLER, runId, { kind: 'start', body: { id: runId, name: 'try' } }, {})
    for (let step = 0; step < 5; step += 1) {
      const body = { agent: 'writer', payload: { note: `step ${step}`, text: 'x'.repeat(20_000) } }
      await opened.ledger.execute(CALLER, runId, { kind: 'envelope', body }, {})
    }
  }
  return folder
}

const cli = (folder: TempFolder, ...args: readonly string[]): Promise<CommandAnswer> =>
  runInProcess([...args, '--data', folder.path], { cwd: folder.path })

test('an export of the store verifies, names its tree, and is on record in the store', async () => {
  using folder = await site()
  const { code, stdout } = await cli(folder, 'export')
  assert.is(code, 0)
  const { trailer } = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  assert.ok(trailer.treeSize >= trailer.events - 1, JSON.stringify(trailer))
  assert.match(trailer.root, /^sha256:/)
  writeFileSync(folder.file('e.jsonl'), stdout)
  assert.match((await cli(folder, 'verify', folder.file('e.jsonl'))).stdout, /^VERIFIED/)
  const again = (await cli(folder, 'export')).stdout
  assert.match(again, /"actor":"local".*"type":"ExportIssued"/)
})

test('parts are taken from leaf to leaf, of the store and of a server, and verified together: none is missing, else it is said which', async () => {
  using folder = await site()
  const files = ['a.jsonl', 'b.jsonl', 'c.jsonl'].map((name) => folder.file(name))
  const [a = '', b = '', c = ''] = files
  const next = (file: string): string =>
    String(JSON.parse(readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '').trailer.to)
  assert.is((await cli(folder, 'export', '--from', '0', '--out', a)).code, 0)
  assert.is((await cli(folder, 'export', '--from', next(a), '--out', b)).code, 0)
  {
    await using server = await startServer({ data: folder.path })
    const token = (await cli(folder, 'token', '--scope', 'audit:export')).stdout.trim()
    const args = ['export', '--url', server.url, '--from', next(b), '--out', c]
    const { code, stderr } = await runInProcess(args, { cwd: folder.path, env: { COUNTERSIGN_TOKEN: token } })
    assert.is(code, 0, stderr)
  }
  const whole = await cli(folder, 'verify', c, a, b)
  assert.is(whole.code, 0, whole.stdout)
  assert.match(
    whole.stdout,
    `VERIFIED  3 parts of the log of default: leaves 0 to ${Number(next(c)) - 1}, none missing`,
  )
  const gap = await cli(folder, 'verify', a, c, '--json')
  const { verdict, chain, faults } = JSON.parse(gap.stdout.trimEnd().split('\n').at(-1) ?? '')
  assert.equal([gap.code, verdict, chain.from, faults[0].code], [3, 'INCOMPLETE', 0, 'part-gap'])
  assert.match((await cli(folder, 'verify', b)).stdout, /^VERIFIED[\s\S]*not checked: leaves 0 to/)
  for (const args of [
    ['--run', 'one'],
    ['--bundle', folder.file('x.tar')],
    ['--agent', 'a'],
  ]) {
    const refused = await cli(folder, 'export', '--from', '0', ...args)
    assert.equal([refused.code, /no filter and no --bundle/.test(refused.stderr)], [2, true], args.join(' '))
  }
  const beyond = await cli(folder, 'export', '--from', '9999', '--out', folder.file('y'))
  assert.equal([beyond.code, existsSync(folder.file('y'))], [2, false])
  assert.match(beyond.stderr, /the log has \d+ leaves/)
  assert.match((await cli(folder, 'verify', a, folder.path)).stderr, /each is an export, or a part of one/)
})

test('an answer to auditors is written whole to a new file, of the store and of a server, and verify says whose word it is', async () => {
  using folder = await site()
  const [jsonl, csv] = [folder.file('runs.jsonl'), folder.file('runs.csv')]
  const local = await cli(folder, 'audit', 'runs', '--since', '2020-01-01T00:00:00.000Z', '--export', jsonl)
  assert.is(local.code, 0, local.stderr)
  assert.is(readFileSync(jsonl, 'utf8').trimEnd().split('\n').length, 4, 'a head, two runs, a trailer')
  const word = await cli(folder, 'verify', jsonl)
  assert.equal(
    [word.code, /all 2 rows are here[\s\S]*its trailer is signed with/.test(word.stdout)],
    [3, true],
    word.stdout,
  )
  const again = await cli(folder, 'audit', 'runs', '--export', jsonl)
  assert.equal([again.code, /exists: choose another name/.test(again.stderr)], [2, true])
  assert.match((await cli(folder, 'audit', 'runs', '--export', csv, '--limit', '1')).stderr, /an export has all rows/)
  await using server = await startServer({ data: folder.path })
  const token = (await cli(folder, 'token', '--scope', 'audit:export')).stdout.trim()
  const args = ['audit', 'events', '--actor', 'tester', '--export', csv, '--url', server.url]
  const served = await runInProcess(args, { cwd: folder.path, env: { COUNTERSIGN_TOKEN: token } })
  assert.is(served.code, 0, served.stderr)
  assert.match(readFileSync(csv, 'utf8'), /^answer,leaf,time,type,[\s\S]*\nevents,[\s\S]*\nAnswerTrailer,/)
})

test('a format is written to a file that bears its name once it is whole, and never over another', async () => {
  using folder = await site()
  for (const format of ['csv', 'otlp']) {
    const file = folder.file(`e.${format}`)
    const { code, stderr } = await cli(folder, 'export', '--run', 'one', '--format', format, '--out', file)
    assert.is(code, 0, stderr)
    assert.not.ok(existsSync(`${file}.part`))
    assert.ok(readFileSync(file, 'utf8').includes(format === 'otlp' ? 'invoke_workflow' : 'step 3'))
  }
  const { code, stderr } = await cli(folder, 'export', '--out', folder.file('e.csv'))
  assert.is(code, 2)
  assert.match(stderr, /exists: choose another name/)
})

test('what cannot be exported says what to do, and founds no ledger', async () => {
  using folder = tempFolder()
  const nothing = await cli(folder, 'export')
  assert.is(nothing.code, 2)
  assert.match(nothing.stderr, /no ledger in this store yet/)
  assert.not.ok(existsSync(folder.file('store.db')))
  assert.match(
    (await cli(folder, 'export', '--format', 'xml')).stderr,
    /--format <format>' argument 'xml' is invalid\. Allowed choices are jsonl, csv/,
  )
  assert.match((await cli(folder, 'export', '--tenant', 'system')).stderr, /reserved/)
  using filled = await site()
  assert.is((await cli(filled, 'export', '--run', 'nobody')).code, 3)
})

test('beside a running ledger the store is not opened; the ledger itself exports with --url', async () => {
  using folder = await site()
  await using server = await startServer({ data: folder.path })
  const locked = await cli(folder, 'export')
  assert.is(locked.code, 1)
  assert.match(locked.stderr, /http:\/\/127/)
  const token = (await cli(folder, 'token', '--scope', 'audit:export')).stdout.trim()
  const env = { COUNTERSIGN_TOKEN: token }
  const file = folder.file('served.jsonl')
  const args = ['export', '--url', server.url, '--out']
  assert.is((await runInProcess([...args, file], { cwd: folder.path, env })).code, 0)
  const whole = await cli(folder, 'verify', file)
  assert.match(whole.stdout, /^VERIFIED[\s\S]*\ncomplete: all \d+ events of the log of default up to that size/)
  const part = folder.file('served-run.jsonl')
  assert.is((await runInProcess([...args, part, '--run', 'two'], { cwd: folder.path, env })).code, 0)
  const run = await cli(folder, 'verify', part)
  assert.equal([run.code, /completeness-unproven[\s\S]*export --bundle/.test(run.stdout)], [3, true])
  const narrow = (await cli(folder, 'token', '--scope', 'runs:read')).stdout.trim()
  const refused = await runInProcess(['export', '--url', server.url], {
    cwd: folder.path,
    env: { COUNTERSIGN_TOKEN: narrow },
  })
  assert.is(refused.code, 1)
  assert.match(refused.stderr, /scope-missing/)
})

test.run()
