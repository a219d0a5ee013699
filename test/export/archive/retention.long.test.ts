import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { RetentionClasses } from '../../../schemas/retention.ts'
import { verifyTarget } from '../../../src/cli/verify-target.ts'
import { openLedger } from '../../../src/compose/compose.ts'
import { retentionPasses } from '../../../src/compose/retention-passes.ts'
import { refusal } from '../../../src/domain/refusal.ts'
import { type PassOptions, runRetention } from '../../../src/export/archive/retention-pass.ts'
import { silentLog } from '../../../src/ledger/effects.ts'
import type { Caller, Command, Ledger } from '../../../src/ledger/ledger.ts'
import { readSettings } from '../../../src/settings/config.ts'
import { readKeyFile } from '../../../src/signing/key-file.ts'
import { createRunKeys } from '../../../src/signing/key-ring.ts'
import { archivesOf } from '../../../src/store/sqlite/archive-reader.ts'
import { runInProcess } from '../../support/in-process-command.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const test = suite('retention of a store in a file')

const caller: Caller = { tenant: 'default', actor: 'tester' }
const CLASSES = { retention: [{ class: 'all', keep: { atMost: 0 }, action: 'archive' }] }
/** Found nowhere else. The second run has so much to say that it lies beside its event, as a large value. */
const marked = (run: string): string => `what only ${run} says `.repeat(run === 'two' ? 8_000 : 400)

const settingsOf = (data: string) => readSettings({ data }, {})

async function recorded(ledger: Ledger, run: string, isEnded: boolean): Promise<void> {
  const start: Command = { kind: 'start', body: { id: run, name: 'job', input: { text: marked(run) } } }
  assert.ok((await ledger.execute(caller, run, start, {})).ok)
  if (isEnded) assert.ok((await ledger.execute(caller, run, { kind: 'complete', body: {} }, {})).ok)
}

/** A store with two runs that have ended, one that has and is held, and an open one. */
async function seeded(data: string): Promise<void> {
  await using opened = await openLedger(settingsOf(data), silentLog)
  for (const run of ['one', 'two', 'held']) await recorded(opened.ledger, run, true)
  await recorded(opened.ledger, 'open', false)
  const held = await opened.ledger.holds.place({ ...caller, principal: 'counsel' }, { run: 'held', reason: 'a claim' })
  assert.ok(held.ok)
  await opened.ledger.logs?.publish()
}

interface Place {
  readonly data: string
  readonly store: string
  readonly archive: string
  readonly classes: string
}

