import { cpSync, rmSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { logFileGuard } from '../../src/ledger/identity/file-guard.ts'
import { readSettings } from '../../src/settings/config.ts'
import { fixedKeys, requireKeys } from '../../src/settings/key-source.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { drive } from '../support/run-driver.ts'
import { rowsOf, tamper } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { edgeOver } from '../system/truth-oracle-edge.ts'

const test = suite('cli: events that are gone')

/** A run, all events of which `log.db` has seen and none of which a checkpoint covers. */
async function followed(data: string): Promise<void> {
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
  await using opened = await openLedger(settings, silentLog)
  const run = drive(opened, 'r', { tenant: 'acme', actor: 'alice' })
  await run.start({ policy: { suspect: 'refuse' } })
  await run.hand('a', { n: 1 })
  await run.hand('a', { n: 2 })
  await opened.ledger.logs?.catchUp()
}

async function command(data: string, ...args: readonly string[]): Promise<Record<string, unknown>> {
  const { stdout } = await runInProcess([...args, '--json', '--data', data])
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
}

test('the end of the store is gone, and the log has seen it: verify, replay and report say so, and stop once it is back (LOG-49, A431)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await followed(data)
  const path = `${data}/store.db`
  assert.is((await command(data, 'verify')).verdict, 'VERIFIED')
  const [last] = rowsOf(path).slice(-1)
  assert.is(last?.stream, 'run-acme.r')
  // As an older copy of the file is, whose own row of its end is that of then.
  tamper(path, (db) => {
    db.prepare('DELETE FROM events WHERE position = ?').run(last?.position)
    db.prepare('UPDATE head SET position = position - 1').run()
  })
  assert.is((await command(data, 'verify')).verdict, 'INCOMPLETE')
  const { stdout } = await runInProcess(['verify', '--data', data])
  assert.match(stdout, /INCOMPLETE +run-acme\.r @ 3 +seen-beside/)
  const copied = await runInProcess(['copy', '--from', path, '--to', folder.file('copy.db'), '--data', data])
  assert.is(copied.code, 3)
  assert.match(copied.stderr, /INCOMPLETE: lost: .*run-acme\.r @ 3/)
  const wentBack = { scope: 'store', code: 'store-went-back' }
  const loss = { scope: 'run', code: 'missing', stream: 'run-acme.r', revision: 3 }
  const replayed = await command(data, 'replay', 'r', '--tenant', 'acme')
  assert.equal([replayed.verdict, replayed.losses], ['INCOMPLETE', [wentBack, loss]])
  const { run } = await command(data, 'report', 'r', '--tenant', 'acme')
  assert.equal((run as { losses: unknown }).losses, [wentBack, loss])
  const shown = await runInProcess(['report', 'r', '--tenant', 'acme', '--data', data])
  assert.match(shown.stdout, /^lost .*run-acme\.r @ 3 \(missing\)$/m)
  tamper(path, (db) => {
    const { stream: _, ...row } = last ?? { stream: '' }
    db.prepare(
      'INSERT INTO events (position, stream_id, revision, header, salt, data, request) VALUES (@position, @stream_id, @revision, @header, @salt, @data, @request)',
    ).run(row)
    db.prepare('UPDATE head SET position = position + 1').run()
  })
  assert.is((await command(data, 'verify')).verdict, 'VERIFIED')
  assert.is((await command(data, 'replay', 'r', '--tenant', 'acme')).verdict, 'VERIFIED')
})

