import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CliFailure } from '../../src/cli/failure.ts'
import { serveWitness } from '../../src/cli/witness.ts'
import { openWitness, type Witness } from '../../src/cli/witness-state.ts'
import { formatAddCheckpoint } from '../../src/merkle/add-checkpoint.ts'
import { formatCheckpoint } from '../../src/merkle/checkpoint.ts'
import { leafHash, nodeHash } from '../../src/merkle/hashes.ts'
import { signSuccession } from '../../src/merkle/key-succession.ts'
import { noteSigner, parseVerifierKey } from '../../src/merkle/note-key.ts'
import { openNote, signNote, signText } from '../../src/merkle/signed-note.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: witness')

const { privateKey } = generateKeyPairSync('ed25519')
const signer = noteSigner('example.com/log', privateKey)
const [one, two] = [leafHash('one'), leafHash('two')]
const noteOf = (size: number, root: Uint8Array): string =>
  signNote(formatCheckpoint({ origin: 'example.com/log', size, root }), [signer])
const first = noteOf(1, one)
const second = noteOf(2, nodeHash(one, two))
const addFirst = formatAddCheckpoint({ oldSize: 0, proof: [], checkpoint: first })
const addSecond = formatAddCheckpoint({ oldSize: 1, proof: [two], checkpoint: second })

const open = (folder: TempFolder): Witness =>
  openWitness({ folder: folder.path, name: 'witness.example', verifiers: [signer.verifier] })

const failsToOpen = (folder: TempFolder): void =>
  assert.throws(
    () => open(folder),
    (error: unknown) => error instanceof CliFailure,
  )

test('a cosignature opens, added to the checkpoint, under the witness key; after a restart the witness goes on', () => {
  using folder = tempFolder()
  const witness = open(folder)
  assert.is(witness.add(addFirst).status, 200)
  const again = open(folder)
  assert.is(again.verifierKey, witness.verifierKey)
  const { status, body } = again.add(addSecond)
  const verifier = parseVerifierKey(witness.verifierKey)
  if (verifier === undefined) throw new Error('no key')
  assert.is(status, 200)
  assert.equal(openNote(second + body, [verifier, signer.verifier]).ok, true)
  assert.equal(openNote(second + body, [verifier]).ok, true)
})

const ORIGIN = 'example.com'
const NAMED = { origin: ORIGIN, time: '2026-07-14T09:30:00.000Z' }
const keyOf = () => generateKeyPairSync('ed25519').privateKey

test('a witness follows a key by its successions alone, files two successors of one key, and takes no key that was succeeded once a later one signed (A244)', () => {
  using folder = tempFolder()
  const [next, third, stranger] = [keyOf(), keyOf(), keyOf()]
  const toNext = signSuccession({ ...NAMED, from: privateKey, to: next })
  const toThird = signSuccession({ ...NAMED, from: next, to: third })
  const noteBy = (key: KeyObject, size: number, root: Uint8Array): string =>
    signNote(formatCheckpoint({ origin: 'example.com/log', size, root }), [noteSigner('example.com/log', key)])
  const add = (witness: Witness, note: string, oldSize: number, proof: readonly Uint8Array[] = []): number =>
    witness.add(formatAddCheckpoint({ oldSize, proof, checkpoint: note })).status
  const filed: string[] = []
  const witness = openWitness({
    folder: folder.path,
    name: 'witness.example',
    verifiers: [signer.verifier],
    onEvidence: (path) => filed.push(path),
  })
  const follow = (...notes: readonly unknown[]): number => witness.follow(JSON.stringify(notes)).status
  assert.is(add(witness, first, 0), 200)

  assert.is(add(witness, noteBy(third, 1, one), 1), 403)
  assert.is(follow(signSuccession({ ...NAMED, from: stranger, to: third })), 403)
  assert.is(follow(signSuccession({ ...NAMED, origin: 'example.org', from: privateKey, to: third })), 403)
  assert.is(follow(toThird), 403, 'nothing leads to its first key yet')
  assert.is(follow(toNext.replace('2026', '2027')), 400)
  for (const malformed of ['', '{}', '[]', '[1]', 'null', JSON.stringify(Array(33).fill(toNext))])
    assert.is(witness.follow(malformed).status, 400, malformed.slice(0, 10))
  assert.is(add(witness, noteBy(third, 1, one), 1), 403)

  assert.is(follow(toThird, toNext), 200)
  assert.is(follow(toThird, toNext), 200, 'and again')
  assert.is(add(witness, noteBy(next, 1, one), 1), 200)
  const two = nodeHash(one, leafHash('two'))
  assert.is(add(witness, noteBy(third, 2, two), 1, [leafHash('two')]), 200)
  for (const key of [privateKey, next]) assert.is(add(open(folder), noteBy(key, 2, two), 2), 403, 'it was succeeded')
  assert.is(add(open(folder), noteBy(third, 2, two), 2), 200)

  assert.equal(filed, [])
  assert.is(follow(signSuccession({ ...NAMED, from: privateKey, to: stranger })), 409)
  assert.is(filed.length, 1)
  assert.match(readFileSync(filed[0] ?? '', 'utf8'), /"kind": "two-successors"/)
  assert.is(add(witness, noteBy(stranger, 2, two), 2), 403)
})

