import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatAddCheckpoint, formatSize, parseAddCheckpoint, parseSize } from '../../src/merkle/add-checkpoint.ts'
import { formatCheckpoint, parseCheckpoint } from '../../src/merkle/checkpoint.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import {
  cosignedAt,
  cosigner,
  isSignedBy,
  NOTE_TYPES,
  noteSigner,
  noteVerifier,
  parseVerifierKey,
} from '../../src/merkle/note-key.ts'
import { openNote, parseNote, parseSignatureLines, signNote, signText } from '../../src/merkle/signed-note.ts'
import { formatTlogProof, parseTlogProof } from '../../src/merkle/tlog-proof.ts'
import { EMPTY_ROOT, ENOCH, NOTE_TEXT, PETER } from './vectors.ts'

const test = suite('merkle: notes, checkpoints, proof files, witness requests')

const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const peterKey = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, PETER.seed]), format: 'der', type: 'pkcs8' })
const known = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('expected a value')
  return value
}
const peter = known(parseVerifierKey(PETER.verifierKey))
const enoch = known(parseVerifierKey(ENOCH.verifierKey))

test('a note is signed byte for byte as the Go package signs it (LOG-5)', () => {
  const signer = noteSigner('PeterNeumann', peterKey)
  assert.is(signer.verifier.text, PETER.verifierKey)
  assert.is(signNote(NOTE_TEXT, [signer]), `${NOTE_TEXT}\n${PETER.line}`)
})

test('a note opens under each key that it knows, and passes over the others', () => {
  const note = `${NOTE_TEXT}\n${PETER.line}${ENOCH.line}`
  assert.equal(openNote(note, [peter]), { ok: true, text: NOTE_TEXT, signers: [peter], lines: PETER.line })
  const lines = PETER.line + ENOCH.line
  assert.equal(openNote(note, [enoch, peter]), { ok: true, text: NOTE_TEXT, signers: [peter, enoch], lines })
  assert.equal(openNote(note, []), { ok: false, code: 'unknown-key' })
})

test('one wrong signature of a known key spoils the note, whoever else signed it', () => {
  const bent = PETER.line.replace('x08go/Z', 'x08go/Y')
  assert.equal(openNote(`${NOTE_TEXT}\n${bent}${ENOCH.line}`, [peter, enoch]), { ok: false, code: 'invalid-signature' })
  assert.equal(openNote(`x${NOTE_TEXT}\n${PETER.line}`, [peter]), { ok: false, code: 'invalid-signature' })
})

test('what is not a note in its one spelling is malformed', () => {
  const { line } = PETER
  const wrong = [
    NOTE_TEXT,
    `${NOTE_TEXT}\n`,
    `${NOTE_TEXT}\n${line.slice(0, -1)}`,
    `\u0001${NOTE_TEXT}\n${line}`,
    `\ud800${NOTE_TEXT}\n${line}`,
    `${NOTE_TEXT}\n${line}Unexpected line.\n`,
    `${NOTE_TEXT}\n${line.replace('PeterNeumann', 'Peter Neumann')}`,
    `${NOTE_TEXT}\n${line.replace('PeterNeumann', 'Peter+Neumann')}`,
    `${NOTE_TEXT}\n${line.replace('PeterNeumann', 'Peter\u00a0Neumann')}`,
    `${NOTE_TEXT}\n${line.replace('=\n', '\n')}`,
    `${NOTE_TEXT}\n${line.replace('nAM=', 'nAN=')}`,
    `${NOTE_TEXT}\n${line.replace('\u2014', '-')}`,
    `${NOTE_TEXT}\n${line.replaceAll('\n', '\r\n')}`,
    `${NOTE_TEXT}\n\u2014 PeterNeumann x08gow==\n`,
    `${NOTE_TEXT}\n${line.repeat(101)}`,
  ]
  for (const note of wrong) assert.is(parseNote(note), undefined, JSON.stringify(note))
  assert.is(parseNote(`${NOTE_TEXT}\n${line.repeat(16)}`)?.signatures.length, 16)
})

test('no part and no neighbour of a verifier key is a verifier key', () => {
  const text = PETER.verifierKey
  assert.is(peter.text, text)
  for (let begin = 0; begin < text.length; begin += 1) {
    for (let end = begin + 1; end <= text.length; end += 1) {
      if (begin > 0 || end < text.length) assert.is(parseVerifierKey(text.slice(begin, end)), undefined)
    }
  }
  for (let i = 0; i < text.length; i += 1) {
    const next = String.fromCharCode(text.charCodeAt(i) + 1)
    assert.is(parseVerifierKey(text.slice(0, i) + next + text.slice(i + 1)), undefined, `${i}`)
  }
  assert.is(parseVerifierKey('PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY=='), undefined)
  assert.is(parseVerifierKey('PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'), undefined)
})

const root = leafHash('root')
const body = formatCheckpoint({ origin: 'example.com/log', size: 5, root })

test('a checkpoint is origin, size and root, a line each', () => {
  const text = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n'
  const parsed = known(parseCheckpoint(text))
  assert.equal([parsed.origin, parsed.size, parsed.extensions], ['example.com/behind-the-sofa', 20_852_163, []])
  assert.is(formatCheckpoint(parsed), text)
  assert.equal(parseCheckpoint(`${text}more\n`)?.extensions, ['more'])
})

