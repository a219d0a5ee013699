import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readSuccession, signSuccession, successorsOf } from '../../src/merkle/key-succession.ts'
import { noteSigner, noteVerifier } from '../../src/merkle/note-key.ts'
import { signNote } from '../../src/merkle/signed-note.ts'

const test = suite('merkle: the succession of a log key')

const ORIGIN = 'ledger.example'
const TIME = '2026-01-02T03:04:05.678Z'
const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey
const [first, second, third] = [newKey(), newKey(), newKey()] as const
const follow = (from: KeyObject, to: KeyObject, origin = ORIGIN): string =>
  signSuccession({ origin, from, to, time: TIME })
const ofLog = (key: KeyObject, name = `${ORIGIN}/acme`) => noteVerifier(name, key)
const chainFrom = (key: KeyObject, notes: readonly string[], name?: string): readonly string[] =>
  successorsOf(ofLog(key, name), notes).map(({ text }) => text)

test('a trusted key leads to those that followed it, whatever the order of the notes, under the name of its own log', () => {
  const notes = [follow(second, third), follow(first, second)]
  assert.equal(
    chainFrom(first, notes),
    [first, second, third].map((key) => ofLog(key).text),
  )
  assert.equal(chainFrom(third, notes), [ofLog(third).text])
  assert.equal(chainFrom(first, notes, 'other.example/acme'), [ofLog(first, 'other.example/acme').text])
})

test('whoever has a key of their own alone is nobody’s successor: the old key signs, and the new one agrees (A211)', () => {
  const mallory = newKey()
  const [old, own] = [noteSigner(ORIGIN, first), noteSigner(ORIGIN, mallory)]
  const genuine = follow(first, second)
  const [text = ''] = follow(first, mallory).split('\n\n')
  for (const note of [
    signNote(`${text}\n`, [own]),
    signNote(`${text}\n`, [old]),
    signNote(`${text}\n`, [own, noteSigner(ORIGIN, newKey())]),
    genuine.replace(noteVerifier(ORIGIN, second).text, noteVerifier(ORIGIN, mallory).text),
    `${text}\n\n${genuine.slice(genuine.indexOf('\n\n') + 2)}`,
  ]) {
    assert.is(readSuccession(note), undefined)
    assert.equal(chainFrom(first, [note]), [ofLog(first).text])
  }
})

test('a note with any byte changed is no succession (A211)', () => {
  const note = follow(first, second)
  for (let at = 0; at < note.length; at += 1) {
    const code = note.charCodeAt(at)
    const changed = `${note.slice(0, at)}${String.fromCharCode(code === 0x41 ? 0x42 : 0x41)}${note.slice(at + 1)}`
    assert.is(readSuccession(changed), undefined, `at ${at}`)
  }
})

test('of two successors of one key none is followed: both cannot be right (A212)', () => {
  const both = [follow(first, second), follow(first, third)]
  assert.equal(chainFrom(first, both), [ofLog(first).text])
  assert.equal(chainFrom(first, [follow(first, second), follow(first, second)]).length, 2)
})

test('keys that follow each other in a circle end where it closes', () => {
  assert.is(chainFrom(first, [follow(first, second), follow(second, first)]).length, 2)
})

test('what is no succession is not signed: another time, one key twice', () => {
  assert.throws(() => signSuccession({ origin: ORIGIN, from: first, to: second, time: 'today' }), TypeError)
  assert.throws(() => follow(first, first), TypeError)
})

test.run()
