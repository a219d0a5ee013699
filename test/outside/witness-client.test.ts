import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { askWitness } from '../../src/ledger/log/ask-witness.ts'
import { noteVerifier } from '../../src/merkle/note-key.ts'
import { httpWitness, readWitnesses } from '../../src/outside/witness-client.ts'
import { SettingsError } from '../../src/settings/settings-error.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('witness client')

const KEY = noteVerifier('witness.example/w', generateKeyPairSync('ed25519').publicKey)

test('the file of witnesses names an address and a key each; anything else is refused with what it takes', () => {
  using folder = tempFolder()
  const path = folder.file('witnesses.json')
  const read = (content: unknown) => {
    writeFileSync(path, JSON.stringify(content))
    return readWitnesses(path)
  }
  assert.equal(readWitnesses(undefined), [])
  assert.equal(
    read([{ url: 'https://witness.example/w', key: KEY.text }]).map(({ verifier }) => verifier.text),
    [KEY.text],
  )
  const refused: readonly unknown[] = [
    {},
    [{ url: 'https://witness.example' }],
    [{ url: 'file:///etc/passwd', key: KEY.text }],
    [{ url: 'https://witness.example', key: 'no key' }],
    [{ url: 'https://witness.example', key: KEY.text, more: 1 }],
  ]
  for (const content of refused)
    assert.throws(
      () => read(content),
      (error: unknown) => error instanceof SettingsError,
    )
  assert.throws(() => readWitnesses(folder.file('absent.json')), /no JSON list of \{url, key\}/)
})

test('a witness that redirects, or answers without end, counts as away', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/long/add-checkpoint') response.end('x'.repeat(100_000))
    else response.writeHead(307, { location: '/elsewhere' }).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    for (const path of ['', '/long']) {
      const question = { note: 'no note\n', knownSize: 0, proofFrom: () => [] }
      const answer = await askWitness(httpWitness(`${url}${path}`, KEY), question)
      assert.is(answer.ok ? '' : answer.code, 'unreachable', path)
    }
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test.run()