async function place(): Promise<Place & Disposable> {
  const folder = tempFolder()
  const data = join(folder.path, 'data')
  await seeded(data)
  const classes = join(folder.path, 'classes.json')
  writeFileSync(classes, JSON.stringify(CLASSES))
  const store = join(data, 'store.db')
  const archive = join(archivesOf(store), 'default-000001.jsonl')
  return { data, store, archive, classes, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

const verdictOf = async ({ data }: Place): Promise<{ readonly code: number; readonly answer: JsonObject }> => {
  const { code, stdout } = await runInProcess(['verify', '--data', data, '--json'])
  return { code, answer: JSON.parse(stdout) }
}

const codesOf = (answer: JsonObject): unknown[] => (answer.faults as { code: string }[]).map(({ code }) => code)

test('a pass moves the bodies of ended runs to a file, and every proof from before and the whole store verify (LIFE-50, LIFE-51, LIFE-52, LIFE-55, LIFE-57)', async () => {
  using at = await place()
  const { data, classes } = at
  const checkpoint = join(data, 'before.checkpoint')
  writeFileSync(checkpoint, (await runInProcess(['checkpoint', '--data', data])).stdout)
  const bundle = join(data, 'before.tar')
  assert.is((await runInProcess(['export', '--data', data, '--run', 'one', '--bundle', bundle])).code, 0)
  const plan = JSON.parse(
    (await runInProcess(['retention', 'plan', '--data', data, '--retention', classes, '--json'])).stdout,
  )
  assert.equal(plan.due.map(({ run }: { run: string }) => run).sort(), ['one', 'two'])
  assert.equal([plan.counts.open, plan.kept[0].run, plan.kept[0].why], [1, 'held', 'held'])

  const before = statSync(at.store).size
  const pass = await runInProcess(['retention', 'run', '--data', data, '--retention', classes, '--json'])
  assert.is(pass.code, 0, pass.stderr)
  assert.equal(JSON.parse(pass.stdout).archives.length, 1)
  assert.ok(statSync(at.store).size < before, 'the store shrinks')
  const bytes = readFileSync(at.store, 'latin1')
  assert.not.ok(bytes.includes('what only one says') || bytes.includes('what only two says'))
  assert.ok(bytes.includes('what only held says') && bytes.includes('what only open says'))

  const { code, answer } = await verdictOf(at)
  assert.is(code, 0, JSON.stringify(answer.faults))
  const [{ archive, events }, ...others] = answer.archived as unknown as [
    { archive: string; events: number },
    ...unknown[],
  ]
  assert.equal([archive, others], ['default-000001', []])
  assert.ok(events > plan.due[0].events + plan.due[1].events, 'the parts of the large value, too')
  const alone = await runInProcess(['verify', at.archive, '--keys', join(data, 'keys.json')])
  assert.is(alone.code, 0, alone.stdout)
  const text = await runInProcess(['verify', '--data', data, '--checkpoint', checkpoint])
  assert.is(text.code, 0)
  assert.match(text.stdout, /events archived to default-000001\.jsonl/)
  assert.is((await runInProcess(['verify', bundle, '--keys', join(data, 'keys.json')])).code, 0)
  const replay = await runInProcess(['replay', 'one', '--data', data])
  assert.is(replay.code, 0, replay.stdout + replay.stderr)
  assert.match((await runInProcess(['export', '--data', data, '--run', 'one'])).stdout, /what only one says/)
  assert.match(
    (await runInProcess(['retention', 'run', '--data', data, '--retention', classes])).stdout,
    /nothing is due/,
  )
  const [row, ...more] = (await runInProcess(['retention', 'list', '--data', data, '--json'])).stdout.trim().split('\n')
  const { archive: name, digest, runs, values } = JSON.parse(row ?? '')
  const found = `sha256:${createHash('sha256').update(readFileSync(at.archive)).digest('hex')}`
  assert.equal([name, digest, runs, values, more], ['default-000001', found, 2, 1, []])
})

test('an archive that is gone or altered is named by verify, and never read as absence (LIFE-56)', async () => {
  using at = await place()
  const { data, classes, archive } = at
  assert.is((await runInProcess(['retention', 'run', '--data', data, '--retention', classes])).code, 0)
  renameSync(archive, `${archive}.away`)
  const away = await verdictOf(at)
  assert.equal([away.code, away.answer.verdict, codesOf(away.answer)], [3, 'INCOMPLETE', ['archive-missing']])
  const replay = await runInProcess(['replay', 'one', '--data', data])
  assert.match(replay.stdout + replay.stderr, /default-000001\.jsonl/)
  assert.is.not(replay.code, 0)
  renameSync(`${archive}.away`, archive)
  assert.is((await verdictOf(at)).code, 0)

  const whole = readFileSync(archive, 'utf8')
  writeFileSync(archive, whole.replace('what only two says', 'what only two said'))
  const altered = await verdictOf(at)
  assert.equal([altered.code, altered.answer.verdict], [1, 'TAMPERED'])
  const codes = codesOf(altered.answer)
  assert.ok(codes.includes('archive-damaged'))
  assert.ok(codes.every((code) => code === 'archive-damaged' || code === 'value-altered'))
  writeFileSync(archive, whole)
})

test('a body that was taken out of the store without a record is TAMPERED, whatever file it is in (LIFE-55, A470)', async () => {
  using at = await place()
  assert.is((await runInProcess(['retention', 'run', '--data', at.data, '--retention', at.classes])).code, 0)
  const db = new Sqlite(at.store)
  const trigger = db.prepare(`SELECT sql FROM sqlite_schema WHERE name = 'events_update'`).pluck().get() as string
  db.exec('DROP TRIGGER events_update')
  const moved = db.prepare(`SELECT data FROM events WHERE octet_length(salt) = 0 LIMIT 1`).pluck().get()
  db.prepare(
    `UPDATE events SET salt = x'', data = ? WHERE stream_id = (SELECT id FROM streams WHERE name = 'run-default.held')`,
  ).run(String(moved).replace('000001', '000009'))
  db.exec(trigger)
  db.close()
  const { code, answer } = await verdictOf(at)
  assert.equal([code, answer.verdict], [1, 'TAMPERED'])
  assert.ok(codesOf(answer).includes('archive-unrecorded'))
})

test('threads come to the same verdict over archived bodies, wherever the archive is, as one alone (LIFE-55, LOG-43)', async () => {
  using at = await place()
  assert.is((await runInProcess(['retention', 'run', '--data', at.data, '--retention', at.classes])).code, 0)
  const { ring } = readKeyFile(join(at.data, 'keys.json'))
  const seen = async (count: number) => {
    const faults: unknown[] = []
    const { result } = await verifyTarget(
      { kind: 'store', name: at.store },
      {
        keys: { ring, runKeys: createRunKeys(ring) },
        onFault: (fault) => faults.push(fault),
        findKey: () => undefined,
        threads: { count, fromEvents: 0, rangeRows: 3 },
      },
    )
    return { result, faults }
  }
  const whole = await seen(0)
  assert.equal(whole.result.archived?.length, 1)
  assert.equal(await seen(2), whole)
  renameSync(at.archive, `${at.archive}.away`)
  const away = await seen(0)
  assert.is(away.faults.length, whole.faults.length + 1)
  assert.equal(await seen(2), away)
})

test('a copy of the store has all bodies itself, and needs no archive (LIFE-50)', async () => {
  using at = await place()
  const { data, classes } = at
  assert.is((await runInProcess(['retention', 'run', '--data', data, '--retention', classes])).code, 0)
  const [to, keys] = [join(data, '..', 'other.db'), join(data, 'keys.json')]
  const copied = await runInProcess(['copy', '--from', at.store, '--to', to, '--keys', keys])
  assert.is(copied.code, 0, copied.stderr)
  renameSync(at.archive, `${at.archive}.away`)
  const verified = await runInProcess(['verify', to, '--keys', keys])
  assert.is(verified.code, 0, verified.stdout)
  assert.ok(readFileSync(to, 'latin1').includes('what only one says'))
  assert.is.not((await runInProcess(['copy', '--from', at.store, '--to', `${to}.2`, '--keys', keys])).code, 0)
})

test('while an archive is away a ledger refuses what needs it, goes on with the rest, and reads it again once it is back (LIFE-56, F330)', async () => {
  using at = await place()
  const { data, classes, archive } = at
  assert.is((await runInProcess(['retention', 'run', '--data', data, '--retention', classes])).code, 0)
  await using opened = await openLedger(settingsOf(data), silentLog)
  const { ledger } = opened
  renameSync(archive, `${archive}.away`)
  const readingOf = async (run: string): Promise<string> => {
    try {
      const found = await ledger.runEvents(caller, run, { from: 0 })
      if (!found.ok) return `${found.refusal.code}: ${found.refusal.detail}`
      for await (const page of found.value) for (const { data } of page) assert.ok('v' in data)
      return 'read'
    } catch (error) {
      return String(error)
    }
  }
  assert.match(await readingOf('one'), /^(archive-missing|ArchiveMissingError): .*default-000001\.jsonl/)
  assert.is(await readingOf('held'), 'read')
  await recorded(ledger, 'new', true)
  await ledger.logs?.publish()
  await ledger.integrity.settled()
  assert.equal(ledger.losses({ tenant: caller.tenant }), [], 'nothing is lost')
  assert.equal(ledger.integrity.state(caller).faults, [])
  renameSync(`${archive}.away`, archive)
  assert.is(await readingOf('one'), 'read')
})

/** A run that has ended, with a value that is kept of the subject `s`. */
async function ofPerson(ledger: Ledger): Promise<void> {
  const policy = { redaction: [{ name: 'person', at: ['/input/name'], keep: { subject: '/id' } }] }
  const body = { id: 'one', name: 'job', input: { name: 'Zephyrine', id: 's' }, policy }
  assert.ok((await ledger.execute(caller, 'one', { kind: 'start', body } as Command, {})).ok)
  assert.ok((await ledger.execute(caller, 'one', { kind: 'complete', body: {} }, {})).ok)
}

test('a plan that is made beside the ledger knows the holds on subjects (LIFE-54)', async () => {
  using folder = tempFolder()
  const data = join(folder.path, 'data')
  const classes = join(folder.path, 'classes.json')
  writeFileSync(classes, JSON.stringify(CLASSES))
  await using opened = await openLedger(settingsOf(data), silentLog)
  const { ledger } = opened
  await ofPerson(ledger)
  assert.ok((await ledger.holds.place({ ...caller, principal: 'counsel' }, { subject: 's', reason: 'a claim' })).ok)
  const { stdout } = await runInProcess(['retention', 'plan', '--data', data, '--retention', classes, '--json'])
  const { due, kept } = JSON.parse(stdout)
  assert.equal([due, kept.map(({ run, why }: JsonObject) => [run, why])], [[], [['one', 'held']]])
})

test('what is kept of a person is neither told nor erased while an archive with some of it is away (LIFE-56)', async () => {
  using folder = tempFolder()
  const data = join(folder.path, 'data')
  const archives = archivesOf(join(data, 'store.db'))
  await using opened = await openLedger(settingsOf(data), silentLog)
  const { ledger, store } = opened
  await ofPerson(ledger)
  const { retention: classes } = RetentionClasses.parse(CLASSES)
  assert.ok((await runRetention({ ledger, store, caller, classes, nowMs: Date.now, folder: archives })).ok)
  const archive = join(archives, 'default-000001.jsonl')
  renameSync(archive, `${archive}.away`)
  const asked = { reason: 'asked for it', basis: 'Art. 17' }
  const answerTo = (question: Promise<unknown>): Promise<string> => question.then(JSON.stringify, String)
  assert.match(await answerTo(ledger.subjects.places(caller, 's')), /default-000001\.jsonl/)
  assert.match(await answerTo(ledger.subjects.erase(caller, 's', asked)), /default-000001\.jsonl/)
  renameSync(`${archive}.away`, archive)
  const erased = await ledger.subjects.erase(caller, 's', asked)
  assert.ok(erased.ok)
  assert.equal([erased.value.status, erased.value.counts?.runs], ['erased', 1])
})

const ALL = RetentionClasses.parse(CLASSES).retention

type Opened = Pick<Awaited<ReturnType<typeof openLedger>>, 'ledger' | 'store'>

const passOver = ({ ledger, store }: Opened, at: Place, more: Partial<PassOptions> = {}) =>
  runRetention({ ledger, store, caller, classes: ALL, nowMs: Date.now, folder: archivesOf(at.store), ...more })

const filesOf = (at: Place): readonly string[] => readdirSync(archivesOf(at.store)).sort()

/** The ledger, with another step in which an archive is recorded and its bodies are moved. */
const archivingBy = (ledger: Ledger, archive: Ledger['archives']['archive']): Ledger => ({
  ...ledger,
  archives: { ...ledger.archives, archive },
})

/** As many as a run has: each gets an archive of its own. */
const eventsMax = 2

test('a hold that is placed while a pass runs keeps its run in the store, with all that would have gone with it, and the pass goes on (LIFE-54, A472)', async () => {
  using at = await place()
  let held = ''
  {
    await using opened = await openLedger(settingsOf(at.data), silentLog)
    const { ledger } = opened
    const late = archivingBy(ledger, async (by, body, rows) => {
      if (held === '') {
        held = body.runs[0]?.run ?? ''
        assert.ok((await ledger.holds.place({ ...caller, principal: 'counsel' }, { run: held, reason: 'late' })).ok)
      }
      return ledger.archives.archive(by, body, rows)
    })
    const passed = await passOver(opened, at, { ledger: late, eventsMax })
    assert.ok(passed.ok)
    const { archives, postponed } = passed.value
    assert.equal([archives.map(({ archive }) => archive), postponed.map(({ runs }) => runs)], [['default-000001'], [1]])
    assert.match(postponed[0]?.why ?? '', /legal hold/)
    assert.equal(filesOf(at), ['default-000001.jsonl'])
  }
  assert.ok(readFileSync(at.store, 'latin1').includes(`what only ${held} says`))
  const { code, answer } = await verdictOf(at)
  assert.equal([code, (answer.archived as unknown[]).length], [0, 1])
})

for (const step of ['read', 'recorded'] as const) {
  test(`a run that gets an event before it is ${step} stays in the store, and the pass goes on (LIFE-54)`, async () => {
    using at = await place()
    await using opened = await openLedger(settingsOf(at.data), silentLog)
    const { ledger } = opened
    let grown = ''
    const grow = async (run = ''): Promise<void> => {
      if (grown !== '') return
      grown = run
      assert.ok((await ledger.discloseRunKeys(caller, run)).ok)
    }
    const growing = archivingBy(ledger, async (by, body, rows) => {
      if (step === 'recorded') await grow(body.runs[0]?.run)
      return ledger.archives.archive(by, body, rows)
    })
    const runEvents: Ledger['runEvents'] = async (by, run, range) => {
      if (step === 'read') await grow(run)
      return ledger.runEvents(by, run, range)
    }
    const passed = await passOver(opened, at, { ledger: { ...growing, runEvents }, eventsMax })
    assert.ok(passed.ok)
    const { archives, unsound, postponed } = passed.value
    assert.equal(
      [archives.map(({ runs }) => runs), unsound.map(({ run }) => run), postponed.map(({ runs }) => runs)],
      step === 'read' ? [[1], [grown], []] : [[1], [], [1]],
    )
    assert.not.ok(await ledger.archives.isArchived(caller, grown))
    assert.equal(filesOf(at), ['default-000001.jsonl'])
  })
}

test('a refusal after a file was written leaves no file, and what was archived before is told (LIFE-52)', async () => {
  using at = await place()
  await using opened = await openLedger(settingsOf(at.data), silentLog)
  const { archives: inner } = opened.ledger
  let times = 0
  const full = archivingBy(opened.ledger, async (by, body, rows) => {
    times += 1
    if (times === 1) return inner.archive(by, body, rows)
    return { ok: false, refusal: refusal('store-full', 'the disk is full') }
  })
  const passed = await passOver(opened, at, { ledger: full, eventsMax })
  assert.ok(passed.ok)
  const { archives, refusal: ended } = passed.value
  assert.equal(
    [archives.map(({ archive }) => archive), ended?.code, filesOf(at)],
    [['default-000001'], 'store-full', ['default-000001.jsonl']],
  )
})

test('what a crash left of a pass before its record is removed, and no other file (LIFE-52)', async () => {
  using at = await place()
  await using opened = await openLedger(settingsOf(at.data), silentLog)
  assert.ok((await passOver(opened, at)).ok)
  const folder = archivesOf(at.store)
  for (const left of ['000001.jsonl.part', '000002.jsonl', '000002.jsonl.part', '000003.jsonl', '000004.jsonl.part'])
    writeFileSync(join(folder, `default-${left}`), 'x')
  const before = readFileSync(at.archive)
  await recorded(opened.ledger, 'later', true)
  const passed = await passOver(opened, at)
  assert.equal(passed.ok && passed.value.archives.map(({ archive }) => archive), ['default-000004'])
  assert.equal(filesOf(at), ['default-000001.jsonl', 'default-000003.jsonl', 'default-000004.jsonl'])
  assert.equal(readFileSync(at.archive), before)
})

test('where the last file cannot be read before its bodies are moved, its runs are archived anew (LIFE-52)', async () => {
  using at = await place()
  {
    await using opened = await openLedger(settingsOf(at.data), silentLog)
    await passOver(opened, at, { ledger: dyingAt(opened.ledger, 'between') }).then(
      () => assert.unreachable(),
      (error: unknown) => assert.match(String(error), /died/),
    )
    // Nobody can read a folder as a file, whoever runs the tests.
    rmSync(at.archive)
    mkdirSync(at.archive)
    const passed = await passOver(opened, at)
    assert.equal(passed.ok && passed.value.archives.map(({ archive }) => archive), ['default-000002'])
  }
  assert.is((await verdictOf(at)).code, 0)
})

test('a served ledger archives by itself what is due, and refuses classes that cannot be used (LIFE-58)', async () => {
  using at = await place()
  const { data, classes } = at
  const settings = { ...settingsOf(data), retention: classes }
  {
    await using opened = await openLedger(settings, silentLog)
    await using passes = retentionPasses({ ...opened, settings, log: silentLog })
    await passes?.pass()
    await passes?.pass()
    const listed = await opened.ledger.archives.list(caller)
    assert.equal(listed.ok && listed.value.items.map(({ by, runs }) => [by, runs]), [['countersign', 2]])
    const { nextAt = '', last } = passes?.of(caller.tenant) ?? {}
    assert.equal([last?.archived, last?.left, last?.failure], [0, 0, undefined])
    assert.ok(Date.parse(nextAt) - Date.parse(last?.at ?? '') > 86_000_000)
    await recorded(opened.ledger, 'later', false)
    writeFileSync(classes, '{}')
    assert.throws(() => retentionPasses({ ...opened, settings, log: silentLog }), /COUNTERSIGN_RETENTION/)
  }
  const { code, answer } = await verdictOf(at)
  assert.equal([code, (answer.archived as unknown[]).length], [0, 1])
})

/** The ledger of a pass that ends with an error at the record of the archive: before it, between record and move, and behind both. */
const dyingAt = (ledger: Ledger, step: 'before' | 'between' | 'behind'): Ledger =>
  archivingBy(ledger, async (by, body, rows) => {
    if (step !== 'before') assert.ok((await ledger.archives.archive(by, body, step === 'between' ? [] : rows)).ok)
    throw new Error('died')
  })

for (const step of ['before', 'between', 'behind'] as const) {
  test(`a pass that ends ${step} the move leaves a store that verifies, and the next pass finishes it (LIFE-52)`, async () => {
    using at = await place()
    const { data } = at
    {
      await using opened = await openLedger(settingsOf(data), silentLog)
      await passOver(opened, at, { ledger: dyingAt(opened.ledger, step) }).then(
        () => assert.unreachable(),
        (error: unknown) => assert.match(String(error), /died/),
      )
    }
    assert.is((await verdictOf(at)).code, 0)
    const { stdout } = await runInProcess(['retention', 'run', '--data', data, '--retention', at.classes, '--json'])
    const [made] = JSON.parse(stdout).archives
    const name = 'default-000001'
    assert.equal(
      [made?.archive, made?.isFinished],
      step === 'behind' ? [undefined, undefined] : [name, step === 'between' || undefined],
    )
    const { code, answer } = await verdictOf(at)
    assert.equal([code, (answer.archived as { archive: string }[]).map(({ archive }) => archive)], [0, [name]])
  })
}

test.run()