test('a run whose stream was renamed is listed with the events that do not verify, by an index that is made anew (LOG-49)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await followed(data)
  const sound = await runInProcess(['audit', 'runs', '--tenant', 'acme', '--data', data])
  assert.equal([sound.code, sound.stderr], [0, ''])
  tamper(`${data}/store.db`, (db) => db.exec(`UPDATE streams SET name = 'run-acme.rx' WHERE name = 'run-acme.r'`))
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${data}/audit.db${suffix}`, { force: true })
  const { code, stderr } = await runInProcess(['audit', 'runs', '--tenant', 'acme', '--data', data])
  assert.is(code, 3)
  assert.match(stderr, /INCOMPLETE: lost: .*run-acme\.rx @ 0 \(wrong-stream\)/)
})

test('an old checkpoint shows nothing of what came after it: verify says up to where it speaks (LOG-49)', async () => {
  using folder = tempFolder()
  const [data, early, note] = ['data', 'early', 'note'].map((name) => folder.file(name)) as [string, string, string]
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
  let size = 0
  {
    await using opened = await openLedger(settings, silentLog)
    const { logs } = opened.ledger
    for (const tenant of ['acme', 'beta']) await drive(opened, 'r', { tenant, actor: 'alice' }).start({})
    await logs?.publish()
    const checkpoint = logs?.checkpoint('acme')
    writeFileSync(note, checkpoint?.ok ? checkpoint.value : '')
    size = logs?.published('acme')?.size ?? 0
    cpSync(data, early, { recursive: true })
    await drive(opened, 's', { tenant: 'acme', actor: 'alice' }).start({})
  }
  const notChecked = new RegExp(`^what came after the first ${size} events of the log .*/acme, and in other logs`)
  const ask = async (path: string) => {
    const said = await command(path, 'verify', '--checkpoint', note)
    return [said.verdict, (said.unchecked as readonly string[]).filter((text) => notChecked.test(text)).length]
  }
  // Two whole folders, of which nothing that is in them says which is the older one.
  assert.equal(await ask(data), ['VERIFIED', 1])
  assert.equal(await ask(early), ['VERIFIED', 1])
  rmSync(`${early}/store.db.checkpoints`)
  assert.equal(await ask(early), ['VERIFIED', 1])
  const { unchecked } = await command(early, 'verify', '--checkpoint', note)
  assert.ok((unchecked as readonly string[]).some((text) => /there is no .*checkpoints/.test(text)))
})

const LISTS = [
  ['runs', 'list'],
  ['runs', 'show', 'r'],
  ['calls', 'list'],
  ['approvals', 'list'],
  ['events'],
  ['search', 'n'],
  ['audit', 'open-calls'],
  ['audit', 'spend'],
  ['report', 'r'],
  ['tail'],
  ['integrity'],
]

test('whatever a command reads of a store that lacks events names what is lost on standard error, and ends with 3; of a whole one with 0 (LOG-49)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await followed(data)
  const asked = async (args: readonly string[]) => {
    const { code, stderr } = await runInProcess([...args, '--tenant', 'acme', '--data', data])
    return [args.join(' '), code, stderr.includes('INCOMPLETE: lost: ')]
  }
  for (const args of LISTS) assert.equal(await asked(args), [args.join(' '), 0, false])
  tamper(`${data}/store.db`, (db) => {
    db.prepare('DELETE FROM events WHERE position = (SELECT max(position) FROM events)').run()
    db.prepare('UPDATE head SET position = position - 1').run()
  })
  for (const args of LISTS) assert.equal(await asked(args), [args.join(' '), 3, true])
})

const FORGED = `INSERT INTO events (position, stream_id, revision, header, salt, data)
  SELECT position + 1, stream_id, revision + 1, replace(header, '"revision":3', '"revision":4'), salt, data FROM events WHERE revision = 3`
const ALTERED = `UPDATE events SET data = replace(data, '"n":1', '"n":7') WHERE revision = 1`

test('an event that does not verify is named by what reads the store at rest first, before and behind the place that log.db has reached (LOG-80, A548)', async () => {
  for (const [revision, change] of Object.entries({ 1: ALTERED, 4: FORGED })) {
    using folder = tempFolder()
    const data = folder.file('data')
    await followed(data)
    const asked = () => runInProcess(['audit', 'spend', '--tenant', 'acme', '--data', data])
    assert.is((await asked()).code, 0)
    tamper(`${data}/store.db`, (db) => db.exec(change))
    const { code, stderr } = await asked()
    assert.equal([code, stderr.includes(`INCOMPLETE: lost: run-acme.r @ ${revision}`)], [3, true], stderr)
  }
})

test("an event that does not verify is named where the ledger's own index has it and its log has not (LOG-80, A548)", async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await followed(data)
  {
    // At its end the index follows the store, and the log, which signs by no interval, does not.
    const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
    await using opened = await openLedger(settings, silentLog)
    assert.is((await (await edgeOver(opened, 'acme')).get('/v1/audit/spend?by=run')).status, 200)
    const db = new Sqlite(`${data}/store.db`)
    db.exec(FORGED.replace('position + 1', '(SELECT max(position) + 1 FROM events)'))
    db.close()
  }
  const { code, stderr } = await runInProcess(['audit', 'spend', '--tenant', 'acme', '--data', data])
  assert.equal([code, stderr.includes('INCOMPLETE: lost: run-acme.r @ 4')], [3, true], stderr)
})

test('an event is gone from among the last of a small store: every command opens it and names the place, and the loss is acknowledged without a server (STR-50, A447)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await followed(data)
  const path = `${data}/store.db`
  const lost = rowsOf(path).find(({ stream, revision }) => stream === 'run-acme.r' && revision === 1)
  tamper(path, (db) => db.prepare('DELETE FROM events WHERE position = ?').run(lost?.position))
  const asked = (...args: readonly string[]) => runInProcess([...args, '--tenant', 'acme', '--data', data])
  assert.is((await command(data, 'verify')).verdict, 'TAMPERED')
  for (const args of [['runs', 'list'], ['audit', 'runs'], ['audit', 'spend'], ['calls', 'list'], ['integrity']]) {
    const { code, stderr } = await asked(...args)
    assert.equal([args.join(' '), code, stderr.includes('INCOMPLETE: lost: run-acme.r @ 1')], [args.join(' '), 3, true])
  }
  const exported = await asked('export')
  assert.match(exported.stdout, /"losses":\[.*"stream":"run-acme\.r"/)
  assert.equal([exported.code, exported.stderr.includes('INCOMPLETE: lost: ')], [3, true])
  const answered = await asked('audit', 'runs', '--export', folder.file('runs.jsonl'))
  assert.equal([answered.code, answered.stderr.includes('INCOMPLETE: lost: ')], [3, true])
  const listed = await asked('losses', 'list')
  assert.equal([listed.code, /run-acme\.r\W+1\b|"revision":1\b/.test(listed.stdout)], [3, true], listed.stderr)
  const place = ['--stream', 'run-acme.r', '--revision', '1']
  const { code, stderr } = await asked('losses', 'acknowledge', ...place, '--reason', 'no copy has it')
  assert.is(code, 0, stderr)
  assert.is((await command(data, 'verify')).verdict, 'INCOMPLETE')
  const after = await asked('losses', 'list')
  assert.match(after.stdout, /no copy has it/)
})

test('a checkpoint of a store that lacks an event is printed, and what is lost is named (LOG-49)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
  {
    await using opened = await openLedger(settings, silentLog)
    const run = drive(opened, 'r', { tenant: 'acme', actor: 'alice' })
    await run.start({})
    await run.hand('a', { n: 1 })
    await run.hand('a', { n: 2 })
    await opened.ledger.logs?.publish()
  }
  const asked = async () => {
    const { code, stdout, stderr } = await runInProcess(['checkpoint', '--tenant', 'acme', '--data', data])
    return [code, stdout.includes('/acme'), stderr.includes('INCOMPLETE: lost: run-acme.r @ 1')]
  }
  assert.equal(await asked(), [0, true, false])
  const lost = rowsOf(`${data}/store.db`).find(({ stream, revision }) => stream === 'run-acme.r' && revision === 1)
  tamper(`${data}/store.db`, (db) => db.prepare('DELETE FROM events WHERE position = ?').run(lost?.position))
  assert.equal(await asked(), [3, true, true])
})

test('a run whose first event lies behind its others is in every list that is made of the store (LOG-2, A350)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await followed(data)
  const path = `${data}/store.db`
  const rows = rowsOf(path).filter(({ stream }) => stream === 'run-acme.r')
  const [first, second] = rows
  tamper(path, (db) => {
    const move = db.prepare('UPDATE events SET position = ? WHERE position = ?')
    move.run(-1, first?.position)
    move.run(first?.position, second?.position)
    move.run(second?.position, -1)
  })
  assert.is((await command(data, 'verify')).verdict, 'TAMPERED')
  const listed = async (...args: readonly string[]) => {
    const { stdout } = await runInProcess([...args, '--tenant', 'acme', '--json', '--data', data])
    return stdout.split('\n').filter((line) => line !== '').length
  }
  assert.equal([await listed('events', '--run', 'r'), await listed('audit', 'runs')], [rows.length, 1])
})

test('beside the note of a process that its store went back nothing is VERIFIED and no list is complete, until the event is there again (STR-32, A350)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await followed(data)
  const path = `${data}/store.db`
  for (const suffix of ['', '-wal', '-shm', '.sealed']) rmSync(`${data}/log.db${suffix}`, { force: true })
  const last = rowsOf(path).at(-1)
  if (last === undefined) throw new Error('no event')
  tamper(path, (db) => {
    db.prepare('DELETE FROM events WHERE position = ?').run(last.position)
    db.prepare('UPDATE head SET position = position - 1').run()
  })
  const { id } = JSON.parse(last.header) as { id: string }
  const missing = { stream: last.stream, revision: last.revision, position: String(last.position), id }
  const keys = fixedKeys(requireKeys(readSettings({ data }, {}).keys))
  const seal = logFileGuard(keys).seal(`store-loss\n${JSON.stringify(Object.values(missing))}`)
  const found = async () => [
    (await command(data, 'verify')).verdict,
    (await command(data, 'replay', 'r', '--tenant', 'acme')).verdict,
    (await runInProcess(['runs', 'list', '--tenant', 'acme', '--data', data])).code,
  ]
  // An older copy like any other: what came behind its end nobody knows.
  assert.equal(await found(), ['VERIFIED', 'VERIFIED', 0])
  writeFileSync(`${path}.lost`, JSON.stringify({ v: 1, missing, seal }))
  assert.equal(await found(), ['INCOMPLETE', 'INCOMPLETE', 3])
  writeFileSync(`${path}.lost`, JSON.stringify({ v: 1, missing, seal: seal.replace(/^../, '00') }))
  assert.equal(await found(), ['INCOMPLETE', 'INCOMPLETE', 3])
  writeFileSync(`${path}.lost`, JSON.stringify({ v: 1, missing, seal }))
  tamper(path, (db) => {
    const { stream: _, ...row } = last
    db.prepare(
      'INSERT INTO events (position, stream_id, revision, header, salt, data, request) VALUES (@position, @stream_id, @revision, @header, @salt, @data, @request)',
    ).run(row)
    db.prepare('UPDATE head SET position = position + 1').run()
  })
  assert.equal(await found(), ['VERIFIED', 'VERIFIED', 0])
})

test.run()
