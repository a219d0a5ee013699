import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { withKept } from '../../../schemas/redacted-parts.ts'
import type { RedactionRule } from '../../../schemas/redaction.ts'
import { openEmbedded } from '../../../src/compose/embedded.ts'
import type { Command, Ledger, Outcome } from '../../../src/ledger/ledger.ts'
import type { LedgerEvent } from '../../../src/ledger/ledger-event.ts'
import { runInProcess } from '../../support/in-process-command.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const test = suite('values that can be forgotten')

const caller = { tenant: 'default', actor: 'alice' }
const NAME = 'Zephyrine Quackenbush'
const EMAIL = 'zephyrine.q@example.com'
const SUBJECT = 'customer-8815'
/** Kept by no rule: what the search for bytes would find. */
const CONTROL = 'an-order-of-plain-paper'
const RULES: readonly RedactionRule[] = [
  { name: 'customer', at: ['/*/customer', '/**/facts/person'], keep: { subject: '/customer/id' } },
  { name: 'email', find: ['email'], keep: { subject: 'run' } },
  { name: 'password', at: ['/**/password'] },
]
const customer = { id: SUBJECT, name: NAME, password: 'hunter22' }

const done = (outcome: Outcome): JsonObject => {
  assert.ok(outcome.ok, JSON.stringify(outcome))
  return outcome.body
}
const send = (ledger: Ledger, command: Command) => ledger.execute(caller, 'r', command, {})
const claimed = { kind: 'claim', body: { tool: 'ship', args: { customer, note: `${CONTROL}, to ${EMAIL}` } } } as const

async function started(ledger: Ledger): Promise<void> {
  const body = { id: 'r', name: 'r', input: { customer, mail: EMAIL }, policy: { redaction: [...RULES] } }
  done(await send(ledger, { kind: 'start', body }))
  const { callId } = done(await send(ledger, claimed))
  const result = { customer: { id: SUBJECT, name: NAME }, label: `for ${EMAIL}` }
  done(await send(ledger, { kind: 'settle', callId: String(callId), body: { fence: 1, result } } as Command))
  const payload = { facts: { person: NAME, [EMAIL]: 1 }, customer: { id: SUBJECT } }
  done(await send(ledger, { kind: 'envelope', body: { agent: 'a', payload } }))
}
const end = async (ledger: Ledger) => done(await send(ledger, { kind: 'complete', body: { output: { customer } } }))

async function eventsOf(ledger: Ledger): Promise<LedgerEvent[]> {
  const found = await ledger.runEvents(caller, 'r', { from: 0, kept: true })
  assert.ok(found.ok)
  const events: LedgerEvent[] = []
  for await (const page of found.value) events.push(...page)
  return events
}

const bodyOf = ({ data, kept }: LedgerEvent): JsonObject => (kept === undefined ? data : withKept(data, kept))

/** All bytes of all files of a folder. */
const bytesIn = (folder: string): Buffer =>
  Buffer.concat(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name))),
  )

const REQUEST = { reason: 'asked by letter', basis: 'GDPR 17(1)(b)' }

test('what is kept is read as it was sent while its key exists, and what a dropping rule names in it is gone (LIFE-1, LIFE-5)', async () => {
  using folder = tempFolder()
  const { ledger, close } = await openEmbedded(folder.path)
  await started(ledger)
  const events = await eventsOf(ledger)
  const [start, claim] = events.map(bodyOf)
  const dropped = { ...customer, password: '[redacted: password]' }
  assert.equal((start as { input?: Json }).input, { customer: dropped, mail: EMAIL })
  assert.equal((claim as { args?: Json }).args, { customer: dropped, note: `${CONTROL}, to ${EMAIL}` })
  const context = await ledger.context(caller, 'r', {})
  assert.ok(context.ok)
  assert.equal(context.value.context, { facts: { person: NAME, [EMAIL]: 1 }, customer: { id: SUBJECT } })
  const again = done(await send(ledger, claimed))
  assert.equal(
    again.result,
    { customer: { id: SUBJECT, name: NAME }, label: `for ${EMAIL}` },
    'the recorded result, never a second call',
  )
  assert.equal(events.filter(({ kept }) => kept !== undefined).length, 4)
  await close()
})

