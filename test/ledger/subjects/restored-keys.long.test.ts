import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../../schemas/json.ts'
import { ERASED, KEY_MISSING, withKept } from '../../../schemas/redacted-parts.ts'
import { openLedger } from '../../../src/compose/compose.ts'
import { silentLog } from '../../../src/ledger/effects.ts'
import type { Command, Ledger } from '../../../src/ledger/ledger.ts'
import { readSettings } from '../../../src/settings/config.ts'
import { runInProcess } from '../../support/in-process-command.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'

const test = suite('keys of subjects that are lost, replaced or restored')

const caller = { tenant: 'default', actor: 'alice' }
const NAME = 'Zephyrine Quackenbush'
const REQUEST = { reason: 'asked by letter', basis: 'GDPR 17(1)(b)' }
const POLICY = { redaction: [{ name: 'person', at: ['/input/name'], keep: { subject: '/id' } }] }

interface Opened {
  readonly ledger: Ledger
  /** What the start told as an error. */
  readonly told: readonly string[]
}

async function served<T>(folder: TempFolder, work: (opened: Opened) => Promise<T>, erasures?: string): Promise<T> {
  const told: string[] = []
  const settings = { ...readSettings({ data: folder.path }, {}), readThreads: 0, ...(erasures && { erasures }) }
  const log = { ...silentLog, error: (_: object, message: string) => void told.push(message) }
  await using opened = await openLedger(settings, log)
  return await work({ ledger: opened.ledger, told })
}

async function record(ledger: Ledger, id: string, subject: string): Promise<void> {
  const start: Command = { kind: 'start', body: { id, name: 'r', input: { name: NAME, id: subject }, policy: POLICY } }
  for (const command of [start, { kind: 'complete', body: {} } as const]) {
    const outcome = await ledger.execute(caller, id, command, {})
    assert.ok(outcome.ok, JSON.stringify(outcome))
  }
}

async function nameIn(ledger: Ledger, run: string): Promise<Json | undefined> {
  const found = await ledger.runEvents(caller, run, { from: 0, to: 0, kept: true })
  assert.ok(found.ok)
  for await (const [event] of found.value) {
    if (event?.kept === undefined) break
    return (withKept(event.data, event.kept) as { input?: { name?: Json } }).input?.name
  }
  return undefined
}

async function erased(ledger: Ledger, subject: string): Promise<void> {
  const answer = await ledger.subjects.erase(caller, subject, REQUEST)
  assert.is(answer.ok && answer.value.status, 'erased', JSON.stringify(answer))
}

const codeOf = (opening: Promise<unknown>): Promise<string | undefined> =>
  opening.then(
    () => undefined,
    (error: { code?: string }) => error.code ?? String(error),
  )

/** A folder as it is now, and how to put all of it, or some of it, back. */
function copied(folder: TempFolder, to: TempFolder): (...names: readonly string[]) => void {
  cpSync(folder.path, to.file('copy'), { recursive: true })
  return (...names) => {
    if (names.length === 0) {
      rmSync(folder.path, { recursive: true })
      cpSync(to.file('copy'), folder.path, { recursive: true })
    }
    for (const name of names) cpSync(`${to.file('copy')}/${name}`, folder.file(name))
  }
}

test('a file of keys that is lost, emptied, older or another one is told at the start and by verify, and is no erasure (LIFE-12)', async () => {
  using folder = tempFolder()
  using out = tempFolder()
  const path = folder.file('subjects.db')
  await served(folder, ({ ledger }) => record(ledger, 'r1', 's1'))
  const older = readFileSync(path)
  await served(folder, async ({ ledger, told }) => {
    await record(ledger, 'r2', 's2')
    assert.equal(told, [], 'the control: nothing is wrong yet')
  })
  copied(folder, out)
  const whole = readFileSync(path)
  const emptied = (): void => {
    const db = new Sqlite(path)
    db.exec("UPDATE subject_keys SET wrapped = NULL, subject = NULL, state = 'done'")
    db.close()
  }
  const cases: readonly (readonly [string, () => void, RegExp | undefined])[] = [
    ['lost', () => rmSync(path), /subjects\.db is missing.*put back/],
    ['older', () => writeFileSync(path, older), /subjects\.db is an older copy/],
    ['emptied by hand', emptied, undefined],
  ]
  for (const [name, damage, says] of cases) {
    writeFileSync(path, whole)
    damage()
    const { stdout } = await runInProcess(['verify', '--data', folder.path])
    assert.match(stdout, /subjects\.db/, name)
    assert.not.match(stdout, /\d erased/, name)
    await served(folder, async ({ ledger, told }) => {
      assert.is(await nameIn(ledger, 'r2'), KEY_MISSING, name)
      if (says !== undefined) assert.match(told.join('\n'), says)
    })
  }
  writeFileSync(path, whole)
  await served(folder, async ({ ledger }) => assert.is(await nameIn(ledger, 'r2'), NAME, 'the right one is back'))
})

