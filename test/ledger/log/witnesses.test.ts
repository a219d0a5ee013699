import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { serveWitness } from '../../../src/cli/witness.ts'
import { openWitness } from '../../../src/cli/witness-state.ts'
import { httpWitness } from '../../../src/integrations/witness-client.ts'
import { askWitness, type Witness } from '../../../src/ledger/log/ask-witness.ts'
import { formatAddCheckpoint } from '../../../src/merkle/add-checkpoint.ts'
import { parseCheckpoint } from '../../../src/merkle/checkpoint.ts'
import {
  cosigner,
  type NoteSigner,
  type NoteVerifier,
  noteSigner,
  noteVerifier,
  parseVerifierKey,
} from '../../../src/merkle/note-key.ts'
import { openNote, signNote, signText } from '../../../src/merkle/signed-note.ts'
import { parseTlogProof } from '../../../src/merkle/tlog-proof.ts'
import { createLedgerKeys } from '../../../src/signing/ledger-keys.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { rotatedLogKey } from '../../support/key-rotation.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { type TestLogs, testLogs } from '../../support/test-logs.ts'
import { ORIGIN } from '../../support/test-store.ts'
import { eventually } from '../../support/within.ts'

const test = suite('ledger: witnesses of the logs')

const KEYS = createLedgerKeys('2026-01-01T00:00:00.000Z', (bytes) => Buffer.alloc(bytes, 7))
const LOG = noteVerifier(`${ORIGIN}/acme`, KEYS.checkpointKey)

interface RunningWitness extends Disposable {
  readonly witness: Witness
  readonly folder: string
  /** Sizes that were asked to be cosigned. */
  readonly bodies: string[]
}

