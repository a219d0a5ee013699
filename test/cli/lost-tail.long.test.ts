import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { readSettings } from '../../src/settings/config.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { drive } from '../support/run-driver.ts'
import { rowsOf } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: an end of the store that is lost for good')

const settingsOf = (data: string) =>
  readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})

/** A checkpoint covers all events, of which `early` lacks the last ones. */
async function cut(data: string, early: string): Promise<void> {
  {
    await using opened = await openLedger(settingsOf(data), silentLog)
    const run = drive(opened, 'r', { tenant: 'acme', actor: 'alice' })
    await run.start({})
    const other = drive(opened, 'b', { tenant: 'beta', actor: 'alice' })
    await other.start({})
    await opened.ledger.logs?.publish()
    cpSync(data, early, { recursive: true })
    await run.hand('a', { n: 1 })
    await other.hand('a', { n: 1 })
    await opened.ledger.logs?.publish()
  }
  for (const name of ['store.db', 'store.db-wal', 'store.db-shm']) {
    rmSync(`${data}/${name}`, { force: true })
    if (existsSync(`${early}/${name}`)) cpSync(`${early}/${name}`, `${data}/${name}`)
  }
}

const started = (data: string): Promise<string> =>
  openLedger(settingsOf(data), silentLog).then(
    async (opened) => {
      await opened[Symbol.asyncDispose]()
      return 'started'
    },
    (error: Error & { readonly code?: string }) => `${error.code}: ${/ of the log (\S+),/.exec(error.message)?.[1]}`,
  )

test('an older copy is all that is left: what is gone is listed and acknowledged without a server, that of the ledger itself too, and then it starts (LOG-73, LOG-75, A461)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await cut(data, folder.file('early'))
  const asked = (...args: readonly string[]) => runInProcess([...args, '--data', data])
  assert.match(await started(data), /^store-behind-checkpoint: /)
  const listed = await asked('losses', 'list', '--tenant', 'acme', '--json')
  assert.is(listed.code, 3, listed.stderr)
  const open = listed.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.ok(open.some(({ state, stream }) => state === 'open' && stream === 'run-acme.r'))
  assert.ok(open.some(({ state, stream }) => state === 'open' && stream === 'ledger-acme'))
  const one = await asked('losses', 'acknowledge', '--all', '--stream', 'run-acme.r', '--reason', 'no copy has it')
  assert.is(one.code, 2, 'one or all')
  for (const [tenant, isOpen] of [
    ['system', /: (?:acme|beta)$/],
    ['acme', /: beta$/],
    ['beta', undefined],
  ] as const) {
    const { code, stderr } = await asked('losses', 'acknowledge', '--all', '--tenant', tenant, '--reason', 'no copy')
    assert.is(code, 0, stderr)
    if (isOpen !== undefined) assert.match(await started(data), isOpen, `${tenant} is acknowledged (LOG-76, A569)`)
  }
  assert.is((await asked('losses', 'list', '--tenant', 'acme')).code, 3, 'acknowledged, and lost')
  assert.is((await asked('losses', 'list', '--tenant', 'system')).code, 0)
  assert.is(await started(data), 'started')
  const verified = await asked('verify', '--json')
  assert.is(JSON.parse(verified.stdout.trimEnd().split('\n').at(-1) ?? '').verdict, 'INCOMPLETE')
  const file = folder.file('acme.jsonl')
  assert.is((await asked('export', '--tenant', 'acme', '--out', file)).code, 3)
  const read = await asked('verify', file)
  assert.is(read.code, 3, read.stdout)
  for (const each of [/ loss-acknowledged /, /INCOMPLETE +losses /]) assert.match(read.stdout, each)
})

test('without log.db nothing knows which events are gone: these commands are refused as a server is (LOG-73)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await cut(data, folder.file('early'))
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${data}/log.db${suffix}`, { force: true })
  const { code, stderr } = await runInProcess(['losses', 'list', '--tenant', 'acme', '--data', data])
  assert.ok(code !== 0 && /log\.db does not know which ones are gone/.test(stderr), stderr)
})

test('without log.db each command that reads the store says that a checkpoint beside it covers more than it holds, and ends with 3 (LOG-91, A576)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await cut(data, folder.file('early'))
  const removed = (name: string): void => {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${data}/${name}${suffix}`, { force: true })
  }
  const exits = async (args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runInProcess([...args, '--tenant', 'acme', '--data', data])
    return `${args.join(' ')}: ${code} ${/log-behind-checkpoint/.test(stdout + stderr)}`
  }
  const [event] = rowsOf(`${data}/store.db`).filter(({ stream }) => stream === 'run-acme.r')
  const asked = [
    ['checkpoint'],
    ['replay', 'r'],
    ['report', 'r'],
    ['audit', 'runs'],
    ['audit', 'events'],
    ['integrity'],
    ['proof', JSON.parse(String(event?.header)).id],
    ['runs', 'list'],
    ['tail'],
    ['calls', 'list'],
  ]
  // With it, commands that are told to trust none of the files that follow the store go without it.
  for (const args of [['integrity'], ['report', 'r'], ['audit', 'runs'], ['tail']])
    assert.is(await exits([...args, '--trust-nothing']), `${[...args, '--trust-nothing'].join(' ')}: 3 true`)
  for (const name of ['log.db', 'audit.db', 'views.db']) removed(name)
  for (const args of asked) assert.is(await exits(args), `${args.join(' ')}: 3 true`)
  writeFileSync(`${data}/store.db.checkpoints`, '{')
  assert.is((await runInProcess(['runs', 'list', '--tenant', 'acme', '--data', data])).code, 3, 'a damaged file')
})

test.run()