test('store and keys of before an erasure are put back: the list carries it out before anybody is served (LIFE-13)', async () => {
  // Long enough not to occur by chance in a seal.
  const SUBJECT = 'subject-one'
  using folder = tempFolder()
  using out = tempFolder()
  await served(folder, ({ ledger }) => record(ledger, 'r1', SUBJECT))
  const putBack = copied(folder, out)
  await served(folder, async ({ ledger }) => {
    await erased(ledger, SUBJECT)
    assert.is(await nameIn(ledger, 'r1'), ERASED)
  })
  const list = out.file('erasures')
  cpSync(folder.file('store.db.erasures'), list)
  assert.not.match(readFileSync(list, 'utf8'), SUBJECT, 'it names no subject')

  putBack()
  await served(folder, async ({ ledger }) => assert.is(await nameIn(ledger, 'r1'), NAME, 'the control: it is back'))
  putBack()
  for (const given of [list, undefined]) {
    await served(
      folder,
      async ({ ledger }) => {
        assert.is(await nameIn(ledger, 'r1'), ERASED)
        const again = await ledger.subjects.erase(caller, SUBJECT, REQUEST)
        assert.is(again.ok && again.value.status, 'nothing')
      },
      given,
    )
  }
  const verified = await runInProcess(['verify', '--data', folder.path])
  assert.match(verified.stdout, /VERIFIED, 1 erased/)
  assert.match(readFileSync(folder.file('store.db.erasures'), 'utf8'), /"erased"/, 'and the next list names it')
})

test('store and keys that lack the end that the log has seen are refused without a list (LIFE-14)', async () => {
  using folder = tempFolder()
  using out = tempFolder()
  await served(folder, ({ ledger }) => record(ledger, 'r1', 's1'))
  const putBack = copied(folder, out)
  await served(folder, ({ ledger }) => erased(ledger, 's1'))
  const list = out.file('erasures')
  cpSync(folder.file('store.db.erasures'), list)
  putBack('store.db', 'subjects.db', 'store.db.erasures')
  // What a copy that is put back does with the newer checkpoints is said elsewhere: the log alone has seen more here.
  rmSync(folder.file('store.db.checkpoints'), { force: true })
  const nothing = async (): Promise<void> => undefined
  assert.is(await codeOf(served(folder, nothing)), 'erasures-unknown')
  // Nor is the erasure recorded in the place of the event that the log has seen (LOG-70): the file of the logs goes with the copy.
  assert.match((await codeOf(served(folder, nothing, list))) ?? '', /^DamagedStreamError: ledger-default @ 1/)
  for (const file of ['log.db', 'log.db-wal', 'log.db-shm']) rmSync(folder.file(file), { force: true })
  await served(folder, async ({ ledger }) => assert.is(await nameIn(ledger, 'r1'), ERASED), list)
})

test('a list that is damaged, of another ledger or missing is refused, and one whose last line was cut by a crash is not (LIFE-13)', async () => {
  using folder = tempFolder()
  using other = tempFolder()
  const nothing = async (): Promise<void> => undefined
  await served(other, ({ ledger }) => record(ledger, 'r1', 's1'))
  await served(folder, async ({ ledger }) => {
    await record(ledger, 'r1', 's1')
    await erased(ledger, 's1')
  })
  const path = folder.file('store.db.erasures')
  const whole = readFileSync(path, 'utf8')
  const lines = whole.split('\n')
  const refused = [whole.replace('"tenant":"default"', '"tenant":"other"'), `${lines[0]}\n\n${lines[1]}\n`]
  for (const text of refused) {
    writeFileSync(path, text)
    assert.is(await codeOf(served(folder, nothing)), 'erasures-unreadable', text)
  }
  writeFileSync(path, `${whole}{"v":1,"era`)
  await served(folder, ({ ledger }) => record(ledger, 'r2', 's2'))
  assert.ok(readFileSync(path, 'utf8').startsWith(whole))
  assert.not.match(readFileSync(path, 'utf8'), '"era{')
  assert.is(await codeOf(served(folder, nothing, other.file('store.db.erasures'))), 'erasures-unreadable')
  assert.is(await codeOf(served(folder, nothing, other.file('none'))), 'erasures-unreadable')
})

test.run()
