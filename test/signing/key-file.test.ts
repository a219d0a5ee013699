import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  createLedgerKeys,
  isOpenToOthers,
  KeyFileError,
  type LedgerKeys,
  readKeyFile,
  readKeysFromText,
  replaceKeyFile,
  verifierKey,
  writeNewKeyFile,
} from '../../src/signing/key-file.ts'
import { rotateKeyRing } from '../../src/signing/key-ring.ts'
import { ed25519PublicBytes, formatLedgerKeys, rotateTokenKeys } from '../../src/signing/ledger-keys.ts'
import { NOW, seededRandom } from './fixtures.ts'

const test = suite<{ folder: string; path: string; keys: LedgerKeys }>('key file')

test.before.each((context) => {
  context.folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'))
  context.path = join(context.folder, 'keys.json')
  context.keys = createLedgerKeys(NOW, seededRandom('keys'))
})
test.after.each(({ folder }) => rmSync(folder, { recursive: true, force: true }))

const code = (run: () => unknown): string => {
  try {
    run()
    return 'no error'
  } catch (error) {
    return error instanceof KeyFileError ? error.code : String(error)
  }
}

test('keys come back from their file whole', ({ path, keys }) => {
  const all = { ...rotateTokenKeys(keys, NOW, seededRandom('t')), tokenSecret: seededRandom('shared')(32) }
  writeNewKeyFile(path, all)
  assert.is(formatLedgerKeys(readKeyFile(path)), formatLedgerKeys(all))
  assert.is(formatLedgerKeys(readKeysFromText(readFileSync(path, 'utf8'))), formatLedgerKeys(all))
})

test('a new file is readable by its owner alone, and nothing else is left in the folder', ({ folder, path, keys }) => {
  writeNewKeyFile(path, keys)
  replaceKeyFile(path, keys)
  assert.is(statSync(path).mode & 0o777, 0o600)
  assert.equal(readdirSync(folder), ['keys.json'])
})

test('a key file is never overwritten by a new one', ({ folder, path, keys }) => {
  writeNewKeyFile(path, keys)
  const before = readFileSync(path, 'utf8')
  assert.is(
    code(() => writeNewKeyFile(path, createLedgerKeys(NOW, seededRandom('other')))),
    'key-file-exists',
  )
  assert.is(readFileSync(path, 'utf8'), before)
  assert.equal(readdirSync(folder), ['keys.json'])
})

test('a rotation replaces the file in one step', ({ path, keys }) => {
  writeNewKeyFile(path, keys)
  const rotated = { ...keys, ring: rotateKeyRing(keys.ring, NOW, seededRandom('r')) }
  replaceKeyFile(path, rotated)
  assert.equal(readKeyFile(path).ring, rotated.ring)
})

test('a key file that others may read is refused (A38, SEAL-8)', ({ path, keys }) => {
  writeNewKeyFile(path, keys)
  for (const mode of [0o644, 0o640, 0o604, 0o620]) {
    chmodSync(path, mode)
    assert.is(
      code(() => readKeyFile(path)),
      'key-file-permissions',
    )
  }
  // Its owner may read it, and the group where root owns it, as of a mounted secret; nobody may write it.
  const root = 0
  const ledger = 1000
  for (const [mode, owner, uid, isOpen] of [
    [0o600, ledger, ledger, false],
    [0o640, ledger, ledger, true],
    [0o440, root, ledger, false],
    [0o640, root, ledger, false],
    [0o640, root, root, true],
    [0o460, root, ledger, true],
    [0o450, root, ledger, true],
    [0o444, root, ledger, true],
    [0o442, root, ledger, true],
    [0o640, root, undefined, true],
  ] as const)
    assert.is(isOpenToOthers({ mode: 0o100000 | mode, uid: owner }, uid), isOpen, `${mode.toString(8)} of ${owner}`)
  chmodSync(path, 0o400)
  assert.is(
    code(() => readKeyFile(path)),
    'no error',
  )
})

test('what is missing, no file, or no key file is distinguished', ({ folder, path }) => {
  assert.is(
    code(() => readKeyFile(path)),
    'key-file-missing',
  )
  mkdirSync(join(folder, 'inner'))
  assert.is(
    code(() => readKeyFile(join(folder, 'inner'))),
    'key-file-unreadable',
  )
  assert.is(
    code(() => readKeyFile(join(folder, 'keys.json', 'deeper'))),
    'key-file-missing',
  )
  writeFileSync(path, '{}', { mode: 0o600 })
  assert.is(
    code(() => readKeyFile(path)),
    'key-file-invalid',
  )
})

test('no refusal repeats a secret (A37)', ({ keys }) => {
  const canary = 'c2VjcmV0LWNhbmFyeS1jYW5hcnktY2FuYXJ5LWNhbmFyeQ'
  const good = JSON.parse(formatLedgerKeys(keys)) as Record<string, unknown>
  const bad = [
    canary,
    `{"v":1,"ring":"${canary}"`,
    JSON.stringify({ ...good, ring: [{ kid: canary, secret: `${canary}!` }] }),
    JSON.stringify({ ...good, checkpointKey: { kty: 'OKP', crv: 'Ed25519', d: canary, x: canary } }),
    JSON.stringify({ ...good, tokenSecret: 'c2VjcmV0' }),
    JSON.stringify({ ...good, v: 2 }),
    JSON.stringify({ ...good, [canary]: 1 }),
  ]
  for (const text of bad) {
    assert.throws(
      () => readKeysFromText(text),
      (error: unknown) =>
        error instanceof KeyFileError &&
        error.code === 'key-file-invalid' &&
        !`${error.message}${error.stack}${JSON.stringify(error)}${error.cause}`.includes('c2VjcmV0'),
    )
  }
})

test('a private key whose public half is another is refused', ({ keys }) => {
  const other = JSON.parse(formatLedgerKeys(createLedgerKeys(NOW, seededRandom('other')))) as { checkpointKey: object }
  const file = JSON.parse(formatLedgerKeys(keys)) as { checkpointKey: object }
  const mixed = { ...file, checkpointKey: { ...file.checkpointKey, x: (other.checkpointKey as { x: string }).x } }
  assert.is(
    code(() => readKeysFromText(JSON.stringify(mixed))),
    'key-file-invalid',
  )
})

test('keys printed by accident show no private half (A37)', ({ keys }) => {
  const { d } = keys.checkpointKey.export({ format: 'jwk' })
  assert.not.match(JSON.stringify(keys.checkpointKey), d ?? 'none')
})

test('a verifier key is that of the signed-note specification', () => {
  // The example key of golang.org/x/mod/sumdb/note.
  const key = Buffer.from('ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW', 'base64')
  assert.is(
    verifierKey('PeterNeumann', key.subarray(1)),
    'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW',
  )
  assert.throws(
    () => verifierKey('a b', key.subarray(1)),
    (error: unknown) => error instanceof TypeError,
  )
  assert.throws(
    () => verifierKey('a+b', key.subarray(1)),
    (error: unknown) => error instanceof TypeError,
  )
})

test('the public half of a key has 32 bytes', ({ keys }) => {
  assert.is(ed25519PublicBytes(keys.checkpointKey).length, 32)
})

test.run()