test('a checkpoint in any other spelling is none (A33)', () => {
  const [origin, size, hash] = ['example.com/log', '5', Buffer.from(root).toString('base64')]
  const lines = (...parts: readonly (string | undefined)[]) => `${parts.join('\n')}\n`
  const wrong = [
    lines(origin, size),
    lines('', size, hash),
    lines(origin, '05', hash),
    lines(origin, '+5', hash),
    lines(origin, '5 ', hash),
    lines(origin, '-1', hash),
    lines(origin, '5.0', hash),
    lines(origin, '9007199254740993', hash),
    lines(origin, size, hash.replace('=', '')),
    lines(origin, size, `${hash} `),
    lines(origin, size, hash, ''),
    lines(origin, size, hash).slice(0, -1),
    lines(origin, size, hash).replaceAll('\n', '\r\n'),
    lines(origin, '0', hash),
  ]
  for (const text of wrong) assert.is(parseCheckpoint(text), undefined, JSON.stringify(text))
  assert.is(parseCheckpoint(lines(origin, '0', Buffer.from(EMPTY_ROOT).toString('base64')))?.size, 0)
})

const { privateKey } = generateKeyPairSync('ed25519')

test('a cosignature vouches for a checkpoint at a time, and for no other text or time', () => {
  const witness = cosigner('witness.example', privateKey, () => 1_679_315_147)
  const [line] = known(parseSignatureLines(signText(body, witness)))
  const { signature } = known(line)
  assert.is(signature.length, 72)
  assert.is(cosignedAt(witness.verifier.key, body, signature), 1_679_315_147)
  for (let byte = 0; byte < signature.length; byte += 1) {
    const changed = Uint8Array.from(signature)
    changed[byte] = known(changed[byte]) ^ 1
    assert.not(isSignedBy(witness.verifier, body, changed))
  }
  assert.not(isSignedBy(witness.verifier, `${body}x\n`, signature))
  assert.is(known(parseVerifierKey(witness.verifier.text)).type, NOTE_TYPES.cosignature)
})

test('one key under one name has two ids: a cosignature is no signature of the log', () => {
  const [plain, co] = [noteVerifier('a', privateKey), noteVerifier('a', privateKey, NOTE_TYPES.cosignature)]
  assert.not.equal(plain.keyId, co.keyId)
  const cosigned = signNote(body, [cosigner('a', privateKey, () => 1)])
  assert.equal(openNote(cosigned, [plain]), { ok: false, code: 'unknown-key' })
  assert.ok(openNote(cosigned, [co]).ok)
})

const checkpoint = signNote(body, [noteSigner('example.com/log', privateKey)])
const hashes = [leafHash('a'), leafHash('b')]

test('a proof file is version, index, hashes, an empty line and the checkpoint', () => {
  const text = formatTlogProof({ index: 73894, hashes, checkpoint })
  const encoded = hashes.map((hash) => Buffer.from(hash).toString('base64'))
  assert.is(text, `c2sp.org/tlog-proof@v1\nindex 73894\n${encoded.join('\n')}\n\n${checkpoint}`)
  assert.equal(parseTlogProof(text), { index: 73894, hashes: hashes.map((hash) => Buffer.from(hash)), checkpoint })
  const extra = Buffer.from('more')
  const withExtra = formatTlogProof({ extra, index: 0, hashes: [], checkpoint })
  assert.ok(withExtra.startsWith('c2sp.org/tlog-proof@v1\nextra bW9yZQ==\nindex 0\n\n'))
  assert.equal(parseTlogProof(withExtra), { extra, index: 0, hashes: [], checkpoint })
})

test('a proof file in any other spelling is none (A34)', () => {
  const text = formatTlogProof({ index: 5, hashes, checkpoint })
  const first = Buffer.from(known(hashes[0])).toString('base64')
  const wrong = [
    text.replace('@v1', '@v2'),
    text.replace('index 5', 'index 05'),
    text.replace('index 5', 'index -5'),
    text.replace('index 5', 'index x'),
    text.replace('index 5\n', ''),
    text.replace('index 5', 'extra !!\nindex 5'),
    text.replace('index 5', 'index 5\nindex 5'),
    text.replace(first, `${first} `),
    text.replace(first, first.replace('=', '')),
    text.replace(first, Buffer.alloc(64).toString('base64')),
    text.replace(`${first}\n`, `${first}\n`.repeat(64)),
    text.replaceAll('\n', '\r\n'),
    text.slice(0, -1),
    text.slice(0, text.indexOf('\n\n') + 2),
    '',
  ]
  for (const each of wrong) assert.is(parseTlogProof(each), undefined, JSON.stringify(each))
})

test('a request to a witness is the old size, the proof, an empty line and the checkpoint', () => {
  const text = formatAddCheckpoint({ oldSize: 3, proof: hashes, checkpoint })
  assert.ok(text.startsWith('old 3\n'))
  assert.equal(parseAddCheckpoint(text), { oldSize: 3, proof: hashes.map((hash) => Buffer.from(hash)), checkpoint })
  assert.equal(parseAddCheckpoint(formatAddCheckpoint({ oldSize: 0, proof: [], checkpoint }))?.proof, [])
  const many = formatAddCheckpoint({ oldSize: 3, proof: new Array(64).fill(root), checkpoint })
  for (const wrong of [
    many,
    text.replace('old 3', 'old 03'),
    text.replace('old 3', 'size 3'),
    text.slice(0, -1),
    'old 3\n\n',
    '',
  ]) {
    assert.is(parseAddCheckpoint(wrong), undefined)
  }
  assert.is(parseSize(formatSize(7)), 7)
  for (const wrong of ['7', '07\n', '7\n\n', '\n', 'x\n']) assert.is(parseSize(wrong), undefined)
})

test.run()
