import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { drive } from '../support/run-driver.ts'
import { rowsOf, type StoreRow, tamper } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: what leaves a ledger with a loss that was acknowledged')

const LOSSES: Readonly<Record<string, (path: string, row: StoreRow) => void>> = {
  'is gone': (path, { position }) =>
    tamper(path, (db) => db.prepare('DELETE FROM events WHERE position = ?').run(position)),
  'is altered': (path, { position }) =>
    tamper(path, (db) => db.prepare('UPDATE events SET data = ? WHERE position = ?').run('{"v":1}', position)),
}

/** A second checker, which has no code in common with the first. */
const CHECKER = fileURLToPath(new URL('../../../test/support/check_evidence.py', import.meta.url))
const PLACE = ['--stream', 'run-acme.two', '--revision', '1']

/** Two runs, all of which a checkpoint covers, which is returned; the second one then loses an event. */
async function lossy(data: string, lose: (path: string, row: StoreRow) => void): Promise<string> {
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
  let before: string
  {
    await using opened = await openLedger(settings, silentLog)
    for (const id of ['one', 'two']) {
      const run = drive(opened, id, { tenant: 'acme', actor: 'alice' })
      await run.start({})
      for (const n of [1, 2, 3]) await run.hand('a', { n })
    }
    await opened.ledger.logs?.publish()
    const found = opened.ledger.logs?.checkpoint('acme')
    before = found?.ok === true ? found.value : ''
  }
  const row = rowsOf(`${data}/store.db`).find((each) => each.stream === 'run-acme.two' && each.revision === 1)
  if (row === undefined) throw new Error('no event')
  lose(`${data}/store.db`, row)
  return before
}

for (const [how, lose] of Object.entries(LOSSES))
  test(`an event ${how}: files of lines from any leaf on are INCOMPLETE, and a bundle of the log names it, is INCOMPLETE and proves the rest (LOG-92, LOG-93, LOG-94, A577)`, async () => {
    using folder = tempFolder()
    const data = folder.file('data')
    const before = await lossy(data, lose)
    const asked = (...args: readonly string[]) => runInProcess([...args, '--tenant', 'acme', '--data', data])
    const acknowledged = await asked('losses', 'acknowledge', ...PLACE, '--reason', 'no copy')
    assert.is(acknowledged.code, 0, acknowledged.stderr)
    const check = (file: string) => runInProcess(['verify', file, '--data', data])
    const file = folder.file('all.jsonl')
    assert.is((await asked('export', '--out', file)).code, 3)
    const whole = await check(file)
    assert.is(whole.code, 3, whole.stdout)
    assert.match(whole.stdout, /run-acme\.two @ 1 +loss-acknowledged/)
    const read = (input: string) => runInProcess(['verify', '-', '--data', data], { stdin: readFileSync(input) })
    const piped = await read(file)
    assert.is(piped.code, 3, piped.stdout)
    assert.match(piped.stdout, /run-acme\.two @ 1 +loss-acknowledged/)
    for (let from = 0; from <= 12; from += 1) {
      const part = folder.file(`from-${from}.jsonl`)
      const { code, stderr } = await asked('export', '--from', String(from), '--out', part)
      assert.is(code, 3, `from leaf ${from}: ${stderr}`)
      const { code: found, stdout } = await check(part)
      assert.is(found, 3, `from leaf ${from}: ${stdout}`)
    }
    const issued = [
      ['export'],
      ['export', '--run', 'two'],
      ['export', '--since', '2130-01-01T00:00:00.000Z'],
      ['export', '--run', 'one', '--whole-log'],
      ['audit', 'runs'],
      ['audit', 'events'],
    ]
    const tars: string[] = []
    for (const [at, args] of issued.entries()) {
      const tar = folder.file(`${at}.tar`)
      const { code, stderr } = await asked(...args, '--bundle', tar)
      assert.is(code, 3, `${args.join(' ')}: ${stderr}`)
      const verified = await check(tar)
      assert.is(verified.code, 3, `${args.join(' ')}: ${verified.stdout}`)
      assert.match(verified.stdout, /INCOMPLETE +lost-for-good +"run-acme\.two" @ 1 is lost for good/)
      assert.not.match(verified.stdout, /TAMPERED|UNVERIFIABLE/)
      const again = await read(tar)
      assert.equal([again.code, again.stdout], [verified.code, verified.stdout], 'a tar on standard input (A568)')
      tars.push(tar)
    }
    const python = spawnSync('python3', [CHECKER, ...tars], { encoding: 'utf8' })
    if (python.status === 0)
      for (const line of python.stdout.trim().split('\n')) assert.match(line, /"holds": true/, line)
    const kept = [folder.file('before'), folder.file('after')]
    writeFileSync(String(kept[0]), before)
    writeFileSync(String(kept[1]), (await asked('checkpoint')).stdout)
    const history = await runInProcess(['consistency', ...kept, '--data', data])
    assert.is(history.code, 0, history.stdout)
    const replayed = await Promise.all(['one', 'two'].map(async (run) => (await asked('replay', run)).code !== 0))
    assert.equal(replayed, [false, true], 'the replay of the other run is VERIFIED (LOG-65)')
    const one = folder.file('one.tar')
    assert.is((await asked('export', '--run', 'one', '--bundle', one)).code, 0)
    assert.is((await check(one)).code, 0, 'the other run is proven as before')
  })