async function runWitness(name: string): Promise<RunningWitness> {
  const folder = tempFolder()
  const opened = openWitness({ folder: folder.path, name, verifiers: [LOG] })
  const bodies: string[] = []
  const server: Server = serveWitness({
    ...opened,
    add: (body) => {
      bodies.push(body)
      return opened.add(body)
    },
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const verifier = parseVerifierKey(opened.verifierKey)
  if (verifier === undefined) throw new Error('no key')
  return {
    witness: httpWitness(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, verifier, {
      allow: ['127.0.0.1'],
    }),
    folder: folder.path,
    bodies,
    [Symbol.dispose]: () => {
      server.close()
      server.closeAllConnections()
      folder[Symbol.dispose]()
    },
  }
}

const noteOf = ({ logs }: TestLogs): string => {
  const answer = logs.checkpoint('acme')
  if (!answer.ok) throw new Error(answer.code)
  return answer.value
}

/** Names of those who signed, of the log and the witnesses. */
function signersOf(note: string, witnesses: readonly RunningWitness[]): readonly string[] {
  const opened = openNote(note, [LOG, ...witnesses.map(({ witness }) => witness.verifier)])
  return opened.ok ? opened.signers.map(({ name }) => name) : [opened.code]
}

test('each checkpoint is posted to every witness and served with their cosignatures, in proof files too', async () => {
  using one = await runWitness('one.example/w')
  using two = await runWitness('two.example/w')
  const both = [one, two]
  await using at = await testLogs({ keys: KEYS, witnesses: both.map(({ witness }) => witness) })
  for (const runId of ['first', 'second']) {
    await at.fill('acme', runId, 5)
    await at.logs.publish()
    await eventually(() => (signersOf(noteOf(at), both).length === 3 ? true : undefined), 'a cosignature')
    assert.equal(signersOf(noteOf(at), both), [`${ORIGIN}/acme`, 'one.example/w', 'two.example/w'])
  }
  const size = parseCheckpoint(noteOf(at).split('\n\n')[0]?.concat('\n') ?? '')?.size
  assert.equal(at.logs.state('acme').witnesses, [
    { name: 'one.example/w', size },
    { name: 'two.example/w', size },
  ])
  const place = at.logs.inclusion('acme', { index: 0 })
  const file = place.ok ? at.logs.proofFile('acme', place.value.eventId) : place
  assert.is(signersOf((file.ok && parseTlogProof(file.value)?.checkpoint) || '', both).length, 3)
})

test('a ledger that starts again asks for the cosignatures that it forgot, and is given them', async () => {
  using one = await runWitness('one.example/w')
  const store = openMemoryStore()
  for (const turn of [1, 2]) {
    await using at = await testLogs({ keys: KEYS, store, witnesses: [one.witness] })
    await at.fill('acme', `run-${turn}`, 2)
    await at.logs.publish()
    await eventually(() => (signersOf(noteOf(at), [one]).length === 2 ? true : undefined), 'a cosignature')
  }
  await using again = await testLogs({ keys: KEYS, store, witnesses: [one.witness] })
  await again.logs.publish()
  await eventually(() => (signersOf(noteOf(again), [one]).length === 2 ? true : undefined), 'a cosignature')
  assert.is(signersOf(noteOf(again), [one]).length, 2)
})

test('a witness that is away, or one that lies, holds up neither the log nor the other witnesses', async () => {
  using good = await runWitness('good.example/w')
  using other = await runWitness('other.example/w')
  const away: Witness = { ...other.witness, add: () => Promise.reject(new Error('connection refused')) }
  const liar: Witness = { ...other.witness, add: async () => ({ status: 200, body: '\u2014 liar.example AAAA\n' }) }
  await using at = await testLogs({ keys: KEYS, witnesses: [away, liar, good.witness] })
  await at.fill('acme', 'one', 3)
  await at.logs.publish()
  await eventually(() => (signersOf(noteOf(at), [good]).length === 2 ? true : undefined), 'a cosignature')
  assert.not.match(noteOf(at), 'liar')
  assert.ok(at.lines.some(({ fields }) => 'code' in fields && fields.code === 'not-a-cosignature'))
  assert.ok(at.lines.some(({ fields }) => 'code' in fields && fields.code === 'unreachable'))
})

test('a log that was rewritten finds no witness for its new history (A31, A32)', async () => {
  using one = await runWitness('one.example/w')
  {
    await using at = await testLogs({ keys: KEYS, witnesses: [one.witness] })
    await at.fill('acme', 'one', 5)
    await at.logs.publish()
    await eventually(() => (signersOf(noteOf(at), [one]).length === 2 ? true : undefined), 'a cosignature')
  }
  await using forged = await testLogs({ keys: KEYS, witnesses: [one.witness] })
  await forged.fill('acme', 'one', 8)
  await forged.logs.publish()
  await eventually(
    () => (forged.lines.some(({ fields }) => 'code' in fields && fields.code === 'refused') ? true : undefined),
    'a cosignature',
  )
  assert.equal(signersOf(noteOf(forged), [one]), [`${ORIGIN}/acme`])
})

test('a stale size costs one more question; a size that no proof leads from is said as such', async () => {
  using one = await runWitness('one.example/w')
  await using at = await testLogs({ keys: KEYS, witnesses: [one.witness] })
  await at.fill('acme', 'one', 4)
  await at.logs.publish()
  await eventually(() => (signersOf(noteOf(at), [one]).length === 2 ? true : undefined), 'a cosignature')
  const asked = one.bodies.length
  const note = noteOf(at)
  const answer = await askWitness(one.witness, { note, knownSize: 0, proofFrom: () => [] })
  assert.ok(answer.ok)
  assert.is(one.bodies.length, asked + 2)
  const none = await askWitness(one.witness, { note, knownSize: 0, proofFrom: () => undefined })
  assert.is(none.ok ? '' : none.code, 'no-proof')
})

test('a witness that was given the first key alone follows the log through rotations of its key, over a restart of its own (LOG-10, LOG-28)', async () => {
  using one = await runWitness('one.example/w')
  await using at = await testLogs({ keys: KEYS, witnesses: [one.witness] })
  const cosigned = (key: NoteVerifier) =>
    eventually(async () => {
      await at.logs.publish()
      const opened = openNote(noteOf(at), [key, one.witness.verifier])
      return opened.ok && opened.signers.length === 2 ? true : undefined
    }, 'a cosignature')
  await at.fill('acme', 'run-0', 2)
  await cosigned(LOG)
  for (const turn of [1, 2]) {
    const rotated = rotatedLogKey(at.keys, ORIGIN)
    at.replaceKeys(rotated)
    const key = noteVerifier(`${ORIGIN}/acme`, rotated.checkpointKey)
    await eventually(() => (at.logs.verifierKey('acme') === key.text ? true : undefined), 'the new key')
    await at.fill('acme', `run-${turn}`, 2)
    await cosigned(key)
  }
  const reopened = openWitness({ folder: one.folder, name: 'one.example/w', verifiers: [LOG] })
  const { size } = parseCheckpoint(noteOf(at).split('\n\n')[0]?.concat('\n') ?? '') ?? {}
  const log = openNote(noteOf(at), [noteVerifier(`${ORIGIN}/acme`, at.keys.checkpointKey)])
  const again = formatAddCheckpoint({
    oldSize: size ?? 0,
    proof: [],
    checkpoint: log.ok ? `${log.text}\n${log.lines}` : '',
  })
  assert.is(reopened.add(again).status, 200)
})

test('of what a witness answers its own line is kept: lines of others cannot make a checkpoint longer than readers take (A65)', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const [log, own] = [noteSigner('log.example', privateKey), cosigner('one.example/w', privateKey, () => 1)]
  const strangers = Array.from({ length: 98 }, (_, i) => noteSigner(`stranger-${i}`, privateKey))
  const note = signNote('log.example\n', [log])
  const cosign = (signers: readonly NoteSigner[]) => signers.map((each) => signText('log.example\n', each)).join('')
  const add = () => Promise.resolve({ status: 200, body: cosign([...strangers, own]) })
  const witness = { url: 'http://one.example', verifier: own.verifier, add }
  const answer = await askWitness(witness, { note, knownSize: 0, proofFrom: () => [] })
  assert.equal(answer, { ok: true, lines: cosign([own]) })
})

test.run()