test('after an erasure no byte of the value is in any file, before it neither, and the events still verify (LIFE-2, LIFE-6, LIFE-7, LIFE-10)', async () => {
  using folder = tempFolder()
  const first = await openEmbedded(folder.path)
  await started(first.ledger)
  const before = await eventsOf(first.ledger)
  await end(first.ledger)
  const places = await first.ledger.subjects.places(caller, SUBJECT)
  assert.ok(places.ok)
  assert.equal(places.value.counts, { runs: 1, events: 5, values: 6 })
  assert.ok(bytesIn(folder.path).includes(SUBJECT), 'the control: subjects.db names who can still be read')
  for (const subject of [SUBJECT, 'run:r']) {
    const erased = await first.ledger.subjects.erase(caller, subject, REQUEST)
    assert.ok(erased.ok)
    assert.is(erased.value.status, 'erased')
    const again = await first.ledger.subjects.erase(caller, subject, REQUEST)
    assert.is(again.ok && again.value.status, 'nothing')
  }
  const after = await eventsOf(first.ledger)
  assert.equal(
    after.slice(0, before.length).map(({ texts, digest }) => [texts, digest]),
    before.map(({ texts, digest }) => [texts, digest]),
    'header, salt, body and digest are what they were',
  )
  assert.equal((bodyOf(after[1] as LedgerEvent) as { args?: Json }).args, { customer: '[erased]', note: '[erased]' })
  await first.close()

  const bytes = bytesIn(folder.path)
  assert.not.ok(bytes.includes(CONTROL), 'a text in which something is found is kept whole')
  for (const word of [SUBJECT, NAME, 'Quackenbush', EMAIL, 'zephyrine', 'hunter22'])
    assert.not.ok(bytes.includes(word), word)
  assert.ok(bytes.includes('asked by letter'), 'the control: the search reads what is there')
  const verified = await runInProcess(['verify', '--data', folder.path])
  assert.is(verified.code, 0, verified.stdout)
  assert.match(verified.stdout, /VERIFIED, [1-9]\d* erased/)
})

test('an erasure waits for the end of an open run, and does not with now (LIFE-8)', async () => {
  using folder = tempFolder()
  const first = await openEmbedded(folder.path)
  await started(first.ledger)
  const waiting = await first.ledger.subjects.erase(caller, SUBJECT, REQUEST)
  assert.equal(waiting.ok && [waiting.value.status, waiting.value.openRuns], ['waiting', ['r']])
  const claim = done(await send(first.ledger, claimed))
  assert.ok(JSON.stringify(claim.result).includes(NAME), 'the open run has its values')
  await end(first.ledger)
  await first.close()
  const second = await openEmbedded(folder.path)
  const [start] = await eventsOf(second.ledger)
  assert.not.ok(JSON.stringify(bodyOf(start as LedgerEvent)).includes(NAME), 'the next start has gone on with it')
  await second.close()

  using other = tempFolder()
  const third = await openEmbedded(other.path)
  await started(third.ledger)
  const now = await third.ledger.subjects.erase(caller, SUBJECT, { ...REQUEST, now: true })
  assert.equal(now.ok && [now.value.status, now.value.openRuns], ['erased', ['r']])
  await third.close()
})

test('a key that is gone without an erasure on record is TAMPERED, and one that is there again is destroyed again (LIFE-9, LIFE-10)', async () => {
  using folder = tempFolder()
  const first = await openEmbedded(folder.path)
  await started(first.ledger)
  await end(first.ledger)
  await first.close()
  const path = folder.file('subjects.db')
  const copy = readFileSync(path)

  const db = new Sqlite(path)
  db.exec('UPDATE subject_keys SET wrapped = NULL')
  db.close()
  const forged = await runInProcess(['verify', '--data', folder.path])
  assert.is(forged.code, 1)
  assert.match(forged.stdout, 'erasure-unrecorded')

  writeFileSync(path, copy)
  const second = await openEmbedded(folder.path)
  const erased = await second.ledger.subjects.erase(caller, SUBJECT, REQUEST)
  assert.is(erased.ok && erased.value.status, 'erased')
  await second.close()
  writeFileSync(path, copy)
  const back = await runInProcess(['verify', '--data', folder.path])
  assert.match(back.stdout, 'erasure-undone')
  const third = await openEmbedded(folder.path)
  const [start] = await eventsOf(third.ledger)
  assert.not.ok(JSON.stringify(bodyOf(start as LedgerEvent)).includes(NAME))
  await third.close()
  assert.is((await runInProcess(['verify', '--data', folder.path])).code, 0)
})

test.run()
