/** @module The key that signs the logs, rotated: on record by the old key's word before the new one signs, in each process and after each crash. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EVENTS } from '../../../schemas/events.ts'
import { IdentityError } from '../../../src/ledger/identity/ledger-identity.ts'
import { readSuccession, successorsOf } from '../../../src/merkle/key-succession.ts'
import { noteSigner, noteVerifier, parseVerifierKey } from '../../../src/merkle/note-key.ts'
import { openNote, signNote } from '../../../src/merkle/signed-note.ts'
import { createRunKeys } from '../../../src/signing/key-ring.ts'
import { type LedgerKeys, logKeyChain } from '../../../src/signing/ledger-keys.ts'
import type { EventStore, ReadRecord } from '../../../src/store/event-store.ts'
import { openSqliteLogs } from '../../../src/store/sqlite/sqlite-log.ts'
import { readLogCheckpoint, withCheckpoints } from '../../../src/verify/checkpoint-check.ts'
import { verifyRecords } from '../../../src/verify/verify-records.ts'
import { rotatedLogKey } from '../../support/key-rotation.ts'
import { collect } from '../../support/records.ts'
import { type TestLogs, testLogs } from '../../support/test-logs.ts'
import { ORIGIN } from '../../support/test-store.ts'
import { eventually } from '../../support/within.ts'

const test = suite('ledger: the key of the logs, rotated')

/** Rotates, and waits until the new key signs. */
async function rotate(at: TestLogs): Promise<void> {
  const rotated = rotatedLogKey(at.keys, ORIGIN)
  at.replaceKeys(rotated)
  const key = noteVerifier(`${ORIGIN}/acme`, rotated.checkpointKey).text
  await eventually(() => (at.logs.verifierKey('acme') === key ? true : undefined), 'the new key')
}

async function checkpointOf(at: TestLogs, tenant = 'acme'): Promise<string> {
  await at.logs.publish()
  const found = at.logs.checkpoint(tenant)
  if (!found.ok) throw new Error(found.code)
  return found.value
}

async function rotationsOf({ store }: TestLogs): Promise<readonly ReadRecord[]> {
  const system = await collect(store.readStream('ledger-system'))
  return system.filter(({ header }) => JSON.parse(header).type === 'LogKeyRotated')
}

/** Positions of a server have gaps, which say nothing of it: they are counted, as a scan of such a store does. */
async function* numbered(store: EventStore): AsyncGenerator<readonly ReadRecord[]> {
  let position = 0
  for await (const page of store.readAll()) {
    yield page.map((record) => {
      position += 1
      return { ...record, position: String(position) }
    })
  }
}

/** What the whole store is, under these keys and held against these checkpoints. */
async function verified(
  store: EventStore,
  keys: LedgerKeys,
  notes: readonly string[] = [],
): Promise<readonly [string, ...string[]]> {
  const chain = logKeyChain(keys)
  const held = notes.map((note) => {
    const read = readLogCheckpoint(
      note,
      chain.map((key) => noteVerifier(note.slice(0, note.indexOf('\n')), key)),
    )
    if (!read.ok) throw new Error(read.message)
    return read
  })
  const codes: string[] = []
  const { verdict } = await verifyRecords(withCheckpoints(numbered(store), held), {
    keys: {
      ring: keys.ring,
      runKeys: createRunKeys(keys.ring),
      verifierKeys: (origin) => chain.map((key) => noteVerifier(origin, key).text),
    },
    wholeStore: true,
    onFault: ({ code }) => codes.push(code),
  })
  return [verdict, ...codes]
}

test('the new key signs once its succession is on record; every log is signed anew, and all of it verifies (LOG-28)', async () => {
  await using at = await testLogs()
  await at.fill('acme', 'one', 2)
  await at.fill('beta', 'one', 1)
  const before = [await checkpointOf(at), await checkpointOf(at, 'beta')]
  const oldKey = parseVerifierKey(at.logs.verifierKey('acme'))
  await rotate(at)
  const after = [await checkpointOf(at), await checkpointOf(at, 'beta')]
  const newKey = parseVerifierKey(at.logs.verifierKey('acme'))
  if (oldKey === undefined || newKey === undefined) throw new Error('no key')
  assert.is(openNote(after[0] ?? '', [oldKey]).ok, false)
  assert.is(openNote(after[0] ?? '', [newKey]).ok, true)
  assert.not.equal(after[1], before[1], 'a log to which nothing was added is signed anew, too')
  assert.equal(
    successorsOf(oldKey, at.logs.successions()).map(({ text }) => text),
    [oldKey.text, newKey.text],
  )
  assert.equal(await verified(at.store, at.keys, [...before, ...after]), ['VERIFIED'])

  const [event] = await rotationsOf(at)
  const { succession, previousKey, verifierKey } = EVENTS.LogKeyRotated.schema.parse(JSON.parse(event?.data ?? ''))
  const said = readSuccession(succession)
  assert.equal([said?.from.text, said?.to.text], [previousKey, verifierKey])
  const signed = await collect(at.store.readAll({}))
  const rotatedAt = signed.findIndex(({ header }) => header.includes('"LogKeyRotated"'))
  const firstUnderNew = signed.findIndex(({ data }) => data.includes(JSON.stringify(after[0]).slice(1, -1)))
  assert.ok(rotatedAt > 0 && firstUnderNew > rotatedAt, 'on record before its first use')
})

