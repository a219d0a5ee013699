import { renameSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { watchTrustedIssuers } from '../../src/settings/trusted-issuers.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('trusted issuers')

const partner = { issuer: 'partner', jwks: { keys: [] }, algorithms: ['ES256'], tenants: ['acme'] }

test('an issuer that is taken out of the file is trusted no longer, and a file that cannot be used changes nothing (F33)', () => {
  using folder = tempFolder()
  const path = folder.file('issuers.json')
  const write = (text: string): void => {
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }
  write(JSON.stringify([partner, { ...partner, issuer: 'other' }]))
  const errors: unknown[] = []
  const log = { error: (fields: object) => errors.push(fields) }
  using watched = watchTrustedIssuers({ trustedIssuers: path, issuer: 'own' }, log)
  const names = (): readonly string[] => watched.current().map(({ issuer }) => issuer)
  assert.equal(names(), ['partner', 'other'])
  write(JSON.stringify([partner]))
  assert.equal(names(), ['partner'])
  for (const bad of [
    '{',
    '[{}]',
    JSON.stringify([{ ...partner, algorithms: ['none'] }]),
    JSON.stringify([partner, partner]),
  ]) {
    write(bad)
    assert.equal(names(), ['partner'], bad)
  }
  assert.is(errors.length, 4)
  write('[]')
  assert.equal(names(), [])
})

test.run()