test('a witness that lost its memory does not cosign again under its key (A35, LOG-10)', () => {
  using folder = tempFolder()
  open(folder).add(addFirst)
  const state = readFileSync(folder.file('witness-state.json'), 'utf8')
  rmSync(folder.file('witness-state.json'))
  failsToOpen(folder)
  for (const damaged of [
    '',
    '{}',
    state.replace('"size": 1', '"size": -1'),
    state.replace(/"root": ".{4}/, '"root": "'),
  ]) {
    writeFileSync(folder.file('witness-state.json'), damaged)
    failsToOpen(folder)
  }
  writeFileSync(folder.file('witness-state.json'), state)
  assert.is(open(folder).add(addSecond).status, 200)
})

test('a split view is refused over HTTP, and the two notes that prove it are stored (A32)', async () => {
  using folder = tempFolder()
  const server = serveWitness(open(folder)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const post = (body: string) => fetch(`${url}/add-checkpoint`, { method: 'POST', body })
  try {
    assert.is((await post(addFirst)).status, 200)
    const forked = await post(formatAddCheckpoint({ oldSize: 1, proof: [], checkpoint: noteOf(1, two) }))
    assert.equal(
      [forked.status, forked.headers.get('content-type'), await forked.text()],
      [409, 'text/x.tlog.size', '1\n'],
    )
    const [kept = ''] = readdirSync(folder.path).filter((name) => name.startsWith('evidence-'))
    const { notes } = JSON.parse(readFileSync(folder.file(kept), 'utf8'))
    assert.equal(notes, [first, noteOf(1, two)])
    assert.is((await post(addSecond)).status, 200)
    assert.is((await post('x'.repeat(70_000))).status, 413)
    assert.is((await fetch(`${url}/add-checkpoint`)).status, 405)
    assert.is((await fetch(`${url}/elsewhere`)).status, 404)
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test('requests file nothing but proven misdeeds, and of one log no more than four, after a restart too (A64, A65)', () => {
  using folder = tempFolder()
  const evidence = (): string[] => readdirSync(folder.path).filter((name) => name.startsWith('evidence-'))
  const told: string[] = []
  const open = () =>
    openWitness({
      folder: folder.path,
      name: 'witness.example',
      verifiers: [signer.verifier],
      onEvidence: (path) => told.push(path),
    })
  const witness = open()
  witness.add(addFirst)
  for (let i = 0; i < 20; i += 1) {
    const proof = [leafHash(`garbage ${i}`)]
    assert.is(witness.add(formatAddCheckpoint({ oldSize: 1, proof, checkpoint: second })).status, 422)
  }
  assert.equal(evidence(), [])

  const again = open()
  const forked = (i: number): string =>
    formatAddCheckpoint({ oldSize: 1, proof: [], checkpoint: noteOf(1, leafHash(`fork ${i}`)) })
  const stranger = noteSigner('stranger.example', generateKeyPairSync('ed25519').privateKey)
  for (let i = 0; i < 9; i += 1) again.add(forked(0) + signText(`${i}\n`, stranger))
  assert.is(evidence().length, 1)
  for (let i = 0; i < 9; i += 1) again.add(forked(i))
  assert.equal([evidence().length, told.length], [4, 4])
  open().add(forked(99))
  assert.is(evidence().length, 4)
})

test.run()