test('a checkpoint is not signed twice for one rotation', async () => {
  await using at = await testLogs()
  await at.fill('acme', 'one', 1)
  await checkpointOf(at)
  await rotate(at)
  const note = await checkpointOf(at)
  assert.is(await checkpointOf(at), note)
})

test('a process that ended between the key file and the record begins where it stopped, and signs with the new key (F153)', async () => {
  const logStore = openSqliteLogs({ path: ':memory:' })
  await using first = await testLogs({ logStore })
  await first.fill('acme', 'one', 1)
  const before = await checkpointOf(first)
  // Twice, and nobody ran in between.
  const keys = rotatedLogKey(rotatedLogKey(first.keys, ORIGIN), ORIGIN)
  await using again = await testLogs({ store: first.store, keys })
  const after = await checkpointOf(again)
  assert.is(openNote(after, [noteVerifier(`${ORIGIN}/acme`, keys.checkpointKey)]).ok, true)
  assert.equal(await verified(first.store, keys, [before, after]), ['VERIFIED'])
  assert.is((await rotationsOf(first)).length, 2)
  logStore[Symbol.dispose]()
})

test('a key file from before the rotation does not open the ledger, and says which one is needed (F154)', async () => {
  await using at = await testLogs()
  await at.fill('acme', 'one', 1)
  const old = at.keys
  await rotate(at)
  try {
    await using _ = await testLogs({ store: at.store, keys: old })
    assert.unreachable('opened')
  } catch (error) {
    assert.instance(error, IdentityError)
    assert.is((error as IdentityError).code, 'foreign-verifier-key')
    assert.match((error as IdentityError).message, /older than the rotation .* newest key file/)
  }
})

test('a process that lacks the new key follows what is signed with it, and signs no log behind it (F155)', async () => {
  await using at = await testLogs()
  await using late = await testLogs({ store: at.store, keys: at.keys })
  await at.fill('acme', 'one', 1)
  const before = await checkpointOf(late)
  await rotate(at)
  const after = await checkpointOf(at)
  assert.not.equal(after, before)
  await late.fill('acme', 'two', 1)
  assert.is(await checkpointOf(late), after, 'followed, and nothing signed over it')
  assert.ok(late.lines.some(({ message }) => message.includes('newest key file')))
  assert.equal(late.logs.state('acme').stopped, undefined)
  late.replaceKeys(at.keys)
  await eventually(() => (late.logs.verifierKey('acme') === at.logs.verifierKey('acme') ? true : undefined), 'the key')
  assert.not.equal(await checkpointOf(late), after)
  assert.equal(await verified(at.store, at.keys, [before, after]), ['VERIFIED'])
})

test('a rotation of two keys at once puts both on record', async () => {
  await using at = await testLogs()
  await at.fill('acme', 'one', 1)
  await checkpointOf(at)
  await rotate(at)
  await rotate(at)
  await checkpointOf(at)
  assert.is(at.logs.successions().length, 2)
  assert.equal(await verified(at.store, at.keys), ['VERIFIED'])
})

test('of two successors of one key, that on record and that of the key file, one is named a forgery (A212)', async () => {
  await using at = await testLogs()
  await at.fill('acme', 'one', 1)
  const other = rotatedLogKey(at.keys, ORIGIN)
  await rotate(at)
  await checkpointOf(at)
  assert.equal(await verified(at.store, at.keys), ['VERIFIED'])
  const [verdict, ...codes] = await verified(at.store, other)
  assert.is(verdict, 'TAMPERED')
  assert.ok(codes.includes('key-rotation'), codes.join())
})

test('an older key file still verifies what the newer key signed, by the word of the old one', async () => {
  await using at = await testLogs()
  await at.fill('acme', 'one', 1)
  const old = at.keys
  await rotate(at)
  await checkpointOf(at)
  assert.equal(await verified(at.store, old), ['VERIFIED'])
})

test('a note under the new key of somebody else opens under no key of the log (A211)', async () => {
  await using at = await testLogs()
  await at.fill('acme', 'one', 1)
  const note = await checkpointOf(at)
  const mallory = rotatedLogKey(at.keys, 'other.example').checkpointKey
  const forged = signNote(note.slice(0, note.indexOf('\n\n') + 1), [noteSigner(`${ORIGIN}/acme`, mallory)])
  const own = logKeyChain(at.keys).map((key) => noteVerifier(`${ORIGIN}/acme`, key))
  assert.is(readLogCheckpoint(forged, own).ok, false)
})

test.run()
