import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fixedKeys, readKeys, requireKeys, watchKeyFile } from '../../src/settings/key-source.ts'
import { createLedgerKeys, KeyFileError, replaceKeyFile, writeNewKeyFile } from '../../src/signing/key-file.ts'
import { rotateKeyRing } from '../../src/signing/key-ring.ts'
import { tempFolder } from '../support/temp-folder.ts'

const source = suite('key source')
const NOW = '2026-01-01T00:00:00.000Z'
const NEVER_MS = 2 ** 30

source('a rotated file is noticed when the keys are read, and each listener is notified once', () => {
  using folder = tempFolder()
  const path = folder.file('keys.json')
  const keys = createLedgerKeys(NOW, randomBytes)
  writeNewKeyFile(path, keys)
  const heard: number[] = []
  using watched = watchKeyFile({ place: { kind: 'file', path }, keys, pollMs: NEVER_MS, onError: () => {} })
  const stop = watched.onChange((changed) => heard.push(changed.ring.keys.length))
  assert.is(watched.current(), keys)

  replaceKeyFile(path, { ...keys, ring: rotateKeyRing(keys.ring, NOW, randomBytes) })
  assert.is(watched.current().ring.keys.length, 2)
  assert.is(watched.current().ring.keys.length, 2)
  assert.equal(heard, [2])
  stop()
  replaceKeyFile(path, keys)
  watched.current()
  assert.equal(heard, [2])
})

source('a file that breaks while it is watched leaves the keys in use', () => {
  using folder = tempFolder()
  const path = folder.file('keys.json')
  const keys = createLedgerKeys(NOW, randomBytes)
  writeNewKeyFile(path, keys)
  const errors: unknown[] = []
  using watched = watchKeyFile({
    place: { kind: 'file', path },
    keys,
    pollMs: NEVER_MS,
    onError: (error) => errors.push(error),
  })
  writeFileSync(path, 'torn')
  assert.is(watched.current(), keys)
  assert.is(errors.length, 1)
})

source('a missing file is no keys where that may be, and an error where it may not', () => {
  using folder = tempFolder()
  const place = { kind: 'file', path: folder.file('keys.json') } as const
  assert.is(readKeys(place), undefined)
  assert.throws(
    () => requireKeys(place),
    (error: unknown) => error instanceof KeyFileError && error.code === 'key-file-missing',
  )
  writeFileSync(place.path, 'torn', { mode: 0o600 })
  assert.throws(
    () => readKeys(place),
    (error: unknown) => error instanceof KeyFileError && error.code === 'key-file-invalid',
  )
})

source('fixed keys stay as they are', () => {
  const keys = createLedgerKeys(NOW, randomBytes)
  assert.is(fixedKeys(keys).current(), keys)
})

source.run()