const REASON = ['--reason', 'no copy']
const DERIVED = ['log.db', 'audit.db', 'views.db']

function removed(data: string, names: readonly string[]): void {
  for (const name of names)
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${data}/${name}${suffix}`, { force: true })
}

test('an acknowledged loss accounts for the position that its event left, whatever is known of it beside the store, and for no other one (LOG-97, A610)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await lossy(data, LOSSES['is gone'] ?? assert.unreachable)
  const asked = (...args: readonly string[]) => runInProcess([...args, '--tenant', 'acme', '--data', data])
  assert.is((await asked('losses', 'acknowledge', ...PLACE, ...REASON)).code, 0)
  for (const beside of ['log.db as it was when the loss was acknowledged', 'no log.db']) {
    if (beside === 'no log.db') removed(data, ['log.db'])
    for (const args of [
      ['replay', 'one'],
      ['report', 'one'],
      ['report', 'one', '--trust-nothing'],
    ]) {
      const { code, stdout, stderr } = await asked(...args)
      assert.is(code, 0, `${beside}: ${args.join(' ')}: ${stdout}${stderr}`)
    }
    for (const args of [['tail'], ['checkpoint'], ['integrity', '--trust-nothing'], ['tail', '--trust-nothing']]) {
      const { code, stdout, stderr } = await asked(...args)
      assert.is(code, 3, `${beside}: ${args.join(' ')}: ${stdout}${stderr}`)
      assert.match(stderr, /run-acme\.two @ 1 is lost for good/)
      assert.not.match(stderr, /position-gap|checkpoint-mismatch|and \d+ more/)
      if (args[0] === 'integrity') assert.match(stdout, /"broken":0/)
    }
    assert.is((await asked('replay', 'two')).code !== 0, true)
  }
  tamper(`${data}/store.db`, (db) =>
    db.prepare('DELETE FROM events WHERE position = ?').run(placeIn(data, 'run-acme.two', 2)),
  )
  for (const args of [
    ['replay', 'one'],
    ['report', 'one'],
    ['tail', '--trust-nothing'],
  ]) {
    const { code, stdout, stderr } = await asked(...args)
    assert.is(code, 3, args.join(' '))
    assert.match(stdout + stderr, /position-gap/)
  }
})

function placeIn(data: string, stream: string, revision: number): number {
  const row = rowsOf(`${data}/store.db`).find((each) => each.stream === stream && each.revision === revision)
  if (row === undefined) throw new Error(`no ${stream} @ ${revision}`)
  return row.position
}

test('a part of a large value that is gone beside an acknowledged loss is a loss of the store, until it is put back (LOG-97, A611)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const path = `${data}/store.db`
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
  {
    await using opened = await openLedger(settings, silentLog)
    for (const id of ['one', 'two']) {
      const run = drive(opened, id, { tenant: 'acme', actor: 'alice' })
      await run.start({})
      await run.settle(await run.claimed('search'), { result: 'x'.repeat(70_000) })
      await run.hand('a', { n: 1 })
    }
    await opened.ledger.logs?.publish()
  }
  const rows = rowsOf(path)
  const value = rows.filter(({ stream }) => stream.startsWith('value-')).at(-1)
  const settled = rows.find(({ position }) => position === (value?.position ?? 0) + 1)
  if (value === undefined || settled === undefined) throw new Error('no value')
  assert.is(settled.stream, 'run-acme.two')
  const lose = ({ position }: StoreRow): void =>
    tamper(path, (db) => db.prepare('DELETE FROM events WHERE position = ?').run(position))
  lose(settled)
  const asked = (...args: readonly string[]) => runInProcess([...args, '--tenant', 'acme', '--data', data])
  const place = ['--stream', settled.stream, '--revision', String(settled.revision)]
  assert.is((await asked('losses', 'acknowledge', ...place, ...REASON)).code, 0)
  removed(data, DERIVED)
  const ofStore = async (): Promise<readonly string[]> => {
    await using opened = await openLedger(settings, silentLog)
    return opened.ledger.losses({ tenant: 'acme' }).flatMap(({ scope, code }) => (scope === 'store' ? code : []))
  }
  assert.equal(await ofStore(), [])
  const kept = new Sqlite(path, { readonly: true })
  const row = kept
    .prepare<[number], Record<string, unknown>>('SELECT * FROM events WHERE position = ?')
    .get(value.position)
  kept.close()
  lose(value)
  assert.equal(await ofStore(), ['position-gap'])
  assert.equal(await ofStore(), ['position-gap'])
  assert.is((await asked('replay', 'one')).code, 3)
  const names = Object.keys(row ?? {})
  const insert = `INSERT INTO events (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`
  tamper(path, (db) => db.prepare(insert).run(...names.map((name) => row?.[name])))
  assert.equal(await ofStore(), [])
  assert.is((await asked('replay', 'one')).code, 0)
})

test('the end of the store is lost for all tenants: one command acknowledges it for each, and for the ledger itself (LOG-98, A612)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
  const writes = async (id: string): Promise<void> => {
    await using opened = await openLedger(settings, silentLog)
    for (const tenant of ['acme', 'beta', 'idle']) {
      if (tenant === 'idle' && id !== 'early') continue
      const run = drive(opened, `${tenant}-${id}`, { tenant, actor: 'alice' })
      await run.start({})
      await run.hand('a', { n: 1 })
    }
    await opened.ledger.logs?.publish()
  }
  await writes('early')
  const early = folder.file('early.db')
  cpSync(`${data}/store.db`, early)
  await writes('late')
  removed(data, ['store.db'])
  cpSync(early, `${data}/store.db`)
  await openLedger(settings, silentLog).then(
    () => assert.unreachable('a start would be refused'),
    () => undefined,
  )
  const acknowledge = ['losses', 'acknowledge', '--all', '--every-tenant', '--data', data, ...REASON]
  const wrong = await runInProcess([...acknowledge, '--tenant', 'acme'])
  assert.is(wrong.code, 2)
  const { code, stdout, stderr } = await runInProcess(acknowledge)
  assert.is(code, 0, stdout + stderr)
  for (const stream of ['run-acme.acme-late', 'run-beta.beta-late', 'ledger-acme', 'ledger-beta'])
    assert.match(stdout, stream)
  assert.not.match(stdout, /idle/)
  {
    await using opened = await openLedger(settings, silentLog)
    assert.equal([...opened.ledger.stats().stoppedLogs], [])
  }
  const again = await runInProcess(['verify', '--data', data])
  assert.match(again.stdout, /loss-acknowledged/)
  assert.not.match(again.stdout, /TAMPERED/)
})

test.run()
